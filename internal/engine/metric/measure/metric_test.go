package measure

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/metric"
	"aiperfd/internal/engine/metric/catalogue"
)

// numStats is the number of statistics.
const numStats = metric.Max100 + 1

const ms = time.Millisecond

// approx compares floats up to rounding.
var approx = cmpopts.EquateApprox(1e-12, 1e-12)

// everything has the options of a streaming chat endpoint under an open loop.
func everything() Options {
	return Options{
		Streaming: true, OpenLoop: true,
		Caps: bench.Caps{ProducesTokens: true, TokenizesInput: true, Reasoning: true},
	}
}

// handRecord is a success whose metrics can be computed by hand.
func handRecord() *bench.Record {
	return &bench.Record{
		Stamps: bench.Stamps{
			Due: 1000 * ms, Permit: 1004 * ms, Start: 1005 * ms, Connected: 1006 * ms, Wrote: 1007 * ms,
			FirstByte: 1050 * ms, Headers: 1051 * ms, FirstBody: 1055 * ms, End: 1205 * ms,
		},
		Conn: bench.Connection{
			DNS: 1 * ms, Connect: 2 * ms, TLS: 3 * ms, Blocked: 4 * ms, Reads: 5, Sent: 2048, Received: 1024,
		},
		Status: 200,
		Answer: bench.Answer{
			Streamed: true, FirstEvent: 1060 * ms,
			Chunks: []bench.Chunk{
				{At: 1105 * ms, Kind: bench.Reasoning, Tokens: 2, Read: 1},
				{At: 1125 * ms, Kind: bench.Reasoning, Tokens: 3, Read: 2},
				{At: 1125 * ms, Kind: bench.Text, Tokens: 1, Read: 2},
				{At: 1185 * ms, Kind: bench.Text, Tokens: 4, Read: 3},
			},
			Usage: &bench.Usage{Input: new(bench.Tokens(52)), Output: new(bench.Tokens(10)), Total: new(bench.Tokens(62)), Cached: new(bench.Tokens(13))},
		},
		Content: bench.Content{RequestedTokens: 8}, InputTokens: new(bench.Tokens(50)), OutputTokens: new(bench.Tokens(6)), ReasoningTokens: new(bench.Tokens(4)),
		TokenSource: bench.TokensServer,
		ClientInput: new(bench.Tokens(40)), ClientOutput: new(bench.Tokens(5)), ClientReasoning: new(bench.Tokens(5)),
	}
}

// failedRecord is a handRecord that ended in a failure after two chunks.
func failedRecord(class bench.Class) *bench.Record {
	r := handRecord()
	r.Answer.Chunks = r.Answer.Chunks[:2]
	r.Answer.Usage = nil
	r.OutputTokens, r.ReasoningTokens = nil, nil
	r.Answer.Failure = &bench.Failure{Class: class, Step: bench.StepBody, Status: 200, Message: "stream ended after 2 events"}
	return r
}

// recordValues returns the values of a record's line.
func recordValues(r *bench.Record, o Options) map[string]float64 {
	out := make(map[string]float64)
	perRecord(r, o).Values(func(d *catalogue.Def, v float64) { out[d.Tag] = v })
	return out
}

