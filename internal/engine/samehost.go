package engine

import (
	"net"
	"net/netip"
	"os"
	"strings"

	"aiperfd/internal/engine/plan"
)

// machine lists the names and addresses of this machine, as far as they are known
// without asking anybody.
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

// sameHost returns the place of the first target on this machine, which has the
// given names; empty if there is none. Names are not resolved.
func sameHost(targets []plan.Target, names []string) (place string) {
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
