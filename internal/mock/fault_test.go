package mock

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"aiperfd/internal/mock/api"
	"aiperfd/internal/mock/options"
)

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
				r := newRig(t, options.Options{Faults: mustFaults(t, tt.rule)})
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
					want = api.OutcomeFault + tt.rule
				}
				if record := r.lastTruth(); record.Outcome != want {
					t.Errorf("outcome = %q, want %q", record.Outcome, want)
				}
			})
		})
	}
}

// readTokens counts the events that a strict reader accepts as content.
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
				r := newRig(t, options.Options{Faults: mustFaults(t, tt.rule)})
				got := r.post(completionPath, `{"prompt":"x","max_tokens":4}`)
				if got.status != tt.status || got.at != tt.at || !errors.Is(got.err, tt.err) {
					t.Errorf("status %d at %v, error %v; want %d at %v, %v",
						got.status, got.at, got.err, tt.status, tt.at, tt.err)
				}
				if valid := json.Valid([]byte(got.body)) && utf8.ValidString(got.body); valid != tt.valid {
					t.Errorf("valid = %v, want %v: %q", valid, tt.valid, got.body)
				}
				synctest.Wait()
				if record := r.lastTruth(); record.Outcome != api.OutcomeFault+tt.rule {
					t.Errorf("outcome = %q, want the fault", record.Outcome)
				}
			})
		})
	}
}

func TestStatusFaultHeaders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, options.Options{Faults: mustFaults(t, "status:429,retry_after=7,body=echo_headers,first=1")})
		got := r.post(completionPath, `not json`, "Authorization", "Bearer k1")
		if ra := got.header.Get("Retry-After"); got.status != 429 || ra != "7" || !strings.Contains(got.body, "Bearer k1") {
			t.Errorf("status %d, Retry-After %q, body %s", got.status, ra, got.body)
		}
		if got := r.post(completionPath, `{"prompt":"x"}`); got.status != 200 {
			t.Errorf("second request: status %d, want 200", got.status)
		}
	})
}
