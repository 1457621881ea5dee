package transport

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// sharePorts makes the kernel choose the local port of a socket when it connects, so
// that connections to different servers can have the same one.
func sharePorts(_, _ string, c syscall.RawConn) error {
	var failed error
	err := c.Control(func(fd uintptr) {
		failed = unix.SetsockoptInt(int(fd), unix.IPPROTO_IP, unix.IP_BIND_ADDRESS_NO_PORT, 1)
	})
	if err != nil {
		return err
	}
	return failed
}
