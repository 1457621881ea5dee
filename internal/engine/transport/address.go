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
	"sync/atomic"
	"syscall"

	"aiperfd/internal/engine/allow"
)

// sources chooses the local addresses of connections, in turn.
type sources struct {
	addrs []netip.Addr
	next  atomic.Uint32
}

// to returns the local address of a connection to a server; the zero value = the system
// chooses. ok = false if no source address is of the same IP version.
func (s *sources) to(server netip.Addr) (from netip.Addr, ok bool) {
	if len(s.addrs) == 0 {
		return netip.Addr{}, true
	}
	turn := int(s.next.Add(1) - 1)
	for i := range s.addrs {
		if a := s.addrs[(turn+i)%len(s.addrs)]; a.Is4() == server.Is4() {
			return a, true
		}
	}
	return netip.Addr{}, false
}

// resolve returns the addresses of a host name.
func (o *Options) resolve(ctx context.Context, host string) ([]netip.Addr, error) {
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
		if ips, err = o.resolve(ctx, host); err != nil {
			return nil, err
		}
	}
	chosen := sources{addrs: o.Sources}
	var addrs []netip.AddrPort
	var denied error
	for _, ip := range ips {
		ip = ip.Unmap()
		_, reachable := chosen.to(ip)
		if !reachable || o.IPVersion != IPAny && (o.IPVersion == IPv4) != ip.Is4() {
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
