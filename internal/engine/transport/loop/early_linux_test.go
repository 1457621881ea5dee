//go:build amd64 || arm64

package loop

import (
	"bytes"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"testing"
	"time"

	"aiperfd/internal/engine/transport/testcert"
)

// unasked is what a server may send before it has read a request.
const unasked = "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n"

// handshake performs a handshake with a server, which goes on with serve after it.
func handshake(t *testing.T, version uint16, serve func(*tls.Conn, *together)) (*Secure, *recorder) {
	t.Helper()
	l, _, _ := start(t)
	r, conn := dial(t, l)
	made := testcert.New(t, "127.0.0.1")
	r.conn.Lock()
	s := NewSecure(r.conn, &tls.Config{RootCAs: made.Pool, ServerName: "127.0.0.1"}, r)
	r.conn.Unlock()
	conn.SetDeadline(time.Now().Add(20 * time.Second))
	below := &together{Conn: conn}
	server := tls.Server(below, &tls.Config{Certificates: []tls.Certificate{made.Pair}, MaxVersion: version})
	go serve(server, below)
	if err := s.Handshake(t.Context()); err != nil {
		t.Fatal(err)
	}
	return s, r
}

// together writes the first flight, and keeps the others.
type together struct {
	net.Conn
	flights int
	held    bytes.Buffer
}

// Write implements net.Conn.
func (c *together) Write(b []byte) (int, error) {
	if c.flights++; c.flights > 1 {
		return c.held.Write(b)
	}
	return c.Conn.Write(b)
}

// A server that has sent something and closed the connection during the handshake leaves no
// connection for a request.
func TestBeginAfterTheEnd(t *testing.T) {
	s, r := handshake(t, tls.VersionTLS13, func(server *tls.Conn, below *together) {
		_ = server.Handshake()
		below.flights = 0
		_, _ = io.WriteString(server, unasked)
		_ = below.Close()
	})
	for r.conn.Lock(); !r.conn.Closed(); r.conn.Lock() {
		r.conn.Unlock()
		within(t, s.wire.arrived, "the end")
	}
	defer r.conn.Unlock()
	if err := s.Begin(); !errors.Is(err, io.EOF) {
		t.Errorf("Begin = %v, want EOF", err)
	}
}

// A handshake that succeeds while it is ended has ended.
func TestBeginAfterFail(t *testing.T) {
	s, r := handshake(t, tls.VersionTLS13, func(server *tls.Conn, _ *together) { _ = server.Handshake() })
	cause := errors.New("cause")
	r.conn.Lock()
	defer r.conn.Unlock()
	s.Fail(cause)
	if err := s.Begin(); !errors.Is(err, cause) {
		t.Errorf("Begin = %v, want %v", err, cause)
	}
}

// What comes in one segment with the last message of the handshake is not kept until
// something else comes.
func TestBytesBehindTheHandshake(t *testing.T) {
	proceed := make(chan struct{})
	s, r := handshake(t, tls.VersionTLS12, func(server *tls.Conn, below *together) {
		_ = server.Handshake()
		_, _ = io.WriteString(server, unasked)
		_, _ = below.Conn.Write(below.held.Bytes())
		<-proceed
		_ = below.Close()
	})
	r.conn.Lock()
	err := s.Begin()
	s.Early()
	r.conn.Unlock()
	if err != nil {
		t.Fatal(err)
	}
	select {
	case read := <-r.reads:
		if string(read.Bytes) != unasked {
			t.Errorf("read %q", read.Bytes)
		}
	default:
		t.Error("the bytes behind the handshake were not passed")
	}
	close(proceed)
	if err := within(t, r.ended, "the end"); !errors.Is(err, io.EOF) {
		t.Errorf("ended with %v, want EOF", err)
	}
}
