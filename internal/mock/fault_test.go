package mock

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func TestParseFaultErrors(t *testing.T) {
	tests := []struct{ rule, want string }{
		{"", `unknown action "", accepted: status, reset, close, stall, slow_headers, stream_error, malformed, empty, job, kind, html_200, redirect, slow_body, bad_chunk`},
		{"explode", `unknown action "explode", accepted: status, reset, close, stall, slow_headers, stream_error, malformed, empty, job, kind, html_200, redirect, slow_body, bad_chunk`},
		{"status", `want an HTTP status between 400 and 599, as in status:503, got ""`},
		{"status:200", `status is 200, accepted: 400 to 599`},
		{"status:503,body=xml", `body is "xml", accepted: vllm, openai, fastapi, sglang, text, html, empty, json_string, huge, echo_headers`},
		{"status:503,retry_after=soon", `retry_after is "soon", accepted: seconds ≥ 0`},
		{"status:503,for=3s", `unknown key "for" of status, accepted: body, retry_after, rate, every, first, requests`},
		{"status:503,rate", `"rate" is not KEY=VALUE`},
		{"status:503,rate=1.5", `rate is "1.5", accepted: a number between 0 and 1`},
		{"status:503,every=0", `every is "0", accepted: a whole number ≥ 1`},
		{"status:503,first=x", `first is "x", accepted: a whole number ≥ 1`},
		{"status:503,requests=5-3", `requests is "5-3", accepted: N, N-M or N-, counted from 1`},
		{"reset:later", `unknown position "later", accepted: before_headers, after_headers, after_tokens:N, after_finish, after_done`},
		{"close:after_tokens:-1", `unknown position "after_tokens:-1", accepted: before_headers, after_headers, after_tokens:N, after_finish, after_done`},
		{"stall:after_headers,for=long", `for is "long", accepted: a duration such as 30s, or forever`},
		{"slow_headers", `slow_headers wants a duration, as in slow_headers:2s, got ""`},
		{"malformed:after_headers", `malformed wants after_tokens:N, got "after_headers"`},
		{"malformed:after_tokens:1,kind=odd", `kind is "odd", accepted: bad_json, truncated_json, nan, invalid_utf8, raw_newline, wrong_field_types, not_sse, two_objects`},
		{"empty:all", `empty wants body, output or choices, got "all"`},
	}
	for _, tt := range tests {
		_, err := ParseFault(tt.rule)
		want := fmt.Sprintf("parse fault %q: %s", tt.rule, tt.want)
		if err == nil || err.Error() != want {
			t.Errorf("ParseFault(%q) = %v, want %v", tt.rule, err, want)
		}
	}
}

func TestFaultSelectors(t *testing.T) {
	tests := []struct {
		rule string
		want []int64 // of the requests 1 to 12
	}{
		{"empty:body", []int64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}},
		{"empty:body,every=5", []int64{5, 10}},
		{"empty:body,first=2", []int64{1, 2}},
		{"empty:body,requests=3", []int64{3}},
		{"empty:body,requests=3-5", []int64{3, 4, 5}},
		{"empty:body,requests=11-", []int64{11, 12}},
		{"empty:body,requests=2-9,every=4", []int64{4, 8}},
		{"empty:body,requests=2-9,first=3", []int64{2, 3}},
		{"empty:body,rate=0", nil},
	}
	for _, tt := range tests {
		f := mustFaults(t, tt.rule)[0]
		var got []int64
		for seq := int64(1); seq <= 12; seq++ {
			if f.matches(1, 0, seq) {
				got = append(got, seq)
			}
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s matches (-want +got):\n%s", tt.rule, diff)
		}
		if f.String() != tt.rule {
			t.Errorf("String() = %q, want %q", f.String(), tt.rule)
		}
	}
}

func TestFaultRate(t *testing.T) {
	f := mustFaults(t, "empty:body,rate=0.1")[0]
	count := func(seed uint64, index int) (n int) {
		for seq := int64(1); seq <= 20000; seq++ {
			if f.matches(seed, index, seq) {
				n++
			}
		}
		return n
	}
	// Binomial(20000, 0.1): sd 42; four of them either side.
	if n := count(1, 0); n < 1830 || n > 2170 {
		t.Errorf("rate 0.1 matched %d of 20000", n)
	}
	if a, b := count(1, 0), count(1, 0); a != b {
		t.Errorf("the same seed matched %d, then %d", a, b)
	}
	if a, b, c := count(1, 0), count(2, 0), count(1, 1); a == b && b == c {
		t.Errorf("seed and place in the list change nothing: %d", a)
	}
}

