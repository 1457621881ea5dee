//go:build amd64 || arm64

package loop

import (
	"errors"
	"io"
	"net"
	"net/netip"
	"os"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"aiperfd/internal/engine/sockstamp"
)

// Handler handles the events of a connection. Its methods are called with the
// connection locked, usually by the loop's goroutine, and must not block, because all
// other connections wait for them. They may call the connection's methods.
type Handler interface {
	// Connected is called when an attempt to connect that did not complete
	// immediately has ended. After an error the connection is closed and may connect
	// again.
	Connected(err error)
	// Wrote is called when the bytes that Send could not write are written.
	Wrote()
	// Received processes one read. Its bytes are in the loop's buffer: the handler may
	// change them and must not retain them.
	Received(r Read)
	// Ended is called when the peer closed the connection (io.EOF), an error occurred,
	// or the loop ended (ErrClosed). The connection is closed.
	Ended(err error)
	// Expired is called at a time for which Arm was called, or earlier: the handler
	// checks its deadlines and calls Arm for the next one.
	Expired(now time.Duration)
}

// Read is one read of a connection.
type Read struct {
	At     time.Duration // when the bytes arrived, on the loop's clock
	Lag    time.Duration // from At until the loop had them; 0 unless Kernel
	Kernel bool          // At is the kernel's timestamp
	Bytes  []byte        // never empty
}

// state is the state of a connection.
type state uint8

const (
	closed state = iota
	connecting
	open
)

// The kernel reports bytes once (EPOLLET): reporting many connections again with each
// call is expensive. EPOLL_CTL_MOD repeats the report.
const (
	watchRead  = unix.EPOLLIN | unix.EPOLLRDHUP | unix.EPOLLET
	watchWrite = unix.EPOLLOUT
	watchEnds  = unix.EPOLLRDHUP | unix.EPOLLHUP | unix.EPOLLERR
)

// Conn is at most one open connection of a loop. All methods except Lock need its lock,
// which the loop holds while it calls the handler. The lock is never held during a
// wait.
type Conn struct {
	// Used by every event: 64 bytes.
	sync.Mutex
	state      state
	kernel     bool
	window     int32 // of the loop's tempo, at the last read
	generation int32
	fd         int // valid unless closed
	loop       *Loop
	handler    Handler
	hot        unsafe.Pointer // memory that the handler uses first; nil = unknown; atomic

	rest   [2][]byte // bytes to be written
	sent   unix.Msghdr
	part   [2]unix.Iovec
	writes int32             // of the last Send
	body   io.Reader         // what follows rest; nil = nothing
	chunk  *[chunkBytes]byte // of the loop's chunks, that body is read into; nil = none

	left func(fd int) // is called with the descriptor of a connection before it is closed; nil = nothing is

	due  time.Duration // when Expired is called; 0 = never; guarded by loop.mu
	slot int           // in loop.timers; guarded by loop.mu
}

// NewConn returns a closed connection; see [Conn.Connect].
func (l *Loop) NewConn(h Handler) *Conn { return &Conn{loop: l, handler: h} }

// Handle sets the handler. hot is the memory that the handler uses first, or nil: with
// thousands of connections it is not in the cache, and the loop prefetches it while it
// serves other connections.
func (c *Conn) Handle(h Handler, hot unsafe.Pointer) {
	c.handler = h
	atomic.StorePointer(&c.hot, hot)
}

// OnClose makes the closing of an open connection call f, which is given what the kernel counted of it.
func (c *Conn) OnClose(f func(sockstamp.Info)) {
	c.left = func(fd int) {
		if info, ok := sockstamp.ReadInfo(fd); ok {
			f(info)
		}
	}
}

// Info returns what the kernel counts of an open connection; ok = false if it is closed.
func (c *Conn) Info() (info sockstamp.Info, ok bool) {
	if c.state != open {
		return sockstamp.Info{}, false
	}
	return sockstamp.ReadInfo(c.fd)
}

// Closed reports whether the connection is closed.
func (c *Conn) Closed() bool { return c.state == closed }

// Kernel reports whether the kernel takes receive timestamps.
func (c *Conn) Kernel() bool { return c.kernel }

