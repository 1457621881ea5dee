//go:build amd64 || arm64

package loop

import (
	"bytes"
	"errors"
	"io"
	"net"
	"net/netip"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/sockstamp"
)

// recorder is a handler that sends what happens to a channel each.
type recorder struct {
	conn     *Conn
	outcomes chan error
	wrote    chan struct{}
	reads    chan Read
	ended    chan error
	expired  chan time.Duration
}

func (r *recorder) Connected(err error)       { r.outcomes <- err }
func (r *recorder) Wrote()                    { r.wrote <- struct{}{} }
func (r *recorder) Received(read Read)        { r.reads <- read }
func (r *recorder) Ended(err error)           { r.ended <- err }
func (r *recorder) Expired(now time.Duration) { r.expired <- now }

// within receives from a channel, for ten seconds at most.
func within[T any](t *testing.T, ch <-chan T, what string) T {
	t.Helper()
	select {
	case v := <-ch:
		return v
	case <-time.After(10 * time.Second):
		t.Fatalf("%s: nothing for 10 s", what)
	}
	panic("unreachable")
}

func start(t *testing.T) (*Loop, bench.Clock, *sockstamp.Lags) {
	t.Helper()
	clock, lags := bench.NewClock(), &sockstamp.Lags{}
	l, err := New(clock, lags)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Close)
	return l, clock, lags
}

// dial connects a recorder to a new server and returns the server's end.
func dial(t *testing.T, l *Loop) (*recorder, *net.TCPConn) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	r := connect1(t, l, ln.Addr())
	server, err := ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Close() })
	return r, server.(*net.TCPConn)
}

func connect1(t *testing.T, l *Loop, to net.Addr) *recorder {
	t.Helper()
	r := &recorder{
		outcomes: make(chan error, 1), wrote: make(chan struct{}, 1), reads: make(chan Read, 16),
		ended: make(chan error, 1), expired: make(chan time.Duration, 16),
	}
	r.conn = l.NewConn(r)
	r.conn.Lock()
	done, err := r.conn.Connect(netip.MustParseAddrPort(to.String()), netip.Addr{})
	r.conn.Unlock()
	if err == nil && !done {
		err = within(t, r.outcomes, "connect")
	}
	if err != nil {
		r.ended <- err
	}
	return r
}

func TestBytesAndTheirStamps(t *testing.T) {
	l, clock, lags := start(t)
	r, server := dial(t, l)
	before := clock.Now()
	io.WriteString(server, "hello")
	read := within(t, r.reads, "read")
	if string(read.Bytes) != "hello" || read.At < before || read.At+read.Lag > clock.Now() {
		t.Errorf("read %q at %v, lag %v; want hello between %v and %v", read.Bytes, read.At, read.Lag, before, clock.Now())
	}
	if c := lags.Counts(); c.Kernel+c.Read != 1 || (c.Kernel == 1) != read.Kernel {
		t.Errorf("counted %d and %d reads, read says kernel %v", c.Kernel, c.Read, read.Kernel)
	}
	r.conn.Lock()
	sent, err := r.conn.Send([]byte("head"), []byte("body"))
	r.conn.Unlock()
	got := make([]byte, 8)
	if _, readErr := io.ReadFull(server, got); !sent || err != nil || readErr != nil || string(got) != "headbody" {
		t.Errorf("Send = %v, %v; the server read %q, %v", sent, err, got, readErr)
	}
	server.Close()
	if err := within(t, r.ended, "end"); !errors.Is(err, io.EOF) || l.Open() != 0 {
		t.Errorf("ended with %v, %d connections open; want EOF, 0", err, l.Open())
	}
}

// What fills the buffer more than once, with the end of the stream right behind
// it, arrives whole although the kernel reports all of it once.
func TestEverythingUntilTheEnd(t *testing.T) {
	for _, size := range []int{1, readBuffer - 1, readBuffer, readBuffer + 1, 3 * readBuffer} {
		l, _, _ := start(t)
		r, server := dial(t, l)
		r.conn.Lock() // the loop comes to it when everything is there
		if err := server.SetWriteBuffer(size); err != nil {
			t.Fatal(err)
		}
		go func() {
			_, _ = server.Write(make([]byte, size))
			_ = server.CloseWrite()
		}()
		r.conn.Unlock()
		got := 0
		for got < size {
			got += len(within(t, r.reads, "read").Bytes)
		}
		if err := within(t, r.ended, "end"); !errors.Is(err, io.EOF) || got != size {
			t.Errorf("%d bytes and %v, want %d and %v", got, err, size, io.EOF)
		}
	}
}

func TestReset(t *testing.T) {
	l, _, _ := start(t)
	r, server := dial(t, l)
	server.SetLinger(0)
	server.Close()
	if err := within(t, r.ended, "end"); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("ended with %v, want connection reset", err)
	}
}

func TestRefused(t *testing.T) {
	l, _, _ := start(t)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ln.Close()
	r := connect1(t, l, ln.Addr())
	var op *net.OpError
	if err := within(t, r.ended, "refusal"); !errors.Is(err, syscall.ECONNREFUSED) || !errors.As(err, &op) || op.Op != "dial" || l.Open() != 0 {
		t.Errorf("Connect = %v, %d open; want dial refused, 0", err, l.Open())
	}
}

