package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	mathrand "math/rand/v2"
	"net"
	"strings"
	"time"
)

// noise is a client that breaks the rules of HTTP and WebSocket.
type noise struct {
	addr   string
	rand   *mathrand.Rand
	counts *counts
}

// run makes one bad connection after the other until ctx ends.
func (n *noise) run(ctx context.Context) {
	kinds := []struct {
		name string
		do   func(context.Context, net.Conn)
	}{
		{"idle connection", n.idle},
		{"half a head", n.half},
		{"slow head", n.slowHead},
		{"slow body", n.slowBody},
		{"large head", n.largeHead},
		{"random bytes", n.random},
		{"random frames", n.frames},
		{"answers that are not read", n.deaf},
		{"large length, reset", n.reset},
		{"endless chunks", n.chunks},
	}
	var d net.Dialer
	for ctx.Err() == nil {
		kind := kinds[n.rand.IntN(len(kinds))]
		conn, err := d.DialContext(ctx, "tcp", n.addr)
		if err != nil {
			n.counts.add("noise: no connection")
			pause(ctx, n.rand, time.Second)
			continue
		}
		stop := context.AfterFunc(ctx, func() { conn.Close() })
		kind.do(ctx, conn)
		stop()
		conn.Close()
		n.counts.add("noise: " + kind.name)
	}
}

const head = "Host: 127.0.0.1\r\n"

func (n *noise) idle(ctx context.Context, _ net.Conn) { pause(ctx, n.rand, 20*time.Second) }

func (n *noise) half(ctx context.Context, c net.Conn) {
	say(c, "GET /api/runs HTTP/1.1\r\n"+head+"X-A: ")
	pause(ctx, n.rand, 15*time.Second)
}

func (n *noise) slowHead(ctx context.Context, c net.Conn) {
	for _, b := range []byte("GET /metrics HTTP/1.1\r\n" + head + "\r\n") {
		if _, err := c.Write([]byte{b}); err != nil {
			return
		}
		pause(ctx, n.rand, 400*time.Millisecond)
	}
}

func (n *noise) slowBody(ctx context.Context, c net.Conn) {
	fmt.Fprintf(c, "POST /api/runs HTTP/1.1\r\n%sContent-Type: application/json\r\nContent-Length: 1048576\r\n\r\n{", head)
	for range 40 {
		if !say(c, strings.Repeat(" ", n.rand.IntN(60_000))) {
			return
		}
		pause(ctx, n.rand, time.Second)
	}
}

func (n *noise) largeHead(_ context.Context, c net.Conn) {
	say(c, "GET /healthz HTTP/1.1\r\n"+head)
	for range 1 << n.rand.IntN(16) {
		if !say(c, "X-"+strings.Repeat("a", n.rand.IntN(1000))+": b\r\n") {
			return
		}
	}
	say(c, "\r\n")
	n.drain(c)
}

func (n *noise) random(_ context.Context, c net.Conn) {
	b := make([]byte, 1<<n.rand.IntN(18))
	rand.Read(b)
	say(c, string(b))
	n.drain(c)
}

func (n *noise) frames(ctx context.Context, c net.Conn) {
	say(c, "GET /ws HTTP/1.1\r\n"+head+"Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n")
	for range n.rand.IntN(50) {
		b := make([]byte, 1<<n.rand.IntN(14))
		rand.Read(b)
		if n.rand.IntN(2) == 0 { // a valid head: final text or binary, masked, small
			b = append([]byte{0x80 | byte(1+n.rand.IntN(2)), 0x80 | 100}, append(b, make([]byte, 104)...)[:104]...)
		}
		if _, err := c.Write(b); err != nil {
			return
		}
		pause(ctx, n.rand, 200*time.Millisecond)
	}
}

func (n *noise) deaf(ctx context.Context, c net.Conn) {
	for range 200 {
		if !say(c, "GET /openapi.json HTTP/1.1\r\n"+head+"\r\n") {
			return
		}
	}
	pause(ctx, n.rand, 20*time.Second)
}

func (n *noise) reset(_ context.Context, c net.Conn) {
	fmt.Fprintf(c, "POST /api/validate HTTP/1.1\r\n%sContent-Type: application/yaml\r\nContent-Length: 9223372036854775807\r\n\r\na: b", head)
	abort(c)
}

func (n *noise) chunks(ctx context.Context, c net.Conn) {
	say(c, "POST /api/validate HTTP/1.1\r\n"+head+"Content-Type: application/yaml\r\nTransfer-Encoding: chunked\r\n\r\n")
	for range 300 {
		if !say(c, "2000;"+strings.Repeat("x", n.rand.IntN(100))+"\r\n"+strings.Repeat("- ", 4096)+"\r\n") {
			return
		}
	}
	n.drain(c)
}

// drain reads an answer for a second.
func (n *noise) drain(c net.Conn) {
	if c.SetReadDeadline(time.Now().Add(time.Second)) == nil {
		_, _ = io.Copy(io.Discard, c) // it ends with an error
	}
}
