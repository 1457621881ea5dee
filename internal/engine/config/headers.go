package config

import (
	"net/textproto"
	"strings"
)

// Headers are the headers of every request: name, as the user wrote it → value.
type Headers map[string]Secret

// decode reads an object; names are kept as written.
func (h *Headers) decode(f field, n *node) bool {
	if n.shape != object {
		return f.wrongType(n, f.path, "an object with header names and values")
	}
	*h = make(Headers, len(n.members))
	seen := make(map[string]bool)
	for _, m := range n.members {
		at := join(f.path, m.name)
		f.given[at] = m.value
		value, ok := f.secretText(m.value, at)
		name := textproto.CanonicalMIMEHeaderKey(m.name)
		switch {
		case !ok:
		case !validHeaderName(m.name):
			f.fail(m.place, CodeOutOfRange, "%q is not a header name", clip(m.name))
		case !validHeaderValue(value):
			f.fail(m.place, CodeOutOfRange, "%s: the value contains characters that are not allowed in a header", m.name)
		case seen[name]:
			f.fail(m.place, CodeConflict, "the header %s is given twice", m.name)
		case name == "Host" || name == "Content-Length" || name == "Transfer-Encoding" || name == "Connection":
			f.fail(m.place, CodeNotAllowed, "the header %s is set by the HTTP client", name)
		default:
			(*h)[m.name] = NewSecret(value)
		}
		seen[name] = true
	}
	return true
}

// validHeaderName reports whether s is a token (RFC 9110 section 5.6.2).
func validHeaderName(s string) bool {
	for i := range len(s) {
		if !isAlnum(s[i]) && strings.IndexByte("!#$%&'*+-.^_`|~", s[i]) < 0 {
			return false
		}
	}
	return s != ""
}

// validHeaderValue reports whether s can be a field value (RFC 9110 section 5.5).
func validHeaderValue(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }) < 0
}

// Params are the query parameters of every request: name → value.
type Params map[string]Secret

// decode reads an object; values may be numbers and booleans too.
func (p *Params) decode(f field, n *node) bool {
	if n.shape != object {
		return f.wrongType(n, f.path, "an object with string values")
	}
	*p = make(Params, len(n.members))
	for _, m := range n.members {
		at := join(f.path, m.name)
		f.given[at] = m.value
		value, ok := m.value.scalar, m.value.shape == number || m.value.shape == boolean
		if !ok {
			value, ok = f.secretText(m.value, at)
		}
		switch {
		case !ok:
		case m.name == "":
			f.fail(m.place, CodeOutOfRange, "a URL parameter needs a name")
		case value == "":
			(*p)[m.name] = Secret{} // "name=" is sent
		default:
			(*p)[m.name] = NewSecret(value)
		}
	}
	return true
}
