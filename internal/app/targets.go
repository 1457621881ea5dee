package app

import (
	"net"
	"net/netip"

	"aiperfd/internal/api/access"
	"aiperfd/internal/engine/allow"
)

// TargetOptions say which servers submitted documents may reach. Without patterns they
// may reach every server if the API listens on a loopback address, and none otherwise.
// Metadata services, link-local addresses and the like are reached only if they are listed
// literally, and so is the daemon itself.
type TargetOptions struct{ Patterns allow.Patterns }

// list returns the servers that runs of a daemon may reach.
func (o TargetOptions) list(ln net.Listener) *allow.List {
	return allow.New(allow.Options{Patterns: o.Patterns, Open: access.Loopback(HostOf(ln)), Own: own(ln)})
}

// downloads returns the hosts from which a daemon may download: all that are not reserved.
// The operator chooses the hub, which redirects to other hosts.
func downloads(ln net.Listener) *allow.List {
	return allow.New(allow.Options{Open: true, Own: own(ln)})
}

// own returns the address of a listener; none of a Unix socket.
func own(ln net.Listener) []netip.AddrPort {
	if at, ok := ln.Addr().(*net.TCPAddr); ok {
		return []netip.AddrPort{at.AddrPort()}
	}
	return nil
}

// HostOf returns the host that a listener is bound to. It is localhost for a Unix socket,
// which only this machine can reach.
func HostOf(ln net.Listener) string {
	if at, ok := ln.Addr().(*net.TCPAddr); ok {
		return at.AddrPort().Addr().Unmap().String()
	}
	return "localhost"
}
