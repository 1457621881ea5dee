package allow

import "net/netip"

// reservation is a range of addresses that must be listed literally.
type reservation struct {
	prefix netip.Prefix
	what   string
}

// reservations returns the ranges, the most specific first.
func reservations() []reservation {
	const metadata = "a metadata service"
	all := []reservation{}
	for _, row := range [...]struct{ prefix, what string }{
		{"169.254.169.254/32", metadata}, // AWS, Azure, Google and others
		{"169.254.170.2/32", metadata},   // AWS ECS
		{"100.100.100.200/32", metadata}, // Alibaba
		{"168.63.129.16/32", metadata},   // Azure
		{"192.0.0.192/32", metadata},     // Oracle
		{"fd00:ec2::254/128", metadata},  // AWS
		{"fd00:ec2::23/128", metadata},   // AWS EKS
		{"fd20:ce::254/128", metadata},   // Google
		{"169.254.0.0/16", "a link-local address"},
		{"fe80::/10", "a link-local address"},
		{"0.0.0.0/8", "the unspecified address"},
		{"::/128", "the unspecified address"},
		{"255.255.255.255/32", "the broadcast address"},
		{"224.0.0.0/4", "a multicast address"},
		{"ff00::/8", "a multicast address"},
	} {
		all = append(all, reservation{netip.MustParsePrefix(row.prefix), row.what})
	}
	return all
}

// reservedFor returns the range that an address is in; nil = none.
func (l *List) reservedFor(ip netip.Addr) *reservation {
	for i := range l.reserved {
		if r := &l.reserved[i]; r.prefix.Contains(ip) {
			return r
		}
	}
	return nil
}

// metadataName reports whether a name is that of a metadata service.
func metadataName(name string) bool {
	return name == "metadata.google.internal" || name == "metadata.goog" || name == "instance-data.ec2.internal"
}

// embeddings are the ranges of IPv6 addresses that contain IPv4 addresses.
type embeddings struct{ nat64, compatible, sixToFour, teredo netip.Prefix }

func newEmbeddings() embeddings {
	return embeddings{
		nat64:      netip.MustParsePrefix("64:ff9b::/32"), // RFC 6052, section 2.1, and RFC 8215
		compatible: netip.MustParsePrefix("::/96"),        // RFC 4291, section 2.5.5.1
		sixToFour:  netip.MustParsePrefix("2002::/16"),    // RFC 3056
		teredo:     netip.MustParsePrefix("2001::/32"),    // RFC 4380
	}
}

// in returns the IPv4 addresses that an IPv6 address may lead to by translation.
func (e *embeddings) in(ip netip.Addr) []netip.Addr {
	if !ip.Is6() {
		return nil
	}
	b := ip.As16()
	at := func(i int) netip.Addr { return netip.AddrFrom4([4]byte(b[i : i+4])) }
	switch {
	case e.nat64.Contains(ip), e.compatible.Contains(ip) && b[12] != 0: // ::1 is loopback
		return []netip.Addr{at(12)}
	case e.sixToFour.Contains(ip):
		return []netip.Addr{at(2)}
	case e.teredo.Contains(ip):
		client := at(12).As4()
		for i := range client {
			client[i] ^= 0xff
		}
		return []netip.Addr{at(4), netip.AddrFrom4(client)}
	}
	return nil
}
