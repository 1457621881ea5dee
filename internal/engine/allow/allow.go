// Package allow decides to which servers the daemon may connect for documents that it
// was sent: by patterns that the operator lists, and by a fixed set of addresses that
// are never reached unless they are listed literally.
package allow

import (
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// Options configure a [List].
type Options struct {
	// Patterns are the servers that may be reached.
	Patterns Patterns
	// Open allows every server without patterns. Otherwise none may be reached then.
	Open bool
	// Own are the addresses on which this process listens. An unspecified address
	// stands for all addresses of this machine.
	Own []netip.AddrPort
}

// List decides which servers may be reached. Its methods are safe for concurrent use;
// nil allows everything.
type List struct {
	o        Options
	reserved []reservation
	embeds   embeddings
}

// New returns a list.
func New(o Options) *List { return &List{o, reservations(), newEmbeddings()} }

// Closed reports whether no server may be reached.
func (l *List) Closed() bool { return l != nil && len(l.o.Patterns) == 0 && !l.o.Open }

// Control checks the address of a connection before it is made, as [net.Dialer] calls it.
func (l *List) Control(_, address string, _ syscall.RawConn) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return err
	}
	return l.Address(at.Addr().String(), at)
}

// Denied is the error for a server that may not be reached.
type Denied struct {
	Target string // host and port, or the path of a socket
	Reason string
}

// Error implements error.
func (d *Denied) Error() string { return d.Target + " is not an allowed target: " + d.Reason }

// The reasons of [Denied].
const (
	unlisted = "no pattern of serve --allow-target matches it"
	noList   = "the daemon listens on a network address and has no serve --allow-target"
	literal  = "; serve --allow-target must list it literally"
)

// URL checks the server of an http, https or socks5 URL before its name is resolved. A
// name that only the patterns of addresses could allow passes: [List.Address] decides. The
// error is *Denied.
func (l *List) URL(u *url.URL) error {
	if l == nil {
		return nil
	}
	host, at := u.Hostname(), Address(u)
	if complaint := spelling(host); complaint != "" {
		return &Denied{at, complaint}
	}
	port := Port(u)
	if ip, err := netip.ParseAddr(host); err == nil {
		return l.Address(host, netip.AddrPortFrom(ip, port))
	}
	name := normal(host)
	switch {
	case metadataName(name) && !l.o.Patterns.literal(name, port):
		return &Denied{at, "it is a metadata service" + literal}
	case l.Closed():
		return &Denied{at, noList}
	case len(l.o.Patterns) > 0 && !l.o.Patterns.Name(name, port) && !l.o.Patterns.addresses(port):
		return &Denied{at, unlisted}
	}
	return nil
}

// Address checks the address of a connection; host is the name or address in the URL,
// which has led to it. The error is *Denied.
func (l *List) Address(host string, at netip.AddrPort) error {
	if l == nil {
		return nil
	}
	shown, subject := at.String(), "it"
	if normal(host) != at.Addr().WithZone("").String() {
		shown = net.JoinHostPort(host, strconv.Itoa(int(at.Port())))
		subject = at.Addr().String() + ", to which it leads,"
	}
	ip := at.Addr().WithZone("").Unmap()
	listed := slices.ContainsFunc(l.o.Patterns, func(p Pattern) bool { return p.address(ip, at.Port()) })
	for _, candidate := range append(l.embeds.in(ip), ip) {
		r := l.reservedFor(candidate)
		if r == nil || l.o.Patterns.lists(ip, at.Port(), r.prefix) || l.o.Patterns.lists(candidate, at.Port(), r.prefix) {
			continue
		}
		return &Denied{shown, subject + " is " + r.what + literal}
	}
	switch {
	case l.own(ip, at.Port()) && !l.o.Patterns.listsOwn(ip, at.Port()):
		return &Denied{shown, subject + " is this daemon" + literal + ", with its port"}
	case l.Closed():
		return &Denied{shown, noList}
	case len(l.o.Patterns) > 0 && !listed && !l.o.Patterns.Name(normal(host), at.Port()):
		return &Denied{shown, unlisted}
	}
	return nil
}

// Socket checks the path of a Unix socket, without links. The error is *Denied.
func (l *List) Socket(path string) error {
	switch {
	case l == nil, l.o.Patterns.Socket(path):
		return nil
	case len(l.o.Patterns) > 0:
		return &Denied{path, unlisted}
	case !l.o.Open:
		return &Denied{path, noList}
	}
	return nil
}

// own reports whether this process listens at an address.
func (l *List) own(ip netip.Addr, port uint16) bool {
	return slices.ContainsFunc(l.o.Own, func(own netip.AddrPort) bool {
		if own.Port() != port {
			return false
		}
		listens := own.Addr().WithZone("").Unmap()
		return listens == ip || listens.IsUnspecified() && (ip.IsLoopback() || slices.Contains(machine(), ip))
	})
}

// machine returns the addresses of the interfaces of this machine.
func machine() (all []netip.Addr) {
	interfaces, err := net.InterfaceAddrs()
	if err != nil {
		return nil
	}
	for _, a := range interfaces {
		if p, err := netip.ParsePrefix(a.String()); err == nil {
			all = append(all, p.Addr().WithZone("").Unmap())
		}
	}
	return all
}

// spelling returns why a host is not accepted, whatever the patterns are; "" = it is. A
// resolver can read other spellings of an address than we do.
func spelling(host string) string {
	if _, err := netip.ParseAddr(host); err == nil {
		return ""
	}
	for _, r := range host {
		if r <= ' ' || r > '~' || r == '%' {
			return "write the host in ASCII, an international name as xn--…"
		}
	}
	labels := strings.Split(strings.TrimSuffix(host, "."), ".")
	if last := strings.ToLower(labels[len(labels)-1]); number(last) {
		return "the host ends in a number; write an address as 192.0.2.1"
	}
	return ""
}

// number reports whether a label is decimal or hexadecimal, as in the WHATWG URL
// standard, section 3.5: a host whose last label is a number is an IPv4 address.
func number(label string) bool {
	if hex, ok := strings.CutPrefix(label, "0x"); ok {
		return strings.Trim(hex, "0123456789abcdef") == ""
	}
	return label != "" && strings.Trim(label, "0123456789") == ""
}

// normal returns the form of a host in which patterns are compared.
func normal(host string) string { return strings.ToLower(strings.TrimSuffix(host, ".")) }

// Address returns the host and the port of a URL.
func Address(u *url.URL) string {
	return net.JoinHostPort(u.Hostname(), strconv.Itoa(int(Port(u))))
}

// Port returns the port of a URL; 0 if it is none.
func Port(u *url.URL) uint16 {
	if text := u.Port(); text != "" {
		port, _ := strconv.ParseUint(text, 10, 16) // 0 matches patterns of any port only
		return uint16(port)
	}
	switch u.Scheme {
	case "https":
		return 443
	case "socks5", "socks5h":
		return 1080
	}
	return 80
}
