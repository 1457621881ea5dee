package app

import (
	"context"
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
