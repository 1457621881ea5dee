package transport

import (
	"bufio"
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/tls"
	"encoding/binary"
	"encoding/hex"
	"io"
	"net"
	"net/http"
	"net/url"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/transport/testcert"
)

// Types of records (RFC 8446, section 5.1), and of messages of the handshake.
const (
	alertRecord     = 21
	handshakeRecord = 22
	dataRecord      = 23
	helloRequest    = 0
	sessionTicket   = 4
	keyUpdate       = 24
)

// forger is the server's end of a connection after the handshake, and writes any record.
// Its key is that of crypto/tls, which reads what the client sends.
type forger struct {
	net.Conn
	reader *tls.Conn
	secret []byte // of TLS 1.3; nil = TLS 1.2
	aead   cipher.AEAD
	iv     []byte
	seq    uint64
}

func expand(secret []byte, label string, n int) []byte {
	info := binary.BigEndian.AppendUint16(nil, uint16(n))
	info = append(append(append(info, byte(6+len(label))), "tls13 "+label...), 0)
	out, err := hkdf.Expand(sha256.New, secret, string(info), n)
	if err != nil {
		panic(err)
	}
	return out
}

func gcm(key []byte) cipher.AEAD {
	block, err := aes.NewCipher(key)
	if err != nil {
		panic(err)
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		panic(err)
	}
	return aead
}

// useSecret sets the keys of TLS 1.3.
func (f *forger) useSecret(secret []byte) {
	f.secret, f.seq = secret, 0
	f.aead, f.iv = gcm(expand(secret, "key", 16)), expand(secret, "iv", 12)
}

// useMaster sets the keys of TLS 1.2 (RFC 5246, section 6.3).
func (f *forger) useMaster(master, clientRandom, serverRandom []byte) {
	mac := func(parts ...[]byte) []byte {
		h := hmac.New(sha256.New, master)
		h.Write(bytes.Join(parts, nil))
		return h.Sum(nil)
	}
	seed := bytes.Join([][]byte{[]byte("key expansion"), serverRandom, clientRandom}, nil)
	var block []byte
	for a := mac(seed); len(block) < 40; a = mac(a) {
		block = append(block, mac(a, seed)...)
	}
	f.aead, f.iv, f.seq = gcm(block[16:32]), block[36:40], 1 // Finished was record 0
}

// record returns one encrypted record.
func (f *forger) record(kind byte, data string) string {
	defer func() { f.seq++ }()
	seq := binary.BigEndian.AppendUint64(nil, f.seq)
	if f.secret == nil {
		additional := append(append(seq, kind, 3, 3), byte(len(data)>>8), byte(len(data)))
		body := f.aead.Seal(seq[:8:8], append(bytes.Clone(f.iv), seq[:8]...), []byte(data), additional)
		return string([]byte{kind, 3, 3, byte(len(body) >> 8), byte(len(body))}) + string(body)
	}
	nonce := bytes.Clone(f.iv)
	for i, b := range seq {
		nonce[4+i] ^= b
	}
	n := len(data) + 1 + f.aead.Overhead()
	header := []byte{dataRecord, 3, 3, byte(n >> 8), byte(n)}
	return string(f.aead.Seal(header, nonce, append([]byte(data), kind), header))
}

func (f *forger) data(text string) string { return f.record(dataRecord, text) }

func (f *forger) message(kind byte, body string) string {
	return f.record(handshakeRecord, message(kind, body))
}

// message returns a message of the handshake.
func message(kind byte, body string) string {
	return string([]byte{kind, byte(len(body) >> 16), byte(len(body) >> 8), byte(len(body))}) + body
}

// update returns a message that changes the key, and changes it.
func (f *forger) update(answered bool) string {
	flag := "\x00"
	if answered {
		flag = "\x01"
	}
	text := f.message(keyUpdate, flag)
	f.useSecret(expand(f.secret, "traffic upd", 32))
	return text
}

// ticket is a ticket for a later session (RFC 8446, section 4.6.1).
const ticket = "\x00\x00\x0e\x10" + "\x00\x00\x00\x00" + "\x01n" + "\x00\x04tick" + "\x00\x00"