func TestValues(t *testing.T) {
	want := map[string]float64{
		"time_to_first_token": 100, "time_to_second_token": 20, "time_to_first_output_token": 120,
		"request_latency": 180, "decode_duration": 80, "inter_token_latency": 10, "time_to_first_event": 55,
		"inter_token_stall": 60, "icl_same_read_fraction": 1.0 / 3, "normalized_latency": 18,
		"stream_end_latency": 200, "stream_tail_latency": 20, "schedule_lag": 5,
		"corrected_time_to_first_token": 105, "corrected_request_latency": 185, "corrected_e2e_latency": 205,
		"corrected_time_to_first_output_token": 125, "corrected_time_to_first_event": 60,
		"corrected_stream_end_latency": 205, "corrected_normalized_latency": 18.5,
		"output_token_throughput_per_user": 100, "e2e_output_token_throughput": 10 / 0.18,
		"prefill_throughput_per_user": 500, "output_sequence_length": 10, "input_sequence_length": 50,
		"output_token_count": 6, "reasoning_token_count": 4, "osl_mismatch_diff_pct": 25, "first_chunk_tokens": 2,
		"usage_prompt_tokens": 52, "usage_completion_tokens": 10, "usage_total_tokens": 62,
		"usage_prompt_cache_read_tokens": 13, "usage_prompt_tokens_diff_pct": 30, "usage_completion_tokens_diff_pct": 0,
		"http_req_blocked": 4, "http_req_dns_lookup": 1, "http_req_connecting": 5, "http_req_tls": 3,
		"http_req_sending": 1, "http_req_ttfb": 43, "http_req_header": 5, "http_req_waiting": 48, "http_req_receiving": 150, "http_req_connection_reused": 0,
		"http_req_data_sent": 2, "http_req_data_received": 1, "http_req_chunks_received": 5,
		"http_req_connection_overhead": 10, "http_req_duration": 199, "http_req_total": 209,
		"ttft_wire": 98, "time_to_headers": 46, "inter_token_latency_delivered": 10, "time_to_token_2": 100, "time_to_token_10": 180,
	}
	if diff := cmp.Diff(want, recordValues(handRecord(), everything()), approx); diff != "" {
		t.Errorf("values (-want +got):\n%s", diff)
	}
	lists := make(map[string][]float64)
	perRecord(handRecord(), everything()).Lists(func(d *catalogue.Def, v []float64) { lists[d.Tag] = append([]float64(nil), v...) })
	wantLists := map[string][]float64{"inter_chunk_latency": {20, 0, 60}, "tokens_per_chunk": {2, 3, 1, 4}, "inter_token_gap": {20.0 / 3, 20.0 / 3, 20.0 / 3, 0, 15, 15, 15, 15}}
	if diff := cmp.Diff(wantLists, lists, approx); diff != "" {
		t.Errorf("lists (-want +got):\n%s", diff)
	}
}

func TestValuesOf(t *testing.T) {
	absent := math.NaN() // in a table: the metric must not exist
	tests := []struct {
		name   string
		change func(r *bench.Record, o *Options)
		want   map[string]float64
	}{
		{"client counts divide by OSL-1", func(r *bench.Record, _ *Options) { r.TokenSource = bench.TokensClient },
			map[string]float64{"inter_token_latency": 80.0 / 9}},
		{"first known count belongs to a later event", func(r *bench.Record, _ *Options) { r.Answer.Chunks[0].Tokens = 0 },
			map[string]float64{"inter_token_latency": 80.0 / 7, "first_chunk_tokens": absent}},
		{"one token has no ITL", func(r *bench.Record, _ *Options) { r.OutputTokens, r.ReasoningTokens = new(bench.Tokens(1)), nil },
			map[string]float64{"inter_token_latency": absent, "output_token_throughput_per_user": absent, "output_sequence_length": 1}},
		{"unknown lengths are absent", func(r *bench.Record, _ *Options) {
			r.InputTokens, r.OutputTokens, r.ReasoningTokens = nil, nil, nil
		}, map[string]float64{
			"input_sequence_length": absent, "output_sequence_length": absent, "prefill_throughput_per_user": absent,
			"osl_mismatch_diff_pct": absent, "normalized_latency": absent, "request_latency": 180,
		}},
		{"no answer tokens count as unknown", func(r *bench.Record, _ *Options) { r.OutputTokens = new(bench.Tokens(0)) },
			map[string]float64{"output_token_count": absent, "output_sequence_length": 4}},
		{"one event has no gaps", func(r *bench.Record, _ *Options) { r.Answer.Chunks = r.Answer.Chunks[:1] },
			map[string]float64{"time_to_second_token": absent, "inter_token_stall": absent, "request_latency": 100,
				"time_to_first_output_token": absent}},
		{"a negative gap hides the gaps", func(r *bench.Record, _ *Options) { r.Answer.Chunks[1].At = 1104 * ms },
			map[string]float64{"inter_token_stall": absent, "icl_same_read_fraction": absent, "request_latency": 180}},
		{"a body in one piece has no first token", func(r *bench.Record, _ *Options) { r.Answer.Streamed = false },
			map[string]float64{"time_to_first_token": absent, "inter_token_latency": absent, "stream_end_latency": absent,
				"request_latency": 180, "e2e_output_token_throughput": 10 / 0.18, "first_chunk_tokens": absent}},
		{"refusals and tool calls are output", func(r *bench.Record, _ *Options) { r.Answer.Chunks[1].Kind = bench.Refusal },
			map[string]float64{"time_to_first_output_token": 120}},
		{"a closed loop has no schedule", func(_ *bench.Record, o *Options) { o.OpenLoop = false },
			map[string]float64{"corrected_request_latency": absent, "schedule_lag": 5}},
		{"server counts have nothing to compare", func(_ *bench.Record, o *Options) { o.ServerTokens = true },
			map[string]float64{"usage_prompt_tokens_diff_pct": absent}},
		{"server-counted records without own counts", func(r *bench.Record, _ *Options) {
			r.ClientInput, r.ClientOutput, r.ClientReasoning = nil, nil, nil
		}, map[string]float64{"usage_prompt_tokens_diff_pct": absent, "usage_completion_tokens_diff_pct": absent}},
		{"a stale answer did not wait", func(r *bench.Record, _ *Options) { r.Stamps.FirstByte, r.Stamps.FirstBody = 1006*ms, 1006*ms },
			map[string]float64{"http_req_ttfb": 0, "http_req_waiting": 0, "http_req_receiving": 199}},
		{"no connection, no trace", func(r *bench.Record, _ *Options) { r.Stamps.Connected = 0 },
			map[string]float64{"http_req_blocked": absent, "http_req_sending": absent, "http_req_total": absent}},
		{"a failed request", func(r *bench.Record, _ *Options) { *r = *failedRecord(bench.StreamTruncated) },
			map[string]float64{"error_isl": 50, "schedule_lag": 5, "request_latency": absent, "input_sequence_length": absent}},
		{"a cancelled request", func(r *bench.Record, _ *Options) { *r = *failedRecord(bench.Cancelled) },
			map[string]float64{"error_isl": absent, "schedule_lag": 5, "request_latency": absent}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r, o := handRecord(), everything()
			test.change(r, &o)
			got := recordValues(r, o)
			for tag, want := range test.want {
				v, ok := got[tag]
				if ok == math.IsNaN(want) || ok && !near(v, want, 1e-12) {
					t.Errorf("%s = %v, %v; want %v", tag, v, ok, want)
				}
			}
		})
	}
}

