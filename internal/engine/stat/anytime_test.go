package stat

import (
	"math"
	"math/rand/v2"
	"testing"
)

// Golden values of scipy 1.17, for independent blocks with a standard deviation of 1.
func TestMixtureWidth(t *testing.T) {
	spread := NewAnytime(0.05).spread
	if math.Abs(spread-0.13226924) > 5e-9 {
		t.Errorf("ρ² = %.8f, want 0.13226924", spread)
	}
	for n, want := range map[float64]float64{30: 0.562980, 60: 0.391844, 120: 0.279473, 200: 0.219723} {
		if got := mixtureWidth(n, spread, 0.05); math.Abs(got-want) > 1e-6*want+5e-7 {
			t.Errorf("half width after %v blocks = %.6f, want %v", n, got, want)
		}
	}
}

// The interval is what the definition says, from sums over all blocks.
func TestAnytime(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	values := []float64{}
	a := NewAnytime(0.05)
	if low, high, ok := a.Interval(); ok {
		t.Errorf("no block gives %v to %v", low, high)
	}
	x := 0.0
	for range 50 {
		x = 0.5*x + random.NormFloat64()
		values = append(values, 1e6+x) // far from 0, where sums of squares lose digits
		a.Add(1e6 + x)
		if _, _, ok := a.Interval(); ok != (len(values) >= FirstLook) {
			t.Fatalf("interval after %d blocks: %v", len(values), ok)
		}
	}
	mean, standardError := meanError(values)
	products := 0.0
	for i := range values[1:] {
		products += (values[i] - mean) * (values[i+1] - mean)
	}
	n := float64(len(values))
	r := products / (n * standardError * standardError * (n - 1))
	half := Student(0.975, 49) / 1.959963985 * math.Sqrt((1+r)/(1-r)) * standardError * math.Sqrt(n) * mixtureWidth(n, a.spread, 0.05)
	low, high, _ := a.Interval()
	if math.Abs(a.Mean()-mean) > 1e-6 || math.Abs(low-(mean-half)) > 1e-5 || math.Abs(high-(mean+half)) > 1e-5 {
		t.Errorf("mean %v, interval %v to %v; want %v ± %v", a.Mean(), low, high, mean, half)
	}
	constant := NewAnytime(0.05)
	for range FirstLook {
		constant.Add(3)
	}
	if low, high, ok := constant.Interval(); low != 3 || high != 3 || !ok || constant.Decide(1) != Above {
		t.Errorf("equal blocks give %v to %v, %v", low, high, ok)
	}
}

// TestAnytimeDecides: the sign of the mean, or that it is within the margin even if it is not 0.
func TestAnytimeDecides(t *testing.T) {
	for _, tt := range []struct {
		mean, margin float64
		want         Course
	}{{2, 0.1, Above}, {-2, 0.1, Below}, {0.1, 1.2, Within}, {0.1, 0.1, Undecided}} {
		a := NewAnytime(0.05)
		for i := range 40 {
			if got := a.Decide(tt.margin); i < FirstLook && got != Undecided {
				t.Fatalf("decided after %d blocks", i)
			}
			a.Add(tt.mean + float64(i%2)*2 - 1)
		}
		if got := a.Decide(tt.margin); got != tt.want {
			t.Errorf("mean %v, margin %v: %v, want %v", tt.mean, tt.margin, got, tt.want)
		}
	}
}

// TestSimulateAnytime looks after every block, from the 30th to the 200th: sequences whose mean is 0 may exclude
// 0 at any time in at most 6 % of cases, whatever the noise; the interval of Student's distribution, looked at as
// often, does so in many more.
func TestSimulateAnytime(t *testing.T) {
	const blocks, draws = 200, 3000
	var quantiles [blocks + 1]float64
	for n := FirstLook; n <= blocks; n++ {
		quantiles[n] = Student(0.975, float64(n-1))
	}
	for _, noise := range []struct {
		name string
		next func(r *rand.Rand, before float64) float64
	}{
		{"normal", func(r *rand.Rand, _ float64) float64 { return r.NormFloat64() }},
		{"Student, 3 degrees", func(r *rand.Rand, _ float64) float64 {
			square := 0.0
			for range 3 {
				v := r.NormFloat64()
				square += v * v
			}
			return r.NormFloat64() / math.Sqrt(square/3)
		}},
		{"exponential", func(r *rand.Rand, _ float64) float64 { return r.ExpFloat64() - 1 }},
		{"correlated at 0.3", func(r *rand.Rand, before float64) float64 { return 0.3*before + r.NormFloat64() }},
	} {
		random := rand.New(rand.NewPCG(7, 8))
		alarms, plain := 0, 0
		for range draws {
			a, x := NewAnytime(0.05), 0.0
			alarm, alarmPlain := false, false
			for n := 1; n <= blocks; n++ {
				x = noise.next(random, x)
				a.Add(x)
				if n < FirstLook {
					continue
				}
				distance, count := math.Abs(a.Mean()), float64(n)
				alarm = alarm || distance > a.half(quantiles[n])
				mean := a.sum / count
				variance := (a.square - count*mean*mean) / (count - 1)
				alarmPlain = alarmPlain || distance > quantiles[n]*math.Sqrt(variance/count)
			}
			if alarm {
				alarms++
			}
			if alarmPlain {
				plain++
			}
		}
		share, usual := float64(alarms)/draws, float64(plain)/draws
		t.Logf("%s: %.1f %% alarm, %.1f %% by Student's interval", noise.name, 100*share, 100*usual)
		if share > 0.06 {
			t.Errorf("%s: %.1f %% of sequences exclude their mean at some time, want at most 6 %%", noise.name, 100*share)
		}
		if usual < 0.15 {
			t.Errorf("%s: Student's interval excludes it in %.1f %%: the test cannot see what the sequence prevents", noise.name, 100*usual)
		}
	}
}
