package options

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"aiperfd/internal/mock/random"
)

// FaultHelp describes the syntax of fault rules.
const FaultHelp = `ACTION[:ARGUMENT][,KEY=VALUE…]
actions
  status:CODE              error response; keys retry_after=SECONDS and
                           body=vllm|openai|fastapi|sglang|text|html|empty|
                           json_string|huge|echo_headers (default vllm;
                           echo_headers repeats URL and credentials)
  reset:POSITION           reset the TCP connection (RST)
  close:POSITION           close the TCP connection within the response
  stall:POSITION           stop sending; key for=DURATION|forever (default
                           forever: until the client disconnects)
  slow_headers:DURATION    delay the response headers
  stream_error:after_tokens:N
                           error event, then the end of the stream; key
                           message=TEXT
  malformed:after_tokens:N one malformed event; key kind=bad_json|
                           truncated_json|nan|invalid_utf8|raw_newline|
                           wrong_field_types|not_sse|two_objects (default
                           bad_json)
  empty:body|output|choices
                           200 without a body, without tokens, or without
                           choices
  job:KIND                 polled job: fail, time_out, never_finish,
                           stuck_progress, or expire (done, and forgotten
                           immediately)
  kind:NAME                a typical error: rate_limit, invalid_api_key,
                           context_length, server_error, invalid_request,
                           model_not_found, overloaded, bad_gateway; keys as
                           for status
  html_200                 200 with an HTML page
  redirect:CODE            301, 302, 303, 307 or 308 to the same path
  slow_body:BYTES          limit the body to this many bytes per second
  bad_chunk:POSITION       an invalid HTTP chunk, then the end of the connection
POSITION is before_headers, after_headers, after_tokens:N, after_finish or
after_done
selectors (all that are given must match; none = every request)
  rate=0.1                 this share of requests, drawn from the seed
  every=10                 requests 10, 20, 30 …
  first=3                  requests 1 to 3
  requests=5-9             requests 5 to 9; 5- is from the fifth on, 5 only the
                           fifth
examples
  status:503,rate=0.1
  status:429,retry_after=2,first=5
  reset:after_tokens:5,every=10
  stall:after_tokens:3,for=30s,first=1
  malformed:after_tokens:2,kind=nan,requests=4
Requests are counted from 1 in order of arrival.
The first matching rule applies.`

// Action is the effect of a fault rule.
type Action string

// Actions.
const (
	ActStatus      Action = "status"
	ActReset       Action = "reset"
	ActClose       Action = "close"
	ActStall       Action = "stall"
	ActSlowHeaders Action = "slow_headers"
	ActStreamError Action = "stream_error"
	ActMalformed   Action = "malformed"
	ActEmpty       Action = "empty"
	ActJob         Action = "job"
	ActSlowBody    Action = "slow_body"
	ActBadChunk    Action = "bad_chunk"
)

// actionRow is a row of the table of what a rule may begin with.
type actionRow struct {
	name  string
	means Action
	keys  []string // of this action only
	parse func(f *Fault, args []string) error
}

// actions is the table of actions, in the order of the error that lists them. The last of them
// are shorthands.
func actions() []actionRow {
	response := []string{"body", "retry_after"}
	jobKinds := []string{JobFail, JobTimeOut, JobNeverFinish, JobStuckProgress, JobExpire}
	return []actionRow{
		{"status", ActStatus, response, (*Fault).parseStatus},
		{"reset", ActReset, nil, (*Fault).parsePosition},
		{"close", ActClose, nil, (*Fault).parsePosition},
		{"stall", ActStall, []string{"for"}, (*Fault).parsePosition},
		{"slow_headers", ActSlowHeaders, nil, (*Fault).parseSlowHeaders},
		{"stream_error", ActStreamError, []string{"message"}, (*Fault).parseTokens},
		{"malformed", ActMalformed, []string{"kind"}, (*Fault).parseTokens},
		{"empty", ActEmpty, nil, parseKind("body, output or choices", EmptyBody, EmptyOutput, EmptyChoices)},
		{"job", ActJob, nil, parseKind("one of "+strings.Join(jobKinds, ", "), jobKinds...)},
		{"kind", ActStatus, response, (*Fault).parseRefusal},
		{"html_200", ActStatus, response, (*Fault).parseHTML},
		{"redirect", ActStatus, response, (*Fault).parseRedirect},
		{"slow_body", ActSlowBody, nil, (*Fault).parseRate},
		{"bad_chunk", ActBadChunk, nil, (*Fault).parsePosition},
	}
}

