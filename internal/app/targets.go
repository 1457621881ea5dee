package app

import (
	"net"
	"net/netip"

	"aiperfd/internal/engine/allow"
)

// TargetOptions say which servers submitted documents may reach. Without patterns they
// may reach every server if the API listens on a loopback address, and none otherwise.
// Metadata services, link-local addresses and the like are reached only if they are listed
// literally, and so is the daemon itself.
type TargetOptions struct{ Patterns allow.Patterns }

// list returns the servers that runs of a daemon may reach.
func (o TargetOptions) list(ln net.Listener) *allow.List {
	own := ln.Addr().(*net.TCPAddr).AddrPort()
	return allow.New(allow.Options{Patterns: o.Patterns, Open: own.Addr().Unmap().IsLoopback(), Own: []netip.AddrPort{own}})
}

// downloads returns the hosts from which a daemon may download: all that are not reserved.
// The operator chooses the hub, which redirects to other hosts.
func downloads(ln net.Listener) *allow.List {
	return allow.New(allow.Options{Open: true, Own: []netip.AddrPort{ln.Addr().(*net.TCPAddr).AddrPort()}})
}
