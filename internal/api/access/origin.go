package access

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// Origins are the origins of web pages, other than our own, that may use the API. The
// zero value has none.
type Origins struct {
	exact []string // lower case, as browsers send them
	any   bool     // all others may, without cookies
}

// ParseOrigins reads a list of origins: "https://host:port", or "*" for all. Its error
// names every bad value.
func ParseOrigins(list []string) (Origins, error) {
	var out Origins
	var errs []error
	for _, text := range list {
		if text == "*" {
			out.any = true
			continue
		}
		u, err := url.Parse(text)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || !strings.EqualFold(text, u.Scheme+"://"+u.Host) {
			errs = append(errs, fmt.Errorf("origin %q: must be http://HOST, https://HOST, either with :PORT, or *", text))
			continue
		}
		// Browsers leave the default port out.
		text = strings.TrimSuffix(strings.ToLower(text), map[string]string{"http": ":80", "https": ":443"}[u.Scheme])
		out.exact = append(out.exact, text)
	}
	return out, errors.Join(errs...)
}

// OriginsFromEnv returns the list of origins in AIPerf's environment variable, a JSON
// array of texts.
func OriginsFromEnv(lookup func(string) (string, bool)) ([]string, error) {
	const name = "AIPERF_API_SERVER_CORS_ORIGINS"
	text, _ := lookup(name)
	if text == "" {
		return nil, nil
	}
	var list []string
	if err := json.Unmarshal([]byte(text), &list); err != nil {
		return nil, fmt.Errorf("%s: must be a JSON array of texts, such as [\"https://dashboard.example\"]", name)
	}
	return list, nil
}

// lists reports whether an origin is named.
func (o Origins) lists(origin string) bool { return slices.Contains(o.exact, strings.ToLower(origin)) }

// sameOrigin reports whether a request comes from a page of this server.
func sameOrigin(r *http.Request, origin string) bool {
	u, err := url.Parse(origin)
	return err == nil && strings.EqualFold(u.Host, r.Host)
}

// The headers of cross-origin requests and responses.
const (
	exposedHeaders = "Location, ETag, Link, Retry-After, X-Aiperfd-Run-Id, X-Request-Id, Content-Disposition, Preference-Applied, Idempotency-Replayed, WWW-Authenticate"
	allowedHeaders = "Authorization, Content-Type, Idempotency-Key, If-Match, If-None-Match, Last-Event-ID, Prefer, Range, X-Request-Id"
	preflightAge   = "600" // seconds
)

// CrossOrigin answers for the origin of a request. It sets the headers that let a page of
// another origin read the response, if it may.
//
// It returns false if the request must be refused: it is a preflight of an origin that
// may not use the API, or it may change something and comes from such a page
// (csrf says so).
func (g *Guard) CrossOrigin(h http.Header, r *http.Request, csrf func(*http.Request) error) bool {
	if len(g.origins.exact) > 0 {
		h.Add("Vary", "Origin")
	}
	origin := r.Header.Get("Origin")
	foreign := origin != "" && !sameOrigin(r, origin)
	switch {
	case foreign && g.origins.lists(origin):
		h.Set("Access-Control-Allow-Origin", origin)
		h.Set("Access-Control-Allow-Credentials", "true")
		h.Set("Access-Control-Expose-Headers", exposedHeaders)
		return true
	case foreign && g.origins.any:
		h.Set("Access-Control-Allow-Origin", "*")
		h.Set("Access-Control-Expose-Headers", exposedHeaders)
		// A page has to know the token to change something.
		return Of(r.Context()).Bearer() || csrf(r) == nil
	case foreign && Preflight(r):
		return false
	}
	return csrf(r) == nil
}

// Preflight reports whether a request is the question of a browser whether a page may
// send another one.
func Preflight(r *http.Request) bool {
	return r.Method == http.MethodOptions && r.Header.Get("Origin") != "" && r.Header.Get("Access-Control-Request-Method") != ""
}

// AllowPreflight sets the headers of the answer to a preflight that [Guard.CrossOrigin]
// has admitted.
func AllowPreflight(h http.Header, methods []string) {
	if h.Get("Access-Control-Allow-Origin") == "" {
		return // of our own origin
	}
	h.Set("Access-Control-Allow-Methods", strings.Join(methods, ", "))
	h.Set("Access-Control-Allow-Headers", allowedHeaders)
	h.Set("Access-Control-Max-Age", preflightAge)
}

// AdmitsHandshake reports whether the origin of a WebSocket handshake may connect.
// Browsers send an origin with every handshake, so one with a cookie needs it.
func (g *Guard) AdmitsHandshake(r *http.Request) bool {
	origin := r.Header.Get("Origin")
	cookie := Of(r.Context()).session != digest{}
	switch {
	case origin == "":
		return !cookie
	case sameOrigin(r, origin) || g.origins.lists(origin):
		return true
	}
	return g.origins.any && !cookie
}
