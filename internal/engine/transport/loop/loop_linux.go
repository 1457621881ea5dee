//go:build amd64 || arm64

package loop

import (
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/sockstamp"
)

const (
	readBuffer = 64 << 10               // bytes of one read; one buffer for all connections
	batch      = 256                    // maximum number of events per system call
	briefly    = 200 * time.Microsecond // how long a busy loop waits without informing the runtime
)

// ErrClosed is the error of connections of a loop that was closed.
var ErrClosed = errors.New("event loop is closed")

// Loop reads all its connections in one goroutine. It is safe for concurrent use.
//
// Locks: a connection's lock is taken before the loop's, never after it.
type Loop struct {
	clock bench.Clock
	lags  *sockstamp.Lags
	descriptors
	done chan struct{}

	mu          sync.Mutex
	conns       []*Conn       // by file descriptor; guarded by mu
	open        int           // connections in conns; guarded by mu
	generation  int32         // of the next connection; guarded by mu
	timers      timers        // guarded by mu
	sleepsUntil time.Duration // 0 = the loop is awake; guarded by mu
	closing     bool          // guarded by mu

	sends   atomic.Int64 // calls of Conn.Send
	outputs sync.Pool    // of *[]byte, for encrypted bytes
	chunks  sync.Pool    // of *[chunkBytes]byte, for parts of bodies

	// Only the loop's goroutine uses these.
	tempo    tempo
	busy     bool          // the last wait returned events
	pause    unix.Timespec // of the last system call
	receiver sockstamp.Receiver
	buffer   [readBuffer]byte
	plain    []byte // decrypted bytes; nil = there was no TLS
	events   [batch]unix.EpollEvent
	ready    [batch]*Conn
}

// descriptors are the file descriptors of a loop; -1 = none.
type descriptors struct {
	epoll int
	alarm int // eventfd(2) that ends a wait
	stamp int // socket that makes the kernel take receive timestamps
}

// closeDescriptors closes the descriptors.
func (d *descriptors) closeDescriptors() {
	for _, fd := range []int{d.epoll, d.alarm, d.stamp} {
		if fd >= 0 {
			_ = unix.Close(fd)
		}
	}
}

// New starts a loop whose timestamps are offsets of clock, and which counts its reads
// in lags. It must be closed.
func New(clock bench.Clock, lags *sockstamp.Lags) (*Loop, error) {
	l := &Loop{clock: clock, lags: lags, descriptors: descriptors{-1, -1, -1}, done: make(chan struct{})}
	l.outputs.New = func() any { return new([]byte) }
	l.chunks.New = func() any { return new([chunkBytes]byte) }
	if err := l.init(); err != nil {
		l.closeDescriptors()
		return nil, fmt.Errorf("start event loop: %w", err)
	}
	go l.run()
	return l, nil
}

func (l *Loop) init() (err error) {
	if l.epoll, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return os.NewSyscallError("epoll_create1", err)
	}
	if l.alarm, err = unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK); err != nil {
		return os.NewSyscallError("eventfd", err)
	}
	event := unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(l.alarm)}
	if err := unix.EpollCtl(l.epoll, unix.EPOLL_CTL_ADD, l.alarm, &event); err != nil {
		return os.NewSyscallError("epoll_ctl", err)
	}
	// The kernel takes receive timestamps only while a socket has enabled them, and
	// starts with a delay. Without this socket it would stop while there are no
	// connections.
	if fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0); err == nil {
		l.stamp = fd
		_ = sockstamp.Enable(fd) // otherwise timestamps are taken after reads, and marked as such
	}
	return nil
}

// Close ends all connections with [ErrClosed] and waits for the loop to end.
func (l *Loop) Close() {
	l.mu.Lock()
	if !l.closing {
		l.closing = true
		l.wake()
	}
	l.mu.Unlock()
	<-l.done
}

// closed reports whether Close was called.
func (l *Loop) closed() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.closing
}

// wake ends the loop's wait. Call with mu held.
func (l *Loop) wake() {
	one := [8]byte{1} // not zero in either byte order
	_, _ = unix.Write(l.alarm, one[:])
}

func (l *Loop) run() {
	defer close(l.done)
	defer l.closeDescriptors()
	for {
		n := l.wait()
		l.resolve(n)
		for i, c := range l.ready[:n] {
			if c != nil {
				c.serve(l.events[i].Events)
				l.ready[i] = nil
			}
		}
		now := l.clock.Now()
		l.tempo.count(now, n, l.sends.Load())
		l.expire(now)
		if l.ended() {
			return
		}
	}
}

// plaintext returns the buffer for decrypted bytes.
func (l *Loop) plaintext() []byte {
	if l.plain == nil {
		l.plain = make([]byte, plainBuffer)
	}
	return l.plain
}

// wait sleeps until there are events, or a deadline, and returns their number.
func (l *Loop) wait() int {
	if l.tempo.streaming {
		if n := l.sleepAndPoll(); n > 0 {
			return n
		}
	}
	if l.busy {
		if n := l.pollBriefly(); n > 0 {
			return n
		}
		l.busy = false
	}
	n, err := unix.EpollWait(l.epoll, l.events[:], l.untilNext())
	l.busy = n > 0
	l.mu.Lock()
	l.sleepsUntil = 0
	l.mu.Unlock()
	if err != nil {
		return 0 // EINTR; other errors cannot occur
	}
	return n
}

