package mock

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// FaultHelp describes the language of ParseFault.
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

type faultAction string

const (
	actStatus      faultAction = "status"
	actReset       faultAction = "reset"
	actClose       faultAction = "close"
	actStall       faultAction = "stall"
	actSlowHeaders faultAction = "slow_headers"
	actStreamError faultAction = "stream_error"
	actMalformed   faultAction = "malformed"
	actEmpty       faultAction = "empty"
	actJob         faultAction = "job"
	actSlowBody    faultAction = "slow_body"
	actBadChunk    faultAction = "bad_chunk"
)

// Shorthands: rules that become actStatus.
const (
	shortKind     = "kind"
	shortHTML     = "html_200"
	shortRedirect = "redirect"
)

type position string

const (
	posBeforeHeaders position = "before_headers"
	posAfterHeaders  position = "after_headers"
	posAfterTokens   position = "after_tokens"
	posAfterFinish   position = "after_finish"
	posAfterDone     position = "after_done"
)

const (
	emptyBody   = "body"
	emptyOutput = "output"

	jobFail          = "fail"
	jobTimeOut       = "time_out"
	jobNeverFinish   = "never_finish"
	jobStuckProgress = "stuck_progress"
	jobExpire        = "expire"
	emptyChoices     = "choices"

	badJSON       = "bad_json"
	truncatedJSON = "truncated_json"
	nanNumber     = "nan"
	invalidUTF8   = "invalid_utf8"
	rawNewline    = "raw_newline"
	wrongTypes    = "wrong_field_types"
	notSSE        = "not_sse"
	twoObjects    = "two_objects"
)

// Fault is one rule of misbehaviour: which requests, and what happens to them.
// Make it with ParseFault; the zero value matches nothing. It is immutable.
type Fault struct {
	text       string
	action     faultAction
	pos        position
	tokens     int           // of posAfterTokens
	status     int           // of actStatus
	body       string        // of actStatus
	fixed      string        // body of actStatus; "" = as body says
	fixedType  string        // its content type
	redirects  bool          // actStatus with a Location
	perSecond  int           // of actSlowBody, bytes
	retryAfter string        // header value, "" = none
	kind       string        // of actMalformed, actEmpty and actJob
	message    string        // of actStreamError
	hold       time.Duration // of actStall and actSlowHeaders; < 0 = for ever

	rate     float64 // 0–1
	every    int64   // 0 = any
	from, to int64   // first and last request number
}

// String returns the rule as it was written.
func (f Fault) String() string { return f.text }

// matches says whether the rule, which stands at index in its list, acts on
// request seq. It depends on its arguments only.
func (f *Fault) matches(seed uint64, index int, seq int64) bool {
	if f.action == "" || seq < f.from || seq > f.to {
		return false
	}
	if f.every > 0 && seq%f.every != 0 {
		return false
	}
	if f.rate >= 1 {
		return true
	}
	const span = 1 << 53
	draw := float64(mix64(mix64(seed, uint64(index)+1), uint64(seq))>>11) / span
	return draw < f.rate
}

// ParseFault reads a rule as FaultHelp describes it.
func ParseFault(text string) (Fault, error) {
	parts := strings.Split(strings.TrimSpace(text), ",")
	f := Fault{text: strings.TrimSpace(text), rate: 1, from: 1, to: 1<<63 - 1}
	if err := f.parseAction(strings.Split(parts[0], ":")); err != nil {
		return Fault{}, fmt.Errorf("parse fault %q: %w", text, err)
	}
	for _, p := range parts[1:] {
		key, value, ok := strings.Cut(strings.TrimSpace(p), "=")
		if !ok {
			return Fault{}, fmt.Errorf("parse fault %q: %q is not KEY=VALUE", text, p)
		}
		if err := f.parseKey(key, value); err != nil {
			return Fault{}, fmt.Errorf("parse fault %q: %w", text, err)
		}
	}
	return f, nil
}

