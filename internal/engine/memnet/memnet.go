// Package memnet is a buffered network inside one process. Unlike net.Pipe, a
// write returns as soon as its bytes are buffered, as on a real socket, and
// deadlines, half-open states and resets behave like TCP's. Every wait is on a
// channel or a condition that testing/synctest understands, so servers and
// clients over memnet run in virtual time.
package memnet

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"time"
)

// bufferSize is how many bytes one direction holds before a writer waits; the
// size of a default TCP socket buffer.
const bufferSize = 256 << 10

// Listener accepts in-memory connections. Safe for concurrent use.
type Listener struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

var _ net.Listener = (*Listener)(nil)

// Listen returns a listener that queues up to 128 connections.
func Listen() *Listener {
	return &Listener{conns: make(chan net.Conn, 128), closed: make(chan struct{})}
}

// Dial opens a connection to the listener. It waits while the queue is full,
// until ctx is done. A closed listener refuses.
func (l *Listener) Dial(ctx context.Context) (net.Conn, error) {
	select {
	case <-l.closed:
		return nil, refused()
	default:
	}
	client, server := Pipe()
	select {
	case l.conns <- server:
		return client, nil
	case <-l.closed:
		return nil, refused()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// DialContext has the shape that http.Transport wants; network and address are
// ignored.
func (l *Listener) DialContext(ctx context.Context, _, _ string) (net.Conn, error) {
	return l.Dial(ctx)
}

// Accept waits for the next connection.
func (l *Listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// Close refuses further connections; those that are open stay open.
func (l *Listener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

// Addr returns a loopback-looking address.
func (l *Listener) Addr() net.Addr { return addr("memnet") }

func refused() error {
	return &net.OpError{Op: "dial", Net: "memnet", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
}

type addr string

func (a addr) Network() string { return "memnet" }
func (a addr) String() string  { return string(a) }

// Pipe returns the two ends of a connection.
func Pipe() (client, server *Conn) {
	up, down := newStream(), newStream()
	return &Conn{in: down, out: up}, &Conn{in: up, out: down}
}

// Conn is one end of a connection. Safe for concurrent use.
type Conn struct {
	in, out *stream
}

var _ net.Conn = (*Conn)(nil)

// Read returns buffered bytes, waits for some, or returns io.EOF after the peer
// closed and ECONNRESET after it reset the connection.
func (c *Conn) Read(b []byte) (int, error) { return c.in.read(b) }

// Write buffers b; it waits while the buffer is full. Writing to a peer that
// has gone fails with EPIPE.
func (c *Conn) Write(b []byte) (int, error) { return c.out.write(b) }

// Close ends both directions; the peer reads the buffered bytes, then io.EOF.
func (c *Conn) Close() error {
	c.out.close(io.EOF)
	c.in.close(net.ErrClosed)
	return nil
}

// Reset breaks the connection as a TCP RST does: the peer's next read fails
// with ECONNRESET even if bytes are buffered.
func (c *Conn) Reset() error {
	c.out.reset(&net.OpError{Op: "read", Net: "memnet", Err: os.NewSyscallError("read", syscall.ECONNRESET)})
	c.in.close(net.ErrClosed)
	return nil
}

// SetLinger exists so that servers can reset a connection as they do on a
// *net.TCPConn: SetLinger(0) makes the following Close a Reset. Other values
// change nothing.
func (c *Conn) SetLinger(sec int) error {
	if sec == 0 {
		return c.Reset()
	}
	return nil
}

// LocalAddr returns a fixed address.
func (c *Conn) LocalAddr() net.Addr { return addr("memnet") }

// RemoteAddr returns a fixed address.
func (c *Conn) RemoteAddr() net.Addr { return addr("memnet") }

// SetDeadline sets both deadlines; the zero time means none.
func (c *Conn) SetDeadline(t time.Time) error {
	c.in.setReadDeadline(t)
	c.out.setWriteDeadline(t)
	return nil
}

// SetReadDeadline bounds Read.
func (c *Conn) SetReadDeadline(t time.Time) error {
	c.in.setReadDeadline(t)
	return nil
}

// SetWriteDeadline bounds Write.
func (c *Conn) SetWriteDeadline(t time.Time) error {
	c.out.setWriteDeadline(t)
	return nil
}

// stream is one direction. The pieces that were written stay separate only by
// accident of timing: as on TCP, a read takes all that is buffered.
type stream struct {
	mu      sync.Mutex
	buf     []byte        // guarded by mu
	err     error         // guarded by mu; returned to readers when buf is empty
	broken  bool          // guarded by mu; readers get err at once
	changed chan struct{} // guarded by mu; closed and replaced when something changed
	rdead   deadline
	wdead   deadline
}

func newStream() *stream { return &stream{changed: make(chan struct{})} }

// wake wakes all waiting goroutines. Call with mu held.
func (s *stream) wake() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// expire is called by a deadline's timer.
func (s *stream) expire() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wake()
}

func (s *stream) read(b []byte) (int, error) {
	for {
		s.mu.Lock()
		if s.rdead.passed() {
			s.mu.Unlock()
			return 0, os.ErrDeadlineExceeded
		}
		switch {
		case s.broken:
			defer s.mu.Unlock()
			return 0, s.err
		case len(s.buf) > 0:
			n := copy(b, s.buf)
			s.buf = s.buf[n:]
			s.wake()
			s.mu.Unlock()
			return n, nil
		case s.err != nil:
			defer s.mu.Unlock()
			return 0, s.err
		case len(b) == 0:
			s.mu.Unlock()
			return 0, nil
		}
		changed := s.changed
		s.mu.Unlock()
		<-changed
	}
}

func (s *stream) write(b []byte) (int, error) {
	written := 0
	for {
		s.mu.Lock()
		switch {
		case s.wdead.passed():
			s.mu.Unlock()
			return written, os.ErrDeadlineExceeded
		case s.err != nil:
			err := s.err
			s.mu.Unlock()
			if errors.Is(err, net.ErrClosed) || errors.Is(err, io.EOF) {
				return written, &net.OpError{Op: "write", Net: "memnet", Err: os.NewSyscallError("write", syscall.EPIPE)}
			}
			return written, err
		}
		if room := bufferSize - len(s.buf); room > 0 {
			n := min(room, len(b)-written)
			s.buf = append(s.buf, b[written:written+n]...)
			written += n
			s.wake()
		}
		if written == len(b) {
			s.mu.Unlock()
			return written, nil
		}
		changed := s.changed
		s.mu.Unlock()
		<-changed
	}
}

// close ends the stream; the first reason stays.
func (s *stream) close(reason error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil {
		s.err = reason
	}
	if errors.Is(reason, net.ErrClosed) {
		s.err, s.broken, s.buf = reason, true, nil
	}
	s.wake()
}

func (s *stream) reset(reason error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err, s.broken, s.buf = reason, true, nil
	s.wake()
}

func (s *stream) setReadDeadline(t time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rdead.set(t, s.expire)
	s.wake()
}

func (s *stream) setWriteDeadline(t time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wdead.set(t, s.expire)
	s.wake()
}

// deadline is an instant that wakes the stream when it passes.
type deadline struct {
	at    time.Time
	timer *time.Timer
}

func (d *deadline) set(t time.Time, wake func()) {
	d.at = t
	if d.timer != nil {
		d.timer.Stop()
		d.timer = nil
	}
	if !t.IsZero() {
		d.timer = time.AfterFunc(max(0, time.Until(t)), wake)
	}
}

func (d *deadline) passed() bool { return !d.at.IsZero() && !time.Now().Before(d.at) }
