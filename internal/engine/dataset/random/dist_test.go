package random

import (
	"math"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"aiperfd/internal/engine/bench"
)

// draw returns n values with a fixed seed.
func draw(d Dist, n int) []float64 {
	r := bench.Seed(11).Rand("test")
	out := make([]float64, n)
	for i := range out {
		out[i] = d.Draw(r)
	}
	return out
}

// ksDistance is the largest distance between the empirical and the given
// distribution function.
func ksDistance(x []float64, cdf func(float64) float64) float64 {
	x = slices.Sorted(slices.Values(x))
	n, d := float64(len(x)), 0.0
	for i, v := range x {
		f := cdf(v)
		d = max(d, f-float64(i)/n, float64(i+1)/n-f)
	}
	return d
}

func TestDistShapes(t *testing.T) {
	const n = 50_000
	// The normal distribution cut off at 0 and made whole again.
	truncated := func(mean, sd float64) func(float64) float64 {
		full := distuv.Normal{Mu: mean, Sigma: sd}
		below := full.CDF(0)
		return func(x float64) float64 { return (full.CDF(x) - below) / (1 - below) }
	}
	tests := []struct {
		name string
		spec Spec
		cdf  func(float64) float64
	}{
		{"normal", Spec{Mean: new(550.0), Stddev: 50}, truncated(550, 50)},
		{"normal near 0", Spec{Mean: new(10.0), Stddev: 20}, truncated(10, 20)},
		// mean 400 and median 200: μ = ln 200, σ = √(2·ln 2).
		{"log-normal", Spec{Mean: new(400.0), Median: new(200.0)},
			distuv.LogNormal{Mu: math.Log(200), Sigma: math.Sqrt(2 * math.Ln2)}.CDF},
		{"mixture", Spec{Peaks: []Peak{
			{Spec{Mean: new(100.0), Stddev: 10}, 1}, {Spec{Mean: new(900.0), Stddev: 30}, 3},
		}}, func(x float64) float64 { return 0.25*truncated(100, 10)(x) + 0.75*truncated(900, 30)(x) }},
		{"mixture within a mixture", Spec{Peaks: []Peak{
			{Spec{Peaks: []Peak{{Spec{Mean: new(100.0), Stddev: 10}, 5}}}, 2},
			{Spec{Mean: new(900.0), Stddev: 30}, 6},
		}}, func(x float64) float64 { return 0.25*truncated(100, 10)(x) + 0.75*truncated(900, 30)(x) }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			// The 0.1 % point of the Kolmogorov–Smirnov distance is 1.949/√n.
			if d, limit := ksDistance(draw(made(t, tt.spec), n), tt.cdf), 1.949/math.Sqrt(n); d > limit {
				t.Errorf("KS distance = %v, want at most %v", d, limit)
			}
		})
	}
}

func TestDistEmpirical(t *testing.T) {
	const n = 60_000
	d := made(t, Spec{Points: []Point{{10, 1}, {20, 2}, {30, 3}}})
	counts := map[float64]float64{}
	for _, v := range draw(d, n) {
		counts[v]++
	}
	if len(counts) != 3 {
		t.Fatalf("values %v, want 10, 20 and 30", counts)
	}
	for v, p := range map[float64]float64{10: 1. / 6, 20: 2. / 6, 30: 3. / 6} {
		if want, tol := n*p, 4*math.Sqrt(n*p*(1-p)); math.Abs(counts[v]-want) > tol {
			t.Errorf("%v was drawn %v times, want %v ± %v", v, counts[v], want, tol)
		}
	}
}

func TestDistClamp(t *testing.T) {
	spec := Spec{Mean: new(100.0), Stddev: 50, Min: new(90.0), Max: new(110.0)}
	low, high, inside := 0, 0, 0
	for _, v := range draw(made(t, spec), 10_000) {
		switch {
		case v == 90:
			low++
		case v == 110:
			high++
		case v > 90 && v < 110:
			inside++
		default:
			t.Fatalf("drew %v, want 90 to 110", v)
		}
	}
	// Φ(±0.2): 42 % lie beyond each clamp. They move to it and are not drawn again.
	if low < 3900 || high < 3900 || inside < 1300 {
		t.Errorf("%d at min, %d at max, %d between; want about 4100, 4200, 1600", low, high, inside)
	}
	if got := made(t, Spec{Mean: new(5.0), Min: new(7.0)}).Draw(nil); got != 7 {
		t.Errorf("constant 5 with min 7 = %v, want 7", got)
	}
	if got := made(t, Spec{Points: []Point{{9, 1}}, Max: new(7.0)}).Draw(bench.Seed(1).Rand("")); got != 7 {
		t.Errorf("point 9 with max 7 = %v, want 7", got)
	}
}

