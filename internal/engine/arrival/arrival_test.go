package arrival

import (
	"fmt"
	"iter"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"gonum.org/v1/gonum/stat/distuv"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/stat"
)

// take returns the first n offsets.
func take(t testing.TB, seq iter.Seq[time.Duration], n int) []time.Duration {
	t.Helper()
	out := make([]time.Duration, 0, n)
	for at := range seq {
		if out = append(out, at); len(out) == n {
			return out
		}
	}
	t.Fatalf("the sequence ended after %d of %d arrivals", len(out), n)
	return nil
}

// gaps returns the differences in seconds, the first one from the start.
func gaps(at []time.Duration) []float64 {
	out := make([]float64, len(at))
	var last time.Duration
	for i, a := range at {
		out[i] = (a - last).Seconds()
		last = a
	}
	return out
}

func TestConstant(t *testing.T) {
	got := take(t, Constant(3), 6)
	want := []time.Duration{333333333, 666666667, 1e9, 1333333333, 1666666667, 2e9}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Constant(3) (-want +got):\n%s", diff)
	}
	// No drift: the millionth arrival of 7 per second is exact to the nanosecond.
	at := take(t, Constant(7), 1_000_000)
	if got, want := at[len(at)-1], time.Duration(142857142857143); got != want {
		t.Errorf("arrival 1,000,000 at %d ns, want %d ns", got, want)
	}
}

// offered is one process for the tests that hold for all of them.
type offered struct {
	kind       string
	rate       float64
	smoothness float64
	cv         float64
	cdf        func(x float64) float64 // of the gaps; nil = constant
}

func cases() []offered {
	exp := func(rate float64) func(float64) float64 { return distuv.Exponential{Rate: rate}.CDF }
	gam := func(rate, s float64) func(float64) float64 {
		return distuv.Gamma{Alpha: s, Beta: rate * s}.CDF
	}
	return []offered{
		{"constant", 250, 0, 0, nil},
		{"poisson", 0.5, 0, 1, exp(0.5)},
		{"poisson", 20, 0, 1, exp(20)},
		{"poisson", 5000, 0, 1, exp(5000)},
		{"gamma", 20, 0.1, math.Sqrt(10), gam(20, 0.1)},
		{"gamma", 20, 0.5, math.Sqrt2, gam(20, 0.5)},
		{"gamma", 20, 1, 1, gam(20, 1)},
		{"gamma", 20, 4, 0.5, gam(20, 4)},
		{"gamma", 5000, 100, 0.1, gam(5000, 100)},
	}
}

func (o offered) seq(t testing.TB, seed bench.Seed) iter.Seq[time.Duration] {
	t.Helper()
	for _, k := range Kinds() {
		if k.Name == o.kind {
			seq, err := k.New(Options{Rate: o.rate, Smoothness: o.smoothness, Seed: seed})
			if err != nil {
				t.Fatal(err)
			}
			return seq
		}
	}
	t.Fatalf("no kind %q", o.kind)
	return nil
}

func TestProcesses(t *testing.T) {
	const n = 100_000
	for i, c := range cases() {
		t.Run(fmt.Sprintf("%s rate %v smoothness %v", c.kind, c.rate, c.smoothness), func(t *testing.T) {
			at := take(t, c.seq(t, bench.Seed(1000+i)), n)
			if !slices.IsSorted(at) {
				t.Error("offsets decrease")
			}
			g := gaps(at)
			mean, cv := moments(g)
			// Three standard errors of the mean of n gaps, plus one nanosecond of rounding.
			if tol := 3*c.cv/c.rate/math.Sqrt(n) + 1e-9; math.Abs(mean-1/c.rate) > tol {
				t.Errorf("mean gap = %v s, want %v ± %v", mean, 1/c.rate, tol)
			}
			// Very bursty gaps have a heavy tail, so their CV converges slowly.
			relative := 0.01
			if c.cv > 2 {
				relative = 0.03
			}
			if tol := relative*c.cv + 1e-6; math.Abs(cv-c.cv) > tol {
				t.Errorf("CV = %v, want %v ± %v", cv, c.cv, tol)
			}
			if c.cdf == nil {
				return
			}
			// Kolmogorov–Smirnov: the 0.1 % point of the distance is 1.949/√n.
			if d, limit := ksDistance(g, c.cdf), 1.949/math.Sqrt(n); d > limit {
				t.Errorf("KS distance = %v, want at most %v", d, limit)
			}
		})
	}
}

