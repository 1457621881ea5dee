package mock

import (
	"crypto/subtle"
	"net/http"
	"strings"

	"aiperfd/internal/mock/api"
)

// speaksAnthropic reports whether a route is one of Anthropic's.
func speaksAnthropic(pattern string) bool { return strings.HasPrefix(pattern, "/v1/messages") }

// admitAnthropic checks the key of a request, which may be in the header x-api-key, and
// whether the server is ready.
func admitAnthropic(s *Server, r *http.Request) *api.Error {
	key := subtle.ConstantTimeCompare([]byte(r.Header.Get("X-Api-Key")), []byte(s.opt.APIKey)) == 1
	switch {
	case !key && !authorized(s.opt.APIKey, r.Header.Get("Authorization")):
		return &api.Error{Status: http.StatusUnauthorized, Message: "invalid x-api-key"}
	case !s.ready():
		return &api.Error{Status: http.StatusServiceUnavailable, Message: "The server is not ready."}
	}
	return nil
}

// authorized checks the value of an Authorization header.
func authorized(apiKey, header string) bool {
	if apiKey == "" {
		return true
	}
	scheme, token, _ := strings.Cut(header, " ")
	return strings.EqualFold(scheme, "Bearer") && subtle.ConstantTimeCompare([]byte(token), []byte(apiKey)) == 1
}