// Position is the point of a response at which a rule acts.
type Position string

// Positions.
const (
	PosBeforeHeaders Position = "before_headers"
	PosAfterHeaders  Position = "after_headers"
	PosAfterTokens   Position = "after_tokens"
	PosAfterFinish   Position = "after_finish"
	PosAfterDone     Position = "after_done"
)

// Kinds of ActEmpty, ActJob and ActMalformed, and bodies of ActStatus.
const (
	EmptyBody    = "body"
	EmptyOutput  = "output"
	EmptyChoices = "choices"

	JobFail          = "fail"
	JobTimeOut       = "time_out"
	JobNeverFinish   = "never_finish"
	JobStuckProgress = "stuck_progress"
	JobExpire        = "expire"

	BadJSON       = "bad_json"
	TruncatedJSON = "truncated_json"
	NaNNumber     = "nan"
	InvalidUTF8   = "invalid_utf8"
	RawNewline    = "raw_newline"
	WrongTypes    = "wrong_field_types"
	NotSSE        = "not_sse"
	TwoObjects    = "two_objects"

	BodyVLLM        = "vllm"
	BodyOpenAI      = "openai"
	BodyFastAPI     = "fastapi"
	BodySGLang      = "sglang"
	BodyText        = "text"
	BodyHTML        = "html"
	BodyEmpty       = "empty"
	BodyJSONString  = "json_string"
	BodyHuge        = "huge"
	BodyEchoHeaders = "echo_headers"
)

// Fault is a fault and the requests that it applies to. Make it with ParseFault; the zero
// value matches nothing. It is immutable.
type Fault struct {
	Text       string
	Action     Action
	Pos        Position
	Tokens     int           // of PosAfterTokens
	Status     int           // of ActStatus
	Body       string        // of ActStatus
	Refusal    Refusal       // of ActStatus, in place of Body if it has a name
	Redirects  bool          // ActStatus with a Location
	PerSecond  int           // of ActSlowBody, bytes
	RetryAfter string        // header value, "" = none
	Kind       string        // of ActMalformed, ActEmpty and ActJob
	Message    string        // of ActStreamError
	Hold       time.Duration // of ActStall and ActSlowHeaders; < 0 = forever

	rate     float64 // 0–1
	every    int64   // 0 = any
	from, to int64   // first and last request number
}

// String returns the rule as it was written.
func (f Fault) String() string { return f.Text }

// Matches reports whether the rule, which is at index in its list, applies to request
// seq. It depends only on its arguments.
func (f *Fault) Matches(base uint64, index int, seq int64) bool {
	if f.Action == "" || seq < f.from || seq > f.to {
		return false
	}
	if f.every > 0 && seq%f.every != 0 {
		return false
	}
	if f.rate >= 1 {
		return true
	}
	const span = 1 << 53
	draw := float64(random.Mix(random.Mix(base, uint64(index)+1), uint64(seq))>>11) / span
	return draw < f.rate
}

// ParseFault parses a rule; see FaultHelp.
func ParseFault(text string) (Fault, error) {
	f := Fault{Text: strings.TrimSpace(text), rate: 1, from: 1, to: 1<<63 - 1}
	if err := f.parse(); err != nil {
		return Fault{}, fmt.Errorf("parse fault %q: %w", text, err)
	}
	return f, nil
}

func (f *Fault) parse() error {
	parts := strings.Split(f.Text, ",")
	words := strings.Split(parts[0], ":")
	table := actions()
	i := slices.IndexFunc(table, func(row actionRow) bool { return row.name == words[0] })
	if i < 0 {
		var names []string
		for _, row := range table {
			names = append(names, row.name)
		}
		return fmt.Errorf("unknown action %q, accepted: %s", words[0], strings.Join(names, ", "))
	}
	f.Action = table[i].means
	if err := table[i].parse(f, words[1:]); err != nil {
		return err
	}
	for _, p := range parts[1:] {
		key, value, ok := strings.Cut(strings.TrimSpace(p), "=")
		if !ok {
			return fmt.Errorf("%q is not KEY=VALUE", p)
		}
		if err := f.parseKey(key, value, table[i].keys); err != nil {
			return err
		}
	}
	return nil
}

