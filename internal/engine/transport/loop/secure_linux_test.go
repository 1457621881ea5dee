//go:build amd64 || arm64

package loop

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"testing"
	"time"
)

// panicking is a handler that panics when it is given bytes.
type panicking struct{ *recorder }

func (panicking) Received(Read) { panic("test") }

// A handler that panics loses its connection; the loop and the others go on.
func TestPanicEndsOneConnection(t *testing.T) {
	l, _, _ := start(t)
	bad, server := dial(t, l)
	good, other := dial(t, l)
	bad.conn.Lock()
	bad.conn.Handle(panicking{bad}, nil)
	bad.conn.Unlock()
	io.WriteString(server, "x")
	var fault *Fault
	if err := within(t, bad.ended, "the end"); !errors.As(err, &fault) || fault.Value != "test" || len(fault.Stack) == 0 {
		t.Errorf("ended with %v, want the panic and its stack", err)
	}
	io.WriteString(other, "y")
	if r := within(t, good.reads, "the other connection"); string(r.Bytes) != "y" {
		t.Errorf("the other connection read %q", r.Bytes)
	}
}

// What a server sends before the handshake reads it is bounded.
func TestEarlyBytesAreBounded(t *testing.T) {
	l, _, _ := start(t)
	r, server := dial(t, l)
	r.conn.Lock()
	s := NewSecure(r.conn, &tls.Config{InsecureSkipVerify: true}, r)
	r.conn.Unlock()
	server.SetDeadline(time.Now().Add(20 * time.Second))
	block := make([]byte, 64<<10)
	for range 16 {
		if _, err := server.Write(block); err != nil {
			t.Fatal(err)
		}
	}
	for {
		r.conn.Lock()
		kept, err := len(s.wire.in), s.wire.ended
		r.conn.Unlock()
		if kept > maxEarly {
			t.Fatalf("%d bytes are kept, want at most %d", kept, maxEarly)
		}
		if err != nil {
			if !errors.Is(err, errEarly) {
				t.Errorf("the wire ended with %v", err)
			}
			break
		}
		within(t, s.wire.arrived, "bytes")
	}
	if err := s.Handshake(t.Context()); err == nil {
		t.Error("the handshake with zeros succeeded")
	}
}

// A handshake ends with its context, and with the error that ends it.
func TestHandshakeEnds(t *testing.T) {
	l, _, _ := start(t)
	cause := errors.New("cause")
	for name, end := range map[string]func(*Secure, context.CancelCauseFunc){
		"by its context": func(_ *Secure, cancel context.CancelCauseFunc) { cancel(cause) },
		"by an error": func(s *Secure, _ context.CancelCauseFunc) {
			s.conn.Lock()
			s.Fail(cause)
			s.conn.Unlock()
		},
	} {
		t.Run(name, func(t *testing.T) {
			r, _ := dial(t, l)
			r.conn.Lock()
			s := NewSecure(r.conn, &tls.Config{InsecureSkipVerify: true}, r)
			r.conn.Unlock()
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			done := make(chan error, 1)
			go func() { done <- s.Handshake(ctx) }()
			end(s, cancel)
			if err := within(t, done, "the handshake"); !errors.Is(err, cause) {
				t.Errorf("Handshake = %v, want %v", err, cause)
			}
		})
	}
}
