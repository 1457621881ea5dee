package allow

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// Pattern matches servers: host[:port], *.suffix[:port], *[:port], an address or
// CIDR[:port], or unix:path. The zero Pattern matches nothing.
type Pattern struct {
	host   string       // normal; empty = none
	suffix string       // of names, with its leading dot; empty = none
	any    bool         // every name and address
	prefix netip.Prefix // of addresses; invalid = none
	socket string       // path of a Unix socket; empty = none
	port   uint16       // 0 = any
}

// grammar is what [Parse] accepts, for messages.
const grammar = "host[:port], *.suffix[:port], *[:port], an IP address or CIDR[:port] (IPv6 in brackets before a port), or unix:/path"

// Parse reads a pattern.
func Parse(text string) (Pattern, error) {
	wrong := func(why string) (Pattern, error) {
		return Pattern{}, fmt.Errorf("%q: %s; accepted are %s", text, why, grammar)
	}
	if path, ok := strings.CutPrefix(text, "unix:"); ok {
		if !strings.HasPrefix(path, "/") {
			return wrong("the path of a socket begins with /")
		}
		return Pattern{socket: path}, nil
	}
	host, port, why := split(text)
	if why != "" {
		return wrong(why)
	}
	p := Pattern{port: port}
	if host == "*" {
		p.any = true
		return p, nil
	}
	if prefix, ok := parsePrefix(host); ok {
		if prefix != prefix.Masked() {
			return wrong(fmt.Sprintf("%s has bits after its length; write %s", prefix, prefix.Masked()))
		}
		p.prefix = prefix
		return p, nil
	}
	if strings.Contains(host, "://") || strings.ContainsAny(host, "/@?#[]: \t") {
		return wrong("not a host, an address or a range")
	}
	name, isSuffix := strings.CutPrefix(normal(host), "*.")
	complaint := spelling(name)
	switch {
	case name == "" || strings.Contains(name, "*") || strings.HasPrefix(name, ".") || strings.Contains(name, ".."):
		return wrong("not a host name")
	case complaint != "":
		return wrong(complaint)
	case isSuffix:
		p.suffix = "." + name
	default:
		p.host = name
	}
	return p, nil
}

// parsePrefix reads an address or a range of addresses.
func parsePrefix(text string) (netip.Prefix, bool) {
	if ip, err := netip.ParseAddr(text); err == nil {
		ip = ip.WithZone("").Unmap()
		return netip.PrefixFrom(ip, ip.BitLen()), true
	}
	prefix, err := netip.ParsePrefix(text)
	return prefix, err == nil && !prefix.Addr().Is4In6()
}

// split cuts the port from a pattern. why is what is wrong with it; "" = nothing.
func split(text string) (host string, port uint16, why string) {
	host = text
	number, given := "", false
	if rest, ok := strings.CutPrefix(text, "["); ok {
		inside, after, closed := strings.Cut(rest, "]")
		if !closed {
			return "", 0, "a bracket is not closed"
		}
		if _, isIP := parsePrefix(inside); !isIP {
			return "", 0, "brackets are for IPv6 addresses"
		}
		host = inside
		if length, port, isRange := strings.Cut(after, ":"); strings.HasPrefix(after, "/") { // [fd00::]/8:443
			host, number, given = inside+length, port, isRange
		} else if number, given = strings.CutPrefix(after, ":"); after != "" && !given {
			return "", 0, "a port follows a colon"
		}
	} else if strings.Count(text, ":") == 1 {
		host, number, given = strings.Cut(text, ":")
	}
	if !given {
		return host, 0, ""
	}
	n, err := strconv.ParseUint(number, 10, 16)
	if err != nil || n == 0 {
		return "", 0, "the port must be from 1 to 65535"
	}
	return host, uint16(n), ""
}

// Patterns are alternatives.
type Patterns []Pattern

// ParseAll reads patterns; the error names all that are wrong.
func ParseAll(texts []string) (Patterns, error) {
	var all Patterns
	var wrong []string
	for _, text := range texts {
		p, err := Parse(strings.TrimSpace(text))
		if err != nil {
			wrong = append(wrong, err.Error())
		}
		all = append(all, p)
	}
	if wrong != nil {
		return nil, fmt.Errorf("%s", strings.Join(wrong, "; "))
	}
	return all, nil
}

// Host reports whether a pattern matches a host, a name or an address, as it is written.
func (all Patterns) Host(host string, port uint16) bool {
	if ip, err := netip.ParseAddr(host); err == nil {
		ip = ip.WithZone("").Unmap()
		return slices.ContainsFunc(all, func(p Pattern) bool { return p.address(ip, port) })
	}
	return spelling(host) == "" && all.Name(normal(host), port)
}

// Name reports whether a pattern matches a name, in lower case and without a dot at its
// end.
func (all Patterns) Name(name string, port uint16) bool {
	return slices.ContainsFunc(all, func(p Pattern) bool {
		named := p.any || p.host != "" && p.host == name || p.suffix != "" && strings.HasSuffix(name, p.suffix)
		return named && p.at(port)
	})
}

// Socket reports whether a pattern matches the path of a socket.
func (all Patterns) Socket(path string) bool {
	return slices.ContainsFunc(all, func(p Pattern) bool { return p.socket != "" && p.socket == path })
}

// literal reports whether a name is listed as such.
func (all Patterns) literal(name string, port uint16) bool {
	return slices.ContainsFunc(all, func(p Pattern) bool { return p.host == name && p.at(port) })
}

// addresses reports whether there is a pattern of addresses with a port.
func (all Patterns) addresses(port uint16) bool {
	return slices.ContainsFunc(all, func(p Pattern) bool { return p.prefix.IsValid() && p.at(port) })
}

// lists reports whether an address in a reserved range is listed literally: by a
// pattern that lies in this range.
func (all Patterns) lists(ip netip.Addr, port uint16, reserved netip.Prefix) bool {
	return slices.ContainsFunc(all, func(p Pattern) bool {
		inside := p.prefix.IsValid() && p.prefix.Bits() >= reserved.Bits() && reserved.Contains(p.prefix.Addr())
		return inside && p.address(ip, port)
	})
}

// listsOwn reports whether an address is listed with its port.
func (all Patterns) listsOwn(ip netip.Addr, port uint16) bool {
	return slices.ContainsFunc(all, func(p Pattern) bool {
		return p.prefix.IsValid() && p.prefix.IsSingleIP() && p.prefix.Addr() == ip && p.port == port
	})
}

// address reports whether a pattern matches an address.
func (p Pattern) address(ip netip.Addr, port uint16) bool {
	return (p.any || p.prefix.IsValid() && p.prefix.Contains(ip)) && p.at(port)
}

// at reports whether a pattern is for a port.
func (p Pattern) at(port uint16) bool { return p.port == 0 || p.port == port }
