package front

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// dueBatch is the number of due writes between two checks of the sockets.
	dueBatch = 64
	// readBatch is the number of sockets that are read between two checks for due writes.
	readBatch = 128
	// acceptPause is the pause between attempts to accept if there are too few descriptors.
	acceptPause = 50 * time.Millisecond
)

// Front is the server of the common case: one thread that reads the requests of all its
// connections and writes responses when they are due. A thread that sleeps in the kernel
// until the next due time is late by microseconds; timers of the runtime are late by
// hundreds. An event costs one system call and no goroutine switch. A connection with a
// request that is not plain is passed to net/http, with all bytes that were read, and
// stays there.
type Front struct {
	handler Handler
	opt     Options
	rest    *Handover // to net/http

	listener net.Listener
	accepts  int // the listener's descriptor, ours
	epoll    int
	alarm    int // an eventfd that wake signals
	buf      []byte
	oob      [64]byte

	conns    []*conn // by descriptor
	open     int
	due      timerHeap
	resumeAt int64 // when to accept again; 0 = accepting, or stopped for good

	draining atomic.Bool // no further requests
	killed   atomic.Bool // no further bytes
	done     chan struct{}

	mu     sync.Mutex
	closed bool // the descriptors are closed
}

// New takes over a TCP listener; it returns nil for another kind of listener.
// Connections with requests that are not plain are put into rest.
func New(ln net.Listener, h Handler, rest *Handover, opt Options) (*Front, error) {
	tcp, ok := ln.(*net.TCPListener)
	if !ok {
		return nil, nil
	}
	f := &Front{
		handler: h, opt: opt, rest: rest, listener: ln,
		accepts: -1, epoll: -1, alarm: -1, buf: make([]byte, 64<<10), done: make(chan struct{}),
	}
	if err := f.openDescriptors(tcp); err != nil {
		f.closeDescriptors()
		return nil, err
	}
	return f, nil
}

func (f *Front) openDescriptors(ln *net.TCPListener) error {
	raw, err := ln.SyscallConn()
	if err != nil {
		return err
	}
	var dupErr error
	if err := raw.Control(func(fd uintptr) {
		f.accepts, dupErr = unix.FcntlInt(fd, unix.F_DUPFD_CLOEXEC, 0)
	}); err != nil {
		return err
	}
	if dupErr != nil {
		return os.NewSyscallError("fcntl", dupErr)
	}
	// Connections inherit the option, so a request that arrives before its connection
	// is accepted has the time of its arrival, too.
	_ = unix.SetsockoptInt(f.accepts, unix.SOL_SOCKET, unix.SO_TIMESTAMPNS, 1)
	if f.epoll, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return os.NewSyscallError("epoll_create1", err)
	}
	if f.alarm, err = unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK); err != nil {
		return os.NewSyscallError("eventfd", err)
	}
	return errors.Join(f.watch(unix.EPOLL_CTL_ADD, f.accepts, unix.EPOLLIN), f.watch(unix.EPOLL_CTL_ADD, f.alarm, unix.EPOLLIN))
}

func (f *Front) closeDescriptors() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
	for _, fd := range []int{f.accepts, f.epoll, f.alarm} {
		if fd >= 0 {
			_ = unix.Close(fd)
		}
	}
}

// watch adds a descriptor to the epoll set, or changes its events.
func (f *Front) watch(op, fd int, events uint32) error {
	return os.NewSyscallError("epoll_ctl", unix.EpollCtl(f.epoll, op, fd, &unix.EpollEvent{Events: events, Fd: int32(fd)}))
}

// wake makes the thread check its flags and Options.Stopping.
func (f *Front) wake() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.closed {
		one := [8]byte{1}
		_, _ = unix.Write(f.alarm, one[:]) // if it is full, it is signalled already
	}
}

