package export

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/metric/measure"
	"aiperfd/internal/engine/redact"
)

// ms is one millisecond as an offset.
const ms = time.Millisecond

// testEpoch is the epoch of records in tests.
var testEpoch = time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)

func testOptions() RecordOptions {
	return RecordOptions{
		Clock: bench.ClockAt(testEpoch), Worker: "worker-0",
		Phases: []PhaseName{
			{Index: 0, ProfilingIndex: -1, Name: "warmup", Kind: bench.Warmup},
			{Index: 1, ProfilingIndex: 0, Name: "profiling", Kind: bench.Profiling},
		},
		Metrics: measure.Options{
			Streaming: true, OpenLoop: true,
			Caps: bench.Caps{ProducesTokens: true, TokenizesInput: true, Reasoning: true},
			SLOs: map[string]float64{"time_to_first_token": 30, "request_latency": 100},
		},
	}
}

// testRecord is a success with three content events.
func testRecord() *bench.Record {
	return &bench.Record{
		Phase: 1, SessionNum: 7, Turn: 1, Turns: 3, RequestID: "r-1", CorrelationID: "c-1", ConversationID: "s<1>",
		Model: "m", Target: 1, Status: 200,
		Stamps: bench.Stamps{
			Due: 10 * ms, Permit: 11 * ms, Start: 12 * ms, Connected: 12*ms + 1, Wrote: 13 * ms,
			FirstByte: 20 * ms, Headers: 21 * ms, FirstBody: 21*ms + 1, End: 50 * ms,
		},
		Conn: bench.Connection{Reused: true, Blocked: 1, Retries: 1, Wasted: 4, Held: 5, Reads: 3, Sent: 512, Received: 1024},
		Answer: bench.Answer{
			Streamed: true, FirstEvent: 21 * ms, ResponseID: "resp", Model: "m-2026", Headers: map[string]string{"x-request-id": "q-1"},
			Chunks: []bench.Chunk{
				{At: 22 * ms, Kind: bench.Reasoning, Bytes: 5, Read: 1},
				{At: 30 * ms, Bytes: 4, Tokens: 2, Read: 2},
				{At: 40 * ms, Bytes: 3, Read: 3, Choice: 1},
			},
			Choices:  []bench.Choice{{Text: "secret answer", Finish: bench.FinishStop}, {Index: 1, Finish: bench.FinishLength}},
			Usage:    &bench.Usage{Input: new(bench.Tokens(9)), Output: new(bench.Tokens(4)), Reasoning: new(bench.Tokens(1))},
			Warnings: map[string]int{"late-usage": 2},
		},
		Content: bench.Content{RequestedTokens: 8}, InputTokens: new(bench.Tokens(9)), OutputTokens: new(bench.Tokens(3)),
		ReasoningTokens: new(bench.Tokens(1)), TokenSource: bench.TokensServer,
		ClientInput: new(bench.Tokens(10)), ClientOutput: new(bench.Tokens(3)),
	}
}