// The KS test above must be able to fail: gamma gaps are not exponential.
func TestKSRejectsTheWrongShape(t *testing.T) {
	g := gaps(take(t, Gamma(20, 1.2, 1), 100_000))
	if d, limit := ksDistance(g, distuv.Exponential{Rate: 20}.CDF), 1.949/math.Sqrt(100_000); d < limit {
		t.Errorf("KS distance of smoothness 1.2 to Poisson = %v, want more than %v", d, limit)
	}
}

// The gaps of every process come from its distribution, tails included; the
// seeds are fixed, so the outcome is, too.
func TestAndersonDarling(t *testing.T) {
	const n = 60_000 // half a minute at 2,000 per second
	for i, c := range cases() {
		if c.cdf == nil {
			continue
		}
		at := take(t, c.seq(t, bench.Seed(2000+i)), n)
		// Arrivals are whole nanoseconds, so gaps of about that size have lost their
		// distribution. A bursty process has many of them (a seventh of the gaps of
		// smoothness 0.1). All longer gaps must fit.
		const least = 1e-6
		long := slices.DeleteFunc(gaps(at), func(gap float64) bool { return gap < least })
		below := c.cdf(least)
		a2, p := stat.AndersonDarling(long, func(x float64) float64 { return (c.cdf(x) - below) / (1 - below) })
		if p < 0.01 {
			t.Errorf("%s rate %v smoothness %v: A² = %.3f, p = %.4f, want p of at least 0.01", c.kind, c.rate, c.smoothness, a2, p)
		}
	}
	// The test must be able to fail.
	if _, p := stat.AndersonDarling(gaps(take(t, Gamma(20, 1.05, 1), n)), distuv.Exponential{Rate: 20}.CDF); p > 1e-4 {
		t.Errorf("smoothness 1.05 against Poisson: p = %v, want below 1e-4", p)
	}
	if _, p := stat.AndersonDarling(gaps(take(t, Poisson(20.5, 1), n)), distuv.Exponential{Rate: 20}.CDF); p > 1e-4 {
		t.Errorf("rate 20.5 against 20: p = %v, want below 1e-4", p)
	}
}

func moments(x []float64) (mean, cv float64) {
	for _, v := range x {
		mean += v
	}
	mean /= float64(len(x))
	ss := 0.0
	for _, v := range x {
		ss += (v - mean) * (v - mean)
	}
	return mean, math.Sqrt(ss/float64(len(x)-1)) / mean
}

// ksDistance is the largest distance between the empirical and the given
// distribution function.
func ksDistance(x []float64, cdf func(float64) float64) float64 {
	x = slices.Sorted(slices.Values(x))
	n, d := float64(len(x)), 0.0
	for i, v := range x {
		// Offsets are whole nanoseconds, so a gap is known to one of them only.
		d = max(d, cdf(v-1e-9)-float64(i)/n, float64(i+1)/n-cdf(v+1e-9))
	}
	return d
}

func TestSeeds(t *testing.T) {
	for _, c := range cases() {
		if c.cdf == nil {
			continue
		}
		seq := c.seq(t, 7)
		a, again := take(t, seq, 1000), take(t, seq, 1000)
		if diff := cmp.Diff(a, again); diff != "" {
			t.Errorf("%s: the second iteration differs:\n%s", c.kind, diff)
		}
		if cmp.Equal(a, take(t, c.seq(t, 8), 1000)) {
			t.Errorf("%s: seeds 7 and 8 give the same arrivals", c.kind)
		}
	}
}

