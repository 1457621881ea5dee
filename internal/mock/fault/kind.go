package fault

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"aiperfd/internal/mock/wire"
)

// refusalKind is a shorthand for an error response of a well-known server.
type refusalKind struct {
	name   string
	status int
	body   Body
	retry  string // Retry-After
}

// refusalKinds are the names that kind:NAME accepts.
func refusalKinds() []refusalKind {
	openAIBody := func(message, kind, code string) Body {
		return jsonBody(fmt.Appendf(nil, `{"error":{"message":%s,"type":%s,"param":null,"code":%s}}`,
			quote(message), quote(kind), quote(code)))
	}
	vllm := func(status int, message string) Body {
		return jsonBody(wire.AppendError(nil, wire.NewError(status, message, "")))
	}
	gateway, _ := ErrorBody("html", http.StatusBadGateway, nil) // a valid kind
	return []refusalKind{
		{"rate_limit", 429, openAIBody("Rate limit reached for requests.", "requests", "rate_limit_exceeded"), "1"},
		{"invalid_api_key", 401, openAIBody("Incorrect API key provided.", "invalid_request_error", "invalid_api_key"), ""},
		{"context_length", 400, vllm(400, "This model's maximum context length is 4096 tokens. "+
			"However, you requested 5000 tokens in the messages."), ""},
		{"server_error", 500, vllm(500, "Internal server error"), ""},
		{"invalid_request", 400, vllm(400, "The request is not valid."), ""},
		{"model_not_found", 404, openAIBody("The model does not exist or you do not have access to it.",
			"invalid_request_error", "model_not_found"), ""},
		{"overloaded", 503, openAIBody("The engine is currently overloaded, please try again later.",
			"server_error", "overloaded"), "1"},
		{"bad_gateway", 502, gateway, ""},
	}
}

// parseKind turns kind:NAME into an error response.
func (f *Rule) parseKind(args []string) error {
	var names []string
	for _, k := range refusalKinds() {
		if len(args) == 1 && args[0] == k.name {
			f.Action, f.Status, f.RetryAfter = ActStatus, k.status, k.retry
			f.Fixed, f.FixedType = string(k.body.Data), k.body.ContentType
			return nil
		}
		names = append(names, k.name)
	}
	return fmt.Errorf("unknown kind %q, accepted: %s", strings.Join(args, ":"), strings.Join(names, ", "))
}

// parseRedirect turns redirect:CODE into a redirect to the same path.
func (f *Rule) parseRedirect(args []string) error {
	status, err := oneInt(args, "301, 302, 303, 307 or 308, as in redirect:307")
	if err == nil && !slices.Contains([]int{301, 302, 303, 307, 308}, status) {
		err = fmt.Errorf("redirect is %d, accepted: 301, 302, 303, 307, 308", status)
	}
	f.Action, f.Status, f.Body, f.Redirects = ActStatus, status, "empty", true
	return err
}

// parseRate reads the rate of slow_body in bytes per second.
func (f *Rule) parseRate(args []string) error {
	rate, err := oneInt(args, "bytes per second, as in slow_body:100")
	if err == nil && (rate < 1 || rate > 1<<30) {
		err = fmt.Errorf("slow_body is %d, accepted: 1 to %d bytes per second", rate, 1<<30)
	}
	f.PerSecond = rate
	return err
}
