package endpoint

import (
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// versionPattern is a segment of a path that names the version of an API.
var versionPattern = regexp.MustCompile(`^v[0-9]+((alpha|beta)[0-9]*)?$`)

// firstVersion is the version in the default paths of OpenAI's API. Providers put
// their own in its place: v1beta, v3, v4, or none.
const firstVersion = "v1"

// joinPath joins the path of a base URL and the path of an endpoint. A default path
// that begins with v1 follows these rules, the first that fits:
//
//  1. A base that ends with the path, with or without its v1, is complete.
//  2. A base with a version (see [versioned]) gets the path without its v1.
//  3. Every other base gets the whole path.
//
// A default path at the root, or with another version such as v2, replaces a version
// at the end of the base. Otherwise the path follows the base, without what both
// contain.
func joinPath(base, path string, root, isDefault bool) string {
	b, e := segments(base), segments(path)
	if endsWith(b, e) {
		return rooted(b)
	}
	if isDefault && e[0] == firstVersion {
		bare := e[1:]
		switch {
		case endsWith(b, bare) && len(typePath(b)) <= len(bare): // not /chat/completions for /completions
			return rooted(b)
		case versioned(b):
			return rooted(slices.Concat(b, bare))
		}
		return rooted(slices.Concat(b, e))
	}
	if n := len(b); isDefault && n > 0 && isVersion(b[n-1]) && (root || isVersion(e[0]) && e[0] != b[n-1]) {
		b = b[:n-1]
	}
	for k := min(len(b), len(e)); k > 0; k-- {
		if endsWith(b, e[:k]) && (k >= 2 || isVersion(e[0])) {
			e = e[k:]
			break
		}
	}
	return rooted(slices.Concat(b, e))
}

// apiBase is the end of the base URL of an API that its version does not describe.
type apiBase struct {
	end      string // * is any segment
	versions bool   // the paths below begin with v1, even if the base has a version
	noModels bool   // there is no list of models below
}

// apiBases returns the exceptions, as their providers document them.
func apiBases() []apiBase {
	return []apiBase{
		{end: "openai/deployments/*", noModels: true},    // Azure OpenAI with api-version
		{end: "serving-endpoints", noModels: true},       // Databricks
		{end: "locations/*/endpoints/*", noModels: true}, // Google's Vertex AI
		{end: "v2/*/openai", versions: true},             // Runpod; v2 is that of Runpod's own API
		{end: "anthropic", versions: true},               // gateways to Anthropic, whose base URLs have no version
	}
}

// exception returns the exception for a base, if it is one.
func exception(base []string) (apiBase, bool) {
	for _, one := range apiBases() {
		if endsWith(base, segments(one.end)) {
			return one, true
		}
	}
	return apiBase{}, false
}

// azure reports whether a host is a resource of Azure OpenAI.
func azure(host string) bool {
	name, _, _ := strings.Cut(strings.ToLower(host), ":")
	return strings.HasSuffix(name, ".openai.azure.com")
}

// versioned reports whether the paths of an API follow a base without v1: it has a
// version, as /api/v3 or /v1beta/openai, or its provider documents it so.
func versioned(base []string) bool {
	if one, ok := exception(base); ok {
		return !one.versions
	}
	return slices.ContainsFunc(base, isVersion)
}

// ListsModels reports whether the API whose requests go to a URL may have a list of
// models. It is false for the few that are known not to have one.
func ListsModels(u *url.URL) bool {
	path := segments(u.EscapedPath())
	for n := range path {
		if one, ok := exception(path[:n]); ok && one.noModels {
			return false
		}
	}
	return true
}

// TypeOf returns the endpoint type whose path the path of a URL ends with, with or
// without its version; ok = false if there is none.
func TypeOf(u *url.URL) (k Kind, ok bool) {
	path := typePath(segments(u.EscapedPath()))
	if path == nil {
		return Kind{}, false
	}
	kinds := Kinds()
	i := slices.IndexFunc(kinds, func(k Kind) bool { return slices.Equal(bare(k), path) })
	return kinds[i], true
}

// typePath returns the longest path of an endpoint type, without its version, that a
// path ends with; nil = none.
func typePath(path []string) []string {
	var longest []string
	for _, k := range Kinds() {
		if own := bare(k); len(own) > len(longest) && endsWith(path, own) {
			longest = own
		}
	}
	return longest
}

// bare returns the default path of an endpoint type without its v1; nil if it has none.
func bare(k Kind) []string {
	if own := segments(k.Path); len(own) > 1 && own[0] == firstVersion {
		return own[1:]
	}
	return nil
}

// TrimPath returns the base URL of the URL that [JoinURL] returned for path: without
// the path, but with its v1. ok = false if the URL does not end with the path.
func TrimPath(joined, path string) (base string, ok bool) {
	head, query, _ := strings.Cut(joined, "?")
	end := segments(path)
	if len(end) > 1 && end[0] == firstVersion {
		end = end[1:]
	}
	if len(end) == 0 {
		return "", false
	}
	base, ok = strings.CutSuffix(head, rooted(end))
	return WithQuery(base, query), ok
}

func isVersion(segment string) bool { return versionPattern.MatchString(segment) }

func segments(path string) []string {
	return slices.DeleteFunc(strings.Split(path, "/"), func(s string) bool { return s == "" })
}

func rooted(segments []string) string { return "/" + strings.Join(segments, "/") }

// endsWith reports whether a path ends with other segments, of which * is any.
func endsWith(path, end []string) bool {
	if len(end) > len(path) {
		return false
	}
	return slices.EqualFunc(path[len(path)-len(end):], end, func(have, want string) bool { return have == want || want == "*" })
}