// sleepAndPoll sleeps for a short time and returns the number of events after that, so
// that many streams share one wait. The kernel's timestamps do not change while a
// packet waits, unless the next packet of the same stream arrives before it is read;
// then both have the time of the later one. The runtime is not informed of the system
// calls: it would hand the processor to another thread and take it back, which costs
// more than the calls.
func (l *Loop) sleepAndPoll() int {
	l.pause = unix.NsecToTimespec(int64(l.tempo.pause))
	_, _, _ = unix.RawSyscall(unix.SYS_NANOSLEEP, uintptr(unsafe.Pointer(&l.pause)), 0, 0)
	n, _, errno := unix.RawSyscall6(unix.SYS_EPOLL_PWAIT, uintptr(l.epoll), uintptr(unsafe.Pointer(&l.events)), batch, 0, 0, 0)
	if errno != 0 {
		return 0
	}
	return int(n)
}

// pollBriefly waits for a short time for events, also without informing the runtime.
// Deadlines are missed by at most this time.
func (l *Loop) pollBriefly() int {
	l.pause = unix.NsecToTimespec(int64(briefly))
	n, _, errno := unix.RawSyscall6(unix.SYS_EPOLL_PWAIT2, uintptr(l.epoll), uintptr(unsafe.Pointer(&l.events)), batch,
		uintptr(unsafe.Pointer(&l.pause)), 0, 0)
	if errno != 0 {
		return 0 // EINTR, or a kernel before 5.11
	}
	return int(n)
}

// untilNext returns how many milliseconds the loop may sleep; -1 = no limit.
func (l *Loop) untilNext() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sleepsUntil = math.MaxInt64
	if l.closing {
		return 0
	}
	if len(l.timers) == 0 {
		return -1
	}
	l.sleepsUntil = l.timers[0].due
	left := (l.sleepsUntil - l.clock.Now() + time.Millisecond - 1) / time.Millisecond
	return int(min(max(left, 0), math.MaxInt32))
}

// resolve finds the connections of the first n events. An event of a connection that
// was closed in the meantime has none, even if its descriptor is in use again.
func (l *Loop) resolve(n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range l.events[:n] {
		fd, generation := int(l.events[i].Fd), l.events[i].Pad
		switch {
		case fd == l.alarm:
			var count [8]byte
			_, _ = unix.Read(l.alarm, count[:])
		case fd < len(l.conns) && l.conns[fd] != nil && l.conns[fd].generation == generation:
			l.ready[i] = l.conns[fd]
			if hot := atomic.LoadPointer(&l.ready[i].hot); hot != nil {
				prefetch(hot)
			}
		}
	}
}

// ended closes all connections if the loop is closing, and reports whether it is.
func (l *Loop) ended() bool {
	l.mu.Lock()
	closing := l.closing
	var left []*Conn
	if closing {
		left = append(left, l.conns...)
	}
	l.mu.Unlock()
	for _, c := range left {
		if c != nil {
			c.abandon()
		}
	}
	return closing
}

// abandon ends the connection because the loop ends.
func (c *Conn) abandon() {
	c.Lock()
	defer c.Unlock()
	defer c.recoverPanic()
	c.end(ErrClosed)
}

// add registers a connection's socket for events.
func (l *Loop) add(c *Conn, events uint32) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closing {
		return ErrClosed
	}
	l.generation++
	c.generation = l.generation
	if grow := c.fd + 1 - len(l.conns); grow > 0 {
		l.conns = append(l.conns, make([]*Conn, grow)...)
	}
	l.conns[c.fd] = c
	event := unix.EpollEvent{Events: events, Fd: int32(c.fd), Pad: c.generation}
	if err := unix.EpollCtl(l.epoll, unix.EPOLL_CTL_ADD, c.fd, &event); err != nil {
		l.conns[c.fd] = nil
		return os.NewSyscallError("epoll_ctl", err)
	}
	l.open++
	return nil
}

// modify changes the events of a connection.
func (l *Loop) modify(c *Conn, events uint32) error {
	event := unix.EpollEvent{Events: events, Fd: int32(c.fd), Pad: c.generation}
	return os.NewSyscallError("epoll_ctl", unix.EpollCtl(l.epoll, unix.EPOLL_CTL_MOD, c.fd, &event))
}

// remove removes a connection.
func (l *Loop) remove(c *Conn) {
	l.disarm(c)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.conns[c.fd] == c {
		l.conns[c.fd] = nil
		l.open--
	}
	_ = unix.EpollCtl(l.epoll, unix.EPOLL_CTL_DEL, c.fd, nil)
}

// Each calls do with the handler of each open connection, whose lock it holds; of a
// connection with TLS, with the handler of its plaintext.
func (l *Loop) Each(do func(h Handler)) {
	l.mu.Lock()
	conns := slices.Clone(l.conns)
	l.mu.Unlock()
	for _, c := range conns {
		if c != nil {
			c.lend(do)
		}
	}
}

// lend calls do with the handler, if the connection is open.
func (c *Conn) lend(do func(h Handler)) {
	c.Lock()
	defer c.Unlock()
	if c.state == closed {
		return
	}
	if s, ok := c.handler.(*Secure); ok {
		do(s.handler)
		return
	}
	do(c.handler)
}

// Open returns the number of open connections.
func (l *Loop) Open() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.open
}
