package stat

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestRunsFor: the runs that find a change of 3 % are those of the specification of answers.
func TestRunsFor(t *testing.T) {
	for deviation, want := range map[float64]int{0.005: 3, 0.01: 4, 0.02: 9, 0.03: 18, 0: 3} {
		if n, ok := RunsFor(deviation, math.Log1p(0.03)); n != want || !ok {
			t.Errorf("runs that deviate by %v: %d, %v, want %d", deviation, n, ok, want)
		}
	}
	if n, ok := RunsFor(1, 0.03); ok {
		t.Errorf("runs that deviate by 100 %%: %d", n)
	}
	if got := Deviation([]float64{1, 2, 3}, []float64{5}, []float64{7, 9}); math.Abs(got-math.Sqrt(4.0/3)) > 1e-12 {
		t.Errorf("deviation = %v, want %v", got, math.Sqrt(4.0/3))
	}
	if got := Deviation([]float64{1}); got != 0 {
		t.Errorf("deviation of one value = %v", got)
	}
}

// Of two sides with R runs each, whose runs deviate by s: how often Welch's test calls equal
// sides different, finds a change of 3 %, and calls equal sides equivalent within 3 %. The
// expected shares were simulated beforehand with scipy, 20,000 times.
func TestSimulateComparedRuns(t *testing.T) {
	const margin = 0.03
	draws, tolerance := 4000, 2.5 // points; three deviations of a share of 50 %
	if full() {
		draws, tolerance = 20_000, 1.5
	}
	tests := []struct {
		runs                      int
		deviation                 float64
		alarms, power, equivalent float64 // percent
	}{
		{3, 0.01, 3.5, 66, 74},
		{3, 0.02, 3.5, 21, 11},
		{5, 0.01, 4.6, 98, 99},
		{5, 0.02, 4.3, 51, 38},
		{8, 0.01, 4.8, 100, 100},
		{8, 0.02, 4.7, 77, 75},
	}
	random := rand.New(rand.NewPCG(1, 2))
	side := func(n int, mean, deviation float64) []float64 {
		out := make([]float64, n)
		for i := range out {
			out[i] = mean + deviation*random.NormFloat64()
		}
		return out
	}
	for _, tt := range tests {
		var alarms, found, equivalent float64
		for range draws {
			a := side(tt.runs, 0, tt.deviation)
			same, _ := Welch(a, side(tt.runs, 0, tt.deviation))
			slower, _ := Welch(a, side(tt.runs, math.Log1p(margin), tt.deviation))
			if same.P() < 0.05 {
				alarms++
			}
			if same.Equivalent(math.Log1p(margin)) {
				equivalent++
			}
			if slower.P() < 0.05 && slower.Estimate > 0 {
				found++
			}
		}
		for _, share := range []struct {
			what      string
			got, want float64
		}{{"alarms", alarms, tt.alarms}, {"power", found, tt.power}, {"equivalent", equivalent, tt.equivalent}} {
			if got := 100 * share.got / float64(draws); math.Abs(got-share.want) > tolerance {
				t.Errorf("%d runs, deviation %v: %s %.1f %%, want %v", tt.runs, tt.deviation, share.what, got, share.want)
			}
		}
	}
}

// Intervals that are watched by several metrics: Holm keeps the chance of any false alarm.
func TestSimulateHolm(t *testing.T) {
	const draws, metrics, runs = 4000, 6, 5
	random := rand.New(rand.NewPCG(3, 4))
	plain, adjusted := 0.0, 0.0
	for range draws {
		p := make([]float64, metrics)
		for i := range p {
			var a, b [runs]float64
			for j := range a {
				a[j], b[j] = random.NormFloat64(), random.NormFloat64()
			}
			d, _ := Welch(a[:], b[:])
			p[i] = d.P()
		}
		alarm := func(p []float64) float64 {
			for _, v := range p {
				if v < 0.05 {
					return 1
				}
			}
			return 0
		}
		plain += alarm(p)
		adjusted += alarm(Holm(p))
	}
	if share := plain / draws; share < 0.18 {
		t.Errorf("without adjustment %.3f of the draws alarm: the test cannot see what Holm prevents", share)
	}
	if share := adjusted / draws; share > 0.05 {
		t.Errorf("with adjustment %.3f of the draws alarm, want at most 0.05", share)
	}
}
