package measure

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/metric"
	"aiperfd/internal/engine/metric/catalogue"
	"aiperfd/internal/engine/stat"
)

// process makes samples whose true mean and quantiles are known.
type process struct {
	name string
	phi  float64 // autocorrelation of neighbours; 0 = independent
	n    int
}

// intervalStats are the statistics that have an interval.
var intervalStats = [...]metric.Stat{metric.Avg, metric.P50, metric.P90, metric.P95, metric.P99}

// normalQuantile are the quantiles of the standard normal distribution for the
// mean and the monitored quantiles.
var normalQuantile = [...]float64{0, 0, 1.2815515655446004, 1.6448536269514722, 2.3263478740408408}

// sample is a stationary first-order autoregression with standard normal values,
// shown as times: 100 ms and 10 ms for each unit.
func (p process) sample(r *rand.Rand) []float64 {
	out := make([]float64, p.n)
	x := r.NormFloat64()
	for i := range out {
		out[i] = math.Round(100e6 + 10e6*x)
		x = p.phi*x + math.Sqrt(1-p.phi*p.phi)*r.NormFloat64()
	}
	return out
}

// latencySeries returns request_latency with values.
func latencySeries(t testing.TB, values []float64) *series {
	t.Helper()
	set := newSet(t, everything())
	se := &set.series[set.byTag["request_latency"]]
	for _, x := range values {
		se.add(x)
	}
	return se
}

// resultOf computes the final result of a series, exact or sketched.
func resultOf(se *series) *metric.Result {
	res := &metric.Result{Def: &se.row.Def}
	f := finisher{}
	if se.dropped() {
		f.fromSketch(res, se)
	} else {
		f.fromValues(res, se)
	}
	return res
}

// covered counts how often the intervals of many samples hold the truth, for each
// statistic that has one.
func covered(t *testing.T, p process, runs int, naive, sketched bool) [len(intervalStats)]float64 {
	t.Helper()
	r := rand.New(rand.NewPCG(7, uint64(p.n)))
	var hits [len(intervalStats)]float64
	for range runs {
		values := p.sample(r)
		se := latencySeries(t, values[:p.n/4])
		if sketched {
			se.drop()
		}
		for _, x := range values[p.n/4:] {
			se.add(x)
		}
		res := resultOf(se)
		for i, s := range intervalStats {
			in, ok := res.Confidence.Interval(s)
			if naive {
				in, ok = naiveInterval(res, se, s)
			}
			truth := 100 + 10*normalQuantile[i]
			if ok && in.Low <= truth && truth <= in.High {
				hits[i]++
			}
		}
	}
	for i := range hits {
		hits[i] /= float64(runs)
	}
	return hits
}

// naiveInterval takes every value for independent.
func naiveInterval(res *metric.Result, se *series, s metric.Stat) (metric.Interval, bool) {
	if s == metric.Avg {
		return meanInterval(res, float64(res.Count), int(res.Count)-1), true
	}
	sorted := slices.Sorted(slices.Values(se.exact.AppendTo(nil)))
	lo, hi := stat.QuantileRanks(monitored[slices.Index(intervalStats[:], s)-1], res.Count, res.Count)
	if lo < 0 || hi == res.Count {
		return metric.Interval{}, false
	}
	return metric.Interval{Low: sorted[lo] / 1e6, High: sorted[hi] / 1e6}, true
}

// TestCoverage checks by simulation that intervals hold the truth about as often
// as they claim, also if neighbouring values are alike, and that taking these
// for independent would not.
func TestCoverage(t *testing.T) {
	const runs = 250
	for _, p := range []process{
		{"independent", 0, 600}, {"independent, many", 0, 3000},
		{"weakly dependent", 0.3, 1000}, {"dependent", 0.6, 2000}, {"strongly dependent", 0.8, 4000},
	} {
		for i, got := range covered(t, p, runs, false, false) {
			if got < 0.90 || got > 0.98 {
				t.Errorf("%s: %v covered in %.1f %% of the samples, want 90 to 98", p.name, intervalStats[i], 100*got)
			}
		}
	}
	strong := process{"strongly dependent", 0.8, 4000}
	for i, got := range covered(t, strong, runs, false, true) {
		if got < 0.90 || got > 0.98 {
			t.Errorf("%s, from the sketch: %v covered in %.1f %% of the samples", strong.name, intervalStats[i], 100*got)
		}
	}
	naive := covered(t, strong, runs, true, false)
	for i, got := range naive[:3] {
		if got > 0.85 {
			t.Errorf("%s: the naive interval of %v covers %.1f %%, want it to fail", strong.name, intervalStats[i], 100*got)
		}
	}
}

