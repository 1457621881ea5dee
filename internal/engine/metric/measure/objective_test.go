package measure

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/metric"
)

func TestParseObjective(t *testing.T) {
	short := map[string]string{"ttft": "time_to_first_token"}
	for text, want := range map[string]Objective{
		"p99(time_to_first_token) < 500ms": {Tag: "time_to_first_token", Stat: metric.P99, Op: Less, Limit: 500},
		" p99_9( TTFT )<=0.5 s":            {Text: "p99_9( TTFT )<=0.5 s", Tag: "time_to_first_token", Stat: metric.P999, Op: LessEqual, Limit: 500},
		"ttft < 5":                         {Text: "avg(ttft) < 5", Tag: "time_to_first_token", Stat: metric.Avg, Op: Less, Limit: 5},
		"request_error_rate < 1%":          {Tag: "request_error_rate", Stat: metric.Avg, Op: Less, Limit: 1},
		"request_throughput ≥ 12.5":        {Tag: "request_throughput", Stat: metric.Avg, Op: GreaterEqual, Limit: 12.5},
		"max(adj_request_latency)>1min":    {Tag: "adj_request_latency", Stat: metric.Max, Op: Greater, Limit: 60000},
		"benchmark_duration < 900000ms":    {Tag: "benchmark_duration", Stat: metric.Avg, Op: Less, Limit: 900},
		"avg(ttft) < 2e5us":                {Tag: "time_to_first_token", Stat: metric.Avg, Op: Less, Limit: 200},
	} {
		if want.Text == "" {
			want.Text = text
		}
		got, err := ParseObjective(text, short)
		if diff := cmp.Diff(want, got, cmp.Comparer(func(a, b float64) bool { return a-b < 1e-9 && b-a < 1e-9 })); err != nil || diff != "" {
			t.Errorf("%q: %v (-want +got):\n%s", text, err, diff)
		}
	}
	for text, want := range map[string]string{
		"":                          `"" is not of the form STATISTIC(METRIC) < NUMBER, for example p99(time_to_first_token) < 500ms`,
		"p99(ttft) = 5":             `"p99(ttft) = 5" is not of the form STATISTIC(METRIC) < NUMBER, for example p99(time_to_first_token) < 500ms`,
		"p99(time_to_frst_token)<5": `"time_to_frst_token" is not a metric; did you mean "time_to_first_token"?`,
		"throughput > 1":            `"throughput" is not a metric; did you mean "request_throughput" or "output_token_throughput"?`,
		"p98(ttft) < 5":             `"p98" is not a statistic, use one of `,
		"p99(goodput) > 5":          `goodput has one value, not a distribution: write goodput > 5`,
		"p99(ttft) < 1.2.3":         `"1.2.3" is not a number`,
		"p99(ttft) < 5 tokens":      `"tokens" is not a unit of time, use ns, us, ms, s or min`,
		"request_count > 5 s":       `the unit is requests, not "s"`,
	} {
		if _, err := ParseObjective(text, short); err == nil || len(err.Error()) < len(want) || err.Error()[:len(want)] != want {
			t.Errorf("%q: error %v, want %s", text, err, want)
		}
	}
}

// FuzzParseObjective checks that what is accepted is accepted again as it is kept.
func FuzzParseObjective(f *testing.F) {
	f.Add("p99(request_latency) < 5 ms")
	f.Fuzz(func(t *testing.T, text string) {
		o, err := ParseObjective(text, nil)
		if err != nil {
			return
		}
		again, err := ParseObjective(o.Text, nil)
		if err != nil || again != o {
			t.Errorf("%q: %+v, then %+v, %v", text, o, again, err)
		}
	})
}

// judged returns the outcome of an objective for requests of these latencies in
// milliseconds, of which those from the failing-th on fail.
func judged(t *testing.T, objective string, failing int, latencies ...float64) metric.SLOResult {
	t.Helper()
	set, err := NewSet(Options{})
	if err != nil {
		t.Fatal(err)
	}
	for i, ms := range latencies {
		start := time.Duration(i+1) * time.Second
		r := &bench.Record{Stamps: bench.Stamps{Start: start, End: start + time.Duration(ms*float64(time.Millisecond))}}
		r.Answer.Chunks = []bench.Chunk{{At: r.Stamps.End}}
		if i >= failing {
			r.Answer.Failure = &bench.Failure{Class: bench.ServerError}
		}
		set.Observe(r)
	}
	o, err := ParseObjective(objective, nil)
	if err != nil {
		t.Fatal(err)
	}
	got := Judge([]Objective{o}, set.Final(200*time.Second, bench.PhaseStats{}))
	if metric.SLOsPassed(got) != got[0].Met {
		t.Errorf("%s: passed is %v", objective, metric.SLOsPassed(got))
	}
	return got[0]
}