// write returns the file that holds the records.
func write(t testing.TB, o RecordOptions, records ...*bench.Record) []byte {
	t.Helper()
	var out bytes.Buffer
	w := NewRecordWriter(&out, o)
	for _, r := range records {
		if err := w.Write(r); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestRecordLine(t *testing.T) {
	o := testOptions()
	got := string(write(t, o, testRecord()))
	const head = `{"metadata":{"session_num":7,"x_request_id":"r-1","x_correlation_id":"c-1","conversation_id":"s<1>","turn_index":1,` +
		`"credit_issued_ns":1767323045011000006,"request_start_ns":1767323045012000006,"request_ack_ns":1767323045021000006,` +
		`"request_end_ns":1767323045050000006,"worker_id":"worker-0","record_processor_id":"record-processor-0",` +
		`"benchmark_phase":"profiling","phase_index":1,"profiling_index":0,"phase_name":"profiling","phase_kind":"profiling",` +
		`"was_cancelled":false,"context_overflow_skip":false,"agent_depth":0,"root_correlation_id":"c-1"},"metrics":{`
	if !strings.HasPrefix(got, head) {
		t.Errorf("line begins\n%.700s\nwant\n%s", got, head)
	}
	const tail = `},"aiperfd":{"epoch_ns":1767323045000000006,"model":"m","target":1,"turns":3,"status":200,` +
		`"stamps":{"due":10000000,"permit":11000000,"start":12000000,"connected":12000001,"wrote":13000000,` +
		`"first_byte":20000000,"headers":21000000,"first_body":21000001,"first_event":21000000,"end":50000000},` +
		`"connection":{"reused":true,"blocked_ns":1,"retries":1,"wasted_ns":4,"held_ns":5,"reads":3,"sent_bytes":512,"received_bytes":1024},` +
		`"requested_tokens":8,"token_source":"server","counts":{"input":9,"output":3,"reasoning":1},` +
		`"client_counts":{"input":10,"output":3},"usage":{"input":9,"output":4,"reasoning":1},"streamed":true,` +
		`"chunks":[[22000000,5,0,1,0,1],[30000000,4,2,0,0,2],[40000000,3,0,0,1,3]],` +
		`"choices":[{"index":0,"finish":"stop"},{"index":1,"finish":"length"}],` +
		`"response_id":"resp","response_model":"m-2026","response_headers":{"x-request-id":"q-1"},"warnings":{"late-usage":2}}}` + "\n"
	if !strings.HasSuffix(got, tail) {
		t.Errorf("line ends\n%s\nwant\n%s", got[max(0, len(got)-1000):], tail)
	}
	var line struct {
		Metrics map[string]struct {
			Value any
			Unit  string
		}
	}
	if err := json.Unmarshal([]byte(got), &line); err != nil {
		t.Fatal(err)
	}
	for tag, want := range map[string]string{
		"time_to_first_token": "10 ms", "request_latency": "28 ms", "output_sequence_length": "4 tokens",
		"inter_chunk_latency": "[8 10] ms", "input_sequence_length": "9 tokens",
	} {
		m := line.Metrics[tag]
		if got := fmt.Sprint(m.Value, " ", m.Unit); got != want {
			t.Errorf("%s = %s, want %s", tag, got, want)
		}
	}
	for _, want := range []string{
		`"output_sequence_length":{"value":4,"unit":"tokens"}`, `"request_latency":{"value":28.0,"unit":"ms"}`,
		`"inter_chunk_latency":{"value":[8.0,10.0],"unit":"ms"}`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("line does not hold %s:\n%s", want, got)
		}
	}
}

// AIPerf's object of speculative decoding is the last member before ours.
func TestRecordSpeculation(t *testing.T) {
	r := testRecord()
	r.Category = "coding"
	r.Answer.Speculation = &bench.Speculation{
		Engine: "vllm", Steps: 4, Accepted: 6, Drafted: 12, Most: 3, Histogram: []bench.Tokens{1, 0, 3},
		StepAccepted: []bench.Tokens{2, 0, 2, 2}, StepDrafted: []bench.Tokens{3, 3, 3, 3},
	}
	const want = `},"spec_decode_acceptance":{"engine":"vllm","mean_acceptance_length":2.5,"draft_acceptance_rate":0.5,` +
		`"acceptance_histogram":{"0":1,"2":3},"num_accepted_draft_tokens":6,"num_draft_tokens":12,"num_spec_steps":4,` +
		`"num_spec_tokens":3,"completion_tokens":4,"per_step_accepted":[2,0,2,2],"per_step_drafted":[3,3,3,3]},"aiperfd":{`
	if got := string(write(t, testOptions(), r)); !strings.Contains(got, want) || !strings.Contains(got, `"model":"m","category":"coding",`) {
		t.Errorf("line %s\nlacks %s", got, want)
	}
}

func TestRecordLineErrors(t *testing.T) {
	for name, c := range map[string]struct {
		failure bench.Failure
		want    []string
		lacks   []string
	}{
		"bad status": {
			bench.Failure{Class: bench.Overloaded, Step: bench.StepHeaders, Status: 503, Code: "busy", Type: "overload", Message: "a \"b\" <c>\n", RetryAfter: time.Second},
			[]string{
				`"error":{"code":503,"type":"Service Unavailable","message":"a \"b\" <c>\n"}`,
				`"failure":{"class":"overloaded","step":"headers","status":503,"code":"busy","type":"overload","message":"a \"b\" <c>\n","retry_after_ns":1000000000}`,
				`"error_isl":{"value":9,"unit":"tokens"}`, `"was_cancelled":false`,
			},
			[]string{"request_ack_ns", "cancellation_time_ns", `"request_latency"`},
		},
		"cancelled": {
			bench.Failure{Class: bench.Cancelled, Step: bench.StepBody, Code: "grace", Message: "over"},
			[]string{
				`"error":{"code":499,"type":"RequestCancellationError","message":"over"}`, `"was_cancelled":true`,
				`"cancellation_time_ns":1767323045050000006`,
			},
			[]string{`"request_latency"`},
		},
		"no status": {
			bench.Failure{Class: bench.ConnectError, Step: bench.StepConnect, Code: "refused", Message: "connection refused"},
			[]string{`"error":{"type":"connect_error","message":"connection refused"}`},
			[]string{"request_ack_ns"},
		},
		"a strange status": {
			bench.Failure{Class: bench.ServerError, Status: 599, Message: "?"},
			[]string{`"error":{"code":599,"type":"server_error","message":"?"}`}, nil,
		},
		"inside a good response": {
			bench.Failure{Class: bench.StreamError, Status: 200, Message: "?"},
			[]string{`"error":{"type":"stream_error","message":"?"}`}, nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := testRecord()
			r.Answer.Failure = &c.failure
			line := string(write(t, testOptions(), r))
			for _, want := range c.want {
				if !strings.Contains(line, want) {
					t.Errorf("line does not hold %s:\n%s", want, line)
				}
			}
			for _, bad := range c.lacks {
				if strings.Contains(line, bad) {
					t.Errorf("line holds %s:\n%s", bad, line)
				}
			}
		})
	}
}

