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
	"time"

	"aiperfd/internal/engine/allow"
)

// IPVersion restricts the addresses of servers.
type IPVersion uint8

// The versions.
const (
	IPAny IPVersion = iota // both; IPv4 is tried first
	IPv4
	IPv6
)

// fallbackDelay is the time after which the next of several addresses is tried. The
// last one has all the remaining time. RFC 8305, section 5, recommends 250 ms; package
// net waits 300 ms.
const fallbackDelay = 300 * time.Millisecond

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

// dialDirect connects to the first address that answers, from the next of the source addresses.
func (s *stdlib) dialDirect(ctx context.Context, network, addr string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil || network != "tcp" {
		return s.dialer(netip.Addr{}).DialContext(ctx, network, addr)
	}
	addrs, err := s.opts.lookup(ctx, host, port)
	for i, to := range addrs {
		from, _ := s.sources.to(to.Addr()) // lookup leaves out what has none
		one, cancel := ctx, context.CancelFunc(func() {})
		if i < len(addrs)-1 {
			one, cancel = context.WithTimeout(ctx, fallbackDelay)
		}
		var c net.Conn
		c, err = s.dialer(from).DialContext(one, network, to.String())
		cancel()
		if err == nil {
			return c, nil
		}
	}
	return nil, err
}

// dialer returns a dialer from a local address; the zero value = the system chooses.
func (*stdlib) dialer(from netip.Addr) *net.Dialer {
	d := &net.Dialer{KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: 60 * time.Second, Interval: 30 * time.Second}}
	if from.IsValid() {
		d.LocalAddr, d.Control = net.TCPAddrFromAddrPort(netip.AddrPortFrom(from, 0)), sharePorts
	}
	return d
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
