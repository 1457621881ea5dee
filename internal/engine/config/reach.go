package config

import (
	"fmt"
	"net/url"
	"regexp"
	"strconv"
	"strings"
)

// schemed reports whether a URL begins with a scheme; net/url takes the host of
// "localhost:8000" for one.
func schemed(raw string) bool { return schemePattern.MatchString(raw) }

var schemePattern = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]*://`)

// checkURL says what is wrong with a base URL, or "".
func checkURL(raw string) string {
	if strings.ContainsAny(raw, " \t\r\n") {
		return "must not contain spaces"
	}
	scheme, rest, _ := strings.Cut(raw, "://")
	if strings.EqualFold(scheme, "http+unix") {
		host, _, _ := strings.Cut(rest, "/")
		if name, err := url.PathUnescape(host); err != nil || name == "" || strings.ContainsAny(host, "@?#") {
			return "must be a URL like http+unix://%2Frun%2Fvllm.sock"
		}
		return ""
	}
	u, err := url.Parse(raw)
	switch {
	case bareIPv6(rest):
		return "IPv6 addresses need brackets, for example http://[::1]:8000"
	case err != nil:
		return "must be a URL like http://localhost:8000"
	case u.Scheme != "http" && u.Scheme != "https":
		return "must be an http or https URL"
	}
	return checkHost(u)
}

// bareIPv6 reports whether the authority has several colons and no brackets.
func bareIPv6(rest string) bool {
	authority := rest
	if end := strings.IndexAny(authority, "/?#"); end >= 0 {
		authority = authority[:end]
	}
	authority = authority[strings.LastIndexByte(authority, '@')+1:]
	return !strings.HasPrefix(authority, "[") && strings.Count(authority, ":") > 1
}

// checkHost says what is wrong with host and port of a URL, or "".
func checkHost(u *url.URL) string {
	if u.Hostname() == "" {
		return "must be a URL with a host"
	}
	if i := strings.IndexAny(u.Hostname(), `=,;'"()<>|*{}`); i >= 0 {
		return fmt.Sprintf("must be a URL; a host name cannot contain %q", u.Hostname()[i:i+1])
	}
	if port := u.Port(); port != "" || strings.HasSuffix(u.Host, ":") {
		if p, err := strconv.Atoi(port); err != nil || p < 1 || p > 65535 {
			return "must be a URL with a port from 1 to 65535"
		}
	}
	return ""
}

// checkProxy says what is wrong with the URL of a proxy, or "".
func checkProxy(raw string) string {
	const want = "must be the URL of a proxy, for example http://proxy:3128, https://proxy:443 or socks5://proxy:1080"
	u, err := url.Parse(raw)
	switch {
	case err != nil || strings.ContainsAny(raw, " \t\r\n"):
		return want
	case u.Scheme != "http" && u.Scheme != "https" && u.Scheme != "socks5" && u.Scheme != "socks5h":
		return want
	case u.Path != "" && u.Path != "/" || u.RawQuery != "":
		return "must be the URL of a proxy, without path or query"
	}
	return checkHost(u)
}

// params reads URL parameters.
func (l *loader) params(n *node, p *map[string]Secret, path string) {
	if n.shape != object {
		l.wrongType(n, path, "an object with string values")
		return
	}
	*p = make(map[string]Secret, len(n.members))
	for _, m := range n.members {
		at := join(path, m.name)
		l.given[at] = m.value
		value, ok := m.value.scalar, m.value.shape == number || m.value.shape == boolean
		if !ok {
			value, ok = l.secretText(m.value, at)
		}
		switch {
		case !ok:
		case m.name == "":
			l.fail(m.place, CodeOutOfRange, "a URL parameter needs a name")
		case value == "":
			(*p)[m.name] = Secret{} // "name=" is sent
		default:
			(*p)[m.name] = NewSecret(value)
		}
	}
}