// sniffer keeps what is written.
type sniffer struct {
	net.Conn
	wrote bytes.Buffer
}

func (s *sniffer) Write(b []byte) (int, error) {
	s.wrote.Write(b)
	return s.Conn.Write(b)
}

// forge performs a handshake and returns the connection after it.
func forge(conn net.Conn, made *testcert.Made, version uint16) (*forger, error) {
	var keys bytes.Buffer
	below := &sniffer{Conn: conn}
	f := &forger{Conn: conn, reader: tls.Server(below, &tls.Config{
		Certificates: []tls.Certificate{made.Pair}, KeyLogWriter: &keys, SessionTicketsDisabled: true,
		MaxVersion: version, CipherSuites: []uint16{tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256},
	})}
	if err := f.reader.Handshake(); err != nil {
		return nil, err
	}
	for line := range strings.Lines(keys.String()) {
		fields := strings.Fields(line)
		random, _ := hex.DecodeString(fields[1])
		secret, _ := hex.DecodeString(fields[2])
		switch fields[0] {
		case "SERVER_TRAFFIC_SECRET_0":
			f.useSecret(secret)
		case "CLIENT_RANDOM":
			f.useMaster(secret, random, below.wrote.Bytes()[11:43]) // of ServerHello
		}
	}
	return f, nil
}

// forgery is what a server does after it has read the first request.
type forgery struct {
	name    string
	version uint16 // 0 = TLS 1.3
	serve   func(f *forger, piece func(string))
	want    string // body, or class and message of the failure
	again   bool   // the connection serves another request
}

