package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"strings"
	"sync"
	"time"
)

// target is an inference server that answers badly.
type target struct {
	counts *counts

	mu   sync.Mutex
	rand *rand.Rand // guarded by mu
}

// serve answers until the listener is closed.
func (t *target) serve(ctx context.Context, ln net.Listener) {
	stop := context.AfterFunc(ctx, func() { ln.Close() })
	defer stop()
	var all sync.WaitGroup
	defer all.Wait()
	for {
		conn, err := ln.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil { // no descriptors
			time.Sleep(100 * time.Millisecond)
			continue
		}
		all.Go(func() {
			defer conn.Close()
			stop := context.AfterFunc(ctx, func() { conn.Close() })
			defer stop()
			t.connection(conn)
		})
	}
}

// draw returns a number below n.
func (t *target) draw(n int) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.rand.IntN(n)
}

// connection reads the head of each request and answers it, with a body of a request unread
// as the next head.
func (t *target) connection(c net.Conn) {
	in := bufio.NewReaderSize(c, 64<<10)
	for {
		if c.SetDeadline(time.Now().Add(30*time.Second)) != nil {
			return
		}
		line, err := in.ReadString('\n')
		if err != nil {
			return
		}
		length := 0
		for header := ""; header != "\r\n" && header != "\n"; {
			if header, err = in.ReadString('\n'); err != nil {
				return
			}
			if _, value, ok := strings.Cut(strings.ToLower(header), "content-length:"); ok {
				if length, err = strconv.Atoi(strings.TrimSpace(value)); err != nil {
					return
				}
			}
		}
		if _, err := in.Discard(length); err != nil {
			return
		}
		if !t.answer(c, strings.Contains(line, "/models")) {
			return
		}
	}
}

const (
	okJSON = `{"id":"a","object":"chat.completion","model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"hello"},"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":1,"total_tokens":4}}`
	event  = `data: {"id":"a","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":"hi"}}]}` + "\n\n"
)

// answer writes one answer. It reports whether the connection can take another.
func (t *target) answer(c net.Conn, models bool) bool {
	kind := t.draw(20)
	t.counts.add(fmt.Sprintf("target: kind %02d", kind))
	whole := func(status, media, body string) bool {
		_, err := fmt.Fprintf(c, "HTTP/1.1 %s\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n%s", status, media, len(body), body)
		return err == nil
	}
	switch kind {
	case 0: // reset
		abort(c)
		return false
	case 1: // endless headers
		say(c, "HTTP/1.1 200 OK\r\n")
		t.endless(c, "X-"+strings.Repeat("h", 500)+": v\r\n")
		return false
	case 2: // endless body
		say(c, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n[")
		t.endless(c, strings.Repeat(`"x",`, 4096))
		return false
	case 3: // endless stream
		say(c, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n")
		t.endless(c, strings.Repeat(event, 100))
		return false
	case 4: // garbage in a stream
		say(c, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"+strings.Repeat("data: {\x00\xff[[[{\n\n:\n\ndata\n", 2000))
		return false
	case 5:
		return whole("307 Temporary Redirect\r\nLocation: http://169.254.169.254/latest/meta-data/", "text/plain", "")
	case 6:
		return whole("302 Found\r\nLocation: /"+strings.Repeat("a", 60_000), "text/plain", "")
	case 7: // one huge line of a stream
		say(c, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: ")
		t.endless(c, strings.Repeat("y", 64<<10))
		return false
	case 8:
		return whole("500 "+strings.Repeat("z", 5000), "text/html", strings.Repeat("<p>\x1b[31m"+fmt.Sprint(t.draw(1<<30)), 20_000))
	case 9:
		return whole("200 OK", "application/json", strings.Repeat("[", 200_000))
	case 10: // too large a length
		say(c, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 99999999999\r\n\r\n"+okJSON)
		return false
	case 11: // nothing
		time.Sleep(2 * time.Second)
		return false
	case 12:
		return whole("429 Too Many Requests\r\nRetry-After: 99999999999999999999", "application/json", `{"error":{"message":"`+fmt.Sprint(t.draw(1<<30))+`"}}`)
	case 13: // no HTTP
		say(c, strings.Repeat("SSH-2.0-x\r\n", 100))
		return false
	case 14: // bad chunks
		say(c, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\nfffffffffffffff\r\n"+event)
		return false
	}
	if models {
		return t.models(whole)
	}
	return whole("200 OK", "application/json", okJSON)
}

// models answers with a list of models: usual, long names, or many.
func (t *target) models(whole func(status, media, body string) bool) bool {
	switch t.draw(4) {
	case 0:
		return whole("200 OK", "application/json", `{"data":[{"id":"`+strings.Repeat("n", 2_000_000)+`"}]}`)
	case 1:
		return whole("200 OK", "application/json", `{"data":[`+strings.Repeat(`{"id":"m"},`, 200_000)+`{"id":"m"}]}`)
	}
	return whole("200 OK", "application/json", `{"data":[{"id":"m"}]}`)
}

// endless writes a text again and again, at most 200 MB.
func (t *target) endless(c net.Conn, s string) {
	for range 200_000_000 / len(s) {
		if !say(c, s) {
			return
		}
	}
}