// avgs returns the scalar or mean of every metric.
func avgs(rs metric.Results) map[string]float64 {
	out := make(map[string]float64)
	for i := range rs {
		if v, ok := rs[i].Get(metric.Avg); ok {
			out[rs[i].Def.Tag] = v
		}
	}
	return out
}

func TestFinal(t *testing.T) {
	o := everything()
	o.SLOs = map[string]float64{"time_to_first_token": 100, "output_token_throughput_per_user": 100, "request_latency": 200}
	set := newSet(t, o)
	slow := handRecord()
	slow.Answer.Chunks[3].At, slow.Stamps.End = 1265*ms, 1300*ms // 260 ms; ITL (260-100)/8 = 20
	for _, r := range []*bench.Record{
		handRecord(), slow, failedRecord(bench.StreamTruncated), failedRecord(bench.ContextOverflow),
		failedRecord(bench.Cancelled),
		failedRecord(bench.CancelledByTest),
	} {
		set.Observe(r)
	}
	got := avgs(set.Final(10*time.Second, bench.PhaseStats{Start: 1000 * ms, SkippedTurns: 3}))
	want := map[string]float64{
		"request_latency": 220, "inter_token_latency": 15, "inter_chunk_latency": 240.0 / 6,
		"credit_to_start_latency": 1, "effective_latency": 248.5, "schedule_lag": 5,
		"adj_request_latency": math.Inf(1), "adj_effective_latency": math.Inf(1), "adj_corrected_e2e_latency": math.Inf(1),
		"total_isl": 100, "total_osl": 20, "total_output_tokens": 12, "total_reasoning_tokens": 8,
		"osl_mismatch_count": 2, "overall_thinking_efficiency": 8.0 / 12,
		"error_isl": 50, "total_error_isl": 100,
		"output_token_throughput": 2, "input_token_throughput": 10, "total_token_throughput": 12,
		"request_throughput": 0.2, "goodput": 0.1, "output_token_goodput": 1, "benchmark_duration": 0.26,
		"completed_request_count": 4, "request_error_rate": 50, "request_count": 2, "error_request_count": 2,
		"context_overflow_count": 1, "good_request_count": 1, "good_request_fraction": 0.25,
		"cancelled_request_count": 1, "wasted_output_tokens": 20, "skipped_turns": 3,
		"total_usage_prompt_tokens": 104, "total_usage_prompt_cache_read_tokens": 26,
		"overall_usage_prompt_cache_read_pct": 25, "usage_discrepancy_count": 2,
		"slo_attainment.time_to_first_token": 0.5, "slo_attainment.output_token_throughput_per_user": 0.25,
		"slo_attainment.request_latency": 0.25,
	}
	for tag, w := range want {
		if v, ok := got[tag]; !ok || v != w && !near(v, w, 1e-12) {
			t.Errorf("%s = %v, %v; want %v", tag, v, ok, w)
		}
	}
	wantCounters := catalogue.Counters{
		Success: 2, Errors: 2, Cancelled: 1, CancelledByTest: 1,
		ByClass:     map[bench.Class]int64{bench.StreamTruncated: 1, bench.ContextOverflow: 1, bench.Cancelled: 1, bench.CancelledByTest: 1},
		InputTokens: 100, OutputTokens: 12, ReasoningTokens: 8, WastedTokens: 20, ServerCounted: 2, Good: 1,
		SLOs: []catalogue.SLOCount{
			{Tag: "output_token_throughput_per_user", Threshold: 100, Met: 1, Missed: 3},
			{Tag: "request_latency", Threshold: 200, Met: 1, Missed: 3},
			{Tag: "time_to_first_token", Threshold: 100, Met: 2, Missed: 2},
		},
	}
	if diff := cmp.Diff(wantCounters, set.Counters()); diff != "" {
		t.Errorf("counters (-want +got):\n%s", diff)
	}
	checkGroups(t, set)
}

