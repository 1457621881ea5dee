package endpoint

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"aiperfd/internal/engine/redact"
)

var schemePattern = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]*://`)

// JoinURL returns the URL that requests of kind k go to. base may lack a scheme
// (http is assumed), may or may not hold the version segment, and may already
// be the whole URL. path replaces the kind's default path: nil = keep the
// default, empty = post to base as it is. {model} in a path becomes the escaped
// model name. User info and fragment are dropped (see [BasicAuth]), the query
// is kept. Works on strings, so that escapes such as %2F stay as they are.
// joinPath has the rules.
func JoinURL(base string, k Kind, streaming bool, path *string, model string) (string, error) {
	parts, err := splitBase(base)
	if err != nil {
		return "", fmt.Errorf("read base URL %q: %w", redact.URL(base), err)
	}
	endpointPath, endpointQuery, _ := strings.Cut(k.DefaultPath(streaming), "?")
	if path != nil {
		endpointPath, _, _ = strings.Cut(*path, "#")
		endpointPath, endpointQuery, _ = strings.Cut(endpointPath, "?")
	}
	if path == nil && len(segments(parts.path)) == 0 && azure(parts.host) {
		parts.path = "/openai" // Azure serves OpenAI's paths below it
	}
	joined := parts.path
	if endpointPath != "" {
		joined = joinPath(parts.path, endpointPath, k.RootPath, path == nil)
	}
	joined = strings.ReplaceAll(joined, "{model}", url.PathEscape(model))
	switch {
	case strings.Contains(joined, "{version}"):
		return "", fmt.Errorf("join base URL %q and path %q: {version} stands for a model version, and none can be given", redact.URL(base), endpointPath)
	case strings.ContainsFunc(joined+endpointQuery, unprintable):
		return "", fmt.Errorf("join base URL %q and path %q: the path holds white space or a control character", redact.URL(base), endpointPath)
	}
	whole := WithQuery(parts.scheme+"://"+parts.host+joined, mergeQuery(parts.query, endpointQuery))
	if parts.scheme != "http+unix" { // its host is a file name, which net/url does not allow
		if _, err := url.Parse(whole); err != nil {
			return "", fmt.Errorf("join base URL %q: %w", redact.URL(base), parseReason(err))
		}
	}
	return whole, nil
}

// BasicAuth returns the value of the Authorization header that the user info of
// a base URL requests; ok = false when it has none.
func BasicAuth(base string) (header string, ok bool) {
	parts, err := splitBase(base)
	if err != nil || parts.user == "" {
		return "", false
	}
	name, password, _ := strings.Cut(parts.user, ":")
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(unescape(name)+":"+unescape(password))), true
}

// WithQuery adds the pairs of query ("a=1&b=2") to a URL. A key in query
// replaces all pairs of that key in the URL; repeated keys in query are kept.
func WithQuery(rawURL, query string) string {
	head, old, _ := strings.Cut(rawURL, "?")
	merged := mergeQuery(old, query)
	if merged == "" {
		return head
	}
	return head + "?" + merged
}

// baseURL is a base URL in pieces, nothing decoded.
type baseURL struct{ scheme, user, host, path, query string }

func unprintable(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }

func splitBase(base string) (baseURL, error) {
	var u baseURL
	if base == "" {
		return u, errors.New("it is empty")
	}
	if strings.ContainsFunc(base, unprintable) {
		return u, errors.New("it holds white space or a control character")
	}
	if !schemePattern.MatchString(base) {
		base = "http://" + base
	}
	scheme, rest, _ := strings.Cut(base, "://")
	u.scheme = strings.ToLower(scheme)
	if !slices.Contains([]string{"http", "https", "http+unix"}, u.scheme) {
		return u, fmt.Errorf("scheme %q is not supported (http, https, http+unix)", u.scheme)
	}
	rest, _, _ = strings.Cut(rest, "#")
	rest, u.query, _ = strings.Cut(rest, "?")
	end := strings.IndexByte(rest, '/')
	if end < 0 {
		end = len(rest)
	}
	authority := rest[:end]
	u.path = rest[end:]
	if at := strings.LastIndexByte(authority, '@'); at >= 0 {
		u.user, authority = authority[:at], authority[at+1:]
	}
	u.host = authority
	if u.scheme == "http+unix" {
		if authority == "" {
			return u, errors.New("it has no socket path")
		}
		return u, nil
	}
	return u, checkHost(authority)
}

// checkHost checks host[:port].
func checkHost(host string) error {
	var (
		name, port string
		hasPort    bool
	)
	if inner, ok := strings.CutPrefix(host, "["); ok {
		address, after, closed := strings.Cut(inner, "]")
		if !closed {
			return errors.New("the address lacks its closing bracket")
		}
		if ip, err := netip.ParseAddr(strings.Replace(address, "%25", "%", 1)); err != nil || !ip.Is6() {
			return errors.New("what stands in brackets is not an IPv6 address")
		}
		name = address
		if after != "" {
			if port, hasPort = strings.CutPrefix(after, ":"); !hasPort {
				return errors.New("only a port may follow the closing bracket")
			}
		}
	} else {
		if strings.Count(host, ":") > 1 {
			return fmt.Errorf("an IPv6 address needs brackets: write %s", bracketed(host))
		}
		name, port, hasPort = strings.Cut(host, ":")
	}
	if name == "" {
		return errors.New("it has no host")
	}
	if !hasPort {
		return nil
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return errors.New("the port is not a number from 1 to 65535")
	}
	return nil
}

// bracketed guesses the meaning of an IPv6 address without brackets: the
// digits after the last colon are taken for a port.
func bracketed(host string) string {
	i := strings.LastIndexByte(host, ':')
	address, port := host[:i], host[i+1:]
	_, addressErr := netip.ParseAddr(address)
	if _, err := strconv.ParseUint(port, 10, 16); err == nil && addressErr == nil {
		return "[" + address + "]:" + port
	}
	return "[" + host + "]"
}

// mergeQuery adds later's pairs to earlier's; a key of later replaces earlier's.
func mergeQuery(earlier, later string) string {
	split := func(query string) []string {
		return slices.DeleteFunc(strings.Split(query, "&"), func(s string) bool { return s == "" })
	}
	added := split(later)
	pairs := slices.DeleteFunc(split(earlier), func(old string) bool {
		return slices.ContainsFunc(added, func(pair string) bool { return queryKey(pair) == queryKey(old) })
	})
	return strings.Join(append(pairs, added...), "&")
}

func queryKey(pair string) string {
	key, _, _ := strings.Cut(pair, "=")
	if plain, err := url.QueryUnescape(key); err == nil {
		return plain
	}
	return key
}

func unescape(s string) string {
	if plain, err := url.PathUnescape(s); err == nil {
		return plain
	}
	return s
}

// parseReason takes the URL out of a net/url error.
func parseReason(err error) error {
	if e, ok := errors.AsType[*url.Error](err); ok {
		return e.Err
	}
	return err
}
