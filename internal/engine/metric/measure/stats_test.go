package measure

import (
	"math"
	"slices"
	"testing"
	"time"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/metric"
	"aiperfd/internal/engine/metric/timeline"
	"aiperfd/internal/engine/sketch"
)

// TestPercentiles compares with numpy.percentile(values, p), method "linear".
func TestPercentiles(t *testing.T) {
	squares := func(n, factor int) []float64 {
		out := make([]float64, n)
		for i := range out {
			k := float64(i * factor % n)
			out[i] = k * k
		}
		return out
	}
	tests := []struct {
		values []float64
		want   []float64 // p1 … p99, then p99.9
	}{
		{[]float64{7}, []float64{7, 7, 7, 7, 7, 7, 7, 7, 7}},
		{[]float64{20, 10}, []float64{10.1, 10.5, 11, 12.5, 15, 17.5, 19, 19.5, 19.9}},
		{[]float64{300, 100, 200}, []float64{102, 110, 120, 150, 200, 250, 280, 290, 298}},
		{squares(10, 7), []float64{0.09, 0.45, 0.9, 5.25, 20.5, 45.75, 65.7, 73.35, 79.47}},
		{squares(1000, 617), []float64{99.81, 2495.05, 9980.1, 62375.25, 249500.5, 561375.75, 808380.9, 900695.95, 978140.79, 996005.997}},
	}
	for _, test := range tests {
		res := &metric.Result{}
		exactly(res, columnOf(test.values).Runs(), slices.Sorted(slices.Values(test.values)), 1)
		for i, p := range percentiles {
			v, ok := res.Get(p.stat)
			if i >= len(test.want) {
				if ok {
					t.Errorf("n = %d: %v = %v, want none", len(test.values), p.stat, v)
				}
			} else if !ok || !near(v, test.want[i], 1e-12) {
				t.Errorf("n = %d: %v = %v, %v, want %v", len(test.values), p.stat, v, ok, test.want[i])
			}
		}
	}
}

// columnOf returns a column of values.
func columnOf(all []float64) *timeline.Column {
	c := &timeline.Column{}
	c.AddAll(all)
	return c
}

func TestRarePercentiles(t *testing.T) {
	for _, n := range []int{999, 1000, 9999, 10000} {
		values := make([]float64, n)
		s := sketch.New()
		for i := range values {
			values[i] = float64(i)
			s.Add(float64(i))
		}
		for name, fill := range map[string]func(*metric.Result){
			"exact":  func(r *metric.Result) { exactly(r, columnOf(values).Runs(), values, 1) },
			"sketch": func(r *metric.Result) { sketched(r, s, 1) },
		} {
			res := &metric.Result{}
			fill(res)
			if _, ok := res.Get(metric.P999); ok != (n >= 1000) {
				t.Errorf("%s n = %d: has p99_9 is %v", name, n, ok)
			}
			if _, ok := res.Get(metric.P9999); ok != (n >= 10000) {
				t.Errorf("%s n = %d: has p99_99 is %v", name, n, ok)
			}
		}
	}
}

func TestWithErrors(t *testing.T) {
	values := []float64{1, 2, 3, 4, 5, 6, 7, 8}
	res := &metric.Result{}
	withErrors(res, 8, 2, func(k int64) float64 { return values[k] })
	inf := math.Inf(1)
	want := map[metric.Stat]float64{metric.Avg: inf, metric.Min: 1, metric.Max: inf, metric.Sum: inf, metric.P1: 1, metric.P5: 1, metric.P10: 2, metric.P25: 3, metric.P50: 5, metric.P75: 8, metric.P90: inf, metric.P95: inf, metric.P99: inf}
	for s := range numStats {
		got, ok := res.Get(s)
		if w, wanted := want[s]; ok != wanted || ok && got != w {
			t.Errorf("%v = %v, %v, want %v, %v", s, got, ok, w, wanted)
		}
	}
	if res.Count != 10 {
		t.Errorf("count = %d, want 10", res.Count)
	}
}