func forgeries() []forgery {
	const (
		head   = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 4\r\n\r\n"
		until  = "HTTP/1.0 200 OK\r\nContent-Type: application/json\r\n\r\n"
		stream = "HTTP/1.0 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"
		closes = "\x01\x00"
		reset  = "connection_reset: "
	)
	whole := func(do func(f *forger) string) func(*forger, func(string)) {
		return func(f *forger, _ func(string)) { io.WriteString(f, do(f)) }
	}
	ends := func(text string) func(*forger, func(string)) { // without close_notify
		return func(f *forger, _ func(string)) {
			io.WriteString(f, f.data(text))
			f.Close()
		}
	}
	many := func(n int, s func() string) (out string) {
		for range n {
			out += s()
		}
		return out
	}
	return []forgery{
		{name: "several records in one segment", serve: whole(func(f *forger) string { return f.data(head) + f.data("{") + f.data("  }") }), want: "{  }", again: true},
		{name: "a record in pieces", serve: func(f *forger, piece func(string)) {
			for _, b := range strings.SplitAfter(f.data(head+"{  }"), "") {
				piece(b)
			}
		}, want: "{  }", again: true},
		{name: "the largest record", serve: whole(func(f *forger) string {
			start, end := "HTTP/1.1 200 OK\r\nX: ", "\r\nContent-Length: 4\r\n\r\n{  }"
			return f.data(start + strings.Repeat("x", 1<<14-len(start)-len(end)) + end)
		}), want: "{  }", again: true},
		{name: "a new key", serve: whole(func(f *forger) string { return f.data(head) + f.update(false) + f.data("{  }") }), want: "{  }", again: true},
		{name: "a new key that the client answers", serve: whole(func(f *forger) string { return f.data(head) + f.update(true) + f.data("{  }") }), want: "{  }", again: true},
		{name: "a new key between pieces", serve: func(f *forger, piece func(string)) {
			piece(f.data(head))
			piece(f.update(true))
			piece(f.data("{  }"))
		}, want: "{  }", again: true},
		{name: "new keys without an end", serve: whole(func(f *forger) string { return f.data(head) + many(100, func() string { return f.update(false) }) }), want: reset + "tls: too many non-advancing records"},
		{name: "tickets", serve: whole(func(f *forger) string {
			return f.message(sessionTicket, ticket) + f.data(head) + f.message(sessionTicket, ticket) + f.data("{  }") + f.message(sessionTicket, ticket)
		}), want: "{  }", again: true},
		{name: "a ticket in two records and pieces", serve: func(f *forger, piece func(string)) {
			text := message(sessionTicket, ticket)
			piece(f.data(head))
			piece(f.record(handshakeRecord, text[:7]))
			piece(f.record(handshakeRecord, text[7:]))
			piece(f.data("{  }"))
		}, want: "{  }", again: true},
		{name: "data within a ticket", serve: whole(func(f *forger) string {
			return f.data(head) + f.record(handshakeRecord, message(sessionTicket, ticket)[:7]) + f.data("{  }")
		}), want: reset + "local error: tls: unexpected message"},
		{name: "a damaged ticket", serve: whole(func(f *forger) string { return f.data(head) + f.message(sessionTicket, "x") }), want: reset + "local error: tls: error decoding message"},
		{name: "an unknown message", serve: whole(func(f *forger) string { return f.data(head) + f.message(99, "x") }), want: reset + "local error: tls: unexpected message"},
		{name: "a huge message", serve: whole(func(f *forger) string {
			return f.data(head) + f.record(handshakeRecord, "\x04\xff\xff\xff")
		}), want: reset + "tls: handshake message of length 16777215 bytes exceeds maximum of 65536 bytes"},
		{name: "empty records without an end", serve: whole(func(f *forger) string { return f.data(head) + many(100, func() string { return f.data("") }) }), want: reset + "tls: too many ignored records"},
		{name: "a huge record", serve: whole(func(f *forger) string { return f.data(head) + "\x17\x03\x03\xff\xff" + strings.Repeat("x", 1<<16) }), want: reset + "tls: oversized record received with length 65535"},
		{name: "a forged record", serve: whole(func(f *forger) string { return f.data(head) + "\x17\x03\x03\x00\x20" + strings.Repeat("x", 32) }), want: reset + "local error: tls: bad record MAC"},
		{name: "plain text", serve: whole(func(f *forger) string { return f.data(head) + "HTTP/1.1 200 OK\r\n\r\n" }), want: reset + "tls: received record with version 5454 when expecting version 303"},
		{name: "an alert within the body", serve: whole(func(f *forger) string { return f.data(head+"{") + f.record(alertRecord, "\x02\x50") }), want: reset + "remote error: tls: internal error"},
		{name: "an alert after the body", serve: whole(func(f *forger) string { return f.data(head+"{  }") + f.record(alertRecord, "\x02\x50") }), want: "{  }"},
		{name: "an alert that is none", serve: whole(func(f *forger) string { return f.data(head) + f.record(alertRecord, "\x02") }), want: reset + "local error: tls: unexpected message"},
		{name: "a warning", serve: whole(func(f *forger) string { return f.data(head) + f.record(alertRecord, "\x01\x5a") + f.data("{  }") }), want: "{  }", again: true},
		{name: "close_notify within the body", serve: whole(func(f *forger) string { return f.data(head+"{") + f.record(alertRecord, closes) }), want: reset + "unexpected EOF"},
		{name: "close_notify and more data", serve: whole(func(f *forger) string { return f.data(head+"{") + f.record(alertRecord, closes) + f.data("  }") }), want: reset + "unexpected EOF"},
		{name: "close_notify ends the body", serve: whole(func(f *forger) string { return f.data(until+"{  }") + f.record(alertRecord, closes) }), want: "{  }"},
		{name: "close_notify ends the body, in pieces", serve: func(f *forger, piece func(string)) {
			piece(f.data(until))
			piece(f.data("{  }"))
			piece(f.record(alertRecord, closes))
		}, want: "{  }"},
		{name: "the connection ends the body", serve: ends(until + "{  }"), want: reset + "connection closed without close_notify of TLS: the response may be cut off"},
		{name: "the connection ends the body after its end marker", serve: ends(stream + "data: [DONE]\n\n"), want: ""},
		{name: "the connection ends the body before its end marker", serve: ends(stream + "data: {}\n\n"), want: reset + "connection closed without close_notify of TLS: the response may be cut off"},
		{name: "the connection ends the body of an error", serve: ends("HTTP/1.0 503 Busy\r\nContent-Type: application/json\r\n\r\n{  }"), want: "{  }"},
		{name: "the connection ends after a body with a length", serve: ends(head + "{  }"), want: "{  }"},
		{name: "the connection ends within a record", serve: func(f *forger, _ func(string)) {
			text := f.data(until) + f.data("{  }")
			io.WriteString(f, text[:len(text)-1])
			f.Close()
		}, want: reset + "unexpected EOF"},
		{name: "the connection ends within a header", serve: func(f *forger, _ func(string)) {
			io.WriteString(f, f.data(until+"{")+"\x17\x03")
			f.Close()
		}, want: reset + "unexpected EOF"},
		{name: "TLS 1.2", version: tls.VersionTLS12, serve: whole(func(f *forger) string { return f.data(head) + f.data("{  }") }), want: "{  }", again: true},
		{name: "renegotiation", version: tls.VersionTLS12, serve: whole(func(f *forger) string { return f.data(head) + f.message(helloRequest, "") + f.data("{  }") }), want: reset + "local error: tls: no renegotiation"},
		{name: "renegotiation of TLS 1.3", serve: whole(func(f *forger) string { return f.data(head) + f.message(helloRequest, "") + f.data("{  }") }), want: reset + "tls: received unexpected handshake message of type *tls.helloRequestMsg"},
	}
}

