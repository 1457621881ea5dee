package otlp

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"aiperfd/internal/engine/bench"
)

// The ids are what the documentation says, so that others can compute them.
func TestTraces(t *testing.T) {
	traces := NewTraces("run-1", 1)
	rec := &bench.Record{SessionNum: 7, RequestID: "r-9"}
	// printf run-1/7 | sha256sum; printf run-1/7/r-9 | sha256sum
	const want = "00-a9ecc605ef795eaf057242023e946529-3c863e308d6610c6-01"
	if got := traces.Traceparent(rec, false); got != want {
		t.Errorf("Traceparent = %s, want %s", got, want)
	}
	if got := NewTraces("run-1", 0).Traceparent(rec, true); !strings.HasSuffix(got, "-00") {
		t.Errorf("not sampled: %s, want the flags 00", got)
	}
	if got := NewTraces("run-1", 0).Traceparent(rec, false); got != "" {
		t.Errorf("not sampled: %s, want none", got)
	}
}

// The share is that of sessions, and a larger share samples those of a smaller one too.
func TestSampled(t *testing.T) {
	const sessions = 100_000
	less, more := NewTraces("r", 0.01), NewTraces("r", 0.2)
	in, inMore := 0, 0
	for i := range int64(sessions) {
		id := less.Trace(i)
		if less.Sampled(id) {
			in++
			if !more.Sampled(id) {
				t.Fatalf("session %d is sampled with 0.01 and not with 0.2", i)
			}
		}
		if more.Sampled(id) {
			inMore++
		}
	}
	if in < 900 || in > 1100 || inMore < 19_600 || inMore > 20_400 {
		t.Errorf("%d of %d with 0.01, %d with 0.2", in, sessions, inMore)
	}
}

// tracer returns a tracer, and what it has exported: the name, the session, the turn and the parent of each span.
func tracer(t *testing.T, share float64, tail bool) (*Tracer, func() string) {
	var spans []*tracepb.Span
	tr := &Tracer{
		SpanSource: SpanSource{
			Source: Source{RunID: "run-1", Endpoint: "chat", Provider: "openai"}, Traces: NewTraces("run-1", share),
			Clock: bench.ClockAt(time.Unix(100, 0)), Servers: []*url.URL{{Scheme: "http", Host: "server:8000"}},
			Streaming: true, Clean: strings.ToLower,
		},
		Tail: tail,
		Emit: func(span func() *tracepb.Span) { spans = append(spans, span()) },
	}
	return tr, func() string {
		var out []string
		for _, s := range spans {
			line := s.Name
			for _, a := range s.Attributes {
				switch a.Key {
				case "aiperf.session", "aiperf.turn", "aiperf.turns":
					line += fmt.Sprintf(" %s=%d", strings.TrimPrefix(a.Key, "aiperf."), a.Value.GetIntValue())
				}
			}
			if len(s.ParentSpanId) > 0 {
				line += " child"
			}
			out = append(out, line)
		}
		return strings.Join(out, "\n")
	}
}

// request returns the record of a request that ends at some time after it has begun.
func request(session int64, turn, turns int, start, length time.Duration) *bench.Record {
	return &bench.Record{
		SessionNum: session, Turn: turn, Turns: turns, Model: "M", RequestID: fmt.Sprint("r-", session, "-", turn),
		CorrelationID: fmt.Sprint("c-", session),
		Stamps:        bench.Stamps{Due: start, Start: start, End: start + length},
		Answer:        bench.Answer{Chunks: []bench.Chunk{{At: start + length}}},
	}
}

func failed(rec *bench.Record, class bench.Class) *bench.Record {
	rec.Answer = bench.Answer{Failure: &bench.Failure{Class: class, Message: "SECRET PROMPT"}}
	return rec
}

func TestTracer(t *testing.T) {
	const ms, s = time.Millisecond, time.Second
	t.Run("the slowest of each second, and failures", func(t *testing.T) {
		tr, got := tracer(t, 0, true)
		for i := range int64(12) {
			tr.Observe(request(i, 0, 1, s+time.Duration(i)*ms, time.Duration(100+i)*ms), "main")
		}
		tr.Observe(failed(request(50, 0, 1, s, 10*ms), bench.ServerError), "main")
		tr.Observe(failed(request(51, 0, 1, s, 10*ms), bench.CancelledByTest), "main")
		tr.Observe(request(60, 0, 1, 2*s, 5*ms), "main")
		if limited := tr.Close(); limited != 0 {
			t.Errorf("%d limited", limited)
		}
		lines := strings.Split(got(), "\n")
		if len(lines) != 12 || lines[0] != "chat m session=50 turn=0" || lines[11] != "chat m session=60 turn=0" ||
			strings.Contains(got(), "session=0 ") || strings.Contains(got(), "session=1 ") {
			t.Errorf("%s", got())
		}
	})
	t.Run("servers know nothing of what is chosen later", func(t *testing.T) {
		tr, got := tracer(t, 0, false)
		tr.Observe(failed(request(50, 0, 1, s, 10*ms), bench.ServerError), "main")
		tr.Observe(request(51, 0, 1, s, 10*ms), "main")
		tr.Close()
		if got() != "" {
			t.Errorf("exported %s, want nothing", got())
		}
	})
	t.Run("at most 50 per second", func(t *testing.T) {
		tr, got := tracer(t, 1, false)
		for i := range int64(60) {
			tr.Observe(request(i, 0, 1, s, 10*ms), "main")
		}
		tr.Observe(request(60, 0, 1, 2*s, 10*ms), "main")
		if limited := tr.Close(); limited != 10 || strings.Count(got(), "\n")+1 != 51 {
			t.Errorf("%d limited, exported\n%s", limited, got())
		}
	})
	t.Run("sessions", func(t *testing.T) {
		tr, got := tracer(t, 1, false)
		tr.Observe(request(1, 0, 2, s, 10*ms), "main")
		tr.Observe(request(2, 0, 3, s, 10*ms), "main")
		tr.Observe(request(3, 0, 1, s, 10*ms), "main")
		tr.Observe(failed(request(1, 1, 2, 3*s, 10*ms), bench.ServerError), "main")
		tr.Observe(request(1, 1, 2, 4*s, 10*ms), "main") // another attempt
		tr.Close()
		want := `chat m session=1 turn=0 child
chat m session=2 turn=0 child
chat m session=3 turn=0
chat m session=1 turn=1 child
session session=1 turns=2
chat m session=1 turn=1 child
session session=2 turns=1`
		if diff := cmp.Diff(want, got()); diff != "" {
			t.Error(diff)
		}
	})
}