// Shutdown stops accepting, closes idle connections and waits for the busy ones
// until ctx ends.
func (f *Front) Shutdown(ctx context.Context) error {
	f.draining.Store(true)
	f.wake()
	select {
	case <-f.done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Close closes all connections and waits for the thread.
func (f *Front) Close() error {
	f.killed.Store(true)
	f.wake()
	<-f.done
	return nil
}

// Serve serves until Shutdown or Close and returns http.ErrServerClosed, or until it
// fails and returns the error.
func (f *Front) Serve() error {
	go func() { // ends with Serve
		select {
		case <-f.opt.Stopping:
			f.wake()
		case <-f.done:
		}
	}()
	defer close(f.done)
	defer f.closeDescriptors()
	defer f.closeConns()
	defer f.stopListening()
	// The thread is not unlocked: it ends with the goroutine, and its timer slack
	// with it. Without CAP_SYS_NICE the slack may only be lowered, which it is.
	runtime.LockOSThread()
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0)
	ready := make([]unix.EpollEvent, readBatch)
	for {
		if stop := f.handleCommands(); stop {
			return http.ErrServerClosed
		}
		if err := f.turn(ready); err != nil {
			return fmt.Errorf("wait for sockets: %w", err)
		}
	}
}

// handleCommands performs the requests of other goroutines; stop reports that the thread
// can end.
func (f *Front) handleCommands() (stop bool) {
	if f.killed.Load() {
		return true
	}
	select {
	case <-f.opt.Stopping:
		for _, c := range f.conns {
			if c != nil && c.x != nil {
				c.finish(Stopped)
			}
		}
	default:
	}
	if !f.draining.Load() {
		return false
	}
	f.stopListening()
	for _, c := range f.conns {
		if c != nil && !c.busy() {
			c.close()
		}
	}
	return f.open == 0
}

// turn performs the due writes, then waits for sockets until the next due time.
func (f *Front) turn(ready []unix.EpollEvent) error {
	wait := f.runDue()
	if wait != 0 {
		set := []unix.PollFd{{Fd: int32(f.epoll), Events: unix.POLLIN}}
		var limit *unix.Timespec
		if wait > 0 {
			t := unix.NsecToTimespec(wait)
			limit = &t
		}
		n, err := unix.Ppoll(set, limit, nil)
		if errors.Is(err, syscall.EINTR) || err == nil && n == 0 {
			return nil
		}
		if err != nil {
			return os.NewSyscallError("ppoll", err)
		}
	}
	n, err := unix.EpollWait(f.epoll, ready, 0)
	if errors.Is(err, syscall.EINTR) {
		return nil
	}
	if err != nil {
		return os.NewSyscallError("epoll_wait", err)
	}
	for i := range n {
		f.handle(int(ready[i].Fd), ready[i].Events)
	}
	return nil
}

// runDue performs up to dueBatch due writes and returns the nanoseconds to the next due
// time: 0 if more writes are due, negative if none is planned.
func (f *Front) runDue() int64 {
	for range dueBatch {
		c, at, ok := f.due.first()
		if !ok && f.resumeAt == 0 {
			return -1
		}
		now := f.opt.Now()
		if f.resumeAt > 0 && (!ok || f.resumeAt < at) {
			if f.resumeAt > now {
				return f.resumeAt - now
			}
			f.resumeAt = 0
			_ = f.watch(unix.EPOLL_CTL_ADD, f.accepts, unix.EPOLLIN)
			continue
		}
		if at > now {
			return at - now
		}
		c.tick()
	}
	return 0
}

func (f *Front) handle(fd int, events uint32) {
	switch fd {
	case f.accepts:
		f.accept()
	case f.alarm:
		var count [8]byte
		_, _ = unix.Read(f.alarm, count[:]) // to reset it
	default:
		// A connection may have been closed by an earlier event of the same batch.
		if c := f.conns[fd]; c != nil && events&unix.EPOLLOUT != 0 {
			c.writable()
		}
		if c := f.conns[fd]; c != nil && events&^unix.EPOLLOUT != 0 {
			c.readable()
		}
	}
}

// stopListening closes the listener.
func (f *Front) stopListening() {
	if f.accepts < 0 {
		return
	}
	f.resumeAt = 0
	_ = unix.Close(f.accepts) // also removes it from the epoll set
	f.accepts = -1
	_ = f.listener.Close() // the only error is that it is closed already
}

func (f *Front) stopAccepting() {
	_ = unix.EpollCtl(f.epoll, unix.EPOLL_CTL_DEL, f.accepts, nil) // it may not be in the set
}

// accept takes new connections, a few at a time.
func (f *Front) accept() {
	for range 16 {
		fd, _, err := unix.Accept4(f.accepts, unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC)
		switch {
		case err == nil:
			f.add(fd)
		case errors.Is(err, syscall.EINTR), errors.Is(err, syscall.ECONNABORTED):
		case errors.Is(err, syscall.EAGAIN):
			return
		default: // too few descriptors or too little memory
			f.stopAccepting()
			f.resumeAt = f.opt.Now() + int64(acceptPause)
			return
		}
	}
}

func (f *Front) add(fd int) {
	// Options that a socket refuses leave a slower connection, not a wrong one.
	_ = unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1)
	_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TIMESTAMPNS, 1)
	// Reno is always there and, unlike BBR, does not hold segments back by a timer,
	// behind the stamp of their write.
	_ = unix.SetsockoptString(fd, unix.IPPROTO_TCP, unix.TCP_CONGESTION, "reno")
	for len(f.conns) <= fd {
		f.conns = append(f.conns, nil)
	}
	c := &conn{f: f, fd: fd, slot: -1, wants: unix.EPOLLIN}
	c.w.send, c.w.now, c.w.last = c.send, f.opt.Now, f.draining.Load
	if f.watch(unix.EPOLL_CTL_ADD, fd, c.wants) != nil {
		_ = unix.Close(fd)
		return
	}
	f.conns[fd] = c
	f.open++
	f.due.push(c, f.opt.Now()+int64(f.opt.ReadHeader))
}

func (f *Front) closeConns() {
	for _, c := range f.conns {
		if c != nil {
			c.gone()
		}
	}
}