// Arm makes the loop call Expired at an offset of its clock, or earlier. If it is called
// several times before that, the earliest offset applies.
func (c *Conn) Arm(at time.Duration) {
	if c.state != closed {
		c.loop.arm(c, at)
	}
}

// Connect starts to connect a closed connection, from a local address unless that is the
// zero value. It returns true if the connection is
// open; otherwise Connected will be called. The error is the *net.OpError that package
// net would return.
func (c *Conn) Connect(to netip.AddrPort, from netip.Addr) (bool, error) {
	if c.loop.closed() {
		return false, dialError(to, ErrClosed)
	}
	fd, err := socket(to)
	if err != nil {
		return false, dialError(to, err)
	}
	if err := bind(fd, from); err != nil {
		_ = unix.Close(fd)
		return false, dialError(to, err)
	}
	c.kernel = sockstamp.Enable(fd) == nil
	err = connect(fd, to)
	if errors.Is(err, unix.EINPROGRESS) {
		err = connect(fd, to) // the handshake with this host is complete
	}
	done := err == nil || errors.Is(err, unix.EISCONN)
	switch {
	case done:
	case errors.Is(err, unix.EALREADY), errors.Is(err, unix.EINTR): // it continues in the background
	default:
		_ = unix.Close(fd)
		return false, dialError(to, os.NewSyscallError("connect", err))
	}
	c.fd, c.state = fd, open
	events := uint32(watchRead)
	if !done {
		c.state, events = connecting, watchWrite
	}
	if err := c.loop.add(c, events); err != nil {
		c.state = closed
		_ = unix.Close(fd)
		return false, dialError(to, err)
	}
	return done, nil
}

// connected completes an attempt to connect.
func (c *Conn) connected() {
	code, err := unix.GetsockoptInt(c.fd, unix.SOL_SOCKET, unix.SO_ERROR)
	if err == nil && code != 0 {
		err = unix.Errno(code)
	}
	if err == nil {
		err = c.loop.modify(c, watchRead)
	} else {
		err = os.NewSyscallError("connect", err)
	}
	if err != nil {
		c.Shut()
		c.handler.Connected(&net.OpError{Op: "dial", Net: "tcp", Err: err})
		return
	}
	c.state = open
	c.handler.Connected(nil)
}

// Shut closes the connection without calling the handler.
func (c *Conn) Shut() {
	if c.state == closed {
		return
	}
	c.loop.remove(c)
	if c.left != nil && c.state == open {
		c.left(c.fd)
	}
	_ = unix.Close(c.fd)
	c.state = closed
	c.forgetRest()
}

// end closes the connection and calls the handler.
func (c *Conn) end(err error) {
	if c.state == closed {
		return
	}
	was := c.state
	c.Shut()
	if was == connecting {
		c.handler.Connected(err)
		return
	}
	c.handler.Ended(err)
}

// Send writes head and body in one system call. It returns false if not all bytes were
// written: then the loop writes the rest and calls Wrote, and the bytes must not change
// until then. After an error the connection stays open, because the peer may have sent
// a response before it stopped reading.
func (c *Conn) Send(head, body []byte) (bool, error) {
	c.writes = 0
	return c.write(head, body)
}

// chunkBytes is how much of a body [Conn.SendFrom] holds: it fits in the cache of a processor, and a system call
// for so much costs little beside the copy.
const chunkBytes = 64 << 10

// SendFrom is [Conn.Send] for a body that is read while it is written. The reader neither fails nor waits. It is not
// used any more when Wrote is called, or the connection is closed.
func (c *Conn) SendFrom(head []byte, body io.Reader) (bool, error) {
	c.writes, c.body = 0, body
	return c.write(head, c.readChunk())
}

// readChunk returns the next bytes of the body.
func (c *Conn) readChunk() []byte {
	if c.body == nil {
		return nil
	}
	if c.chunk == nil {
		c.chunk = c.loop.chunks.Get().(*[chunkBytes]byte)
	}
	n, err := io.ReadFull(c.body, c.chunk[:])
	if err != nil {
		c.body = nil
	}
	return c.chunk[:n]
}

