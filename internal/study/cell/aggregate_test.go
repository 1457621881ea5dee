package cell

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"aiperfd/internal/engine/config/sweep"
	"aiperfd/internal/engine/config/vary"
	"aiperfd/internal/engine/stat"
)

// AIPerf's test vector: 100, 110 and 105 at 95 %.
func TestEstimate(t *testing.T) {
	e := NewEstimate([]float64{100, 110, 105}, 0.95, "ms")
	for _, c := range []struct {
		name      string
		got, want float64
	}{
		{"mean", e.Mean, 105}, {"std", e.Std, 5}, {"min", e.Min, 100}, {"max", e.Max, 110}, {"se", e.SE, 2.886751}, {"t", e.T, 4.302653},
		{"low", e.Low, 92.579311}, {"high", e.High, 117.420689}, {"cv", e.CV(), 1.0 / 21},
	} {
		if math.Abs(c.got-c.want) > 1e-6*c.want {
			t.Errorf("%s = %v, want %v", c.name, c.got, c.want)
		}
	}
	one := NewEstimate([]float64{7}, 0.95, "ms")
	if one.Low != 7 || one.High != 7 || one.Std != 0 || !math.IsNaN(one.T) {
		t.Errorf("one run: %+v", one)
	}
	if cv := (&Estimate{}).CV(); !math.IsInf(cv, 1) {
		t.Errorf("coefficient of variation of a mean of 0 = %v", cv)
	}
}

// The interval covers the true mean as often as its level says.
func TestEstimateCovers(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	covered, times := 0, 20000
	for range times {
		e := NewEstimate([]float64{r.NormFloat64(), r.NormFloat64(), r.NormFloat64(), r.NormFloat64()}, 0.9, "")
		if e.Low <= 0 && 0 <= e.High {
			covered++
		}
	}
	if share := float64(covered) / float64(times); math.Abs(share-0.9) > 0.01 {
		t.Errorf("the interval at 90 %% covers the mean in %.1f %%", 100*share)
	}
}

// trial returns a result with one statistic per key tag/stat.
func trial(stats map[string]float64) Trial {
	var t Trial
	for _, tag := range []string{"request_throughput", "time_to_first_token", "request_latency"} {
		m := Metric{Tag: tag, Unit: "u", Stats: map[string]float64{}}
		for key, v := range stats {
			if name, ok := cutTag(key, tag); ok {
				m.Stats[name] = v
			}
		}
		if len(m.Stats) > 0 {
			t.Metrics = append(t.Metrics, m)
		}
	}
	return t
}

func cutTag(key, tag string) (string, bool) {
	if len(key) > len(tag)+1 && key[:len(tag)] == tag {
		return key[len(tag)+1:], true
	}
	return "", false
}

// cells returns cells with one trial each: throughput and p99 of the request latency.
func cells(filters []sweep.Filter, points ...[2]float64) []Result {
	var out []Result
	for i, p := range points {
		o := Outcome{Variation: vary.Variation{Index: i}, Trials: []Trial{
			trial(map[string]float64{"request_throughput/avg": p[0], "request_latency/p99": p[1]}),
		}}
		out = append(out, NewResult(o, filters, 0.95))
	}
	return out
}

// distort makes metrics of a trial wrong, or possibly wrong.
func distort(t Trial, invalid bool, tags ...string) Trial {
	t.Metrics = slices.Clone(t.Metrics)
	for i := range t.Metrics {
		if slices.Contains(tags, t.Metrics[i].Tag) {
			t.Metrics[i].Doubt = &Doubt{Invalid: invalid}
		}
	}
	return t
}

// distortedCells returns cells with the metrics of one of them distorted.
func distortedCells(at int, tags []string, filters []sweep.Filter, points ...[2]float64) []Result {
	out := cells(filters, points...)
	o := out[at].Outcome
	o.Trials = []Trial{distort(o.Trials[0], true, tags...)}
	out[at] = NewResult(o, filters, 0.95)
	return out
}

