package config

import (
	"slices"
	"strconv"
	"strings"
)

// substitute replaces ${NAME}, ${NAME:default} and ${secret:NAME} in every text
// below root. A text that is one substitution as a whole takes the type of what
// it becomes: boolean, number or text. Texts with {{ … }} are refused: there is
// no template engine, and sending them as they are would be wrong. The template of
// request bodies is left as it is.
func substitute(root *node, o LoadOptions, r *report) {
	root.walk(func(n *node) {
		if n.shape != text || strings.HasSuffix(n.ptr, "/endpoint/template/body") {
			return
		}
		if strings.Contains(n.scalar, "{{") {
			r.fail(n.place, CodeUnsupported, "%s: not supported by aiperfd yet: templates ({{ … }})", label(n.place))
			return
		}
		if strings.Contains(n.scalar, "${") {
			expand(n, o, r)
		}
	})
}

// expand replaces the substitutions of one text.
func expand(n *node, o LoadOptions, r *report) {
	var out strings.Builder
	rest := n.scalar
	whole := strings.HasPrefix(rest, "${") && strings.IndexByte(rest, '}') == len(rest)-1
	for {
		before, after, more := strings.Cut(rest, "${")
		out.WriteString(before)
		if !more {
			break
		}
		expression, tail, closed := strings.Cut(after, "}")
		if !closed {
			r.fail(n.place, CodeWrongType, "%s: ${ without a closing brace", label(n.place))
			return
		}
		value, secret, ok := lookup(n, expression, o, r)
		if !ok {
			return
		}
		if secret {
			n.secrets = append(n.secrets, value)
		}
		out.WriteString(value)
		rest = tail
	}
	n.scalar, n.subst = out.String(), whole
	if whole {
		n.shape = retype(n.scalar)
	}
}

// lookup finds the value of one substitution; secret says that it came from
// outside of the document.
func lookup(n *node, expression string, o LoadOptions, r *report) (value string, secret, ok bool) {
	name, fallback, hasFallback := strings.Cut(expression, ":")
	switch {
	case name == "secret" && hasFallback:
		return lookupSecret(n, fallback, o, r)
	case !variableName(name):
		r.fail(n.place, CodeWrongType, "%s: ${%s} does not name a variable", label(n.place), clip(expression))
		return "", false, false
	case o.Untrusted && !slices.Contains(o.AllowEnv, name):
		r.fail(n.place, CodeEnvNotAllowed, "%s: the environment variable %s is not allowed; see serve --allow-env", label(n.place), name)
		return "", false, false
	}
	if o.LookupEnv != nil {
		if value, ok := o.LookupEnv(name); ok {
			return value, true, true
		}
	}
	if !hasFallback {
		r.fail(n.place, CodeRequired, "%s: the environment variable %s is not set and has no default", label(n.place), name)
	}
	return fallback, false, hasFallback
}

func lookupSecret(n *node, name string, o LoadOptions, r *report) (value string, secret, ok bool) {
	if o.LookupSecret == nil {
		r.fail(n.place, CodeUnsupported, "%s: references to secrets are not supported", label(n.place))
		return "", false, false
	}
	value, ok = o.LookupSecret(name)
	if !ok {
		r.fail(n.place, CodeSecretNotFound, "%s: no such secret: %q", label(n.place), clip(name))
	}
	return value, true, ok
}

// variableName reports whether s can name an environment variable.
func variableName(s string) bool {
	for i := range len(s) {
		if !isAlnum(s[i]) && s[i] != '_' {
			return false
		}
	}
	return s != "" && (s[0] < '0' || s[0] > '9')
}

// retype says what a plain value is, by AIPerf's rules for substituted text and
// for the values of key:value flags.
func retype(s string) shape {
	if lower := strings.ToLower(s); lower == "true" || lower == "false" {
		return boolean
	}
	if _, err := strconv.ParseFloat(s, 64); err == nil && jsonNumber(s) {
		return number
	}
	return text
}

// clip shortens what a user wrote for a message.
func clip(s string) string {
	const most = 64
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}
