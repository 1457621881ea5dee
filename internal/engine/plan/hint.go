package plan

import (
	"fmt"
	"net/url"
	"strings"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/endpoint"
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
		if other := p.otherType(); other != "" {
			return fmt.Sprintf("the URL is for %s; use --endpoint-type %s", other, other)
		}
		return "the server has no such path: check --url, --endpoint-type and --custom-endpoint"
	case class == bench.NotFound:
		return "check --model" + p.modelList()
	case class == bench.UnexpectedContent:
		return "check --url: it may lead to a gateway or a login page"
	case class == bench.RateLimited:
		return "send fewer requests: lower --concurrency or --request-rate"
	case class == bench.BadRequest && (strings.Contains(low, "request to an https server") || strings.Contains(low, "request was sent to https port")):
		return "the port speaks TLS: use https://"
	}
	return ""
}

// otherType returns the endpoint type whose path the first base URL ends with, if it is
// not the type of the run; otherwise it is empty.
func (p *Plan) otherType() string {
	base, err := url.Parse(p.Targets[0].Root)
	if err != nil {
		return ""
	}
	k, ok := endpoint.TypeOf(base)
	if !ok || k.Name == p.Kind.Name {
		return ""
	}
	return k.Name
}

// modelList says where the first server lists its models; empty if it does not.
func (p *Plan) modelList() string {
	list, ok := p.Targets[0].ModelList()
	if !ok {
		return ""
	}
	return "; the server lists its models at " + list.EscapedPath()
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