func TestRecordSecrets(t *testing.T) {
	o := testOptions()
	o.Secrets = redact.NewSet("sk-hunter2", "1767323045") // the second looks like a wall time
	r := testRecord()
	r.ConversationID, r.Model = "conversation sk-hunter2", "1767323045"
	r.Answer.Failure = &bench.Failure{Class: bench.Auth, Status: 401, Message: "bad key \"sk-hunter2\"", Code: "sk-hunter2"}
	r.Answer.Warnings = map[string]int{"sk-hunter2": 1}
	line := write(t, o, r)
	if bytes.Contains(line, []byte("hunter2")) {
		t.Errorf("line holds a secret: %s", line)
	}
	for _, want := range []string{`"model":"` + redact.Placeholder + `"`, `"epoch_ns":1767323045000000006`, `"due":10000000,`} {
		if !bytes.Contains(line, []byte(want)) {
			t.Errorf("line has no %s: %s", want, line)
		}
	}
}

// brokenWriter fails after some writes.
type brokenWriter struct{ left int }

func (w *brokenWriter) Write(p []byte) (int, error) {
	if w.left--; w.left < 0 {
		return 0, io.ErrShortWrite
	}
	return len(p), nil
}

func TestRecordWriterError(t *testing.T) {
	w := NewRecordWriter(&brokenWriter{}, testOptions())
	if err := w.Write(testRecord()); err != nil {
		t.Fatalf("Write = %v, want the line to be kept", err)
	}
	if err := w.Flush(); !errors.Is(err, io.ErrShortWrite) {
		t.Errorf("Flush = %v, want %v", err, io.ErrShortWrite)
	}
	if err := w.Write(testRecord()); !errors.Is(err, io.ErrShortWrite) {
		t.Errorf("Write after an error = %v, want %v", err, io.ErrShortWrite)
	}
}

// longRecord is an answer of n events.
func longRecord(n int) *bench.Record {
	r := testRecord()
	r.Answer.Chunks = nil
	for i := range n {
		r.Answer.Chunks = append(r.Answer.Chunks, bench.Chunk{
			At: 22*ms + time.Duration(i)*10_123_457, Bytes: 4, Read: int32(i),
		})
	}
	r.Stamps.End = 22*ms + time.Duration(n)*10_123_457
	return r
}

// BenchmarkRecordWriter measures lines about few and many events.
func BenchmarkRecordWriter(b *testing.B) {
	for _, events := range []int{1, 600} {
		b.Run(fmt.Sprintf("events=%d", events), func(b *testing.B) {
			w := NewRecordWriter(io.Discard, testOptions())
			r := longRecord(events)
			b.ReportAllocs()
			for b.Loop() {
				if err := w.Write(r); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*events), "ns/event")
		})
	}
}

// TestRecordAllocations checks that the number of events does not matter to the
// number of allocations, but for buffers that grow.
func TestRecordAllocations(t *testing.T) {
	count := func(events int) float64 {
		w := NewRecordWriter(io.Discard, testOptions())
		r := longRecord(events)
		return testing.AllocsPerRun(20, func() {
			if err := w.Write(r); err != nil {
				t.Fatal(err)
			}
		})
	}
	if few, more := count(100), count(2000); more > few+10 {
		t.Errorf("%v allocations for 100 events, %v for 2,000", few, more)
	}
}
