package secret

import (
	"fmt"
	"net/url"
	"regexp"
	"strconv"
	"strings"

	"aiperfd/internal/engine/redact"
)

// URL is the URL of a server, or a path on one. User information and key-like query
// values in it are secret: it formats redacted under every verb and in JSON.
type URL struct{ raw Text }

// NewURL wraps a URL as the user wrote it.
func NewURL(raw string) URL { return URL{raw: New(raw)} }

// Reveal returns the URL with its secrets.
func (u URL) Reveal() string { return u.raw.Reveal() }

// Equal reports whether both are the same URL, secrets included.
func (u URL) Equal(v URL) bool { return u.raw.Equal(v.raw) }

// String returns the URL without its secrets.
func (u URL) String() string { return redact.URL(u.raw.Reveal()) }

// Format implements fmt.Formatter like [Text.Format].
func (u URL) Format(f fmt.State, _ rune) { fmt.Fprint(f, u.String()) }

// GoString is for %#v.
func (u URL) GoString() string { return u.String() }

// MarshalText writes the redacted URL.
func (u URL) MarshalText() ([]byte, error) { return []byte(u.String()), nil }

// UnmarshalText reads a URL.
func (u *URL) UnmarshalText(b []byte) error {
	*u = NewURL(string(b))
	return nil
}

// Secrets returns the texts that [URL.String] hides.
func (u URL) Secrets() []string { return redact.URLSecrets(u.Reveal()) }

// ParseURL returns a base URL, or what is required of one if raw is none. A URL without a
// scheme gets http.
func ParseURL(raw string) (u URL, requirement string) { return parsed(raw, checkURL) }

// ParseCollector is [ParseURL] for a server that is not reached through a Unix socket.
func ParseCollector(raw string) (u URL, requirement string) {
	return parsed(raw, func(raw string) string {
		if scheme, _, _ := strings.Cut(raw, "://"); strings.EqualFold(scheme, "http+unix") {
			return "must be an http or https URL"
		}
		return checkURL(raw)
	})
}

// ParseMLflow is [ParseCollector] for an MLflow server. MLflow takes a text without a scheme for a folder, so it
// is refused.
func ParseMLflow(raw string) (u URL, requirement string) {
	scheme, _, _ := strings.Cut(raw, "://")
	if !schemed(raw) || !strings.EqualFold(scheme, "http") && !strings.EqualFold(scheme, "https") {
		return URL{}, "must be the http or https URL of an MLflow server; folders, databases and databricks are not supported"
	}
	return ParseCollector(raw)
}

// Prefixes of pages of metrics that are found while a run goes on.
const (
	EveryAddress = "dns+"     // before a URL: a page at each address to which its name leads
	TargetsFile  = "file_sd:" // before the path of a file that lists pages
)

// ParsePage is [ParseURL] for a page of metrics, or for what finds pages.
func ParsePage(raw string) (u URL, requirement string) {
	if name, ok := strings.CutPrefix(raw, TargetsFile); ok {
		if name == "" {
			return URL{}, "must be " + TargetsFile + "PATH"
		}
		return NewURL(raw), ""
	}
	address, ok := strings.CutPrefix(raw, EveryAddress)
	if !ok {
		return ParseURL(raw)
	}
	page, err := url.Parse(address)
	if err != nil || page.Scheme != "http" && page.Scheme != "https" || page.Port() == "" {
		return URL{}, "must be a URL like " + EveryAddress + "http://vllm.default.svc:8000/metrics"
	}
	if requirement = checkURL(address); requirement != "" {
		return URL{}, requirement
	}
	return NewURL(raw), ""
}

// ParseProxy is [ParseURL] for the URL of a proxy.
func ParseProxy(raw string) (u URL, requirement string) { return parsed(raw, checkProxy) }

// ParsePath returns a path on a server, possibly with a query, or what is required of one.
func ParsePath(raw string) (u URL, requirement string) {
	if raw == "" {
		return URL{}, "must not be empty"
	}
	if strings.Contains(raw, "://") || strings.ContainsAny(raw, " \t\r\n#") {
		return URL{}, "must be a path on the server, without spaces or fragment"
	}
	return NewURL(raw), ""
}

func parsed(raw string, check func(raw string) string) (URL, string) {
	if !schemed(raw) {
		raw = "http://" + raw
	}
	if requirement := check(raw); requirement != "" {
		return URL{}, requirement
	}
	return NewURL(raw), ""
}

// schemed reports whether a URL begins with a scheme; net/url takes the host of
// "localhost:8000" for one.
func schemed(raw string) bool { return schemePattern.MatchString(raw) }

var schemePattern = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]*://`)

// checkURL returns the problem of a base URL, or "".
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

// checkHost returns the problem of the host and port of a URL, or "".
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

// checkProxy returns the problem of the URL of a proxy, or "".
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
