package transport

import (
	"fmt"
	"os"
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

// localPorts returns how many ports the kernel chooses from for connections; ok = false if
// that is not known.
func localPorts() (n int, ok bool) {
	text, err := os.ReadFile("/proc/sys/net/ipv4/ip_local_port_range")
	if err != nil {
		return 0, false
	}
	var first, last int
	if _, err := fmt.Sscan(string(text), &first, &last); err != nil || last < first {
		return 0, false
	}
	return last - first + 1, true
}
