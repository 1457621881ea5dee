package endpoint

import (
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/endpoint/answer"
	"aiperfd/internal/engine/endpoint/openai"
	"aiperfd/internal/engine/eventlog"
)

func TestStatusFailure(t *testing.T) {
	for _, tt := range []struct {
		name   string
		status int
		header http.Header
		body   string
		want   bench.Failure
	}{
		{
			"all fields", 429, http.Header{"Retry-After": {"2"}}, `{"error":{"message":"slow down","type":"requests","code":"rate"}}`,
			bench.Failure{Class: bench.RateLimited, Type: "requests", Code: "rate", Message: "retry after 2s: slow down", RetryAfter: 2 * time.Second},
		},
		{
			"overflow in the message", 400, nil, `{"error":{"message":"This model's Maximum Context length is 10"}}`,
			bench.Failure{Class: bench.ContextOverflow, Message: "This model's Maximum Context length is 10"},
		},
		{
			"overflow in the code only", 413, nil, `{"error":{"message":"no","code":"context_length_exceeded"}}`,
			bench.Failure{Class: bench.ContextOverflow, Code: "context_length_exceeded", Message: "no"},
		},
		{"overflow in plain text", 422, nil, "Input is too long", bench.Failure{Class: bench.ContextOverflow, Message: "Input is too long"}},
		{"these words at another status", 500, nil, "too many tokens", bench.Failure{Class: bench.ServerError, Message: "too many tokens"}},
		{"413 without them", 413, nil, "", bench.Failure{Class: bench.PayloadTooLarge, Message: "Request Entity Too Large"}},
		{
			"redirect", 302, http.Header{"Location": {"http://u:secret@h/x?token=secret"}}, "",
			bench.Failure{Class: bench.Redirect, Message: "Found: http://<redacted>@h/x?token=<redacted>"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.want.Step, tt.want.Status = bench.StepHeaders, tt.status
			resp := &bench.Response{Status: tt.status, Header: tt.header, Body: []byte(tt.body), Framing: bench.FramingText}
			a := answer.Decode(openai.Grammar())(resp, true)
			if diff := cmp.Diff(&tt.want, a.Failure); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if a.Chunks != nil || a.Choices != nil {
				t.Errorf("an error has content: %+v", a)
			}
		})
	}
}

func TestErrorEvent(t *testing.T) {
	for _, tt := range []struct {
		name  string
		event eventlog.Event
		want  string
	}{
		{"data before comment", eventlog.Event{Data: []byte(`{"type":"error","error":{"type":"x","message":"m"}}`), Comment: "c"}, "m"},
		{"data that is text", eventlog.Event{Data: []byte("boom")}, "boom"},
		{"comment", eventlog.Event{Comment: "no\nluck"}, "no\nluck"},
		{"comment as a JSON string", eventlog.Event{Data: []byte(" "), Comment: `"a \"b\""`}, `a "b"`},
		{"comment that is no UTF-8", eventlog.Event{Comment: "\xff"}, "\ufffd"},
		{"nothing", eventlog.Event{}, "the server sent an error event without a message"},
	} {
		tt.event.Name = "error"
		resp := &bench.Response{Status: 200, Framing: bench.FramingSSE}
		resp.Events.Append(tt.event)
		a := answer.Decode(openai.Grammar())(resp, true)
		if a.Failure == nil || a.Failure.Class != bench.StreamError || a.Failure.Message != tt.want {
			t.Errorf("%s: failure = %v, want stream_error with %q", tt.name, a.Failure, tt.want)
		}
	}
}