func TestDrawInt(t *testing.T) {
	tests := []struct {
		v    float64
		want int
	}{{0, 1}, {0.4, 1}, {1, 1}, {1.5, 2}, {2.5, 2}, {3.5, 4}, {550, 550}, {1e9, 1e9}}
	for _, tt := range tests {
		if got := Fixed(tt.v).DrawInt(nil); got != tt.want {
			t.Errorf("DrawInt of %v = %d, want %d", tt.v, got, tt.want)
		}
	}
	// A log-normal tail must not overflow.
	tail := made(t, Spec{Mean: new(1e9), Median: new(1e-300)})
	r := bench.Seed(1).Rand("")
	for range 1000 {
		if got := tail.DrawInt(r); got < 1 || got > 1e9 {
			t.Fatalf("DrawInt = %d, want 1 to 10⁹", got)
		}
	}
}

func TestDistGiven(t *testing.T) {
	if (Dist{}).Given() || (Dist{}).Draw(nil) != 0 {
		t.Error("the zero value must mean: not given")
	}
	if !Fixed(0).Given() || !made(t, Spec{Mean: new(0.0)}).Given() {
		t.Error("a constant 0 must be given")
	}
	if got := Fixed(-3).Draw(nil); got != 0 {
		t.Errorf("Fixed(-3) draws %v, want 0", got)
	}
}

func TestNewDistRefuses(t *testing.T) {
	peak := func(s Spec) Spec { return Spec{Peaks: []Peak{{s, 1}}} }
	one := Spec{Mean: new(1.0)}
	tests := []struct {
		name string
		spec Spec
		want string
	}{
		{"nothing", Spec{}, "exactly one of mean, peaks and points must be given, not 0"},
		{"two forms", Spec{Mean: new(1.0), Points: []Point{{1, 1}}}, "not 2 of them"},
		{"negative mean", Spec{Mean: new(-1.0)}, "mean -1: must be a number from 0 to 1e+09"},
		{"NaN", Spec{Mean: new(math.NaN())}, "mean NaN"},
		{"infinite", Spec{Mean: new(math.Inf(1))}, "mean +Inf"},
		{"negative stddev", Spec{Mean: new(1.0), Stddev: -1}, "stddev -1"},
		{"stddev NaN", Spec{Mean: new(1.0), Stddev: math.NaN()}, "stddev NaN"},
		{"stddev alone", Spec{Stddev: 1, Points: []Point{{1, 1}}}, "stddev and median need a mean"},
		{"median and stddev", Spec{Mean: new(2.0), Stddev: 1, Median: new(1.0)}, "exclude each other"},
		{"median above mean", Spec{Mean: new(1.0), Median: new(2.0)}, "mean 1 must be above median 2"},
		{"median equals mean", Spec{Mean: new(2.0), Median: new(2.0)}, "mean 2 must be above median 2"},
		{"median 0", Spec{Mean: new(2.0), Median: new(0.0)}, "above median 0"},
		{"min above max", Spec{Mean: new(1.0), Min: new(3.0), Max: new(2.0)}, "min 3 is above max 2"},
		{"negative min", Spec{Mean: new(1.0), Min: new(-3.0)}, "min -3"},
		{"point", Spec{Points: []Point{{1, 1}, {-1, 1}}}, "points[1]: value -1"},
		{"point weight", Spec{Points: []Point{{1, 0}}}, "points[0]: weight 0: must be above 0"},
		{"peak weight", Spec{Peaks: []Peak{{one, math.Inf(1)}}}, "peaks[0]: weight +Inf"},
		{"peak", Spec{Peaks: []Peak{{one, 1}, {Spec{}, 1}}}, "peaks[1]: exactly one"},
		{"deep", peak(peak(peak(peak(peak(one))))), "peaks within peaks: at most 4"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := New(tt.spec); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error = %v, want one with %q", err, tt.want)
			}
		})
	}
	_, err := New(Spec{Mean: new(-1.0), Stddev: -1, Min: new(-1.0)})
	if err == nil || strings.Count(err.Error(), "\n") != 2 {
		t.Errorf("error = %v, want three problems at once", err)
	}
}

// made returns a distribution that must be valid.
func made(t testing.TB, s Spec) Dist {
	t.Helper()
	d, err := New(s)
	if err != nil {
		t.Fatal(err)
	}
	return d
}