// TestEffective compares with the known worth of autoregressive samples.
func TestEffective(t *testing.T) {
	for _, phi := range []float64{0, 0.5, 0.9} {
		p := process{phi: phi, n: 40_000}
		want := float64(p.n) * (1 - phi) / (1 + phi)
		got := resultOf(latencySeries(t, p.sample(rand.New(rand.NewPCG(1, 1))))).Confidence.Effective
		if got > 1.1*want || got < 0.5*want {
			t.Errorf("phi = %v: %d values count as %.0f, want about %.0f", phi, p.n, got, want)
		}
	}
	// A slow wave: neighbours are alike, and so are batches.
	wave := make([]float64, 10_000)
	for i := range wave {
		wave[i] = 1e8 + 1e7*math.Sin(float64(i)/1000)
	}
	if got := resultOf(latencySeries(t, wave)).Confidence.Effective; got > 20 {
		t.Errorf("a wave of ten periods counts as %.1f values", got)
	}
	alternating := make([]float64, 1000)
	for i := range alternating {
		alternating[i] = 1e8 + float64(i%2)
	}
	if got := resultOf(latencySeries(t, alternating)).Confidence.Effective; got != 1000 {
		t.Errorf("1,000 alternating values count as %v", got)
	}
}

// TestConfidenceOfFew checks what small samples do not support.
func TestConfidenceOfFew(t *testing.T) {
	every := func(n int, step float64) []float64 {
		out := make([]float64, n)
		for i := range out {
			out[i] = 1e8 + step*float64(i%2) // which counts as many independent values
		}
		return out
	}
	for _, test := range []struct {
		name        string
		values      []float64
		effective   float64
		unsupported []metric.Stat
		intervals   []metric.Stat
	}{
		{"one", every(1, 0), 1, []metric.Stat{metric.P1, metric.P5, metric.P10, metric.P25, metric.P50, metric.P75, metric.P90, metric.P95, metric.P99}, nil},
		{"five", every(5, 1e-6), 5, []metric.Stat{metric.P1, metric.P5, metric.P10, metric.P25, metric.P50, metric.P75, metric.P90, metric.P95, metric.P99}, []metric.Stat{metric.Avg}},
		{"ten", every(10, 1e-6), 10, []metric.Stat{metric.P1, metric.P5, metric.P10, metric.P25, metric.P75, metric.P90, metric.P95, metric.P99}, []metric.Stat{metric.Avg, metric.P50}},
		{"hundred", every(100, 1e-6), 100, []metric.Stat{metric.P1, metric.P99}, []metric.Stat{metric.Avg, metric.P50, metric.P90, metric.P95}},
		{"thousand", every(1000, 1e-6), 1000, []metric.Stat{metric.P999}, []metric.Stat{metric.Avg, metric.P50, metric.P90, metric.P95, metric.P99}},
		{"five hundred equal", every(500, 0), 500, nil, []metric.Stat{metric.Avg, metric.P50, metric.P90, metric.P95, metric.P99}},
		{"thousand equal", every(1000, 0), 1000, []metric.Stat{metric.P999}, []metric.Stat{metric.Avg, metric.P50, metric.P90, metric.P95, metric.P99}},
	} {
		res := resultOf(latencySeries(t, test.values))
		c := res.Confidence
		if math.Abs(c.Effective-test.effective) > 1e-9 {
			t.Errorf("%s: effective %v, want %v", test.name, c.Effective, test.effective)
		}
		if diff := cmp.Diff(test.unsupported, c.Unsupported); diff != "" {
			t.Errorf("%s: unsupported (-want +got):\n%s", test.name, diff)
		}
		var has []metric.Stat
		for s := range numStats {
			if in, ok := c.Interval(s); ok {
				has = append(has, s)
				if math.Abs(in.Low-100)+math.Abs(in.High-100) > 1e-9 {
					t.Errorf("%s: %v in %v, want [100, 100]", test.name, s, in)
				}
			}
			if c.Supported(s) == slices.Contains(test.unsupported, s) {
				t.Errorf("%s: %v supported is %v", test.name, s, c.Supported(s))
			}
		}
		if diff := cmp.Diff(test.intervals, has); diff != "" {
			t.Errorf("%s: intervals (-want +got):\n%s", test.name, diff)
		}
	}
	lengths := *resultOf(latencySeries(t, every(5, 0)))
	lengths.Def = &catalogue.Def{Unit: "tokens"}
	if got := unsupported(&lengths, &[len(monitored)]float64{5, 5, 5, 5}); got != nil {
		t.Errorf("of five lengths that were asked for, %v are not supported", got)
	}
	var none *metric.Confidence
	if _, ok := none.Interval(metric.P50); ok || !none.Supported(metric.P99) {
		t.Error("no confidence at all has an interval or an unsupported percentile")
	}
}

// TestFinalConfidence checks which results have confidence.
func TestFinalConfidence(t *testing.T) {
	set := observed(t, everything(), randomRecords(5, 400))
	stats := bench.PhaseStats{Start: ms, RequestsEnd: 5 * time.Second}
	for _, r := range set.Final(5*time.Second, stats) {
		sample := r.Def.Kind == catalogue.PerRecord || r.Def.Kind == catalogue.PerRecordList
		if (r.Confidence != nil) != sample {
			t.Errorf("%s: has confidence is %v", r.Def.Tag, r.Confidence != nil)
		}
		if !sample {
			continue
		}
		for _, s := range intervalStats {
			at, _ := r.Get(s)
			if in, ok := r.Confidence.Interval(s); ok && (at < in.Low || at > in.High) {
				t.Errorf("%s: %v = %v is not in %v", r.Def.Tag, s, at, in)
			}
		}
	}
	for _, r := range set.Live(stats, 6*time.Second) {
		if r.Confidence != nil {
			t.Errorf("%s has confidence while the phase runs", r.Def.Tag)
		}
	}
}
