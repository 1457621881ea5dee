package plan

import (
	"strings"

	"aiperfd/internal/engine/bench"
)

// Hint returns the message of a failed request, followed by what the user should
// check unless the message already names it. The messages of failed connections
// contain hints.
func (p *Plan) Hint(class bench.Class, message string) string {
	if check := p.check(class, message); check != "" {
		return message + "; " + check
	}
	return message
}

// check returns what the user should check after a failure; empty if there is
// nothing.
func (p *Plan) check(class bench.Class, message string) string {
	low := strings.ToLower(message)
	switch {
	case class == bench.Auth && p.sendsKey():
		return "the server rejected the key from --api-key or OPENAI_API_KEY"
	case class == bench.Auth:
		return "no API key was sent: set --api-key or OPENAI_API_KEY"
	case class == bench.NotFound && !strings.Contains(low, "model"):
		return "the server has no such path: check --url, --endpoint-type and --custom-endpoint"
	case class == bench.NotFound:
		return "check --model; the server lists its models at /v1/models"
	case class == bench.BadRequest && (strings.Contains(low, "request to an https server") || strings.Contains(low, "request was sent to https port")):
		return "the port speaks TLS: use https://"
	}
	return ""
}

// sendsKey reports whether requests carry an API key.
func (p *Plan) sendsKey() bool {
	for _, name := range []string{"Authorization", "X-Api-Key", "Api-Key"} {
		if len(p.Header[name]) > 0 {
			return true
		}
	}
	return false
}
