package transport

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"sync"
	"syscall"

	"aiperfd/internal/engine/allow"
)

// sources chooses the local addresses of connections to each server, in turn.
type sources struct {
	addrs []netip.Addr

	mu   sync.Mutex
	next map[netip.AddrPort]int // guarded by mu; connections so far. One count for all servers would
	// give each of them only a part of the addresses if servers take turns as well
}

// to returns the local address of the next connection to a server; the zero value = the
// system chooses. ok = false if no source address is of the same IP version.
func (s *sources) to(server netip.AddrPort) (from netip.Addr, ok bool) {
	if len(s.addrs) == 0 {
		return netip.Addr{}, true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.next == nil {
		s.next = map[netip.AddrPort]int{}
	}
	for range s.addrs {
		turn := s.next[server]
		s.next[server]++
		if a := s.addrs[turn%len(s.addrs)]; a.Is4() == server.Addr().Is4() {
			return a, true
		}
	}
	return netip.Addr{}, false
}

// from reports whether connections to a server can come from one of the source addresses,
// or the system chooses it.
func (o *Options) from(server netip.Addr) bool { return len(o.Sources) == 0 || o.sourcesTo(server) > 0 }

// sourcesTo returns the number of source addresses of the IP version of a server.
func (o *Options) sourcesTo(server netip.Addr) int {
	n := 0
	for _, a := range o.Sources {
		if a.Is4() == server.Is4() {
			n++
		}
	}
	return n
}

// LocalPorts returns how many connections to servers can be open at a time: one for each
// local port, source address, and address and port of a server, or at least enough. It looks
// names up unless each address alone is enough. ok = false if the number is not known.
func (o *Options) LocalPorts(ctx context.Context, targets []*url.URL, enough int) (n int, ok bool) {
	ports, ok := localPorts()
	if !ok || !o.direct() || ports >= enough {
		return ports, ok && o.direct()
	}
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(o.ConnectTimeout, DefaultConnectTimeout))
	defer cancel()
	counted := map[netip.AddrPort]bool{}
	for _, target := range targets {
		addrs, err := o.lookup(ctx, target.Hostname(), portOf(target))
		if err != nil {
			return 0, false // the connection explains it
		}
		for _, at := range addrs {
			if !counted[at] {
				counted[at] = true
				n += ports * max(1, o.sourcesTo(at.Addr()))
			}
		}
	}
	return n, true
}

// Resolve returns the addresses of a host name.
func (o *Options) Resolve(ctx context.Context, host string) ([]netip.Addr, error) {
	if o.Policy.Lookup != nil {
		return o.Policy.Lookup(ctx, host)
	}
	return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
}

// lookup returns the addresses of a server in the order in which they are tried: those
// of the wanted version for which there is a source address and that may be reached,
// IPv4 first.
func (o *Options) lookup(ctx context.Context, host, port string) ([]netip.AddrPort, error) {
	number, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return nil, fmt.Errorf("read port of %s: %w", host, err)
	}
	ip, err := netip.ParseAddr(host)
	ips := []netip.Addr{ip}
	if err != nil {
		if ips, err = o.Resolve(ctx, host); err != nil {
			return nil, err
		}
	}
	var addrs []netip.AddrPort
	var denied error
	for _, ip := range ips {
		ip = ip.Unmap()
		if !o.from(ip) || o.IPVersion != IPAny && (o.IPVersion == IPv4) != ip.Is4() {
			continue
		}
		at := netip.AddrPortFrom(ip, uint16(number))
		if err := o.Policy.Allow.Address(host, at); err != nil {
			denied = cmp.Or(denied, err)
			continue
		}
		addrs = append(addrs, at)
	}
	slices.SortStableFunc(addrs, func(a, b netip.AddrPort) int { return a.Addr().BitLen() - b.Addr().BitLen() })
	switch {
	case len(addrs) > 0:
	case denied != nil:
		return nil, denied
	default:
		return nil, &net.AddrError{Err: "no address of the wanted IP version", Addr: host}
	}
	return addrs, nil
}

// Denied returns why no connection to a server is allowed: all addresses to which its
// name leads now are denied. It is nil also if the name cannot be resolved. The server of a
// proxied request is the proxy.
func (o *Options) Denied(ctx context.Context, target *url.URL) error {
	if o.Policy.Allow == nil || o.Dial != nil || o.EnvProxy {
		return nil
	}
	if o.Proxy != nil {
		target = o.Proxy
	}
	if _, isSocket := o.socket(hostPort(target)); isSocket {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(o.ConnectTimeout, DefaultConnectTimeout))
	defer cancel()
	_, err := o.lookup(ctx, target.Hostname(), strconv.Itoa(int(allow.Port(target))))
	if denied, ok := errors.AsType[*allow.Denied](err); ok {
		return denied
	}
	return nil
}

// CheckSources returns an error that names the addresses that this machine does not have.
func CheckSources(addrs []netip.Addr) error {
	var problems []error
	for _, a := range addrs {
		ln, err := net.ListenTCP("tcp", net.TCPAddrFromAddrPort(netip.AddrPortFrom(a, 0)))
		switch {
		case err == nil:
			_ = ln.Close() // nothing was accepted
		case errors.Is(err, syscall.EADDRNOTAVAIL):
			problems = append(problems, fmt.Errorf("source address %s is not an address of this machine", a))
		default:
			problems = append(problems, fmt.Errorf("use source address %s: %w", a, err))
		}
	}
	return errors.Join(problems...)
}