// checkGroups checks that errors are grouped, without cancellations.
func checkGroups(t *testing.T, set *Set) {
	t.Helper()
	group := func(c bench.Class) metric.ErrorGroup {
		return metric.ErrorGroup{
			Class: c, Status: 200, Pattern: "stream ended after <n> events", Example: "stream ended after 2 events",
			Count: 1, First: 1205 * ms, Last: 1205 * ms,
		}
	}
	if diff := cmp.Diff([]metric.ErrorGroup{group(bench.ContextOverflow), group(bench.StreamTruncated)}, set.ErrorGroups()); diff != "" {
		t.Errorf("errors (-want +got):\n%s", diff)
	}
}

func TestFinalEmpty(t *testing.T) {
	got := avgs(newSet(t, everything()).Final(time.Second, bench.PhaseStats{}))
	want := map[string]float64{"request_count": 0, "completed_request_count": 0, "request_throughput": 0, "late_request_count": 0,
		"http_connection_count": 0, "http_preconnected_count": 0}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("without records (-want +got):\n%s", diff)
	}
	set := newSet(t, everything())
	set.Observe(handRecord())
	for _, tag := range []string{"request_throughput", "output_token_throughput", "effective_concurrency"} {
		if r := set.Final(0, bench.PhaseStats{Start: time.Second}).Find(tag); r != nil {
			t.Errorf("%s exists without a window", tag)
		}
	}
}

// TestNoContent checks records that are errors without a failure attached.
func TestNoContent(t *testing.T) {
	set := newSet(t, everything())
	empty, instant := handRecord(), handRecord()
	empty.Answer.Chunks = nil
	instant.Answer.Chunks = []bench.Chunk{{At: instant.Stamps.Start}}
	set.Observe(empty)
	set.Observe(instant)
	want := map[bench.Class]int64{bench.EmptyOutput: 1, bench.ClientError: 1}
	if diff := cmp.Diff(want, set.Counters().ByClass); diff != "" {
		t.Errorf("classes (-want +got):\n%s", diff)
	}
}

// perRecord returns the metrics of one record.
func perRecord(r *bench.Record, o Options) *RecordMetrics {
	p := NewRecordMetrics(&o)
	p.Load(r)
	return p
}