// TestCurves computes by hand the curves of a request of 100 input and 5 output
// tokens whose two events came 1 s and 3 s after its start, and of a failed one,
// in a window of 5 s.
func TestCurves(t *testing.T) {
	set := newSet(t, everything())
	set.Observe(&bench.Record{
		Stamps:      bench.Stamps{Start: 1 * time.Second, End: 4 * time.Second},
		Answer:      bench.Answer{Streamed: true, Chunks: []bench.Chunk{{At: 2 * time.Second}, {At: 4 * time.Second}}},
		InputTokens: new(bench.Tokens(100)), OutputTokens: new(bench.Tokens(5)),
	})
	set.Observe(&bench.Record{
		Stamps: bench.Stamps{Start: 3 * time.Second, End: 5 * time.Second},
		Answer: bench.Answer{Failure: &bench.Failure{Class: bench.ConnectionReset}},
	})
	results := set.Final(5*time.Second, bench.PhaseStats{Start: time.Second})
	tests := []struct {
		tag                     string
		avg, min, max, p50, p90 float64
	}{
		{"effective_concurrency", 1, 0, 2, 1, 2},
		{"effective_prefill_concurrency", 0.2, 0, 1, 0, 1},
		{"effective_decode_concurrency", 0.4, 0, 1, 0, 1},
		{"effective_prefill_throughput", 20, 0, 100, 0, 100},
		{"effective_decode_throughput", 0.8, 0, 2, 0, 2},
		{"effective_total_throughput", 20.8, 0, 100, 2, 100},
		{"effective_prefill_throughput_per_user", 20, 0, 100, 0, 100},
		{"effective_decode_throughput_per_user", 0.8, 0, 2, 0, 2},
		{"tokens_in_flight", 60.4, 0, 101, 100, 101},
		{"active_prefill_throughput", 100, 100, 100, 100, 100},
		{"active_decode_throughput", 2, 2, 2, 2, 2},
		{"active_total_throughput", 26, 0, 100, 2, 100},
		{"active_prefill_throughput_per_user", 100, 100, 100, 100, 100},
		{"active_decode_throughput_per_user", 2, 2, 2, 2, 2},
	}
	for _, test := range tests {
		for s, want := range map[metric.Stat]float64{metric.Avg: test.avg, metric.Min: test.min, metric.Max: test.max, metric.P50: test.p50, metric.P90: test.p90} {
			if got := statistic(t, results, test.tag, s); !near(got, want, 1e-12) {
				t.Errorf("%s: %v = %v, want %v", test.tag, s, got, want)
			}
		}
	}
	if got := statistic(t, results, "effective_concurrency", metric.Std); !near(got, math.Sqrt(0.4), 1e-12) {
		t.Errorf("effective_concurrency: std = %v, want %v", got, math.Sqrt(0.4))
	}
	if r := results.Find("effective_concurrency"); r.Count != 0 || r.Scalar() {
		t.Errorf("effective_concurrency: count %d scalar %v, want 0 false", r.Count, r.Scalar())
	}
}