// A span has the moments of its request and no text of it.
func TestSpan(t *testing.T) {
	const ms = time.Millisecond
	tr, _ := tracer(t, 1, false)
	rec := request(7, 1, 2, 1000*ms, 500*ms)
	rec.Stamps.Due, rec.Stamps.Wrote, rec.Stamps.FirstByte = 990*ms, 1001*ms, 1100*ms
	rec.Status, rec.Content.RequestedTokens = 200, 10
	rec.InputTokens, rec.OutputTokens, rec.ReasoningTokens = new(bench.Tokens(5)), new(bench.Tokens(3)), new(bench.Tokens(2))
	rec.Answer = bench.Answer{
		Streamed: true, ResponseID: "id-1", Model: "m-1", Usage: &bench.Usage{Cached: new(bench.Tokens(4))},
		Choices: []bench.Choice{{Text: "ANSWER", Finish: bench.FinishStop}},
	}
	for i, at := range []time.Duration{1100, 1110, 1120, 1420, 1430, 1440} {
		c := bench.Chunk{At: at * ms}
		if i < 2 {
			c.Kind = bench.Reasoning
		}
		rec.Answer.Chunks = append(rec.Answer.Chunks, c)
	}
	span := tr.request(rec, "main", []byte("parent-0"))
	var got []string
	base := uint64(time.Unix(100, 0).UnixNano())
	for _, e := range span.Events {
		got = append(got, fmt.Sprintf("%s %v", e.Name, time.Duration(e.TimeUnixNano-base)))
	}
	for _, a := range span.Attributes {
		got = append(got, fmt.Sprintf("%s %v", a.Key, strings.Join(strings.Fields(a.Value.String()), " ")))
	}
	want := `aiperf.request_written 1.001s
aiperf.response_head 1.1s
aiperf.first_token 1.1s
aiperf.first_output_token 1.12s
aiperf.stall 1.12s
aiperf.last_token 1.44s
gen_ai.operation.name string_value:"chat"
gen_ai.provider.name string_value:"openai"
gen_ai.conversation.id string_value:"c-7"
gen_ai.request.stream bool_value:true
aiperf.run.id string_value:"run-1"
aiperf.phase string_value:"main"
aiperf.request.id string_value:"r-7-1"
aiperf.session int_value:7
aiperf.turn int_value:1
aiperf.schedule_lag double_value:0.01
gen_ai.request.model string_value:"m"
gen_ai.request.max_tokens int_value:10
server.address string_value:"server"
server.port int_value:8000
http.response.status_code int_value:200
gen_ai.response.id string_value:"id-1"
gen_ai.response.model string_value:"m-1"
gen_ai.response.finish_reasons array_value:{values:{string_value:"stop"}}
gen_ai.response.time_to_first_chunk double_value:0.1
gen_ai.usage.input_tokens int_value:5
gen_ai.usage.output_tokens int_value:5
gen_ai.usage.reasoning.output_tokens int_value:2
gen_ai.usage.cache_read.input_tokens int_value:4`
	if diff := cmp.Diff(want, strings.Join(got, "\n")); diff != "" {
		t.Error(diff)
	}
	if span.Name != "chat m" || span.Kind != tracepb.Span_SPAN_KIND_CLIENT || string(span.ParentSpanId) != "parent-0" ||
		time.Duration(span.StartTimeUnixNano-base) != time.Second || span.Status != nil {
		t.Errorf("%v", span)
	}
	text := tr.request(failed(rec, bench.ServerError), "main", nil).String()
	if strings.Contains(text, "SECRET") || !strings.Contains(text, "http_5xx") || !strings.Contains(text, "STATUS_CODE_ERROR") {
		t.Errorf("a failure: %s", text)
	}
}

func BenchmarkObserve(b *testing.B) {
	for _, share := range []float64{0, 0.01, 1} {
		b.Run(fmt.Sprint(share), func(b *testing.B) {
			tr := &Tracer{
				SpanSource: SpanSource{
					Traces: NewTraces("run-1", share), Clock: bench.NewClock(), Servers: []*url.URL{nil},
					Clean: func(text string) string { return text },
				},
				Emit: func(span func() *tracepb.Span) { span() },
			}
			rec, i := request(0, 0, 1, time.Second, time.Millisecond), int64(0)
			b.ReportAllocs()
			for b.Loop() {
				rec.SessionNum = i
				i++
				rec.Stamps.End = time.Duration(i) * 10 * time.Millisecond
				tr.Observe(rec, "main")
			}
		})
	}
}