func TestRestOfALargeSend(t *testing.T) {
	l, _, _ := start(t)
	r, server := dial(t, l)
	body := make([]byte, 16<<20)
	r.conn.Lock()
	sent, err := r.conn.Send([]byte("x"), body)
	r.conn.Unlock()
	if sent || err != nil {
		t.Fatalf("Send = %v, %v; want something left", sent, err)
	}
	if n, err := io.ReadFull(server, make([]byte, 1+len(body))); err != nil {
		t.Fatalf("the server read %d bytes, %v", n, err)
	}
	within(t, r.wrote, "Wrote")
}

func TestDeadlines(t *testing.T) {
	l, clock, _ := start(t)
	late, _ := dial(t, l)
	soon, _ := dial(t, l)
	arm := func(r *recorder, at time.Duration) {
		r.conn.Lock()
		r.conn.Arm(at)
		r.conn.Unlock()
	}
	arm(late, clock.Now()+time.Hour)
	at := clock.Now() + 5*time.Millisecond
	arm(soon, at+time.Hour)
	arm(soon, at) // earlier than what the loop sleeps for
	arm(soon, at+time.Minute)
	if now := within(t, soon.expired, "deadline"); now < at {
		t.Errorf("expired at %v, armed for %v", now, at)
	}
	soon.conn.Lock()
	soon.conn.Arm(clock.Now())
	soon.conn.Shut()
	soon.conn.Arm(clock.Now())
	soon.conn.Unlock()
	arm(late, clock.Now())
	within(t, late.expired, "second deadline")
	if len(soon.expired) != 0 {
		t.Error("a closed connection expired")
	}
}

func TestClose(t *testing.T) {
	l, _, _ := start(t)
	r, _ := dial(t, l)
	l.Close()
	if err := within(t, r.ended, "end"); !errors.Is(err, ErrClosed) || l.Open() != 0 {
		t.Errorf("ended with %v, %d open; want ErrClosed, 0", err, l.Open())
	}
	l.Close() // does nothing
	late := l.NewConn(r)
	late.Lock()
	defer late.Unlock()
	if _, err := late.Connect(netip.MustParseAddrPort("127.0.0.1:9"), netip.Addr{}); !errors.Is(err, ErrClosed) || !late.Closed() {
		t.Errorf("Connect = %v, want ErrClosed", err)
	}
}

// An event that was taken for a connection must not reach the one that has its
// descriptor now.
func TestEventsOfOldConnectionsAreDropped(t *testing.T) {
	l := &Loop{descriptors: descriptors{alarm: -1}, conns: make([]*Conn, 8)}
	l.conns[5] = &Conn{fd: 5, generation: 2}
	l.events[0] = unix.EpollEvent{Fd: 5, Pad: 1}
	l.events[1] = unix.EpollEvent{Fd: 5, Pad: 2}
	l.events[2] = unix.EpollEvent{Fd: 6, Pad: 1}
	l.events[3] = unix.EpollEvent{Fd: 99, Pad: 1}
	l.resolve(4)
	for i, want := range []*Conn{nil, l.conns[5], nil, nil} {
		if l.ready[i] != want {
			t.Errorf("event %d went to %v, want %v", i, l.ready[i], want)
		}
	}
}

func TestReadsAllocateNothing(t *testing.T) {
	l, _, _ := start(t)
	r, server := dial(t, l)
	out := make([]byte, 300)
	if n := testing.AllocsPerRun(100, func() {
		if _, err := server.Write(out); err != nil {
			t.Fatal(err)
		}
		<-r.reads
	}); n != 0 {
		t.Errorf("%v allocations a read, want none", n)
	}
}

// A body that is read while it is written arrives whole, whether or not the peer reads it at once, and so does one
// that is shorter than a chunk.
func TestBodyFromAReader(t *testing.T) {
	for _, size := range []int{0, 1, chunkBytes, chunkBytes + 1, 16 << 20} {
		l, _, _ := start(t)
		r, server := dial(t, l)
		body := make([]byte, size)
		for i := range body {
			body[i] = byte(i / 7)
		}
		r.conn.Lock()
		sent, err := r.conn.SendFrom([]byte("head"), bytes.NewReader(body))
		r.conn.Unlock()
		if err != nil || sent == (size > 1<<20) {
			t.Fatalf("SendFrom(%d bytes) = %v, %v", size, sent, err)
		}
		got := make([]byte, len("head")+size)
		if _, err := io.ReadFull(server, got); err != nil || string(got[:4]) != "head" || !bytes.Equal(got[4:], body) {
			t.Errorf("%d bytes arrived otherwise: %v", size, err)
		}
		if !sent {
			within(t, r.wrote, "Wrote")
		}
		r.conn.Lock()
		if r.conn.chunk != nil || r.conn.body != nil {
			t.Errorf("after %d bytes the connection holds memory of the body", size)
		}
		r.conn.Unlock()
	}
}

// A connection that is closed while a body is written lets go of it.
func TestBodyOfAClosedConnection(t *testing.T) {
	l, _, _ := start(t)
	r, _ := dial(t, l)
	r.conn.Lock()
	defer r.conn.Unlock()
	sent, err := r.conn.SendFrom(nil, bytes.NewReader(make([]byte, 16<<20)))
	if sent || err != nil || r.conn.chunk == nil {
		t.Fatalf("SendFrom = %v, %v; want something left", sent, err)
	}
	if r.conn.Shut(); r.conn.chunk != nil || r.conn.body != nil {
		t.Error("the closed connection holds memory of the body")
	}
}
