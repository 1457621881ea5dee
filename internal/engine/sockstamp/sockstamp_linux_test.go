package sockstamp

import (
	"io"
	"net"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// The stamp is that of the arrival, however late the read is: it lies between
// the write and the moment just after it, although the read comes later.
func TestStampIsThatOfTheArrival(t *testing.T) {
	client, server := pair(t)
	c := New(client)
	if !c.Kernel() {
		t.Fatal("no kernel stamps on a TCP socket of Linux")
	}
	awaitStamps(t, c, server)
	reads := c.Reads()
	before := time.Now()
	if _, err := io.WriteString(server, "x"); err != nil {
		t.Fatal(err)
	}
	after := waitReadable(t, client)
	late := time.Now().Add(20 * time.Millisecond)
	for time.Now().Before(late) {
		runtime.Gosched() // the read is late by this much
	}
	if n, err := c.Read(make([]byte, 8)); n != 1 || err != nil {
		t.Fatalf("Read = %d, %v", n, err)
	}
	if at := c.Last(); at.Before(before) || at.After(after) {
		t.Errorf("stamp %v after the write began, want within [0, %v]", at.Sub(before), after.Sub(before))
	}
	if got := c.Reads() - reads; got != 1 {
		t.Errorf("reads = %d, want 1", got)
	}
}

// awaitStamps waits until packets carry stamps: if no other socket of the machine
// uses them, the kernel turns them on some time after it was requested.
func awaitStamps(t *testing.T, c *Conn, server io.Writer) {
	t.Helper()
	var lags Lags
	c.CountIn(&lags)
	for by := time.Now().Add(10 * time.Second); time.Now().Before(by); {
		if _, err := io.WriteString(server, "x"); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Read(make([]byte, 8)); err != nil {
			t.Fatal(err)
		}
		if lags.Counts().Kernel > 0 {
			return
		}
	}
	t.Fatal("no packet carried a stamp for 10 s")
}

// waitReadable waits until bytes have arrived and returns an instant after that.
func waitReadable(t *testing.T, c *net.TCPConn) time.Time {
	t.Helper()
	raw, err := c.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	var ready int
	if err := raw.Control(func(fd uintptr) {
		ready, err = unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 10_000)
	}); err != nil || ready != 1 {
		t.Fatalf("poll: %d ready, %v", ready, err)
	}
	return time.Now()
}