func TestCompare(t *testing.T) {
	limit := []sweep.Filter{{MetricTag: "request_latency", Stat: "p99", Op: "lt", Threshold: 25}}
	// A latency that is too large and keeps its limit keeps it; one that may be too small may not.
	kept := distortedCells(1, []string{"request_latency"}, limit, [2]float64{10, 10}, [2]float64{20, 20}, [2]float64{30, 40})
	kept[1].Trials[0].Metric("request_latency").Doubt.Side = 1
	kept[1] = NewResult(kept[1].Outcome, limit, 0.95)
	broken := distortedCells(2, []string{"request_latency"}, limit, [2]float64{10, 10}, [2]float64{20, 20}, [2]float64{30, 40}, [2]float64{40, 50})
	broken[2].Trials[0].Metric("request_latency").Doubt.Side = 1
	broken[2] = NewResult(broken[2].Outcome, limit, 0.95)
	points := [][2]float64{{10, 10}, {20, 20}, {19, 30}, {30, 40}, {30, 50}}
	const rate, latency = "request_throughput", "request_latency"
	failed := cells(nil, points...)
	failed[0] = NewResult(Outcome{Trials: []Trial{{Failure: "no success"}}}, nil, 0.95)
	for _, c := range []struct {
		name  string
		cells []Result
		want  Comparison
	}{
		{"one number that nothing uses is distorted", distortedCells(3, []string{"inter_chunk_latency"}, nil, points...), Comparison{BestThroughput: 3, BestLatency: 0, Pareto: []int{0, 1, 3}}},
		{"the throughput of the fastest is distorted", distortedCells(3, []string{rate}, nil, points...), Comparison{BestThroughput: 4, BestLatency: 0, Pareto: []int{0, 1, 4}}},
		{"and that of the one with the lowest latency", distortedCells(0, []string{rate}, nil, points...), Comparison{BestThroughput: 3, BestLatency: 0, Pareto: []int{1, 3}}},
		{"the lowest latency is distorted", distortedCells(0, []string{latency}, nil, points...), Comparison{BestThroughput: 3, BestLatency: 1, Pareto: []int{1, 3}}},
		{"what a condition uses is distorted", distortedCells(1, []string{latency}, limit, points...), Comparison{BestThroughput: 0, BestLatency: 0, Pareto: []int{0}, Excluded: []int{1}, Infeasible: []int{2, 3, 4}}},
		{"one run each", cells(nil, points...), Comparison{BestThroughput: 3, BestLatency: 0, Pareto: []int{0, 1, 3}}},
		{"a condition", cells(limit, points...), Comparison{BestThroughput: 1, BestLatency: 0, Pareto: []int{0, 1}, Infeasible: []int{2, 3, 4}}},
		{"nothing is feasible", cells(limit, points[2:]...), Comparison{BestThroughput: 1, BestLatency: 0, Infeasible: []int{0, 1, 2}}},
		{"a distorted latency keeps its limit", kept, Comparison{BestThroughput: 1, BestLatency: 0, Pareto: []int{0}, Infeasible: []int{2}}},
		{"a distorted latency breaks its limit", broken, Comparison{BestThroughput: 1, BestLatency: 0, Pareto: []int{0, 1}, Excluded: []int{2}, Infeasible: []int{3}}},
		{"both numbers of the fastest are distorted", distortedCells(3, []string{rate, latency}, nil, points...), Comparison{BestThroughput: 4, BestLatency: 0, Pareto: []int{0, 1, 4}, Excluded: []int{3}}},
		{"the first failed", failed, Comparison{BestThroughput: 3, BestLatency: 1, Pareto: []int{1, 3}}},
		{"none", nil, Comparison{BestThroughput: -1, BestLatency: -1}},
	} {
		got := Compare(c.cells, nil, len(c.want.Infeasible) > 0)
		c.want.LatencyTag = "time_to_first_token"
		if len(c.cells) > 0 {
			c.want.LatencyTag = "request_latency"
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

// A condition holds if the mean and at least half of the trials satisfy it.
func TestFeasible(t *testing.T) {
	for _, c := range []struct {
		values []float64
		want   bool
	}{
		{[]float64{90}, true},
		{[]float64{100}, false},
		{[]float64{10, 110}, true},
		{[]float64{10, 300}, false},      // the mean
		{[]float64{10, 101, 101}, false}, // two of three
	} {
		var o Outcome
		for _, v := range c.values {
			o.Trials = append(o.Trials, trial(map[string]float64{"request_latency/p95": v}))
		}
		all := NewResult(o, []sweep.Filter{{MetricTag: "request_latency", Stat: "p95", Op: "lt", Threshold: 100}}, 0.95)
		if all.Feasible() != c.want {
			t.Errorf("%v < 100: feasible = %v, want %v", c.values, all.Feasible(), c.want)
		}
		missing := NewResult(o, []sweep.Filter{{MetricTag: "time_to_first_token", Stat: "p95", Op: "lt", Threshold: 100}}, 0.95)
		if missing.Feasible() {
			t.Error("a missing metric satisfies a condition")
		}
	}
}

// A run that the load generator distorted does not count if there is another one.
func TestDistorted(t *testing.T) {
	good, bad := trial(map[string]float64{"request_latency/p99": 10}), trial(map[string]float64{"request_latency/p99": 90})
	bad.Metrics = append(bad.Metrics, Metric{Tag: "output_token_throughput", Stats: map[string]float64{"avg": 5}})
	good.Metrics = append(good.Metrics, Metric{Tag: "output_token_throughput", Stats: map[string]float64{"avg": 2}})
	bad = distort(bad, true, "request_latency")
	some := NewResult(Outcome{Trials: []Trial{good, bad, good}}, nil, 0.95)
	if e := some.Find("request_latency", "p99"); e.Mean != 10 || e.N != 2 || e.Invalid || e.LeftOut != 1 || some.Invalid("request_latency") || some.Distorted("request_latency") != 1 {
		t.Errorf("estimate %+v", e)
	}
	// The numbers of the same run that are not distorted count.
	if e := some.Find("output_token_throughput", "avg"); e.Mean != 3 || e.N != 3 || e.Invalid || e.LeftOut != 0 {
		t.Errorf("throughput %+v", e)
	}
	if possibly := NewResult(Outcome{Trials: []Trial{good, distort(good, false, "request_latency")}}, nil, 0.95); possibly.Find("request_latency", "p99").N != 2 {
		t.Error("a run that is possibly distorted does not count")
	}
	all := NewResult(Outcome{Trials: []Trial{bad, bad}}, nil, 0.95)
	if e := all.Find("request_latency", "p99"); e.N != 2 || !e.Invalid || !all.Invalid("time_to_first_token", "request_latency") || all.Distorted("request_latency") != 2 {
		t.Errorf("estimate %+v", e)
	}
}

// sampled returns a result whose requests had these latencies.
func sampled(values []float64) Trial {
	sorted := slices.Sorted(slices.Values(values))
	t := trial(map[string]float64{"request_latency/avg": NewEstimate(values, 0.95, "").Mean, "request_latency/p99": stat.Quantile(sorted, 0.99)})
	t.Samples = func(tag string) ([]float64, bool) { return values, tag == "request_latency" }
	return t
}

// The p99 of all requests is not the mean of the p99 of the runs, and its interval covers
// the values that other runs would give.
func TestPooled(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	draw := func(shift float64) []float64 {
		out := make([]float64, 1000)
		for i := range out {
			out[i] = shift + r.ExpFloat64()
		}
		return out
	}
	o := Outcome{Trials: []Trial{sampled(draw(0)), sampled(draw(5)), {Failure: "no success"}, sampled(draw(0))}}
	c := NewResult(o, nil, 0.95)
	c.Pool(0.95, 7)
	if len(c.Pooled) != 1 || c.Pooled[0].Count != 3000 || c.Pooled[0].Tag != "request_latency" {
		t.Fatalf("pooled: %+v", c.Pooled)
	}
	p99 := c.Pooled[0].Quantiles[3]
	mean := c.Find("request_latency", "p99").Mean
	if !(p99.Low <= p99.Value && p99.Value <= p99.High && p99.Low < 5 && p99.High > 8 && p99.Value > mean+1) {
		t.Errorf("p99 of all requests %+v, mean of the p99 of the runs %v", p99, mean)
	}
	again := NewResult(o, nil, 0.95)
	again.Pool(0.95, 7)
	if diff := cmp.Diff(c.Pooled, again.Pooled); diff != "" {
		t.Errorf("the same seed gives another interval:\n%s", diff)
	}
}

func TestConverged(t *testing.T) {
	flat := func(values ...float64) (out []Trial) {
		for _, v := range values {
			out = append(out, trial(map[string]float64{"request_latency/avg": v}))
		}
		return out
	}
	distortOne := func(trials []Trial, i int, tag string) []Trial {
		trials[i].Metrics = append(trials[i].Metrics, Metric{Tag: "inter_chunk_latency"})
		trials[i] = distort(trials[i], true, tag)
		return trials
	}
	r := rand.New(rand.NewPCG(5, 6))
	normal := func(mean float64) Trial {
		values := make([]float64, 5000)
		for i := range values {
			values[i] = mean + r.NormFloat64()
		}
		return sampled(values)
	}
	limit := 0.2
	surely := &sweep.Convergence{Mode: sweep.Equivalence}
	within := func(p50, p95, margin float64) Trial { // a run with intervals of its own
		tr := trial(map[string]float64{"request_latency/p50": p50, "request_latency/p95": p95})
		if margin > 0 {
			tr.Metrics[0].Margins = map[string]float64{"p50": margin, "p95": margin}
		}
		return tr
	}
	for _, c := range []struct {
		name   string
		rule   *sweep.Convergence
		trials []Trial
		want   bool
	}{
		{"no rule", nil, flat(1, 1, 1), false},
		{"one run", &sweep.Convergence{Mode: sweep.CIWidth}, flat(1), false},
		{"equal", &sweep.Convergence{Mode: sweep.CIWidth}, flat(1, 1), true},
		{"too few", &sweep.Convergence{Mode: sweep.CIWidth, MinRuns: 3}, flat(1, 1), false},
		{"wide", &sweep.Convergence{Mode: sweep.CIWidth}, flat(100, 110, 105), false},
		{"a wider limit", &sweep.Convergence{Mode: sweep.CIWidth, Threshold: new(0.25)}, flat(100, 110, 105), true},
		{"a run that does not count", &sweep.Convergence{Mode: sweep.CIWidth}, distortOne(flat(1, 1), 1, "request_latency"), false},
		{"a run with another number distorted", &sweep.Convergence{Mode: sweep.CIWidth}, distortOne(flat(1, 1), 1, "inter_chunk_latency"), true},
		{"runs beside one that does not count", &sweep.Convergence{Mode: sweep.CIWidth}, distortOne(flat(1, 9, 1), 1, "request_latency"), true},
		{"variation", &sweep.Convergence{Mode: sweep.CV}, flat(100, 110, 105), true}, // 0.0476 < 0.05
		{"more variation", &sweep.Convergence{Mode: sweep.CV}, flat(100, 112, 105), false},
		{"mean of 0", &sweep.Convergence{Mode: sweep.CV, Threshold: &limit}, flat(0, 0), false},
		{"a failure does not count", &sweep.Convergence{Mode: sweep.CV}, append(flat(1), Trial{Failure: "x"}), false},
		{"the same distribution", &sweep.Convergence{Mode: sweep.Distribution}, []Trial{normal(0), normal(0)}, true},
		{"another distribution", &sweep.Convergence{Mode: sweep.Distribution}, []Trial{normal(0), normal(0.5)}, false},
		{"few values are no proof", &sweep.Convergence{Mode: sweep.Distribution}, []Trial{sampled([]float64{1, 2}), sampled([]float64{3, 4})}, false},
		{"equivalent", surely, []Trial{within(100, 200, 2), within(101, 199, 2)}, true},
		{"p95 is not equivalent", surely, []Trial{within(100, 200, 2), within(101, 209, 2)}, false},
		{"equal, and not known well enough", surely, []Trial{within(100, 200, 6), within(100, 200, 6)}, false},
		{"more runs before", surely, slices.Repeat([]Trial{within(100, 200, 4)}, 4), true},
		{"no intervals", surely, []Trial{within(100, 200, 0), within(100, 200, 0)}, false},
	} {
		if c.rule != nil {
			c.rule.Metric, c.rule.Stat = "request_latency", "avg"
		}
		if got := Converged(c.rule, 0.95, c.trials); got != c.want {
			t.Errorf("%s: converged = %v, want %v", c.name, got, c.want)
		}
	}
}

// The runs differ by more than their own intervals say.
func TestSpread(t *testing.T) {
	var o Outcome
	for _, v := range []float64{100, 110, 105} {
		tr := trial(map[string]float64{"request_latency/avg": v})
		tr.Metrics[0].Margins = map[string]float64{"avg": 1.96}
		o.Trials = append(o.Trials, tr)
	}
	c := NewResult(o, nil, 0.95)
	ratio, ok := c.Find("request_latency", "avg").Spread()
	if got, want := fmt.Sprintf("%.2f %v", ratio, ok), "5.00 true"; got != want {
		t.Errorf("spread = %s, want %s", got, want)
	}
}
