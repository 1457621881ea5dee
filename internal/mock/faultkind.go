package mock

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// refusalKind is a shorthand for an error answer as well-known servers word it.
type refusalKind struct {
	name   string
	status int
	body   faultBody
	retry  string // Retry-After
}

// refusalKinds is what kind:NAME accepts.
func refusalKinds() []refusalKind {
	openAIBody := func(message, kind, code string) faultBody {
		return jsonBody(fmt.Appendf(nil, `{"error":{"message":%s,"type":%s,"param":null,"code":%s}}`, quote(message), quote(kind), quote(code)))
	}
	vllm := func(status int, message string) faultBody {
		return jsonBody(appendError(nil, &apiError{status, message, kindOf(status), ""}))
	}
	gateway, _ := errorBody("html", http.StatusBadGateway, nil) // is one of its kinds
	return []refusalKind{
		{"rate_limit", 429, openAIBody("Rate limit reached for requests.", "requests", "rate_limit_exceeded"), "1"},
		{"invalid_api_key", 401, openAIBody("Incorrect API key provided.", "invalid_request_error", "invalid_api_key"), ""},
		{"context_length", 400, vllm(400, "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens in the messages."), ""},
		{"server_error", 500, vllm(500, "Internal server error"), ""},
		{"invalid_request", 400, vllm(400, "The request is not valid."), ""},
		{"model_not_found", 404, openAIBody("The model does not exist or you do not have access to it.", "invalid_request_error", "model_not_found"), ""},
		{"overloaded", 503, openAIBody("The engine is currently overloaded, please try again later.", "server_error", "overloaded"), "1"},
		{"bad_gateway", 502, gateway, ""},
	}
}

// parseKind turns kind:NAME into an error answer.
func (f *Fault) parseKind(args []string) error {
	var names []string
	for _, k := range refusalKinds() {
		if len(args) == 1 && args[0] == k.name {
			f.action, f.status, f.retryAfter = actStatus, k.status, k.retry
			f.fixed, f.fixedType = string(k.body.data), k.body.contentType
			return nil
		}
		names = append(names, k.name)
	}
	return fmt.Errorf("unknown kind %q, accepted: %s", strings.Join(args, ":"), strings.Join(names, ", "))
}

// parseRedirect turns redirect:CODE into an answer that points to the same path.
func (f *Fault) parseRedirect(args []string) error {
	status, err := oneInt(args, "301, 302, 303, 307 or 308, as in redirect:307")
	if err == nil && !slices.Contains([]int{301, 302, 303, 307, 308}, status) {
		err = fmt.Errorf("redirect is %d, accepted: 301, 302, 303, 307, 308", status)
	}
	f.action, f.status, f.body, f.redirects = actStatus, status, "empty", true
	return err
}

// parseRate reads the bytes per second of slow_body.
func (f *Fault) parseRate(args []string) error {
	rate, err := oneInt(args, "bytes per second, as in slow_body:100")
	if err == nil && (rate < 1 || rate > 1<<30) {
		err = fmt.Errorf("slow_body is %d, accepted: 1 to %d bytes per second", rate, 1<<30)
	}
	f.perSecond = rate
	return err
}

// dripEvery is how often a slow body gets its next bytes, where a byte does not
// take longer.
const dripEvery = 50 * time.Millisecond

// slow says whether bodies go out slowly.
func (x *exchange) slow() bool { return x.rule != nil && x.rule.action == actSlowBody }

// drip writes b as slowly as the rule says.
func (x *exchange) drip(b []byte) error {
	x.acted = true
	rate := x.rule.perSecond
	size := max(1, int(int64(rate)*int64(dripEvery)/int64(time.Second)))
	for len(b) > 0 {
		n := min(size, len(b))
		if _, err := x.w.Write(b[:n]); err != nil || x.flush() != nil {
			return errClientGone
		}
		b = b[n:]
		if err := x.waitUntil(x.s.now() + int64(n)*int64(time.Second)/int64(rate)); err != nil {
			return err
		}
	}
	return nil
}

// breakChunk sends what is no chunk of HTTP's and closes the connection.
func (x *exchange) breakChunk() {
	conn, _, err := http.NewResponseController(x.w).Hijack()
	if err != nil {
		x.panics = true
		return
	}
	// There is no one to tell: the connection is given up either way.
	_, _ = conn.Write([]byte("not-a-size\r\nrubbish\r\n"))
	_ = conn.Close()
}

// Headers by which a request controls its own answer.
const (
	headerStatus = "X-Mock-Status" // answer with this error
	headerAction = "X-Mock-Action" // a fault rule as of ParseFault
	headerTTFT   = "X-Mock-Ttft"   // a distribution as of ParseDelay
	headerITL    = "X-Mock-Itl"
	headerTokens = "X-Mock-Tokens" // length of the answer
)

// control obeys the control headers of a request. Problems become a refusal.
func (x *exchange) control(h http.Header) *apiError {
	if x.s.opt.NoControlHeaders {
		return nil
	}
	bad := func(name string, err error) *apiError { return badRequest(name, fmt.Sprintf("%s: %v", name, err)) }
	rule := h.Get(headerAction)
	if status := h.Get(headerStatus); status != "" {
		rule = "status:" + status
	}
	if rule != "" {
		f, err := ParseFault(rule)
		if err != nil {
			return bad(headerAction, err)
		}
		x.rule = &f
	}
	for name, to := range map[string]*Delay{headerTTFT: &x.ownTTFT, headerITL: &x.ownITL} {
		text := h.Get(name)
		if text == "" {
			continue
		}
		d, err := ParseDelay(text)
		if err == nil && x.s.accelerator != nil {
			err = fmt.Errorf("an accelerator gives the times")
		}
		if err != nil {
			return bad(name, err)
		}
		*to = d
	}
	if text := h.Get(headerTokens); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > x.s.opt.MaxModelLen {
			return badRequest(headerTokens, fmt.Sprintf("%s is %q, want a whole number between 1 and %d", headerTokens, text, x.s.opt.MaxModelLen))
		}
		x.ownTokens = n
	}
	return nil
}
