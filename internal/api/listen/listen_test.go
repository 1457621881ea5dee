package listen

import (
	"errors"
	"net"
	"os"
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
