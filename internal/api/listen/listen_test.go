package listen

import (
	"errors"
	"net"
	"net/http"
	"net/netip"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"aiperfd/internal/engine/memnet"
)

// scarce is a listener of a process that may open few files: it accepts only while
// descriptors are left.
type scarce struct {
	net.Listener
	kept *descriptors
	free int // descriptors that are free without those that are kept
}

// Accept implements net.Listener.
func (s *scarce) Accept() (net.Conn, error) {
	if len(s.kept.files) == kept && s.free <= 0 {
		return nil, &net.OpError{Op: "accept", Err: os.NewSyscallError("accept4", syscall.EMFILE)}
	}
	return s.Listener.Accept()
}

// If no descriptor is left, one that was kept is used, for a probe.
func TestNoDescriptors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := memnet.Listen()
		inner := &scarce{Listener: network}
		l := New(inner, 10)
		inner.kept = &l.kept
		if _, err := network.DialContext(t.Context(), "tcp", "h:1"); err != nil {
			t.Fatal(err)
		}
		c, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		if got := c.(*conn); !got.spare || len(l.kept.files) != kept-1 {
			t.Errorf("spare = %v with %d descriptors left, want true with %d", got.spare, len(l.kept.files), kept-1)
		}
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
		if len(l.kept.files) != kept {
			t.Errorf("%d descriptors are kept after the probe, want %d", len(l.kept.files), kept)
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		if l.kept.fill(); len(l.kept.files) != 0 {
			t.Errorf("%d descriptors are kept after Close", len(l.kept.files))
		}
	})
}

// fails is a listener whose calls have the given errors, one after the other.
type fails struct {
	net.Listener
	errs []error
}

// Accept implements net.Listener.
func (f *fails) Accept() (net.Conn, error) {
	err := f.errs[0]
	f.errs = f.errs[1:]
	return nil, err
}

// Accept does not give up while files are scarce, and returns every other error.
func TestScarceForLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		errs := make([]error, kept+100)
		for i := range errs {
			errs[i] = syscall.EMFILE
		}
		l := New(&fails{errs: append(errs, net.ErrClosed)}, 10)
		defer l.kept.close()
		start := time.Now()
		if _, err := l.Accept(); !errors.Is(err, net.ErrClosed) {
			t.Errorf("Accept = %v, want the last error", err)
		}
		if took := time.Since(start); took == 0 || took > time.Second {
			t.Errorf("Accept tried for %v", took)
		}
	})
}

// from is a connection from an address.
type from struct {
	net.Conn
	addr   string
	closed *[]string
}

// RemoteAddr implements net.Conn.
func (f from) RemoteAddr() net.Addr { return net.TCPAddrFromAddrPort(netip.MustParseAddrPort(f.addr)) }

// Close implements net.Conn.
func (f from) Close() error {
	*f.closed = append(*f.closed, f.addr)
	return nil
}

// queue is a listener that accepts connections of a list.
type queue struct {
	net.Listener
	conns []net.Conn
}

// Accept implements net.Listener.
func (q *queue) Accept() (net.Conn, error) {
	c := q.conns[0]
	q.conns = q.conns[1:]
	return c, nil
}

// The connection that gives way is the oldest one of the address that has the most.
func TestWhoGivesWay(t *testing.T) {
	var closed []string
	q := &queue{}
	l := New(q, 4)
	defer l.kept.close()
	accept := func(addr string, s http.ConnState) net.Conn {
		t.Helper()
		q.conns = append(q.conns, from{addr: addr, closed: &closed})
		c, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		l.ConnState(c, s)
		return c
	}
	accept("10.0.0.1:1", http.StateNew)
	accept("10.0.0.2:1", http.StateNew)
	busy := accept("10.0.0.2:2", http.StateActive)
	accept("10.0.0.2:3", http.StateNew)
	for i, step := range []struct {
		addr  string
		state http.ConnState
		want  string // closed so far
	}{
		{"10.0.0.3:1", http.StateNew, "10.0.0.2:1"},               // the second address had two that waited
		{"10.0.0.3:2", http.StateActive, "10.0.0.2:1 10.0.0.1:1"}, // each had one: the oldest
		{"10.0.0.3:3", http.StateActive, "10.0.0.2:1 10.0.0.1:1 10.0.0.2:3"},
	} {
		accept(step.addr, step.state)
		if got := strings.Join(closed, " "); got != step.want {
			t.Errorf("step %d: closed %s, want %s", i, got, step.want)
		}
	}
	l.ConnState(busy, http.StateIdle) // and now waits; the oldest waiter is 10.0.0.3:1
	accept("10.0.0.4:1", http.StateActive)
	if got := closed[len(closed)-1]; got != "10.0.0.3:1" {
		t.Errorf("closed %s, want 10.0.0.3:1", got)
	}
	busy.Close()
	if got := len(l.open); got != 3 {
		t.Errorf("%d connections are open, want 3", got)
	}
}

// A client that does not read its response gives way, at the earliest after unreadAfter.
func TestUnread(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := memnet.Listen()
		l := New(network, 2)
		defer l.Close()
		accept := func() *conn {
			if _, err := network.DialContext(t.Context(), "tcp", "h:1"); err != nil {
				t.Fatal(err)
			}
			c, err := l.Accept()
			if err != nil {
				t.Fatal(err)
			}
			l.ConnState(c, http.StateActive)
			return c.(*conn)
		}
		quick, stuck := accept(), accept()
		done := make(chan error)
		go func() {
			var err error
			for err == nil {
				_, err = stuck.Write(make([]byte, 64<<10))
			}
			done <- err
		}()
		if _, err := quick.Write([]byte("x")); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if early := accept(); !early.spare {
			t.Error("the client that does not read gave way at once")
		}
		time.Sleep(unreadAfter)
		if late := accept(); late.spare {
			t.Error("the client that does not read keeps its place")
		}
		if err := <-done; err == nil {
			t.Error("the write goes on")
		}
		if _, err := quick.Write([]byte("x")); err != nil {
			t.Errorf("the other client was closed: %v", err)
		}
	})
}
