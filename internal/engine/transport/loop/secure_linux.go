//go:build amd64 || arm64

package loop

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"time"
	"unsafe"
)

const (
	// maxEarly bounds the bytes that wait for the goroutine that performs a handshake.
	// The messages of a handshake have 64 KiB at most in crypto/tls.
	maxEarly = 256 << 10
	// plainBuffer is the size of the buffer for decrypted bytes: one read, and what was
	// left of a record (RFC 8446, section 5.2) before it.
	plainBuffer = readBuffer + 17<<10
	// earlyBuffer is the size of that for what a server sends before it is asked.
	earlyBuffer = 512
	// maxAnswers bounds the answers to messages of TLS that wait for a peer that does not read.
	maxAnswers = 64 << 10
)

// ErrCutOff is the error of a connection that was closed without the close_notify of TLS: whoever
// is between both ends may have cut it off (RFC 8446, section 6.1). It is an [io.EOF], too.
var ErrCutOff = fmt.Errorf("connection closed without close_notify of TLS: %w", io.EOF)

// errEarly is the error of a peer that sends more than any handshake needs.
var errEarly = errors.New("the server sent too many bytes during the TLS handshake")

// errUnread is the error of a peer that asks for answers within TLS and does not read them.
var errUnread = errors.New("the server asks for new TLS keys without an end and does not read the answers")

// wouldBlock is the error of a read of crypto/tls that has to wait for more bytes.
// Because it is temporary, crypto/tls keeps its state, and the next call continues.
type wouldBlock struct{}

var _ net.Error = wouldBlock{}

func (wouldBlock) Error() string { return "no more bytes now" }

// Timeout implements net.Error.
func (wouldBlock) Timeout() bool { return true }

// Temporary implements net.Error.
func (wouldBlock) Temporary() bool { return true }

// Secure is TLS over a connection of a loop: crypto/tls over memory, which the loop
// fills. It handles the connection's events and passes their plaintext to a handler of
// its own. The handshake waits for the peer in the goroutine of the caller; after that
// nothing waits. All methods except [Secure.Handshake] need the connection's lock.
type Secure struct {
	conn    *Conn
	handler Handler
	tls     *tls.Conn
	wire    wire
	last    Read // the last read, without its bytes
}

// NewSecure returns TLS over a connection, and makes it the connection's handler.
// The configuration has the name of the server.
func NewSecure(c *Conn, config *tls.Config, h Handler) *Secure {
	s := &Secure{conn: c, handler: h}
	s.wire = wire{conn: c, arrived: make(chan struct{}, 1)}
	s.tls = tls.Client(&s.wire, config)
	c.handler = s
	return s
}

// Handle is [Conn.Handle] for the handler of the plaintext.
func (s *Secure) Handle(h Handler, hot unsafe.Pointer) {
	s.handler = h
	s.conn.Handle(s, hot)
}