// integer reads the only argument of an action; want is what the error asks for.
func integer(args []string, want string) (int, error) {
	if len(args) == 1 {
		if v, err := strconv.Atoi(args[0]); err == nil {
			return v, nil
		}
	}
	return 0, fmt.Errorf("want %s, got %q", want, strings.Join(args, ":"))
}

func (f *Fault) parseStatus(args []string) (err error) {
	f.Body = BodyVLLM
	f.Status, err = integer(args, "an HTTP status between 400 and 599, as in status:503")
	if err == nil && (f.Status < 400 || f.Status > 599) {
		err = fmt.Errorf("status is %d, accepted: 400 to 599", f.Status)
	}
	return err
}

func (f *Fault) parsePosition(args []string) error {
	f.Hold = -1
	simple := []Position{PosBeforeHeaders, PosAfterHeaders, PosAfterFinish, PosAfterDone}
	if len(args) == 1 && slices.Contains(simple, Position(args[0])) {
		f.Pos = Position(args[0])
		return nil
	}
	if len(args) == 2 && Position(args[0]) == PosAfterTokens {
		n, err := strconv.Atoi(args[1])
		if err == nil && n >= 0 {
			f.Pos, f.Tokens = PosAfterTokens, n
			return nil
		}
	}
	return fmt.Errorf("unknown position %q, accepted: before_headers, after_headers, after_tokens:N, "+
		"after_finish, after_done", strings.Join(args, ":"))
}

func (f *Fault) parseSlowHeaders(args []string) (err error) {
	text := strings.Join(args, ":")
	f.Hold, err = time.ParseDuration(text)
	if err != nil || f.Hold < 0 {
		return fmt.Errorf("slow_headers wants a duration, as in slow_headers:2s, got %q", text)
	}
	return nil
}

func (f *Fault) parseTokens(args []string) error {
	f.Kind, f.Message = BadJSON, "The engine died while the answer was being generated."
	err := f.parsePosition(args)
	if err == nil && f.Pos != PosAfterTokens {
		err = fmt.Errorf("%s wants after_tokens:N, got %q", f.Action, strings.Join(args, ":"))
	}
	return err
}

// parseKind returns the parser of an action whose argument is one of several words.
func parseKind(want string, kinds ...string) func(*Fault, []string) error {
	return func(f *Fault, args []string) error {
		f.Kind = strings.Join(args, ":")
		if !slices.Contains(kinds, f.Kind) {
			return fmt.Errorf("%s wants %s, got %q", f.Action, want, f.Kind)
		}
		return nil
	}
}

func (f *Fault) parseHTML(args []string) error {
	f.Status, f.Body = http.StatusOK, BodyHTML
	if len(args) > 0 {
		return fmt.Errorf("html_200 takes no argument, got %q", strings.Join(args, ":"))
	}
	return nil
}

func (f *Fault) parseRedirect(args []string) (err error) {
	f.Body, f.Redirects = BodyEmpty, true
	f.Status, err = integer(args, "301, 302, 303, 307 or 308, as in redirect:307")
	if err == nil && !slices.Contains([]int{301, 302, 303, 307, 308}, f.Status) {
		err = fmt.Errorf("redirect is %d, accepted: 301, 302, 303, 307, 308", f.Status)
	}
	return err
}

func (f *Fault) parseRate(args []string) (err error) {
	f.PerSecond, err = integer(args, "bytes per second, as in slow_body:100")
	if err == nil && (f.PerSecond < 1 || f.PerSecond > 1<<30) {
		err = fmt.Errorf("slow_body is %d, accepted: 1 to %d bytes per second", f.PerSecond, 1<<30)
	}
	return err
}

// Refusal is a typical error response of a well-known server.
type Refusal struct {
	Name       string
	Status     int
	RetryAfter string
	Message    string // "" = the page of a gateway
	Type, Code string // in OpenAI's form; "" = the error has vLLM's form
}

