package metric

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"aiperfd/internal/engine/bench"
)

// process makes samples whose true mean and quantiles are known.
type process struct {
	name string
	phi  float64 // autocorrelation of neighbours; 0 = independent
	n    int
}

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
func resultOf(se *series) *Result {
	res := &Result{Def: &se.row.Def}
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
func naiveInterval(res *Result, se *series, s Stat) (Interval, bool) {
	if s == Avg {
		return meanInterval(res, float64(res.Count), int(res.Count)-1), true
	}
	sorted := slices.Sorted(slices.Values(se.exact.appendTo(nil)))
	lo, hi, ok := orderBounds(res.Count, monitored[slices.Index(intervalStats[:], s)-1])
	if !ok {
		return Interval{}, false
	}
	return Interval{sorted[lo-1] / 1e6, sorted[hi-1] / 1e6}, true
}

// TestCoverage checks by simulation that intervals hold the truth about as often
// as they claim, also where neighbouring values are alike, and that taking these
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
			out[i] = 1e8 + step*float64((i*7919)%n) // a shuffled ramp
		}
		return out
	}
	for _, test := range []struct {
		name        string
		values      []float64
		effective   float64
		unsupported []Stat
		intervals   []Stat
	}{
		{"one", every(1, 0), 1, []Stat{P1, P5, P10, P25, P50, P75, P90, P95, P99}, nil},
		{"five equal", every(5, 0), 5, []Stat{P1, P5, P10, P25, P50, P75, P90, P95, P99}, []Stat{Avg}},
		{"ten equal", every(10, 0), 10, []Stat{P1, P5, P10, P25, P75, P90, P95, P99}, []Stat{Avg, P50}},
		{"hundred equal", every(100, 0), 100, []Stat{P1, P99}, []Stat{Avg, P50, P90, P95}},
		{"five hundred equal", every(500, 0), 500, nil, []Stat{Avg, P50, P90, P95, P99}},
		{"thousand equal", every(1000, 0), 1000, []Stat{P999}, []Stat{Avg, P50, P90, P95, P99}},
	} {
		res := resultOf(latencySeries(t, test.values))
		c := res.Confidence
		if c.Effective != test.effective {
			t.Errorf("%s: effective %v, want %v", test.name, c.Effective, test.effective)
		}
		if diff := cmp.Diff(test.unsupported, c.Unsupported); diff != "" {
			t.Errorf("%s: unsupported (-want +got):\n%s", test.name, diff)
		}
		var has []Stat
		for s := range numStats {
			if in, ok := c.Interval(s); ok {
				has = append(has, s)
				if in != (Interval{100, 100}) {
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
	var none *Confidence
	if _, ok := none.Interval(P50); ok || !none.Supported(P99) {
		t.Error("no confidence at all has an interval or doubts something")
	}
}

// TestOrderBounds compares with published ranks (Conover, Practical
// Nonparametric Statistics, table A3) and with the definition.
func TestOrderBounds(t *testing.T) {
	for _, test := range []struct {
		n      int64
		p      float64
		lo, hi int64
		ok     bool
	}{
		{5, 0.5, 0, 6, false}, {6, 0.5, 1, 6, true}, {10, 0.5, 2, 9, true}, {20, 0.5, 6, 15, true}, {100, 0.5, 40, 61, true},
		{367, 0.99, 0, 368, false}, {368, 0.99, 0, 368, true}, {0, 0.5, 0, 0, false},
	} {
		lo, hi, ok := orderBounds(test.n, test.p)
		if ok != test.ok || hi != test.hi || test.p == 0.5 && lo != test.lo {
			t.Errorf("orderBounds(%d, %v) = %d, %d, %v, want %d, %d, %v", test.n, test.p, lo, hi, ok, test.lo, test.hi, test.ok)
		}
	}
	for _, n := range []int64{30, 500, 5000} {
		for _, p := range monitored {
			lo, hi, ok := orderBounds(n, p)
			if !ok {
				continue
			}
			if below, above := binomialCDF(n, p, lo-1), 1-binomialCDF(n, p, hi-1); below > 0.025+1e-9 || above > 0.025+1e-9 {
				t.Errorf("orderBounds(%d, %v) = %d, %d: %.4f below, %.4f above", n, p, lo, hi, below, above)
			}
			if below := binomialCDF(n, p, lo); below <= 0.025 {
				t.Errorf("orderBounds(%d, %v) = %d: one more is still safe, %.4f", n, p, lo, below)
			}
		}
	}
	// The normal approximation takes over without a jump.
	lo, hi, _ := orderBounds(1_000_000, 0.95)
	wantLo, wantHi, _ := orderBounds(1_000_001, 0.95)
	if math.Abs(float64(lo-wantLo)) > 3 || math.Abs(float64(hi-wantHi)) > 3 {
		t.Errorf("at a million: %d, %d, beyond: %d, %d", lo, hi, wantLo, wantHi)
	}
}

// binomialCDF is the probability of at most k successes, term by term.
func binomialCDF(n int64, p float64, k int64) float64 {
	var sum float64
	for i := int64(0); i <= k; i++ {
		sum += math.Exp(logBinomial(n, i) + float64(i)*math.Log(p) + float64(n-i)*math.Log1p(-p))
	}
	return sum
}

func TestStudentQuantile(t *testing.T) {
	for v, want := range map[int]float64{0: 12.706, 1: 12.706, 5: 2.571, 10: 2.228, 11: 2.2010, 12: 2.1788, 20: 2.0860, 30: 2.0423, 63: 1.9983, 1000: 1.9623} {
		if got := studentQuantile(v); math.Abs(got-want) > 5e-4 {
			t.Errorf("studentQuantile(%d) = %v, want %v", v, got, want)
		}
	}
}

// TestOrderMerge checks that what was observed in parts is known as if it had
// been observed in one: exactly in sums, nearly in batches.
func TestOrderMerge(t *testing.T) {
	values := process{phi: 0.7, n: 5000}.sample(rand.New(rand.NewPCG(3, 3)))
	at := [len(monitored)]float64{100e6, 112e6, 116e6, 123e6}
	whole := newOrder(at)
	whole.addAll(values)
	for _, cut := range []int{0, 1, 77, 1234, 2500, 4999, 5000} {
		a, b := newOrder(at), newOrder(at)
		for _, x := range values[:cut] {
			a.add(x)
		}
		b.addAll(values[cut:])
		a.merge(b)
		sums := func(o *order) []float64 {
			mean := o.sum/float64(o.n) + o.origin
			return []float64{float64(o.n), mean, float64(o.beyond[0].count), float64(o.beyond[3].pairs), float64(o.beyond[1].last)}
		}
		if diff := cmp.Diff(sums(whole), sums(a), approx); diff != "" {
			t.Errorf("cut at %d (-whole +merged):\n%s", cut, diff)
		}
		want, _ := whole.effective()
		if got, _ := a.effective(); math.Abs(got-want) > 0.35*want {
			t.Errorf("cut at %d: effective %.0f, whole %.0f", cut, got, want)
		}
	}
}

// TestFinalConfidence checks which results have confidence.
func TestFinalConfidence(t *testing.T) {
	set := observed(t, everything(), randomRecords(5, 400))
	stats := bench.PhaseStats{Start: ms, RequestsEnd: 5 * time.Second}
	for _, r := range set.Final(5*time.Second, stats) {
		sample := r.Def.Kind == PerRecord || r.Def.Kind == PerRecordList
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
