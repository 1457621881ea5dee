package arrival

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"gonum.org/v1/gonum/stat/distuv"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/stat"
)

// varied is a rate that changes in time, and its integral by a formula of the test.
type varied struct {
	name   string
	rate   float64
	rise   Ramp
	series []Point
	count  func(t float64) float64 // expected arrivals in the first t seconds
	until  float64                 // seconds
}

const sec = time.Second

func variedRates() []varied {
	series := []Point{{2 * sec, 50}, {12 * sec, 200}, {17 * sec, 20}, {27 * sec, 20}}
	return []varied{
		{
			name: "linear ramp", rate: 100, rise: Ramp{Duration: 20 * sec}, until: 30,
			count: func(t float64) float64 { // from 0.5 to 100 per second
				x := min(t, 20)
				return 0.5*x + 99.5*x*x/40 + 100*max(0, t-20)
			},
		},
		{
			name: "exponential ramp", rate: 100, rise: Ramp{Duration: 20 * sec, Strategy: ExponentialRamp}, until: 30,
			count: func(t float64) float64 { // 0.5·200^(t/20)
				return 0.5*20/math.Log(200)*(math.Pow(200, min(t, 20)/20)-1) + 100*max(0, t-20)
			},
		},
		{
			name: "series", series: series, until: 40,
			count: func(t float64) float64 {
				sum := 50 * min(t, 2)
				for i := 1; i < len(series); i++ {
					a, b := series[i-1], series[i]
					x, length := t-a.At.Seconds(), (b.At - a.At).Seconds()
					x = max(0, min(x, length))
					sum += a.Rate*x + (b.Rate-a.Rate)/length*x*x/2
				}
				return sum + 20*max(0, t-27)
			},
		},
		{
			name: "ramp and series", rise: Ramp{Duration: 10 * sec}, series: []Point{{0, 80}, {10 * sec, 10}}, until: 30,
			count: func(t float64) float64 { // from 0.8 to 80 per second, then down to 10
				x, y := min(t, 10), max(0, min(t-10, 10))
				return 0.8*x + 79.2*x*x/20 + 80*y - 7*y*y/2 + 10*max(0, t-20)
			},
		},
	}
}

// gapsOf are the processes at a rate of 1, by the distribution of their gaps.
var gapsOf = []struct { //nolint:gochecknoglobals // a table
	kind           string
	smoothness, cv float64
	cdf            func(float64) float64
}{
	{"poisson", 1, 1, distuv.Exponential{Rate: 1}.CDF},
	{"gamma", 0.5, math.Sqrt2, distuv.Gamma{Alpha: 0.5, Beta: 0.5}.CDF},
	{"gamma", 4, 0.5, distuv.Gamma{Alpha: 4, Beta: 4}.CDF},
}

// offsets returns the arrivals of a process with a rate that changes, up to a time.
func (v *varied) offsets(t testing.TB, kind string, smoothness float64, seed bench.Seed) []time.Duration {
	t.Helper()
	i := slices.IndexFunc(Kinds(), func(k Kind) bool { return k.Name == kind })
	seq, err := Kinds()[i].New(Options{Rate: v.rate, Smoothness: smoothness, Seed: seed, Ramp: v.rise, Series: v.series})
	if err != nil {
		t.Fatal(err)
	}
	var out []time.Duration
	for at := range seq {
		if at.Seconds() > v.until {
			break
		}
		out = append(out, at)
	}
	return out
}

// With the expected number of arrivals as the clock, the gaps of every process come from
// the distribution of the process at a rate of 1, tails included, and the number of
// arrivals is right. 100 seeds of each process and rate.
func TestTimeRescaling(t *testing.T) {
	const seeds = 100
	for _, v := range variedRates() {
		for _, g := range gapsOf {
			t.Run(fmt.Sprintf("%s/%s %v", v.name, g.kind, g.smoothness), func(t *testing.T) {
				rejected, early, all := 0, 0.0, 0.0
				for seed := range bench.Seed(seeds) {
					at := v.offsets(t, g.kind, g.smoothness, 100+seed)
					if !slices.IsSorted(at) {
						t.Fatal("offsets decrease")
					}
					rescaled, last := make([]float64, len(at)), 0.0
					for i, a := range at {
						now := v.count(a.Seconds())
						rescaled[i], last = now-last, now
						if a.Seconds() <= v.until/4 {
							early++
						}
					}
					all += float64(len(at))
					// Gaps of about a nanosecond have lost their distribution by rounding.
					const least = 1e-5
					long, below := slices.DeleteFunc(rescaled, func(x float64) bool { return x < least }), g.cdf(least)
					if _, p := stat.AndersonDarling(long, func(x float64) float64 { return (g.cdf(x) - below) / (1 - below) }); p < 0.05 {
						rejected++
					}
				}
				// 5 of 100 are expected; more than 12 have a probability below 0.2 %.
				if rejected > 12 {
					t.Errorf("%d of %d seeds are rejected at 5 %%", rejected, seeds)
				}
				// A renewal process has (cv² - 1)/2 arrivals more than expected.
				for _, window := range []struct{ got, end float64 }{{early, v.until / 4}, {all, v.until}} {
					want := seeds * (v.count(window.end) + (g.cv*g.cv-1)/2)
					if tol := 3 * g.cv * math.Sqrt(want); math.Abs(window.got-want) > tol {
						t.Errorf("%v arrivals in %v s, want %v ± %v", window.got, window.end, want, tol)
					}
				}
			})
		}
	}
}

