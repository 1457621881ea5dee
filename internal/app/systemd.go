package app

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"time"
)

// notifyLimit bounds the time to hand a message to systemd.
const notifyLimit = time.Second

// Notifier tells systemd about the state of this process. A nil Notifier tells nobody. Safe
// for concurrent use.
type Notifier struct {
	socket   string
	watchdog time.Duration // 0 = systemd expects no sign of life
}

// NewNotifier returns the notifier for the environment that systemd has set, and removes
// it; nil = systemd expects no messages.
func NewNotifier() (*Notifier, error) {
	n := &Notifier{socket: os.Getenv("NOTIFY_SOCKET")}
	if n.socket == "" {
		return nil, nil //nolint:nilnil // documented above
	}
	text, pid := os.Getenv("WATCHDOG_USEC"), os.Getenv("WATCHDOG_PID")
	if text != "" && (pid == "" || pid == strconv.Itoa(os.Getpid())) {
		usec, err := strconv.ParseInt(text, 10, 64)
		if err != nil || usec < 1 {
			return nil, fmt.Errorf("WATCHDOG_USEC is %q, must be a number of microseconds above 0", text)
		}
		n.watchdog = time.Duration(usec) * time.Microsecond
	}
	for _, name := range []string{"NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"} {
		if err := os.Unsetenv(name); err != nil {
			return nil, fmt.Errorf("read the environment of systemd: %w", err)
		}
	}
	return n, nil
}

// Ready reports that the service has started, or has read its files again.
func (n *Notifier) Ready() error { return n.send("READY=1\nSTATUS=ready") }

// Reloading reports that the service reads its files again. Ready must follow.
func (n *Notifier) Reloading() error { return n.send("RELOADING=1\n" + monotonic()) }

// Stopping reports that the service ends.
func (n *Notifier) Stopping() error {
	return n.send("STOPPING=1\nSTATUS=active runs are ending")
}

// Watchdog sends signs of life until ctx ends, twice as often as systemd expects them, as
// long as healthy returns true. It returns at once if systemd expects none. The error is
// that of the first message that could not be sent.
func (n *Notifier) Watchdog(ctx context.Context, healthy func() bool) error {
	if n == nil || n.watchdog == 0 {
		return nil
	}
	tick := time.NewTicker(n.watchdog / 2)
	defer tick.Stop()
	for {
		if healthy() {
			if err := n.send("WATCHDOG=1"); err != nil {
				return err
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// send sends one message.
func (n *Notifier) send(message string) error {
	if n == nil {
		return nil
	}
	conn, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: n.socket, Net: "unixgram"})
	if err == nil {
		defer conn.Close()
		err = conn.SetWriteDeadline(time.Now().Add(notifyLimit))
	}
	if err == nil {
		_, err = conn.Write([]byte(message))
	}
	if err != nil {
		return fmt.Errorf("notify systemd: %w", err)
	}
	return nil
}

// firstDescriptor is the number of the first socket that systemd passes.
const firstDescriptor = 3

// SystemdListener returns the socket that systemd has opened for this process, TCP or Unix, and
// removes the variables that describe it from the environment; nil = there is none. It must
// be called once.
func SystemdListener() (net.Listener, error) {
	pid, count := os.Getenv("LISTEN_PID"), os.Getenv("LISTEN_FDS")
	if pid != strconv.Itoa(os.Getpid()) || count == "" {
		return nil, nil //nolint:nilnil // documented above
	}
	for _, name := range []string{"LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"} {
		if err := os.Unsetenv(name); err != nil {
			return nil, fmt.Errorf("take the socket of systemd: %w", err)
		}
	}
	if count != "1" {
		return nil, fmt.Errorf("take the socket of systemd: LISTEN_FDS is %q, must be 1: the socket unit must have one ListenStream", count)
	}
	return listenerOf(firstDescriptor)
}

// listenerOf makes a listener of an open descriptor, which it closes.
func listenerOf(fd uintptr) (net.Listener, error) {
	f := os.NewFile(fd, "socket of systemd")
	if f == nil {
		return nil, errors.New("take the socket of systemd: the descriptor is not valid")
	}
	defer f.Close() // the listener has a copy
	l, err := net.FileListener(f)
	if err != nil {
		return nil, fmt.Errorf("take the socket of systemd: it must be a ListenStream: %w", err)
	}
	switch l := l.(type) {
	case *net.TCPListener:
	case *net.UnixListener:
		l.SetUnlinkOnClose(false) // the socket unit owns the file
	default:
		l.Close()
		return nil, fmt.Errorf("take the socket of systemd: %s is not supported; use TCP or a Unix socket", l.Addr().Network())
	}
	return l, nil
}