func TestGolden(t *testing.T) {
	tests := []struct {
		name string
		seq  iter.Seq[time.Duration]
		want []time.Duration
	}{
		{"poisson", Poisson(10, 42), []time.Duration{42377802, 60845399, 223873402, 582677146, 633723208}},
		{"gamma 0.5", Gamma(10, 0.5, 42), []time.Duration{267203792, 269270707, 400435777, 500033689, 577694947}},
		{"gamma 4", Gamma(10, 4, 42), []time.Duration{119675877, 282930686, 411057477, 464342117, 592596700}},
	}
	for _, tt := range tests {
		if diff := cmp.Diff(tt.want, take(t, tt.seq, 5)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

// Adding integers and a carried fraction must equal the exact sum.
func TestSumDoesNotDrift(t *testing.T) {
	const n, gap = 10_000_000, 100.1 // nanoseconds
	var last time.Duration
	i := 0
	sum(func() float64 { return gap }, func(at time.Duration) bool {
		last = at
		i++
		return i < n
	})
	if want := time.Duration(1_001_000_000); last < want-1 || last > want {
		t.Errorf("sum of %d gaps of %v ns = %d, want %d", n, gap, last, want)
	}
}

func TestSequencesEndAtTheHorizon(t *testing.T) {
	for _, k := range Kinds() {
		kind := k.Name
		o := offered{kind: kind, rate: 1e-9, smoothness: 2} // one in 32 years
		n := 0
		for at := range o.seq(t, 3) {
			if n++; at <= 0 || at >= horizon {
				t.Fatalf("%s: arrival %d at %v", kind, n, at)
			}
		}
		if n == 0 || n > 100 {
			t.Errorf("%s: %d arrivals in 290 years, want about 9", kind, n)
		}
	}
}

func TestNewRefuses(t *testing.T) {
	bad := []float64{0, -1, math.NaN(), math.Inf(1), math.Inf(-1)}
	for _, k := range Kinds() {
		for _, v := range bad {
			if seq, err := k.New(Options{Rate: v, Smoothness: 1}); err == nil || seq != nil ||
				!strings.Contains(err.Error(), "rate") {
				t.Errorf("%s with rate %v: error %v, want one about the rate", k.Name, v, err)
			}
			if _, err := k.New(Options{Rate: 1, Smoothness: v}); k.Shaped && (err == nil || !strings.Contains(err.Error(), "smoothness")) {
				t.Errorf("%s with smoothness %v: error %v, want one about the smoothness", k.Name, v, err)
			}
		}
	}
}

func TestWriteDocs(t *testing.T) {
	var b strings.Builder
	if err := WriteDocs(&b); err != nil {
		t.Fatal(err)
	}
	table, rest, _ := strings.Cut(b.String(), "\n\n")
	if !strings.HasPrefix(rest, "## Rates that change\n") {
		t.Errorf("after the table: %.40q", rest)
	}
	lines := strings.Split(table, "\n")
	if got, want := len(lines), 2+len(Kinds()); got != want {
		t.Fatalf("%d lines, want %d:\n%s", got, want, b.String())
	}
	if want := "| `constant` | 1/rate | 0 | One arrival every 1/rate seconds"; !strings.HasPrefix(lines[2], want) {
		t.Errorf("first row = %q, want it to begin with %q", lines[2], want)
	}
}

func BenchmarkArrivals(b *testing.B) {
	for _, c := range cases()[:5] {
		b.Run(fmt.Sprintf("%s-%v", c.kind, c.rate), func(b *testing.B) {
			next, stop := iter.Pull(c.seq(b, 1))
			defer stop()
			b.ReportAllocs()
			for b.Loop() {
				next()
			}
		})
	}
}