func (f *Fault) parseAction(words []string) error {
	f.action = faultAction(words[0])
	args := words[1:]
	var err error
	switch f.action {
	case actStatus:
		f.body = "vllm"
		f.status, err = oneInt(args, "an HTTP status between 400 and 599, as in status:503")
		if err == nil && (f.status < 400 || f.status > 599) {
			err = fmt.Errorf("status is %d, accepted: 400 to 599", f.status)
		}
	case actReset, actClose, actBadChunk:
		err = f.parsePosition(args)
	case shortKind:
		err = f.parseKind(args)
	case shortRedirect:
		err = f.parseRedirect(args)
	case actSlowBody:
		err = f.parseRate(args)
	case shortHTML:
		f.action, f.status, f.body = actStatus, http.StatusOK, "html"
		if len(args) > 0 {
			err = fmt.Errorf("html_200 takes no argument, got %q", strings.Join(args, ":"))
		}
	case actStall:
		f.hold = -1
		err = f.parsePosition(args)
	case actSlowHeaders:
		f.hold, err = time.ParseDuration(strings.Join(args, ":"))
		if err != nil || f.hold < 0 {
			err = fmt.Errorf("slow_headers wants a duration, as in slow_headers:2s, got %q", strings.Join(args, ":"))
		}
	case actStreamError, actMalformed:
		f.kind, f.message = badJSON, "The engine died while the answer was being generated."
		err = f.parsePosition(args)
		if err == nil && f.pos != posAfterTokens {
			err = fmt.Errorf("%s wants after_tokens:N, got %q", f.action, strings.Join(args, ":"))
		}
	case actEmpty:
		f.kind = strings.Join(args, ":")
		if !slices.Contains([]string{emptyBody, emptyOutput, emptyChoices}, f.kind) {
			err = fmt.Errorf("empty wants body, output or choices, got %q", f.kind)
		}
	case actJob:
		kinds := []string{jobFail, jobTimeOut, jobNeverFinish, jobStuckProgress, jobExpire}
		f.kind = strings.Join(args, ":")
		if !slices.Contains(kinds, f.kind) {
			err = fmt.Errorf("job wants one of %s, got %q", strings.Join(kinds, ", "), f.kind)
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

func (f *Fault) parsePosition(args []string) error {
	simple := []position{posBeforeHeaders, posAfterHeaders, posAfterFinish, posAfterDone}
	if len(args) == 1 && slices.Contains(simple, position(args[0])) {
		f.pos = position(args[0])
		return nil
	}
	if len(args) == 2 && position(args[0]) == posAfterTokens {
		n, err := strconv.Atoi(args[1])
		if err == nil && n >= 0 {
			f.pos, f.tokens = posAfterTokens, n
			return nil
		}
	}
	return fmt.Errorf("unknown position %q, accepted: before_headers, after_headers, after_tokens:N, "+
		"after_finish, after_done", strings.Join(args, ":"))
}

func (f *Fault) parseKey(key, value string) error {
	switch key {
	case "rate":
		v, err := parseRatio(value)
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

// parseActionKey reads the keys that belong to one action only.
func (f *Fault) parseActionKey(key, value string) error {
	switch {
	case key == "body" && f.action == actStatus:
		if _, ok := errorBody(value, f.status, nil); !ok {
			return fmt.Errorf("body is %q, accepted: %s", value, strings.Join(bodyKinds(), ", "))
		}
		f.body, f.fixed = value, ""
	case key == "retry_after" && f.action == actStatus:
		if v, err := strconv.Atoi(value); err != nil || v < 0 {
			return fmt.Errorf("retry_after is %q, accepted: seconds ≥ 0", value)
		}
		f.retryAfter = value
	case key == "for" && f.action == actStall:
		if value == "forever" {
			f.hold = -1
			return nil
		}
		d, err := time.ParseDuration(value)
		if err != nil || d < 0 {
			return fmt.Errorf("for is %q, accepted: a duration such as 30s, or forever", value)
		}
		f.hold = d
	case key == "kind" && f.action == actMalformed:
		if !slices.Contains(malformedKinds(), value) {
			return fmt.Errorf("kind is %q, accepted: %s", value, strings.Join(malformedKinds(), ", "))
		}
		f.kind = value
	case key == "message" && f.action == actStreamError:
		f.message = value
	default:
		return fmt.Errorf("unknown key %q of %s, accepted: %s", key, f.action, f.acceptedKeys())
	}
	return nil
}

func (f *Fault) acceptedKeys() string {
	const selectors = "rate, every, first, requests"
	switch f.action {
	case actStatus:
		return "body, retry_after, " + selectors
	case actStall:
		return "for, " + selectors
	case actMalformed:
		return "kind, " + selectors
	case actStreamError:
		return "message, " + selectors
	case actReset, actClose, actSlowHeaders, actEmpty, actSlowBody, actJob, actBadChunk:
	}
	return selectors
}
