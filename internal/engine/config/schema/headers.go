package schema

import (
	"fmt"
	"net/textproto"
	"strings"

	"aiperfd/internal/engine/config/problem"
	"aiperfd/internal/engine/config/secret"
	"aiperfd/internal/engine/config/tree"
)

// Headers are the headers of every request: name, as the user wrote it → value.
type Headers map[string]secret.Text

// Decode reads an object; names are kept as written.
func (h *Headers) Decode(f Target, n *tree.Node) bool {
	if n.Shape != tree.Object {
		return f.WrongType(n, f.Path, "an object with header names and values")
	}
	if len(n.Members) > MaxMembers {
		return f.Invalid(n, fmt.Sprintf("takes at most %d members, not %d", MaxMembers, len(n.Members)))
	}
	*h = make(Headers, len(n.Members))
	seen := make(map[string]bool)
	for _, m := range n.Members {
		at := Join(f.Path, m.Name)
		f.Given[at] = m.Value
		value, ok := f.SecretText(m.Value, at)
		name := textproto.CanonicalMIMEHeaderKey(m.Name)
		switch {
		case !ok:
		case !IsHeaderName(m.Name) || len(m.Name) > MaxName:
			f.Fail(m.Place, problem.CodeOutOfRange, "%q is not a header name; it has letters, digits and !#$%%&'*+-.^_`|~, at most %d", problem.Clip(m.Name), MaxName)
		case !IsHeaderValue(value):
			f.Fail(m.Place, problem.CodeOutOfRange, "%s: the value contains characters that are not allowed in a header", m.Name)
		case seen[name]:
			f.Fail(m.Place, problem.CodeConflict, "the header %s is given twice", m.Name)
		case name == "Host" || name == "Content-Length" || name == "Transfer-Encoding" || name == "Connection":
			f.Fail(m.Place, problem.CodeNotAllowed, "the header %s is set by the HTTP client", name)
		default:
			(*h)[m.Name] = secret.New(value)
		}
		seen[name] = true
	}
	return true
}

// IsHeaderName reports whether s is a token (RFC 9110 section 5.6.2).
func IsHeaderName(s string) bool {
	for i := range len(s) {
		if !tree.IsAlnum(s[i]) && strings.IndexByte("!#$%&'*+-.^_`|~", s[i]) < 0 {
			return false
		}
	}
	return s != ""
}

// IsHeaderValue reports whether s can be a field value (RFC 9110 section 5.5).
func IsHeaderValue(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }) < 0
}

// Params are the query parameters of every request: name → value.
type Params map[string]secret.Text

// Decode reads an object; values may be numbers and booleans too.
func (p *Params) Decode(f Target, n *tree.Node) bool {
	if n.Shape != tree.Object {
		return f.WrongType(n, f.Path, "an object with string values")
	}
	if len(n.Members) > MaxMembers {
		return f.Invalid(n, fmt.Sprintf("takes at most %d members, not %d", MaxMembers, len(n.Members)))
	}
	*p = make(Params, len(n.Members))
	for _, m := range n.Members {
		at := Join(f.Path, m.Name)
		f.Given[at] = m.Value
		value, ok := m.Value.Scalar, m.Value.Shape == tree.Number || m.Value.Shape == tree.Boolean
		if !ok {
			value, ok = f.SecretText(m.Value, at)
		}
		switch {
		case !ok:
		case m.Name == "" || len(m.Name) > MaxText:
			f.Fail(m.Place, problem.CodeOutOfRange, "%q: the name of a URL parameter has 1 to %d bytes", problem.Clip(m.Name), MaxText)
		case value == "":
			(*p)[m.Name] = secret.Text{} // "name=" is sent
		default:
			(*p)[m.Name] = secret.New(value)
		}
	}
	return true
}
