package config

import (
	"net/netip"
	"net/url"
	"strings"

	"aiperfd/internal/engine/config/problem"
	"aiperfd/internal/engine/config/tree"
)

// checkAddresses checks the local addresses of connections and their IP version.
func checkAddresses(in *input, e *Endpoint) {
	const version, sources = endpointPath + ".ipVersion", endpointPath + ".sourceAddresses"
	four, six := e.IPVersion != "6", e.IPVersion != "4" // what connections may have
	var from4, from6 bool
	n := in.At(sources)
	for i, text := range e.SourceAddresses {
		at := n
		if n != nil && n.Shape == tree.List && i < len(n.Items) {
			at = n.Items[i]
		}
		addr, err := netip.ParseAddr(text)
		switch is4 := err == nil && addr.Is4(); {
		case err != nil || addr.Zone() != "" || addr.Is4In6() || addr.IsUnspecified() || addr.IsMulticast():
			in.FailValue(at, problem.CodeOutOfRange, "must be an IP address of this machine")
		case is4 && !four, !is4 && !six:
			in.FailValue(at, problem.CodeConflict, "conflicts with the IP version "+e.IPVersion)
		default:
			from4, from6 = from4 || is4, from6 || !is4
		}
	}
	if from4 || from6 {
		four, six = from4, from6
	}
	local := e.UnixSocket != nil
	for _, u := range e.URLs {
		local = local || hasScheme(u, "http+unix")
		parsed, err := url.Parse(u.Reveal())
		if err != nil {
			continue // it is reported
		}
		host, err := netip.ParseAddr(parsed.Hostname())
		if err != nil || (host.Unmap().Is4() && four) || (!host.Unmap().Is4() && six) {
			continue
		}
		path := version
		if from4 || from6 {
			path = sources
		}
		in.Conflict(path, "the server "+strings.TrimSpace(host.String())+" has an address of the other IP version")
	}
	switch {
	case !local:
	case len(e.SourceAddresses) > 0:
		in.Conflict(sources, "connections to Unix sockets have no IP address")
	case e.IPVersion != "auto" && in.Has(version):
		in.Conflict(version, "connections to Unix sockets have no IP version")
	}
}
