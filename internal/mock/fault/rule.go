// Package fault parses fault rules: which requests fail, where, and how. It also has the
// bodies of error responses and the ways to corrupt a response.
package fault

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"aiperfd/internal/mock/random"
)

// Help describes the syntax of rules.
const Help = `ACTION[:ARGUMENT][,KEY=VALUE…]
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

// Action is the effect of a rule.
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

// Shorthands for rules with ActStatus.
const (
	shortKind     = "kind"
	shortHTML     = "html_200"
	shortRedirect = "redirect"
)

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

// Kinds of ActEmpty, ActJob and ActMalformed.
const (
	EmptyBody   = "body"
	EmptyOutput = "output"

	JobFail          = "fail"
	JobTimeOut       = "time_out"
	JobNeverFinish   = "never_finish"
	JobStuckProgress = "stuck_progress"
	JobExpire        = "expire"
	EmptyChoices     = "choices"

	badJSON       = "bad_json"
	truncatedJSON = "truncated_json"
	nanNumber     = "nan"
	invalidUTF8   = "invalid_utf8"
	rawNewline    = "raw_newline"
	wrongTypes    = "wrong_field_types"
	notSSE        = "not_sse"
	twoObjects    = "two_objects"
)

// Rule is a fault and the requests that it applies to. Make it with Parse; the zero
// value matches nothing. It is immutable.
type Rule struct {
	Text       string
	Action     Action
	Pos        Position
	Tokens     int           // of PosAfterTokens
	Status     int           // of ActStatus
	Body       string        // of ActStatus
	Fixed      string        // body of ActStatus; "" = by Body
	FixedType  string        // its content type
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
func (f Rule) String() string { return f.Text }

// Matches reports whether the rule, which is at index in its list, applies to request
// seq. It depends only on its arguments.
func (f *Rule) Matches(base uint64, index int, seq int64) bool {
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

// Parse parses a rule; see Help.
func Parse(text string) (Rule, error) {
	parts := strings.Split(strings.TrimSpace(text), ",")
	f := Rule{Text: strings.TrimSpace(text), rate: 1, from: 1, to: 1<<63 - 1}
	if err := f.parseAction(strings.Split(parts[0], ":")); err != nil {
		return Rule{}, fmt.Errorf("parse fault %q: %w", text, err)
	}
	for _, p := range parts[1:] {
		key, value, ok := strings.Cut(strings.TrimSpace(p), "=")
		if !ok {
			return Rule{}, fmt.Errorf("parse fault %q: %q is not KEY=VALUE", text, p)
		}
		if err := f.parseKey(key, value); err != nil {
			return Rule{}, fmt.Errorf("parse fault %q: %w", text, err)
		}
	}
	return f, nil
}

func (f *Rule) parseAction(words []string) error {
	f.Action = Action(words[0])
	args := words[1:]
	var err error
	switch f.Action {
	case ActStatus:
		f.Body = "vllm"
		f.Status, err = oneInt(args, "an HTTP status between 400 and 599, as in status:503")
		if err == nil && (f.Status < 400 || f.Status > 599) {
			err = fmt.Errorf("status is %d, accepted: 400 to 599", f.Status)
		}
	case ActReset, ActClose, ActBadChunk:
		err = f.parsePosition(args)
	case shortKind:
		err = f.parseKind(args)
	case shortRedirect:
		err = f.parseRedirect(args)
	case ActSlowBody:
		err = f.parseRate(args)
	case shortHTML:
		f.Action, f.Status, f.Body = ActStatus, http.StatusOK, "html"
		if len(args) > 0 {
			err = fmt.Errorf("html_200 takes no argument, got %q", strings.Join(args, ":"))
		}
	case ActStall:
		f.Hold = -1
		err = f.parsePosition(args)
	case ActSlowHeaders:
		f.Hold, err = time.ParseDuration(strings.Join(args, ":"))
		if err != nil || f.Hold < 0 {
			err = fmt.Errorf("slow_headers wants a duration, as in slow_headers:2s, got %q", strings.Join(args, ":"))
		}
	case ActStreamError, ActMalformed:
		f.Kind, f.Message = badJSON, "The engine died while the answer was being generated."
		err = f.parsePosition(args)
		if err == nil && f.Pos != PosAfterTokens {
			err = fmt.Errorf("%s wants after_tokens:N, got %q", f.Action, strings.Join(args, ":"))
		}
	case ActEmpty:
		f.Kind = strings.Join(args, ":")
		if !slices.Contains([]string{EmptyBody, EmptyOutput, EmptyChoices}, f.Kind) {
			err = fmt.Errorf("empty wants body, output or choices, got %q", f.Kind)
		}
	case ActJob:
		kinds := []string{JobFail, JobTimeOut, JobNeverFinish, JobStuckProgress, JobExpire}
		f.Kind = strings.Join(args, ":")
		if !slices.Contains(kinds, f.Kind) {
			err = fmt.Errorf("job wants one of %s, got %q", strings.Join(kinds, ", "), f.Kind)
		}
	default:
		err = fmt.Errorf("unknown action %q, accepted: status, reset, close, stall, slow_headers, "+
			"stream_error, malformed, empty, job, kind, html_200, redirect, slow_body, bad_chunk", words[0])
	}
	return err
}

func oneInt(args []string, want string) (int, error) {
	if len(args) == 1 {
		if v, err := strconv.Atoi(args[0]); err == nil {
			return v, nil
		}
	}
	return 0, fmt.Errorf("want %s, got %q", want, strings.Join(args, ":"))
}

func (f *Rule) parsePosition(args []string) error {
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

func (f *Rule) parseKey(key, value string) error {
	switch key {
	case "rate":
		v, err := random.ParseRatio(value)
		if err != nil || v > 1 {
			return fmt.Errorf("rate is %q, accepted: a number between 0 and 1", value)
		}
		f.rate = v
		return nil
	case "every":
		v, err := strconv.ParseInt(value, 10, 64)
		if err != nil || v < 1 {
			return fmt.Errorf("every is %q, accepted: a whole number ≥ 1", value)
		}
		f.every = v
		return nil
	case "first":
		v, err := strconv.ParseInt(value, 10, 64)
		if err != nil || v < 1 {
			return fmt.Errorf("first is %q, accepted: a whole number ≥ 1", value)
		}
		f.to = min(f.to, v)
		return nil
	case "requests":
		return f.parseRange(value)
	}
	return f.parseActionKey(key, value)
}

func (f *Rule) parseRange(value string) error {
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

// parseActionKey parses the keys that belong to one action.
func (f *Rule) parseActionKey(key, value string) error {
	switch {
	case key == "body" && f.Action == ActStatus:
		if _, ok := ErrorBody(value, f.Status, nil); !ok {
			return fmt.Errorf("body is %q, accepted: %s", value, strings.Join(bodyKinds(), ", "))
		}
		f.Body, f.Fixed = value, ""
	case key == "retry_after" && f.Action == ActStatus:
		if v, err := strconv.Atoi(value); err != nil || v < 0 {
			return fmt.Errorf("retry_after is %q, accepted: seconds ≥ 0", value)
		}
		f.RetryAfter = value
	case key == "for" && f.Action == ActStall:
		if value == "forever" {
			f.Hold = -1
			return nil
		}
		d, err := time.ParseDuration(value)
		if err != nil || d < 0 {
			return fmt.Errorf("for is %q, accepted: a duration such as 30s, or forever", value)
		}
		f.Hold = d
	case key == "kind" && f.Action == ActMalformed:
		if !slices.Contains(malformedKinds(), value) {
			return fmt.Errorf("kind is %q, accepted: %s", value, strings.Join(malformedKinds(), ", "))
		}
		f.Kind = value
	case key == "message" && f.Action == ActStreamError:
		f.Message = value
	default:
		return fmt.Errorf("unknown key %q of %s, accepted: %s", key, f.Action, f.acceptedKeys())
	}
	return nil
}

func (f *Rule) acceptedKeys() string {
	const selectors = "rate, every, first, requests"
	switch f.Action {
	case ActStatus:
		return "body, retry_after, " + selectors
	case ActStall:
		return "for, " + selectors
	case ActMalformed:
		return "kind, " + selectors
	case ActStreamError:
		return "message, " + selectors
	case ActReset, ActClose, ActSlowHeaders, ActEmpty, ActSlowBody, ActJob, ActBadChunk:
	}
	return selectors
}
