package app

import (
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
)

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
