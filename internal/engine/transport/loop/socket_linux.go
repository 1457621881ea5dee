//go:build amd64 || arm64

package loop

import (
	"net"
	"net/netip"
	"os"

	"golang.org/x/sys/unix"
)

// Keep-alive probes of TCP, in seconds: they find a peer that vanished during a
// long silence.
const (
	probeAfter = 60
	probeEvery = 30
)

// socket opens a socket that sends at once (TCP_NODELAY) and never blocks.
func socket(to netip.AddrPort) (int, error) {
	family := unix.AF_INET
	if !to.Addr().Is4() && !to.Addr().Is4In6() {
		family = unix.AF_INET6
	}
	fd, err := unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, unix.IPPROTO_TCP)
	if err != nil {
		return -1, os.NewSyscallError("socket", err)
	}
	for _, o := range [...]struct{ level, name, value int }{
		{unix.IPPROTO_TCP, unix.TCP_NODELAY, 1},
		{unix.SOL_SOCKET, unix.SO_KEEPALIVE, 1},
		{unix.IPPROTO_TCP, unix.TCP_KEEPIDLE, probeAfter},
		{unix.IPPROTO_TCP, unix.TCP_KEEPINTVL, probeEvery},
	} {
		if err := unix.SetsockoptInt(fd, o.level, o.name, o.value); err != nil {
			_ = unix.Close(fd)
			return -1, os.NewSyscallError("setsockopt", err)
		}
	}
	return fd, nil
}

// bind sets the local address of a socket; the zero value = the system chooses. The
// kernel chooses the port when the socket connects, so that connections to different
// servers can have the same one.
func bind(fd int, from netip.Addr) error {
	if !from.IsValid() {
		return nil
	}
	if err := unix.SetsockoptInt(fd, unix.IPPROTO_IP, unix.IP_BIND_ADDRESS_NO_PORT, 1); err != nil {
		return os.NewSyscallError("setsockopt", err)
	}
	var err error
	if from.Is4() {
		err = unix.Bind(fd, &unix.SockaddrInet4{Addr: from.As4()})
	} else {
		err = unix.Bind(fd, &unix.SockaddrInet6{Addr: from.As16()})
	}
	return os.NewSyscallError("bind", err)
}

func connect(fd int, to netip.AddrPort) error {
	addr := to.Addr().Unmap()
	if addr.Is4() {
		return unix.Connect(fd, &unix.SockaddrInet4{Port: int(to.Port()), Addr: addr.As4()})
	}
	return unix.Connect(fd, &unix.SockaddrInet6{Port: int(to.Port()), Addr: addr.As16()})
}

// dialError is the error that package net would return.
func dialError(to netip.AddrPort, err error) error {
	return &net.OpError{Op: "dial", Net: "tcp", Addr: net.TCPAddrFromAddrPort(to), Err: err}
}

// addrPort returns the address of a socket; the zero value = unknown.
func addrPort(a unix.Sockaddr) netip.AddrPort {
	switch a := a.(type) {
	case *unix.SockaddrInet4:
		return netip.AddrPortFrom(netip.AddrFrom4(a.Addr), uint16(a.Port))
	case *unix.SockaddrInet6:
		return netip.AddrPortFrom(netip.AddrFrom16(a.Addr).Unmap(), uint16(a.Port))
	}
	return netip.AddrPort{}
}