// Handshake performs the handshake on an open connection. It ends early when ctx ends
// or after [Secure.Fail]; the connection stays open. Call it without the lock, and
// [Secure.Begin] after it.
func (s *Secure) Handshake(ctx context.Context) (err error) {
	defer faultOf(&err)
	s.wire.cancelled = ctx.Done()
	// Cancellation ends the wait for bytes. crypto/tls would start a goroutine for it.
	err = s.tls.HandshakeContext(context.WithoutCancel(ctx))
	s.wire.cancelled = nil
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// Begin ends the handshake: from now on the loop decrypts. It returns an error if the
// connection was closed, or [Secure.Fail] was called, in the meantime.
func (s *Secure) Begin() error {
	s.wire.begun = true
	if s.conn.state == open && s.wire.ended == nil {
		return nil
	}
	return s.lastError()
}

// Early passes to the handler what the peer sent right after its handshake: not tickets
// of sessions, but what they may have come with. crypto/tls may have read it already.
func (s *Secure) Early() {
	if s.conn.state == open {
		s.pass(s.last, make([]byte, earlyBuffer))
		s.wire.in = nil
	}
}

// Fail ends a handshake with an error.
func (s *Secure) Fail(err error) { s.wire.end(err) }

// Encrypt prepares the bytes that the next [Secure.Send] writes.
func (s *Secure) Encrypt(parts ...[]byte) (err error) {
	defer faultOf(&err)
	for _, b := range parts {
		if len(b) == 0 {
			continue
		}
		if _, err := s.tls.Write(b); err != nil {
			return fmt.Errorf("encrypt request: %w", err)
		}
	}
	return nil
}

// EncryptFrom is [Secure.Encrypt] for a body that is read while it is encrypted. The reader neither fails nor waits.
func (s *Secure) EncryptFrom(body io.Reader) error {
	chunk := s.conn.loop.chunks.Get().(*[chunkBytes]byte)
	defer s.conn.loop.chunks.Put(chunk)
	for {
		n, end := io.ReadFull(body, chunk[:])
		if err := s.Encrypt(chunk[:n]); err != nil || end != nil {
			return err
		}
	}
}

// Send writes what was encrypted, see [Conn.Send].
func (s *Secure) Send() (bool, error) {
	s.wire.announce = true
	done, err := s.wire.flush()
	s.wire.announce = !done && err == nil
	return done, err
}

// Goodbye tells the peer that the connection is about to be closed, if that is possible
// without waiting.
func (s *Secure) Goodbye() {
	if s.conn.state == open && s.wire.begun && s.wire.sending == nil {
		_ = s.tls.CloseWrite() // the peer may have gone
		_, _ = s.wire.flush()
	}
}

var _ Handler = (*Secure)(nil)

// Connected implements Handler.
func (s *Secure) Connected(err error) { s.handler.Connected(err) }

// Expired implements Handler.
func (s *Secure) Expired(now time.Duration) { s.handler.Expired(now) }

// Wrote implements Handler.
func (s *Secure) Wrote() {
	s.wire.wrote()
	if done, _ := s.wire.flush(); done && s.wire.announce {
		s.wire.announce = false
		s.handler.Wrote()
	}
}

// Received implements Handler.
func (s *Secure) Received(r Read) {
	s.last = Read{At: r.At, Lag: r.Lag, Kernel: r.Kernel}
	if !s.wire.begun {
		s.wire.keep(r.Bytes)
		return
	}
	s.wire.in = r.Bytes
	s.pass(s.last, s.conn.loop.plaintext())
	s.wire.in = nil
}

// Ended implements Handler. A connection that ends within a record was cut off.
func (s *Secure) Ended(err error) {
	s.wire.end(err)
	if !s.wire.begun {
		return
	}
	if fault := (*Fault)(nil); !errors.As(err, &fault) {
		// After a close_notify there is no connection that can end.
		if err = s.lastError(); errors.Is(err, io.EOF) {
			err = ErrCutOff
		}
	}
	s.handler.Ended(err)
}

// pass decrypts what the wire has and passes it to the handler: one read of the
// plaintext for one of the connection, and none if it brought no whole record.
func (s *Secure) pass(r Read, buffer []byte) {
	for generation := s.conn.generation; ; {
		before := s.wire.queued()
		n, err := s.read(buffer)
		s.wire.answers += s.wire.queued() - before
		_, _ = s.wire.flush() // answers to messages of TLS; the loop reports what ends the connection
		if r.Bytes = buffer[:n]; n > 0 {
			s.handler.Received(r)
		}
		switch {
		case s.conn.state != open || s.conn.generation != generation:
			return
		case s.wire.answers > maxAnswers:
			s.conn.Shut()
			s.handler.Ended(errUnread)
			return
		case err == nil: // the buffer is full
		case errors.Is(err, wouldBlock{}):
			return
		default:
			s.conn.Shut()
			s.handler.Ended(err)
			return
		}
	}
}

// lastError returns the error after the plaintext of a connection that has ended: an alert
// may explain why. What is before it was sent without a request.
func (s *Secure) lastError() error {
	for b := make([]byte, earlyBuffer); ; {
		if _, err := s.read(b); err != nil {
			return err
		}
	}
}

// read fills b with plaintext until there is no more, which is an error.
func (s *Secure) read(b []byte) (n int, err error) {
	defer faultOf(&err)
	for n < len(b) && err == nil {
		var more int
		more, err = s.tls.Read(b[n:])
		n += more
	}
	return n, err
}

// wire is the connection below crypto/tls. Its bytes are in memory. Before begun it
// takes the lock itself and waits; after that its caller has the lock.
type wire struct {
	conn      *Conn
	begun     bool
	announce  bool            // the handler waits for Wrote
	in        []byte          // received and not read yet
	ended     error           // after in; nil = more may come
	out       *[]byte         // to be written; nil = nothing
	sending   *[]byte         // being written; nil = nothing
	answers   int             // bytes that crypto/tls has added to out on its own since the last write ended
	arrived   chan struct{}   // capacity 1, so that the loop never waits: in or ended has changed
	cancelled <-chan struct{} // during the handshake
}

var _ net.Conn = (*wire)(nil)

// keep keeps bytes for the handshake.
func (w *wire) keep(b []byte) {
	if len(w.in)+len(b) > maxEarly {
		w.end(errEarly)
		return
	}
	w.in = append(w.in, b...)
	w.signal()
}

// end makes reads fail after the bytes that are there.
func (w *wire) end(err error) {
	if w.ended == nil {
		w.ended = err
	}
	w.signal()
}

func (w *wire) signal() {
	select {
	case w.arrived <- struct{}{}:
	default:
	}
}

// Read implements net.Conn.
func (w *wire) Read(b []byte) (int, error) {
	if w.begun {
		return w.take(b)
	}
	for {
		w.conn.Lock()
		n, err := w.take(b)
		w.conn.Unlock()
		if !errors.Is(err, wouldBlock{}) {
			return n, err
		}
		select {
		case <-w.arrived:
		case <-w.cancelled:
			return 0, context.Canceled
		}
	}
}

// take returns bytes that are there.
func (w *wire) take(b []byte) (int, error) {
	if len(w.in) > 0 {
		n := copy(b, w.in)
		w.in = w.in[n:]
		return n, nil
	}
	if w.ended != nil {
		return 0, w.ended
	}
	return 0, wouldBlock{}
}

// Write implements net.Conn. It never waits; what the connection does not take is
// written by the loop.
func (w *wire) Write(b []byte) (int, error) {
	if w.begun {
		w.append(b)
		return len(b), nil
	}
	w.conn.Lock()
	defer w.conn.Unlock()
	if w.conn.state != open {
		return 0, cmp.Or(w.ended, net.ErrClosed)
	}
	w.append(b)
	if _, err := w.flush(); err != nil {
		return 0, err
	}
	return len(b), nil
}

// append adds bytes to those to be written.
func (w *wire) append(b []byte) {
	if w.out == nil {
		w.out = w.conn.loop.outputs.Get().(*[]byte)
	}
	*w.out = append(*w.out, b...)
}

// queued returns how many bytes wait in out.
func (w *wire) queued() int {
	if w.out == nil {
		return 0
	}
	return len(*w.out)
}

// flush writes what there is to write; false = the loop writes the rest.
func (w *wire) flush() (bool, error) {
	if w.sending != nil || w.out == nil {
		return w.sending == nil, nil
	}
	w.sending, w.out = w.out, nil
	done, err := w.conn.Send(*w.sending, nil)
	if done || err != nil {
		w.wrote()
	}
	return done, err
}

// wrote gives the memory of the written bytes back.
func (w *wire) wrote() {
	*w.sending = (*w.sending)[:0]
	w.conn.loop.outputs.Put(w.sending)
	w.sending, w.answers = nil, 0
}

// Close implements net.Conn; crypto/tls is never asked to close the connection.
func (w *wire) Close() error { return nil }

// LocalAddr implements net.Conn.
func (w *wire) LocalAddr() net.Addr { return &net.TCPAddr{} }

// RemoteAddr implements net.Conn.
func (w *wire) RemoteAddr() net.Addr { return &net.TCPAddr{} }

// SetDeadline implements net.Conn; deadlines are those of the connection's handler.
func (w *wire) SetDeadline(time.Time) error { return nil }

// SetReadDeadline implements net.Conn.
func (w *wire) SetReadDeadline(time.Time) error { return nil }

// SetWriteDeadline implements net.Conn.
func (w *wire) SetWriteDeadline(time.Time) error { return nil }
