package redact

import (
	"encoding/json"
	"strings"
)

// Value returns a redacted copy of a decoded JSON or YAML tree of
// map[string]any, map[any]any, []any, maps and slices of strings, and scalars;
// v is not changed, and values of other types are returned as they are.
//
// The value of a sensitive key is replaced, down to the leaves. Empty strings,
// null, booleans and references (${NAME}) are not secrets, nor are numbers under a key
// that is a common word (token, key, auth, session). Below a key that ends in "headers"
// names are headers ([SensitiveHeader]); below one that ends in "url" or "uri"
// strings are redacted by [URL]. Elsewhere strings are changed only if they are
// a URL or "name=value" as a whole. Of an object {"name": …, "value": …} the
// name decides.
func Value(v any) any { return node(v, plainNode, 0) }

// place is the kind of a node of a tree, judged by the key above it.
type place uint8

const (
	plainNode place = iota
	headerNode
	urlNode
	secretNode // under a sensitive key that is a common word
	strongNode // under a sensitive key
)

// maxDepth bounds recursion; encoding/json stops at the same order.
const maxDepth = 1000

func node(v any, at place, depth int) any {
	if depth > maxDepth {
		return Placeholder
	}
	switch v := v.(type) {
	case map[string]any:
		return object(v, at, depth)
	case map[any]any:
		out := make(map[any]any, len(v))
		for k, child := range v {
			name, _ := k.(string)
			out[k] = node(child, placeOf(name, at), depth+1)
		}
		return out
	case map[string]string:
		out := make(map[string]string, len(v))
		for k, child := range v {
			out[k] = text(child, placeOf(k, at))
		}
		return out
	case map[string][]string:
		out := make(map[string][]string, len(v))
		for k, child := range v {
			out[k] = texts(child, placeOf(k, at))
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, child := range v {
			out[i] = node(child, at, depth+1)
		}
		return out
	case []string:
		return texts(v, at)
	case string:
		return text(v, at)
	case json.Number, int, int64, uint64, float64:
		if at == strongNode {
			return Placeholder
		}
	}
	return v
}

// object redacts a map; {"name": "Authorization", "value": "…"} is one pair.
func object(m map[string]any, at place, depth int) map[string]any {
	out := make(map[string]any, len(m))
	for k, child := range m {
		out[k] = node(child, placeOf(k, at), depth+1)
	}
	value, has := m["value"]
	for _, key := range [...]string{"name", "key"} {
		if name, ok := m[key].(string); ok && has && SensitiveHeader(name) {
			out[key] = name
			out["value"] = node(value, strongNode, depth+1)
		}
	}
	return out
}

// texts redacts a list of strings. It keeps nil nil.
func texts(list []string, at place) []string {
	if list == nil {
		return nil
	}
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = text(s, at)
	}
	return out
}

// placeOf returns the place of the child of a node at place up, under key.
func placeOf(key string, up place) place {
	if up == strongNode {
		return strongNode
	}
	switch c := classify(key); {
	case up == headerNode && SensitiveHeader(key), c >= softName:
		return strongNode
	case c > harmless:
		return secretNode
	}
	switch lastWord(key) {
	case "header", "headers":
		return headerNode
	case "url", "urls", "uri", "uris":
		return urlNode
	}
	return plainNode
}

// lastWord is the last word of a name in snake, kebab or camel case, in lower
// case.
func lastWord(name string) string {
	for i := len(name) - 1; i > 0; i-- {
		if isSeparator(name[i]) {
			return strings.ToLower(name[i+1:])
		}
		if wordStarts(name, i) {
			return strings.ToLower(name[i:])
		}
	}
	return strings.ToLower(name)
}

// text redacts a string at a place of a tree.
func text(s string, at place) string {
	switch at {
	case secretNode, strongNode:
		if s == "" || isReference(s) {
			return s
		}
		return Placeholder
	case urlNode:
		return urlList(s)
	case headerNode:
		if name, value, found := strings.Cut(s, ":"); found && value != "" && isToken(name) && SensitiveHeader(name) {
			return name + ":" + Placeholder
		}
	case plainNode:
	}
	if isURL(s) {
		return lenientURL(s)
	}
	if i := strings.IndexAny(s, "=:"); i > 0 && i < len(s)-1 && isToken(s[:i]) && classify(s[:i]) >= strongName {
		return s[:i+1] + Placeholder
	}
	return s
}

// isToken reports whether name may be the name of a header or parameter.
func isToken(name string) bool {
	for i := range len(name) {
		if c := name[i]; !isAlnum(c) && c != '-' && c != '_' && c != '.' {
			return false
		}
	}
	return name != "" && len(name) <= maxName
}

// isURL reports whether a string as a whole looks like a URL or like a path
// with parameters.
func isURL(s string) bool {
	if strings.ContainsAny(s, " \t\r\n") {
		return false
	}
	return schemeEnd(s) > 0 || strings.HasPrefix(s, "/") && strings.ContainsAny(s, "?;")
}

// lenientURL redacts a string that looks like a URL without being known to be
// one: it is a secret as a whole only if it may hold user info.
func lenientURL(s string) string {
	spans, ok := urlSecrets(s, 0)
	if !ok && strings.Contains(s, "@") {
		return Placeholder
	}
	return replaceSpans(s, spans)
}
