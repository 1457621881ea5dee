package app

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

// manager is the end of the notify socket that belongs to systemd.
type manager struct {
	t    *testing.T
	conn *net.UnixConn
}

// supervise sets the environment of a service that sends messages to the manager.
func supervise(t *testing.T, watchdog string) *manager {
	t.Helper()
	path := filepath.Join(t.TempDir(), "notify")
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	t.Setenv("NOTIFY_SOCKET", path)
	t.Setenv("WATCHDOG_USEC", watchdog)
	t.Setenv("WATCHDOG_PID", strconv.Itoa(os.Getpid()))
	return &manager{t: t, conn: conn}
}

// received returns the messages that have come. It does not wait.
func (m *manager) received() (out []string) {
	m.t.Helper()
	raw, err := m.conn.SyscallConn()
	if err != nil {
		m.t.Fatal(err)
	}
	buffer := make([]byte, 1024)
	for {
		n := -1
		if err := raw.Read(func(fd uintptr) bool {
			got, _, err := unix.Recvfrom(int(fd), buffer, unix.MSG_DONTWAIT)
			if err == nil {
				n = got
			}
			return true
		}); err != nil {
			m.t.Fatal(err)
		}
		if n < 0 {
			return out
		}
		out = append(out, string(buffer[:n]))
	}
}

func TestNotifier(t *testing.T) {
	m := supervise(t, "")
	n, err := NewNotifier()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"} {
		if value, ok := os.LookupEnv(name); ok {
			t.Errorf("%s is still %q: programs that this one starts would inherit it", name, value)
		}
	}
	for _, send := range []func() error{n.Ready, n.Reloading, n.Ready, n.Stopping} {
		if err := send(); err != nil {
			t.Error(err)
		}
	}
	if err := n.Watchdog(t.Context(), func() bool { return true }); err != nil { // nobody expects signs of life
		t.Error(err)
	}
	got := m.received()
	if len(got) > 1 {
		kind, at, _ := strings.Cut(got[1], "\n")
		usec, err := strconv.ParseInt(strings.TrimPrefix(at, "MONOTONIC_USEC="), 10, 64)
		if err != nil || usec <= 0 {
			t.Errorf("the message %q has no time", got[1])
		}
		got[1] = kind
	}
	want := []string{"READY=1\nSTATUS=ready", "RELOADING=1", "READY=1\nSTATUS=ready", "STOPPING=1\nSTATUS=active runs are ending"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
	m.conn.Close()
	if err := n.Ready(); err == nil || !strings.HasPrefix(err.Error(), "notify systemd: ") {
		t.Errorf("Ready without a manager = %v, want an error", err)
	}
}

func TestNotifierEnvironment(t *testing.T) {
	for _, tt := range []struct {
		name, socket, usec, pid string
		want                    time.Duration // -1 = no notifier
		err                     string
	}{
		{"nobody supervises", "", "1000000", "", -1, ""},
		{"no watchdog", "/run/n", "", "", 0, ""},
		{"watchdog", "/run/n", "30000000", "", 30 * time.Second, ""},
		{"of another process", "/run/n", "30000000", "1", 0, ""},
		{"no number", "/run/n", "soon", "", 0, `WATCHDOG_USEC is "soon"`},
		{"zero", "/run/n", "0", "", 0, `WATCHDOG_USEC is "0"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Setenv("NOTIFY_SOCKET", tt.socket)
			t.Setenv("WATCHDOG_USEC", tt.usec)
			t.Setenv("WATCHDOG_PID", tt.pid)
			n, err := NewNotifier()
			switch {
			case tt.err != "":
				if err == nil || !strings.Contains(err.Error(), tt.err) {
					t.Errorf("NewNotifier = %v, want an error with %q", err, tt.err)
				}
			case err != nil:
				t.Error(err)
			case tt.want < 0:
				if n != nil || n.Ready() != nil {
					t.Errorf("NewNotifier = %+v, want nil, which tells nobody", n)
				}
			case n == nil || n.watchdog != tt.want:
				t.Errorf("NewNotifier = %+v, want a watchdog of %v", n, tt.want)
			}
		})
	}
}

// Signs of life are sent twice as often as systemd expects them, and only of a healthy
// service.
func TestWatchdog(t *testing.T) {
	m := supervise(t, "10000000")
	n, err := NewNotifier()
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		var healthy atomic.Bool
		healthy.Store(true)
		ended := make(chan error, 1)
		go func() { ended <- n.Watchdog(ctx, healthy.Load) }()
		count := func(what string, want int) {
			t.Helper()
			time.Sleep(20*time.Second - time.Millisecond)
			synctest.Wait()
			got := m.received()
			if len(got) != want || strings.Trim(strings.Join(got, " "), "WATCHDOG=1 ") != "" {
				t.Errorf("%s: %q in 20 s, want %d signs of life", what, got, want)
			}
			time.Sleep(time.Millisecond)
			synctest.Wait()
		}
		count("healthy", 4)
		healthy.Store(false)
		m.received() // the one of this instant
		count("failed", 0)
		healthy.Store(true)
		count("healthy again", 3)
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

func TestListenerEnvironment(t *testing.T) {
	own := strconv.Itoa(os.Getpid())
	for _, tt := range []struct{ name, pid, count, err string }{
		{"no socket", "", "", ""},
		{"of another process", "1", "1", ""},
		{"two sockets", own, "2", `LISTEN_FDS is "2", must be 1`},
		{"none", own, "0", `LISTEN_FDS is "0", must be 1`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Setenv("LISTEN_PID", tt.pid)
			t.Setenv("LISTEN_FDS", tt.count)
			l, err := SystemdListener()
			if l != nil || (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
				t.Errorf("Listener = %v, %v; want nil and the error %q", l, err, tt.err)
			}
		})
	}
}

func TestListener(t *testing.T) {
	path := filepath.Join(t.TempDir(), "api.sock")
	for _, address := range [][2]string{{"tcp", "127.0.0.1:0"}, {"unix", path}} {
		first, err := net.Listen(address[0], address[1])
		if err != nil {
			t.Fatal(err)
		}
		l, err := listenerOf(descriptor(t, first.(interface{ File() (*os.File, error) })))
		if err != nil {
			t.Fatal(err)
		}
		conn, err := net.Dial(address[0], first.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		if accepted, err := l.Accept(); err != nil {
			t.Errorf("%s: %v", address[0], err)
		} else {
			accepted.Close()
		}
		conn.Close()
		l.Close()
		if _, err := os.Stat(path); address[0] == "unix" && err != nil {
			t.Errorf("the socket unit owns the file of the socket: %v", err)
		}
		first.Close()
	}
	packets, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer packets.Close()
	if l, err := listenerOf(descriptor(t, packets.(*net.UDPConn))); err == nil || !strings.Contains(err.Error(), "must be a ListenStream") {
		t.Errorf("listener of UDP = %v, %v; want an error", l, err)
	}
}

// descriptor returns a copy of the descriptor of a socket, which listener closes.
func descriptor(t *testing.T, socket interface{ File() (*os.File, error) }) uintptr {
	t.Helper()
	f, err := socket.File()
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	fd, err := unix.Dup(int(f.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	return uintptr(fd)
}
