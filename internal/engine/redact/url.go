package redact

import (
	"encoding/base64"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// maxNesting bounds how often a percent-encoded URL inside a query value is
// decoded in search of a secret.
const maxNesting = 2

// URL returns raw with user info and the values of sensitive query, fragment
// and matrix parameters replaced, and everything else byte for byte as it was.
// raw may lack a scheme ("user:pw@host"). The last '@' in front of the first
// '/', '?' or '#' ends the user info. A URL whose authority cannot be read is
// a secret as a whole: the result is [Placeholder]. If only a space makes it so, what
// stands before the space is kept, and what stands behind it if it reads as the rest of a host.
func URL(raw string) string {
	spans, ok := urlSecrets(raw, 0)
	if ok {
		return replaceSpans(raw, spans)
	}
	// What stands before a space can be shown unless it may be the name in user info.
	head, rest, spaced := strings.Cut(raw, " ")
	if spaced && !strings.Contains(raw, "@") {
		switch shown := URL(head); {
		case shown == Placeholder:
		case restOfHost.MatchString(rest):
			return shown + " " + rest
		default:
			return shown + " " + Placeholder
		}
	}
	return Placeholder
}

// restOfHost is what a space may have cut off a host: one word without digits, and a port.
var restOfHost = regexp.MustCompile(`^[A-Za-z.-]{1,32}(:[0-9]{1,5})?(/[a-z]*|/v[0-9])?/?$`)

// URLSecrets returns the texts of raw that [URL] replaces, as they stand there and
// decoded, and user, password and header of user info. None is empty.
func URLSecrets(raw string) []string {
	spans, ok := urlSecrets(raw, 0)
	if !ok {
		return []string{raw}
	}
	var all []string
	for _, sp := range spans {
		text := raw[sp.from:sp.to]
		user, password, _ := strings.Cut(text, ":")
		if plain, err := url.PathUnescape(text); err == nil && sp.to < len(raw) && raw[sp.to] == '@' {
			all = append(all, base64.StdEncoding.EncodeToString([]byte(plain))) // as the header has it
		}
		for _, part := range [...]string{text, user, password} {
			if part != text && (sp.to == len(raw) || raw[sp.to] != '@') {
				continue // no user info
			}
			all = append(all, part)
			if plain, err := url.PathUnescape(part); err == nil && plain != part {
				all = append(all, plain)
			}
		}
	}
	return slices.DeleteFunc(all, func(s string) bool { return s == "" })
}

// urlList redacts a comma list of URLs. A comma separates if a scheme
// follows, and elsewhere only when no '@' or '?' makes it part of a secret.
func urlList(list string) string {
	var parts []string
	plain := !strings.Contains(list, "@")
	from, query := 0, false
	for i := range len(list) {
		switch list[i] {
		case '?', '#', ';':
			query = true
		case ',':
			if schemeEnd(list[i+1:]) > 0 || plain && !query {
				parts = append(parts, URL(list[from:i]))
				from, query = i+1, false
			}
		}
	}
	return strings.Join(append(parts, URL(list[from:])), ",")
}

// urlSecrets returns the spans of raw that hold secrets, in order, and whether
// the authority could be read.
func urlSecrets(raw string, depth int) (spans []span, ok bool) {
	if strings.HasPrefix(raw, "data:") && !strings.HasPrefix(raw, "data://") {
		return nil, true
	}
	ok = !strings.ContainsFunc(raw, func(r rune) bool { return r < 0x20 || r == 0x7f })
	start := schemeEnd(raw)
	bare := start == 0
	if strings.HasPrefix(raw, "//") {
		start, bare = 2, false
	}
	end := start
	if i := strings.IndexAny(raw[start:], "/?#"); i >= 0 {
		end += i
	} else {
		end = len(raw)
	}
	host := start
	if at := strings.LastIndexByte(raw[start:end], '@'); at >= 0 {
		host = start + at + 1
		if at > 0 {
			spans = append(spans, span{start, start + at})
		}
	}
	hasAt := strings.IndexByte(raw, '@') >= 0
	if (!bare || hasAt) && !validHost(raw[host:end], bare, hasAt) {
		ok = false
	}
	return append(spans, paramSecrets(raw, end, depth)...), ok
}

// schemeEnd returns the index behind "scheme://" at the start of raw, or 0.
// A scheme may have several parts ("jdbc:mysql://").
func schemeEnd(raw string) int {
	for i := range len(raw) {
		c := raw[i]
		switch {
		case c == ':' && i > 0 && strings.HasPrefix(raw[i:], "://"):
			return i + 3
		case isAlnum(c), i > 0 && (c == '+' || c == '-' || c == '.' || c == ':'):
		default:
			return 0
		}
	}
	return 0
}

// validHost checks a host with optional port. "${NAME}" may stand for either
// in a URL that has no user info.
func validHost(host string, bare, hasAt bool) bool {
	if rest, ok := strings.CutPrefix(host, "["); ok {
		_, port, closed := strings.Cut(rest, "]")
		return closed && (port == "" || port[0] == ':' && allDigits(port[1:]))
	}
	if strings.ContainsAny(host, " \t<>\"\\^`|@") {
		return false
	}
	name, port, found := cutPort(host)
	if strings.Contains(name, ":") {
		return false
	}
	if found && !hasAt && strings.HasSuffix(port, "}") {
		return true
	}
	return allDigits(port) && !(found && port == "" && bare)
}

func cutPort(host string) (name, port string, found bool) {
	i := strings.LastIndexByte(host, ':')
	if i < 0 {
		return host, "", false
	}
	return host[:i], host[i+1:], true
}

func allDigits(s string) bool {
	for i := range len(s) {
		if !isDigit(s[i]) {
			return false
		}
	}
	return true
}

// paramSecrets finds sensitive parameters in path, query and fragment of raw
// from index i on, and the user info of URLs inside them.
func paramSecrets(raw string, i, depth int) (spans []span) {
	stops := ";/?#" // in the path; a sensitive value of a query may hold all but "&#"
	for i < len(raw) {
		c := raw[i]
		i++
		switch c {
		case ':':
			if !strings.HasPrefix(raw[i:], "//") {
				continue
			}
			end := indexAnyFrom(raw, i+2, "/?#&")
			if at := strings.LastIndexByte(raw[i+2:end], '@'); at > 0 {
				spans = append(spans, span{i + 2, i + 2 + at})
				i += 2 + at
			}
			continue
		case '?', '#':
			stops = "&#"
		case '&':
			if stops != "&#" {
				continue
			}
		case ';':
		default:
			continue
		}
		nameEnd := indexAnyFrom(raw, i, "=&;?#/:")
		if nameEnd == len(raw) || raw[nameEnd] != '=' {
			continue
		}
		if sensitiveQuery(raw[i:nameEnd]) {
			end := indexAnyFrom(raw, nameEnd+1, stops)
			if end > nameEnd+1 {
				spans = append(spans, span{nameEnd + 1, end})
			}
			i = end
			continue
		}
		end := indexAnyFrom(raw, nameEnd+1, "&;?#")
		if hidesURL(raw[nameEnd+1:end], depth) {
			spans = append(spans, span{nameEnd + 1, end})
			i = end
			continue
		}
		i = nameEnd
	}
	return spans
}

// hidesURL reports whether a percent-encoded query value is a URL that holds a
// secret.
func hidesURL(value string, depth int) bool {
	if depth >= maxNesting || !strings.Contains(value, "%") {
		return false
	}
	plain, err := url.QueryUnescape(value)
	if err != nil || schemeEnd(plain) == 0 {
		return false
	}
	spans, ok := urlSecrets(plain, depth+1)
	return !ok && strings.Contains(plain, "@") ||
		slices.ContainsFunc(spans, func(sp span) bool { return plain[sp.from:sp.to] != Placeholder })
}

// indexAnyFrom is the index of the first byte of chars in s[from:], or len(s).
func indexAnyFrom(s string, from int, chars string) int {
	if i := strings.IndexAny(s[from:], chars); i >= 0 {
		return from + i
	}
	return len(s)
}
