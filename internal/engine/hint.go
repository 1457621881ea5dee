package engine

import (
	"strings"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/plan"
)

// hint is what people who see a failure should look at; empty = nothing that is
// not in its message. The message of a failure to connect has its own.
func hint(p *plan.Plan, class bench.Class, message string) string {
	low := strings.ToLower(message)
	switch {
	case class == bench.Auth && hasKey(p):
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

// hasKey reports whether requests carry a key.
func hasKey(p *plan.Plan) bool {
	for _, name := range []string{"Authorization", "X-Api-Key", "Api-Key"} {
		if len(p.Header[name]) > 0 {
			return true
		}
	}
	return false
}

// advised is a message with its hint.
func advised(message, hint string) string {
	if hint == "" {
		return message
	}
	return message + "; " + hint
}