// The test above must be able to fail: it rejects a rate that is 10 % too high.
func TestTimeRescalingRejectsAnotherRate(t *testing.T) {
	v := variedRates()[0]
	rejected := 0
	for seed := range bench.Seed(100) {
		last := 0.0
		var rescaled []float64
		for _, a := range v.offsets(t, "poisson", 1, seed) {
			now := 1.1 * v.count(a.Seconds())
			rescaled, last = append(rescaled, now-last), now
		}
		if _, p := stat.AndersonDarling(rescaled, distuv.Exponential{Rate: 1}.CDF); p < 0.05 {
			rejected++
		}
	}
	if rejected < 90 {
		t.Errorf("%d of 100 seeds are rejected at 5 %%, want at least 90", rejected)
	}
}

// A constant process has an arrival whenever the expected number passes a whole number.
func TestConstantVaries(t *testing.T) {
	for _, v := range variedRates() {
		at := v.offsets(t, "constant", 1, 1)
		if want := int(v.count(v.until)); len(at) != want {
			t.Errorf("%s: %d arrivals, want %d", v.name, len(at), want)
		}
		for i, a := range at {
			if got := v.count(a.Seconds()); math.Abs(got-float64(i+1)) > 1e-6 {
				t.Fatalf("%s: arrival %d at %v, where %v are expected", v.name, i+1, a, got)
			}
		}
	}
}

// The rate is the derivative of the expected number of arrivals, ramps with random
// steps included.
func TestRates(t *testing.T) {
	all := append(variedRates(), varied{name: "poisson ramp", rate: 40, until: 30, rise: Ramp{Duration: 20 * sec, Strategy: PoissonRamp, Seed: 5}})
	for _, v := range all {
		r := newRates(v.rate, v.series, v.rise)
		const step = 10 * time.Microsecond
		jumps := 0
		for at := time.Duration(0); at.Seconds() < v.until; at += 97 * time.Millisecond {
			if v.count != nil {
				if got, want := r.Count(at), v.count(at.Seconds()); math.Abs(got-want) > 1e-9*max(1, want) {
					t.Errorf("%s: %v arrivals by %v, want %v", v.name, got, at, want)
				}
			}
			got, want := (r.Count(at+step)-r.Count(at))/step.Seconds(), r.At(at)
			if math.Abs(got-want) > 1e-3*want {
				jumps++
			}
		}
		if jumps > 1 { // a look may come just before a step
			t.Errorf("%s: the rate is not the derivative in %d places", v.name, jumps)
		}
	}
	r := newRates(40, nil, all[4].rise)
	if got := len(r.pieces); got != 40 {
		t.Errorf("a Poisson ramp from 0.2 to 40 per second has %d pieces, want 40", got)
	}
	if first, last := r.At(0), r.At(20*sec+time.Microsecond); first != 0.2 || last != 40 {
		t.Errorf("a Poisson ramp from %v to %v, want 0.2 to 40", first, last)
	}
}

func TestGoldenRates(t *testing.T) {
	tests := map[string][]time.Duration{"poisson": nil, "gamma": nil, "constant": nil}
	v := variedRates()[0]
	for kind := range tests {
		tests[kind] = v.offsets(t, kind, 0.5, 42)[:4]
	}
	want := map[string][]time.Duration{
		"constant": {541456057, 801783947, 1002280742, 1171559182},
		"gamma":    {940788444, 944770686, 1172247591, 1320865294},
		"poisson":  {324307774, 404180927, 853486132, 1433290643},
	}
	if diff := cmp.Diff(want, tests); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestNewRefusesSeries(t *testing.T) {
	tests := []struct {
		series []Point
		want   string
	}{
		{[]Point{{0, 1}, {0, 2}}, "point 1 of the series: time 0s: must not be negative, and must be later than the point before"},
		{[]Point{{-1, 1}, {0, 2}}, "point 0 of the series: time -1ns: must not be negative, and must be later than the point before"},
		{[]Point{{0, 1}, {1, 0}}, "point 1 of the series: rate 0: must be a finite number of arrivals per second above 0"},
	}
	kind := Kinds()[0]
	for _, tt := range tests {
		if _, err := kind.New(Options{Series: tt.series}); err == nil || err.Error() != tt.want {
			t.Errorf("%v: error %v, want %s", tt.series, err, tt.want)
		}
	}
}

// A series that falls to almost nothing neither stops nor goes back.
func TestSteepSeries(t *testing.T) {
	v := varied{series: []Point{{0, 1e6}, {sec, 1e-6}, {sec + 1, 1e6}, {2 * sec, 1}}, until: 3}
	at := v.offsets(t, "poisson", 1, 9)
	if !slices.IsSorted(at) || math.Abs(float64(len(at))-1e6) > 3000 {
		t.Errorf("%d arrivals, sorted %t; want about 1,000,000", len(at), slices.IsSorted(at))
	}
}