// TestFaults plays every action on a stream of four tokens.
func TestFaults(t *testing.T) {
	refused := `{"error":{"message":"Service Unavailable (simulated fault)","type":"ServiceUnavailableError","param":null,"code":503}}`
	tests := []struct {
		rule    string
		status  int           // 0 = no response
		tokens  int           // content events with text that can be parsed
		done    bool          // [DONE] was seen
		err     error         // that ends the exchange
		at      time.Duration // when it ends
		body    string        // whole, for errors
		outcome string        // "" = fault:rule
	}{
		{rule: "status:503", status: 503, body: refused},
		{rule: "status:429,body=empty", status: 429},
		{rule: "empty:body", status: 200},
		{rule: "empty:output", status: 200, done: true, at: 20 * ms},
		{rule: "slow_headers:1s", status: 200, tokens: 4, done: true, at: 1035 * ms},
		{rule: "reset:before_headers", err: syscall.ECONNRESET},
		{rule: "close:before_headers", err: io.EOF},
		{rule: "close:after_headers", status: 200, err: io.ErrUnexpectedEOF},
		{rule: "close:after_tokens:0", status: 200, err: io.ErrUnexpectedEOF},
		{rule: "close:after_tokens:3", status: 200, tokens: 3, err: io.ErrUnexpectedEOF, at: 30 * ms},
		{rule: "close:after_tokens:4", status: 200, tokens: 4, err: io.ErrUnexpectedEOF, at: 35 * ms},
		{rule: "close:after_tokens:5", status: 200, tokens: 4, done: true, at: 35 * ms, outcome: "ok"},
		{rule: "close:after_finish", status: 200, tokens: 4, err: io.ErrUnexpectedEOF, at: 35 * ms},
		{rule: "close:after_done", status: 200, tokens: 4, done: true, err: io.ErrUnexpectedEOF, at: 35 * ms},
		{rule: "stall:before_headers,for=2s", status: 200, tokens: 4, done: true, at: 2035 * ms},
		{rule: "stall:after_tokens:1,for=2s", status: 200, tokens: 4, done: true, at: 2035 * ms},
		{rule: "stall:after_done,for=2s", status: 200, tokens: 4, done: true, at: 2035 * ms},
		{rule: "stream_error:after_tokens:2", status: 200, tokens: 2, done: true, at: 25 * ms},
		{rule: "malformed:after_tokens:1", status: 200, tokens: 3, done: true, at: 35 * ms},
		{rule: "malformed:after_tokens:1,kind=truncated_json", status: 200, tokens: 3, done: true, at: 35 * ms},
		{rule: "malformed:after_tokens:0,kind=nan", status: 200, tokens: 3, done: true, at: 35 * ms},
		{rule: "malformed:after_tokens:3,kind=invalid_utf8", status: 200, tokens: 3, done: true, at: 35 * ms},
		{rule: "malformed:after_tokens:4", status: 200, tokens: 4, done: true, at: 35 * ms, outcome: "ok"},
	}
	for _, tt := range tests {
		t.Run(tt.rule, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, Options{Faults: mustFaults(t, tt.rule)})
				got := r.post(chatPath, `{"messages":[{"role":"user","content":"x"}],"max_tokens":4,"stream":true}`)
				if got.status != tt.status || got.at != tt.at || !errors.Is(got.err, tt.err) {
					t.Errorf("status %d at %v, error %v; want %d at %v, %v",
						got.status, got.at, got.err, tt.status, tt.at, tt.err)
				}
				tokens, done := readTokens(got.body)
				if tokens != tt.tokens || done != tt.done {
					t.Errorf("%d tokens, done %v; want %d, %v in\n%s", tokens, done, tt.tokens, tt.done, got.body)
				}
				if tt.body != "" && got.body != tt.body {
					t.Errorf("body = %s, want %s", got.body, tt.body)
				}
				synctest.Wait() // the handler may end after the client
				want := tt.outcome
				if want == "" {
					want = OutcomeFault + tt.rule
				}
				if truth := r.lastTruth(); truth.Outcome != want {
					t.Errorf("outcome = %q, want %q", truth.Outcome, want)
				}
			})
		})
	}
}

// readTokens counts the events that a strict reader takes as content.
func readTokens(body string) (tokens int, done bool) {
	in := bufio.NewScanner(strings.NewReader(body))
	for in.Scan() {
		data, ok := strings.CutPrefix(in.Text(), "data: ")
		done = done || data == "[DONE]"
		var event struct {
			Choices []struct{ Delta struct{ Content string } }
		}
		if !ok || !utf8.ValidString(data) || json.Unmarshal([]byte(data), &event) != nil {
			continue
		}
		if len(event.Choices) == 1 && event.Choices[0].Delta.Content != "" {
			tokens++
		}
	}
	return tokens, done
}

