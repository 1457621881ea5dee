package transport

import (
	"cmp"
	"net"
	"net/url"
	"strings"

	"aiperfd/internal/engine/allow"
)

// hostPort returns the address of a URL.
func hostPort(u *url.URL) string {
	return net.JoinHostPort(u.Hostname(), portOf(u))
}

// portOf returns the port of a URL.
func portOf(u *url.URL) string {
	if isSecure(u) {
		return cmp.Or(u.Port(), "443")
	}
	return cmp.Or(u.Port(), "80")
}

// isSecure reports whether a URL is one of https.
func isSecure(u *url.URL) bool { return u.Scheme == "https" }

// originOf returns the scheme and the host of a URL.
func originOf(u *url.URL) string { return u.Scheme + "://" + u.Host }

// sameOrigin reports whether two URLs have the same scheme, host and port.
func sameOrigin(a, b *url.URL) bool {
	return a.Scheme == b.Scheme && strings.EqualFold(allow.Address(a), allow.Address(b))
}