// TestCurvesNeedFacts checks that curves without their facts are absent.
func TestCurvesNeedFacts(t *testing.T) {
	tests := []struct {
		name    string
		change  func(r *bench.Record, o *Options)
		has     []string
		lacks   []string
		expects map[string]float64
	}{
		{name: "no input length", change: func(r *bench.Record, _ *Options) { r.InputTokens = nil },
			has: []string{"effective_decode_throughput", "tokens_in_flight"}, lacks: []string{"effective_prefill_throughput", "effective_total_throughput"}},
		{name: "no output length", change: func(r *bench.Record, _ *Options) { r.OutputTokens, r.ReasoningTokens = nil, nil },
			has: []string{"effective_prefill_throughput"}, lacks: []string{"effective_decode_throughput", "active_total_throughput"}},
		{name: "no stream", change: func(r *bench.Record, o *Options) { r.Answer.Streamed = false },
			has: []string{"effective_concurrency"}, lacks: []string{"effective_prefill_concurrency", "tokens_in_flight"}},
		{name: "not asked to stream", change: func(_ *bench.Record, o *Options) { o.Streaming = false },
			has: []string{"effective_concurrency"}, lacks: []string{"effective_prefill_concurrency", "time_to_first_token"}},
		{name: "nothing is kept", change: func(_ *bench.Record, o *Options) { o.Budget = -1 },
			has: []string{"request_latency", "active_total_throughput"},
			// (1 + 9) tokens more in 80 ms, 50 tokens for 200 ms
			expects: map[string]float64{"effective_decode_throughput": 0.9, "effective_concurrency": 0.02}},
		{name: "gaps go back", change: func(r *bench.Record, _ *Options) { r.Answer.Chunks[1].At = r.Answer.Chunks[0].At - 1 },
			has: []string{"effective_concurrency"}, lacks: []string{"inter_chunk_latency"},
			// 9 tokens, and 50 tokens for 200 ms and 10 more for 100 ms, in 10 s
			expects: map[string]float64{"effective_decode_throughput": 0.9, "tokens_in_flight": 1.1}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r, o := handRecord(), everything()
			test.change(r, &o)
			set := newSet(t, o)
			set.Observe(r)
			results := set.Final(10*time.Second, bench.PhaseStats{Start: 1000 * ms})
			for _, tag := range test.has {
				if results.Find(tag) == nil {
					t.Errorf("%s is absent", tag)
				}
			}
			for _, tag := range test.lacks {
				if results.Find(tag) != nil {
					t.Errorf("%s exists", tag)
				}
			}
			for tag, want := range test.expects {
				if got := statistic(t, results, tag, metric.Avg); !near(got, want, 1e-9) {
					t.Errorf("%s = %v, want %v", tag, got, want)
				}
			}
		})
	}
}

// TestSpread compares with numpy and scipy: std(ddof=1), iqr and median_abs_deviation.
func TestSpread(t *testing.T) {
	for _, test := range []struct {
		values []float64
		want   map[metric.Stat]float64
	}{
		{[]float64{7}, map[metric.Stat]float64{metric.IQR: 0, metric.MAD: 0, metric.TailRatio: 1}},
		{[]float64{4, 1}, map[metric.Stat]float64{metric.IQR: 1.5, metric.MAD: 1.5, metric.StdSample: 2.1213203435596424, metric.TailRatio: 3.97 / 2.5}},
		{[]float64{1, 2, 4, 8, 100}, map[metric.Stat]float64{metric.IQR: 6, metric.MAD: 3, metric.StdSample: 43.127717305695654, metric.TailRatio: 96.32 / 4}},
		{[]float64{1, 1, 1, 5, 9, 9}, map[metric.Stat]float64{metric.IQR: 7, metric.MAD: 2, metric.StdSample: 3.9327683210007, metric.TailRatio: 9.0 / 3}},
	} {
		exact, estimated := &metric.Result{}, &metric.Result{}
		sorted := slices.Sorted(slices.Values(test.values))
		exactly(exact, columnOf(test.values).Runs(), sorted, 1)
		s := sketch.New()
		s.AddAll(test.values, 1)
		sketched(estimated, s, 1)
		estimated.Set(metric.MAD, medianDeviation(s))
		for _, stat := range []metric.Stat{metric.StdSample, metric.IQR, metric.MAD, metric.TailRatio} {
			want, has := test.want[stat]
			got, ok := exact.Get(stat)
			if ok != has || !near(got, want, 1e-9) {
				t.Errorf("%v: %v = %v, %v, want %v, %v", test.values, stat, got, ok, want, has)
			}
			if about, ok := estimated.Get(stat); ok != has || math.Abs(about-want) > 0.01*(want+sorted[len(sorted)-1]) && len(sorted)%2 == 1 {
				t.Errorf("%v: a sketch has %v = %v, %v, want about %v", test.values, stat, about, ok, want)
			}
		}
	}
}