// TestFaultsPlain plays the actions on a document of four tokens, whole at 35 ms.
func TestFaultsPlain(t *testing.T) {
	tests := []struct {
		rule   string
		status int
		valid  bool // the body is valid JSON in UTF-8
		err    error
		at     time.Duration
	}{
		{"reset:before_headers", 0, false, syscall.ECONNRESET, 0},
		{"close:after_headers", 200, false, io.ErrUnexpectedEOF, 35 * ms},
		{"close:after_tokens:2", 200, false, io.ErrUnexpectedEOF, 25 * ms},
		{"close:after_tokens:0", 200, false, io.ErrUnexpectedEOF, 0},
		{"stall:after_tokens:2,for=1s", 200, true, nil, 1035 * ms},
		{"stream_error:after_tokens:3", 500, true, nil, 30 * ms},
		{"malformed:after_tokens:1", 200, false, nil, 35 * ms},
		{"malformed:after_tokens:1,kind=truncated_json", 200, false, nil, 35 * ms},
		{"malformed:after_tokens:1,kind=nan", 200, false, nil, 35 * ms},
		{"malformed:after_tokens:1,kind=invalid_utf8", 200, false, nil, 35 * ms},
		{"empty:output", 200, true, nil, 20 * ms},
	}
	for _, tt := range tests {
		t.Run(tt.rule, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, Options{Faults: mustFaults(t, tt.rule)})
				got := r.post(completionPath, `{"prompt":"x","max_tokens":4}`)
				if got.status != tt.status || got.at != tt.at || !errors.Is(got.err, tt.err) {
					t.Errorf("status %d at %v, error %v; want %d at %v, %v",
						got.status, got.at, got.err, tt.status, tt.at, tt.err)
				}
				if valid := json.Valid([]byte(got.body)) && utf8.ValidString(got.body); valid != tt.valid {
					t.Errorf("valid = %v, want %v: %q", valid, tt.valid, got.body)
				}
				synctest.Wait()
				if truth := r.lastTruth(); truth.Outcome != OutcomeFault+tt.rule {
					t.Errorf("outcome = %q, want the fault", truth.Outcome)
				}
			})
		})
	}
}

func TestErrorBodies(t *testing.T) {
	req, err := http.NewRequest(http.MethodPost, "http://h/v1/x?key=q", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer s3cret")
	tests := []struct{ kind, contentType, want string }{
		{"vllm", "application/json", `{"error":{"message":"Too Many Requests (simulated fault)","type":"RateLimitError","param":null,"code":429}}`},
		{"openai", "application/json", `{"error":{"message":"Too Many Requests (simulated fault)","type":"server_error","param":null,"code":"too_many_requests"}}`},
		{"fastapi", "application/json", `{"detail":"Too Many Requests (simulated fault)"}`},
		{"sglang", "application/json", `{"object":"error","message":"Too Many Requests (simulated fault)","type":"RateLimitError","param":null,"code":429}`},
		{"text", "text/plain; charset=utf-8", `Too Many Requests (simulated fault)`},
		{"html", "text/html", "<html>\r\n<head><title>429 Too Many Requests</title></head>\r\n<body>\r\n<center><h1>429 Too Many Requests</h1></center>\r\n</body>\r\n</html>\r\n"},
		{"empty", "", ""},
		{"json_string", "application/json", `"Too Many Requests (simulated fault)"`},
		{"echo_headers", "application/json", `{"error":{"message":"request refused: POST http://h/v1/x?key=q; Authorization: Bearer s3cret","type":"RateLimitError","param":null,"code":429}}`},
	}
	for _, tt := range tests {
		body, ok := errorBody(tt.kind, 429, req)
		if !ok || body.contentType != tt.contentType || string(body.data) != tt.want {
			t.Errorf("errorBody(%s) = %q %q, want %q %q", tt.kind, body.contentType, body.data, tt.contentType, tt.want)
		}
	}
	if huge, ok := errorBody("huge", 500, req); !ok || len(huge.data) < hugeBody-100 || !json.Valid(huge.data) {
		t.Errorf("huge has %d bytes, want about %d of JSON", len(huge.data), hugeBody)
	}
}

func TestStatusFaultHeaders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Options{Faults: mustFaults(t, "status:429,retry_after=7,body=echo_headers,first=1")})
		got := r.post(completionPath, `not json`, "Authorization", "Bearer k1")
		if ra := got.header.Get("Retry-After"); got.status != 429 || ra != "7" || !strings.Contains(got.body, "Bearer k1") {
			t.Errorf("status %d, Retry-After %q, body %s", got.status, ra, got.body)
		}
		if got := r.post(completionPath, `{"prompt":"x"}`); got.status != 200 {
			t.Errorf("second request: status %d, want 200", got.status)
		}
	})
}

func TestCorruptLeavesTheFrontAlone(t *testing.T) {
	const front, doc = `{"id":"a"}`, `{"id":"b","created":12,"text":"x"}`
	for _, kind := range []string{badJSON, truncatedJSON, nanNumber, invalidUTF8} {
		got := corrupt([]byte(front+doc), len(front), kind)
		if !bytes.HasPrefix(got, []byte(front)) {
			t.Errorf("%s: front became %q", kind, got)
		}
		rest := got[len(front):]
		if json.Valid(rest) && utf8.Valid(rest) {
			t.Errorf("%s: %q is still valid", kind, rest)
		}
	}
}