// forgetRest drops what was not written.
func (c *Conn) forgetRest() {
	c.rest, c.body = [2][]byte{}, nil
	if c.chunk != nil {
		c.loop.chunks.Put(c.chunk)
		c.chunk = nil
	}
}

// Writes returns the number of system calls that wrote the bytes of the last Send.
func (c *Conn) Writes() int32 { return c.writes }

// Addresses returns the addresses of an open connection.
func (c *Conn) Addresses() (local, remote netip.AddrPort) {
	from, _ := unix.Getsockname(c.fd) // without an address it is unknown
	to, _ := unix.Getpeername(c.fd)
	return addrPort(from), addrPort(to)
}

// write is Send for the bytes that are left.
func (c *Conn) write(head, body []byte) (bool, error) {
	c.rest = [2][]byte{head, body}
	c.loop.sends.Add(1)
	for {
		n, err := c.send()
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.EAGAIN):
			return false, c.loop.modify(c, watchRead|watchWrite)
		case err != nil:
			c.forgetRest()
			return false, &net.OpError{Op: "write", Net: "tcp", Err: os.NewSyscallError("write", err)}
		}
		c.writes++
		fromHead := min(n, len(c.rest[0]))
		c.rest[0], c.rest[1] = c.rest[0][fromHead:], c.rest[1][n-fromHead:]
		if len(c.rest[0])+len(c.rest[1]) > 0 {
			continue
		}
		if c.rest[1] = c.readChunk(); len(c.rest[1]) == 0 {
			c.forgetRest()
			return true, nil
		}
	}
}

func (c *Conn) send() (int, error) {
	parts := 0
	for _, b := range c.rest {
		if len(b) > 0 {
			c.part[parts].Base = &b[0]
			c.part[parts].SetLen(len(b))
			parts++
		}
	}
	c.sent.Iov = &c.part[0]
	c.sent.SetIovlen(parts)
	n, _, errno := unix.RawSyscall(unix.SYS_SENDMSG, uintptr(c.fd), uintptr(unsafe.Pointer(&c.sent)), unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL)
	c.part = [2]unix.Iovec{} // do not retain the body
	if errno != 0 {
		return 0, errno
	}
	return int(n), nil
}

// serve handles events of the connection.
func (c *Conn) serve(events uint32) {
	c.Lock()
	defer c.Unlock()
	defer c.recoverPanic()
	switch {
	case c.state == closed:
		return
	case c.state == connecting:
		c.connected()
		return
	case events&watchWrite != 0:
		c.writeOn()
	}
	if c.state == open && events&^watchWrite != 0 {
		c.read(events&watchEnds != 0)
	}
}

// writeOn writes the bytes that Send could not write.
func (c *Conn) writeOn() {
	done, err := c.write(c.rest[0], c.rest[1])
	if !done && err == nil {
		return
	}
	if again := c.loop.modify(c, watchRead); err == nil {
		err = again
	}
	if err != nil {
		c.forgetRest() // the peer may have sent a response: continue to read
		return
	}
	c.handler.Wrote()
}

// read reads once. The next wait reports the remaining bytes, if the buffer is full, or
// the end of the connection after the last bytes.
func (c *Conn) read(ends bool) {
	l := c.loop
	l.tempo.read(c)
	n, s, err := l.receiver.Receive(c.fd, l.buffer[:])
	switch {
	case errors.Is(err, unix.EAGAIN):
		return
	case err != nil:
		c.end(&net.OpError{Op: "read", Net: "tcp", Err: os.NewSyscallError("read", err)})
		return
	case n == 0:
		c.end(io.EOF)
		return
	}
	was := c.generation
	l.lags.Count(s)
	c.handler.Received(Read{At: l.clock.Offset(s.At), Lag: s.Lag, Kernel: s.Kernel, Bytes: l.buffer[:n]})
	if (ends || n == len(l.buffer)) && c.state == open && c.generation == was {
		if err := l.modify(c, c.watched()); err != nil {
			c.end(err)
		}
	}
}

// watched returns the events that the loop waits for.
func (c *Conn) watched() uint32 {
	if len(c.rest[0])+len(c.rest[1]) > 0 {
		return watchRead | watchWrite
	}
	return watchRead
}