// TestForgedRecords sends whatever a server can send after the handshake: each ends one
// request at most, in the same way over both transports.
func TestForgedRecords(t *testing.T) {
	made := testcert.New(t, "127.0.0.1")
	for _, way := range ways() {
		if way.tls == nil {
			continue
		}
		for _, forged := range forgeries() {
			t.Run(way.name+"/"+forged.name, func(t *testing.T) {
				if raceEnabled && forged.name == "a huge message" && way.name == "net/http with TLS" {
					t.Skip("crypto/tls of Go 1.26 answers such a message without the lock that its writers hold")
				}
				forged.perform(t, way, made)
			})
		}
	}
}

func (forged *forgery) perform(t *testing.T, way way, made *testcert.Made) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := New(Options{
		Clock: bench.NewClock(), Dial: way.dial, TLS: &tls.Config{RootCAs: made.Pool}, TotalTimeout: 20 * time.Second, IdleTimeout: 20 * time.Second,
	})
	var group sync.WaitGroup
	t.Cleanup(func() {
		ln.Close()
		c.Close()
		group.Wait()
	})
	piece := func(w io.Writer, text string) {
		reads := func() uint64 { n := c.Lag(); return n.Kernel + n.Read }
		before := reads()
		io.WriteString(w, text)
		for by := time.Now().Add(5 * time.Second); reads() == before && time.Now().Before(by); {
			runtime.Gosched()
		}
	}
	group.Go(func() {
		for conn, err := ln.Accept(); err == nil; conn, err = ln.Accept() {
			group.Go(func() {
				defer conn.Close()
				conn.SetDeadline(time.Now().Add(time.Minute))
				f, err := forge(conn, made, forged.version)
				if err != nil {
					return
				}
				requests := bufio.NewReader(f.reader)
				for n := 0; ; n++ {
					if r, _ := take(requests); r == nil {
						return
					}
					if n == 0 {
						forged.serve(f, func(text string) { piece(f, text) })
						continue
					}
					io.WriteString(f, f.data(small))
				}
			})
		}
	})
	u := &url.URL{Scheme: "https", Host: ln.Addr().String(), Path: "/"}
	x := c.Do(t.Context(), &Request{URL: u, Header: http.Header{}, Body: []byte("{}")})
	got := string(x.Response.Body)
	if f := x.Response.Failure; f != nil {
		got = string(f.Class) + ": " + f.Message
	}
	class, message, _ := strings.Cut(forged.want, ": ")
	if got != forged.want && !(strings.HasPrefix(got, class+": ") && message != "" && strings.HasSuffix(got, message)) {
		t.Errorf("got %q, want %q", got, forged.want)
	}
	x = c.Do(t.Context(), &Request{URL: u, Header: http.Header{}, Body: []byte("{}")})
	reused := x.Conn.Reused && x.Conn.Retries == 0
	if forged.again && (!reused || x.Response.Failure != nil) {
		t.Errorf("the next request: reused %v, %d retries, %v; want the same connection", reused, x.Conn.Retries, x.Response.Failure)
	}
	if !forged.again && reused {
		t.Error("the connection was used again")
	}
}