// TestJudge judges 180 requests that take 1 ms to 180 ms in no order, and 20 that fail.
func TestJudge(t *testing.T) {
	var latencies []float64
	for i := range 200 {
		latencies = append(latencies, float64((i*77)%180+1)) // 77 and 180 have no common divisor
	}
	for objective, want := range map[string]string{
		"p50(request_latency) < 95ms":      "p50(request_latency) < 95ms: 90.5 ms, met, but the limit is within the confidence interval, 77 to 104 ms",
		"p50(request_latency) < 80ms":      "p50(request_latency) < 80ms: 90.5 ms, missed, but the limit is within the confidence interval, 77 to 104 ms",
		"p50(request_latency) < 150ms":     "p50(request_latency) < 150ms: 90.5 ms, met",
		"p50(request_latency) < 10ms":      "p50(request_latency) < 10ms: 90.5 ms, missed",
		"max(request_latency) <= 180ms":    "max(request_latency) <= 180ms: 180 ms, met",
		"max(request_latency) < 180":       "max(request_latency) < 180: 180 ms, missed",
		"request_error_rate > 9":           "request_error_rate > 9: 10 %, met",
		"cancelled_request_count < 1":      "cancelled_request_count < 1: 0 requests, met",
		"p99(adj_request_latency) < 1000s": "p99(adj_request_latency) < 1000s: no value, missed",
		"avg(input_sequence_length) > 0":   "avg(input_sequence_length) > 0: no value, missed",
	} {
		got := judged(t, objective, 180, latencies...)
		if line := got.Line(); line != want || got.Uncertain != (got.Doubt != "") {
			t.Errorf("%s, uncertain %v, want %s", line, got.Uncertain, want)
		}
	}
	if !metric.SLOsPassed(nil) {
		t.Error("a run without objectives does not pass")
	}
}

// TestFewValues: an outcome is uncertain only if a plausible value has the other one, however
// small the sample is.
func TestFewValues(t *testing.T) {
	var twenty []float64
	for i := range 20 {
		twenty = append(twenty, float64(20+(i*7)%20)) // 20 ms to 39 ms
	}
	rising := make([]float64, 100)
	for i := range rising {
		rising[i] = float64(i + 1)
	}
	for _, tt := range []struct {
		objective, want string
		latencies       []float64
	}{
		{"p95(request_latency) < 50000ms", "38.05 ms, met", twenty},
		{"p95(request_latency) < 45ms", "38.05 ms, met, but 20 values are too few to be sure of the p95", twenty},
		{"p95(request_latency) < 38ms", "38.05 ms, missed, but 20 values are too few to be sure of the p95", twenty},
		{"p95(request_latency) < 25ms", "38.05 ms, missed", twenty},
		{"p95(request_latency) > 1ms", "38.05 ms, met", twenty},
		{"p25(request_latency) > 1ms", "24.75 ms, met", twenty},
		{"p25(request_latency) > 24ms", "24.75 ms, met, but the limit is within the confidence interval, 21 to 29 ms", twenty},
		{"avg(request_latency) < 30ms", "29.5 ms, met, but the limit is within the confidence interval, 26.73 to 32.27 ms", twenty},
		{"avg(request_latency) < 33ms", "29.5 ms, met", twenty},
		{"p99(request_latency) < 10s", "20 ms, met", []float64{20}},
		{"p99(request_latency) < 1s", "20 ms, met, but one value is too few to be sure of the p99", []float64{20}},
		{"avg(request_latency) < 10s", "20 ms, met, but one value is too few to be sure of the avg", []float64{20}},
		{"p95(request_latency) < 110ms", "95.05 ms, met, but 100 values, worth 11 independent ones, are too few to be sure of the p95", rising},
	} {
		got := judged(t, tt.objective, len(tt.latencies), tt.latencies...)
		if want := tt.objective + ": " + tt.want; got.Line() != want {
			t.Errorf("%s, want %s", got.Line(), want)
		}
	}
}
