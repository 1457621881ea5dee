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
		return strings.TrimRight(message, ".") + "; " + check
	}
	return message
}

// check returns what the user should check after a failure; empty if there is
// nothing.
func (p *Plan) check(class bench.Class, message string) string {
	low := strings.ToLower(message)
	switch {
	case class == bench.Auth:
		return p.checkKey()
	case class == bench.ContextOverflow:
		remedy := "lower --isl or --osl"
		if p.Dataset.Kind.File {
			remedy = "use shorter prompts, lower --osl"
		}
		return remedy + ", or raise the context length of the server (vLLM: --max-model-len)"
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

// keyHeaders are those that carry an API key.
var keyHeaders = [...]string{"Authorization", "X-Api-Key", "Api-Key"} //nolint:gochecknoglobals // a table

// checkKey says where the API key came from that the server rejected, or how to give one.
func (p *Plan) checkKey() string {
	const options = "--api-key-file or AIPERFD_API_KEY"
	endpoint := &p.Document.Benchmark.Endpoint
	sent := ""
	for _, name := range keyHeaders {
		if len(p.Header[name]) == 0 {
			continue
		}
		sent = name
		for given := range endpoint.Headers {
			if strings.EqualFold(given, name) {
				return "the server rejected the credentials of the header " + name
			}
		}
	}
	switch source := p.Document.KeySource(); {
	case sent == "":
		return "no API key was sent: use " + options
	case source == "":
		return "the server rejected the key: check " + options
	default:
		return "the server rejected the key from " + source
	}
}
