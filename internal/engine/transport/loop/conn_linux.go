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

// Handler takes what happens on a connection. Its methods are called with the
// connection locked, mostly by the loop's goroutine, and must not block: all other
// connections wait for them. They may use the connection's methods.
type Handler interface {
	// Connected says how an attempt to connect that took a while ended. After an
	// error the connection is closed and may try again.
	Connected(err error)
	// Wrote says that what Send had to leave is written too.
	Wrote()
	// Received takes what arrived. Its bytes are the loop's buffer: the handler
	// may change them and must not keep them.
	Received(r Read)
	// Ended says that the peer closed the connection (io.EOF), that it broke, or
	// that the loop ended (ErrClosed). The connection is closed.
	Ended(err error)
	// Expired says that a time for which Arm was called has come, or an earlier
	// one: the handler looks at its deadlines and calls Arm for the next.
	Expired(now time.Duration)
}

// Read is one read of a connection.
type Read struct {
	At     time.Duration // when the bytes arrived, on the loop's clock
	Lag    time.Duration // how much later the loop had them; 0 unless Kernel
	Kernel bool          // At is the kernel's word
	Bytes  []byte        // never empty
}

// state is what a connection is doing.
type state uint8

const (
	closed state = iota
	connecting
	open
)

// The kernel says once that something came (EPOLLET): for many connections it is
// dear to be asked about each of them again. EPOLL_CTL_MOD makes it look again.
const (
	watchRead  = unix.EPOLLIN | unix.EPOLLRDHUP | unix.EPOLLET
	watchWrite = unix.EPOLLOUT
	watchEnds  = unix.EPOLLRDHUP | unix.EPOLLHUP | unix.EPOLLERR
)

// Conn is one connection of a loop at a time. All its methods but Lock need its
// lock, which the loop holds while it calls the handler. The lock is never held
// while anything waits.
type Conn struct {
	// What every event touches: 64 bytes.
	sync.Mutex
	state      state
	kernel     bool
	window     int32 // of the loop's tempo, in which it was last read
	generation int32
	fd         int // valid unless closed
	loop       *Loop
	handler    Handler
	hot        unsafe.Pointer // what handler touches first; nil = unknown; atomic

	rest [2][]byte // what could not be written yet
	sent unix.Msghdr
	part [2]unix.Iovec

	due  time.Duration // when the loop looks at it; 0 = never; guarded by loop.mu
	slot int           // in loop.timers; guarded by loop.mu
}

// NewConn returns a closed connection; see [Conn.Connect].
func (l *Loop) NewConn(h Handler) *Conn { return &Conn{loop: l, handler: h} }

// Handle gives the connection to another handler. hot is memory that it touches
// first when something happens, nil if that does not matter: where thousands of
// connections take turns it is cold each time, and the loop has it fetched while
// it is busy with others.
func (c *Conn) Handle(h Handler, hot unsafe.Pointer) {
	c.handler = h
	atomic.StorePointer(&c.hot, hot)
}

// Closed reports whether there is no socket.
func (c *Conn) Closed() bool { return c.state == closed }

// Kernel reports whether the kernel was asked for receive times and did not
// refuse.
func (c *Conn) Kernel() bool { return c.kernel }

// Arm makes the loop call Expired at an offset of its clock, or earlier. Of
// several calls the earliest counts, until Expired was called.
func (c *Conn) Arm(at time.Duration) {
	if c.state != closed {
		c.loop.arm(c, at)
	}
}

// Connect starts to connect a closed connection. It returns true if that is done
// already; otherwise Connected will be called. The error is a *net.OpError as
// package net would return it.
func (c *Conn) Connect(to netip.AddrPort) (bool, error) {
	if c.loop.closed() {
		return false, dialError(to, ErrClosed)
	}
	fd, err := socket(to)
	if err != nil {
		return false, dialError(to, err)
	}
	c.kernel = sockstamp.Enable(fd) == nil
	err = connect(fd, to)
	if errors.Is(err, unix.EINPROGRESS) {
		err = connect(fd, to) // on this host the handshake is over by now
	}
	done := err == nil || errors.Is(err, unix.EISCONN)
	switch {
	case done:
	case errors.Is(err, unix.EALREADY), errors.Is(err, unix.EINTR): // either way it goes on in the background
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

// connected ends an attempt to connect.
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

// Shut closes the connection without a call of the handler.
func (c *Conn) Shut() {
	if c.state == closed {
		return
	}
	c.loop.remove(c)
	_ = unix.Close(c.fd)
	c.state, c.rest = closed, [2][]byte{}
}

// end closes the connection and tells the handler.
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

// Send writes head and body in one system call. It returns false if something is
// left: then the loop writes the rest and calls Wrote, and the bytes must stay as
// they are until then. After an error the connection stays open, because the peer
// may have answered before it stopped reading.
func (c *Conn) Send(head, body []byte) (bool, error) {
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
			c.rest = [2][]byte{}
			return false, &net.OpError{Op: "write", Net: "tcp", Err: os.NewSyscallError("write", err)}
		}
		fromHead := min(n, len(c.rest[0]))
		c.rest[0], c.rest[1] = c.rest[0][fromHead:], c.rest[1][n-fromHead:]
		if len(c.rest[0])+len(c.rest[1]) == 0 {
			c.rest = [2][]byte{}
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
	c.part = [2]unix.Iovec{} // keeps no body alive
	if errno != 0 {
		return 0, errno
	}
	return int(n), nil
}

// serve takes events of the connection.
func (c *Conn) serve(events uint32) {
	c.Lock()
	defer c.Unlock()
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

// writeOn writes what Send had to leave.
func (c *Conn) writeOn() {
	done, err := c.Send(c.rest[0], c.rest[1])
	if !done && err == nil {
		return
	}
	if again := c.loop.modify(c, watchRead); err == nil {
		err = again
	}
	if err != nil {
		c.rest = [2][]byte{} // what the peer still says, reads will show
		return
	}
	c.handler.Wrote()
}

// read reads once. What may be left then, the next wait reports: the rest of what
// filled the buffer, or the end that stands behind the last bytes.
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

// watched returns what the loop waits for.
func (c *Conn) watched() uint32 {
	if len(c.rest[0])+len(c.rest[1]) > 0 {
		return watchRead | watchWrite
	}
	return watchRead
}
