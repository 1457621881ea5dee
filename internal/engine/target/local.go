package target

import (
	"net"
	"net/netip"
	"os"
	"strings"

	"aiperfd/internal/engine/plan"
)

// Local returns the address of the first target on this machine; empty if there is
// none. It does not resolve names.
func Local(targets []plan.Target) string { return local(targets, machine()) }

// machine returns the host name and the interface addresses of this machine.
func machine() (names []string) {
	if name, err := os.Hostname(); err == nil {
		names = append(names, name)
	}
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		return names
	}
	for _, a := range addresses {
		if p, err := netip.ParsePrefix(a.String()); err == nil {
			names = append(names, p.Addr().String())
		}
	}
	return names
}

// local is Local on a machine with the given names and addresses.
func local(targets []plan.Target, names []string) string {
	for i := range targets {
		t := &targets[i]
		host, _, err := net.SplitHostPort(t.Address)
		if err != nil { // without a port
			host = strings.Trim(t.Address, "[]")
		}
		host = strings.ToLower(host)
		if strings.HasPrefix(host, "/") || strings.HasPrefix(host, "@") { // a socket
			return t.Address
		}
		if host == "localhost" || strings.HasSuffix(host, ".localhost") {
			return t.Address
		}
		ip, err := netip.ParseAddr(host)
		if err == nil && (ip.IsLoopback() || ip.IsUnspecified()) {
			return t.Address
		}
		for _, name := range names {
			if strings.EqualFold(name, host) || (err == nil && name == ip.Unmap().String()) {
				return t.Address
			}
		}
	}
	return ""
}