// refusals are the names that kind:NAME accepts.
func refusals() []Refusal {
	const invalid = "invalid_request_error"
	return []Refusal{
		{"rate_limit", 429, "1", "Rate limit reached for requests.", "requests", "rate_limit_exceeded"},
		{"invalid_api_key", 401, "", "Incorrect API key provided.", invalid, "invalid_api_key"},
		{"context_length", 400, "", "This model's maximum context length is 4096 tokens. " +
			"However, you requested 5000 tokens in the messages.", "", ""},
		{"server_error", 500, "", "Internal server error", "", ""},
		{"invalid_request", 400, "", "The request is not valid.", "", ""},
		{"model_not_found", 404, "", "The model does not exist or you do not have access to it.", invalid, "model_not_found"},
		{"overloaded", 503, "1", "The engine is currently overloaded, please try again later.", "server_error", "overloaded"},
		{"bad_gateway", 502, "", "", "", ""},
	}
}

func (f *Fault) parseRefusal(args []string) error {
	name := strings.Join(args, ":")
	var names []string
	for _, r := range refusals() {
		if r.Name == name {
			f.Status, f.RetryAfter, f.Refusal = r.Status, r.RetryAfter, r
			return nil
		}
		names = append(names, r.Name)
	}
	return fmt.Errorf("unknown kind %q, accepted: %s", name, strings.Join(names, ", "))
}

// parseKey parses a selector, or one of the keys of the action.
func (f *Fault) parseKey(key, value string, keys []string) error {
	switch key {
	case "rate":
		v, err := random.ParseRatio(value)
		if err != nil || v > 1 {
			return fmt.Errorf("rate is %q, accepted: a number between 0 and 1", value)
		}
		f.rate = v
	case "every", "first":
		v, err := strconv.ParseInt(value, 10, 64)
		if err != nil || v < 1 {
			return fmt.Errorf("%s is %q, accepted: a whole number ≥ 1", key, value)
		}
		if key == "every" {
			f.every = v
		} else {
			f.to = min(f.to, v)
		}
	case "requests":
		return f.parseRange(value)
	default:
		if !slices.Contains(keys, key) {
			accepted := append(slices.Clone(keys), "rate, every, first, requests")
			return fmt.Errorf("unknown key %q of %s, accepted: %s", key, f.Action, strings.Join(accepted, ", "))
		}
		return f.parseActionKey(key, value)
	}
	return nil
}

func (f *Fault) parseRange(value string) error {
	low, high, isRange := strings.Cut(value, "-")
	from, err := strconv.ParseInt(low, 10, 64)
	to := from
	if err == nil && isRange {
		to = 1<<63 - 1
		if high != "" {
			to, err = strconv.ParseInt(high, 10, 64)
		}
	}
	if err != nil || from < 1 || to < from {
		return fmt.Errorf("requests is %q, accepted: N, N-M or N-, counted from 1", value)
	}
	f.from, f.to = max(f.from, from), min(f.to, to)
	return nil
}

// parseActionKey parses a key that the action accepts.
func (f *Fault) parseActionKey(key, value string) error {
	oneOf := func(list ...string) error {
		if !slices.Contains(list, value) {
			return fmt.Errorf("%s is %q, accepted: %s", key, value, strings.Join(list, ", "))
		}
		return nil
	}
	switch key {
	case "body":
		f.Body, f.Refusal = value, Refusal{}
		return oneOf(BodyVLLM, BodyOpenAI, BodyFastAPI, BodySGLang, BodyText, BodyHTML, BodyEmpty, BodyJSONString, BodyHuge,
			BodyEchoHeaders)
	case "kind":
		f.Kind = value
		return oneOf(BadJSON, TruncatedJSON, NaNNumber, InvalidUTF8, RawNewline, WrongTypes, NotSSE, TwoObjects)
	case "message":
		f.Message = value
	case "retry_after":
		if v, err := strconv.Atoi(value); err != nil || v < 0 {
			return fmt.Errorf("retry_after is %q, accepted: seconds ≥ 0", value)
		}
		f.RetryAfter = value
	case "for":
		d, err := time.ParseDuration(value)
		if value == "forever" {
			d, err = -1, nil
		} else if err != nil || d < 0 {
			err = fmt.Errorf("for is %q, accepted: a duration such as 30s, or forever", value)
		}
		f.Hold = d
		return err
	}
	return nil
}
