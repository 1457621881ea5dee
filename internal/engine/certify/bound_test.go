package certify

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

// process draws the samples of one run.
type process func(r *rand.Rand, n int) []sample

// from makes a process of truths and errors, drawn one after the other.
func from(truth, err func(r *rand.Rand, i int) float64) process {
	return func(r *rand.Rand, n int) []sample {
		out := make([]sample, n)
		for i := range out {
			t, e := time.Duration(truth(r, i)*1e6), time.Duration(err(r, i)*1e6)
			out[i] = sample{at: time.Duration(i), truth: t, reported: t + e, err: e.Abs()}
		}
		return out
	}
}

// bursts stop the client for a whole stretch of values now and then: one in so many
// values begins a stretch of about this length.
func bursts(every, length int) process {
	return func(r *rand.Rand, n int) []sample {
		left, size := 0, 0.0
		return from(steady, func(r *rand.Rand, i int) float64 {
			if left == 0 && r.IntN(every) == 0 {
				left, size = 1+r.IntN(2*length), 1+4*r.ExpFloat64()
			}
			if left > 0 {
				left--
				return size + exponential(r, i)
			}
			return exponential(r, i)
		})(r, n)
	}
}

// servers with a second mode: a share of their responses takes twice as long.
func twoModes(share float64) func(*rand.Rand, int) float64 {
	return func(r *rand.Rand, _ int) float64 {
		if r.Float64() < share {
			return 40
		}
		return 20
	}
}

func steady(*rand.Rand, int) float64 { return 200 }

func exponential(r *rand.Rand, _ int) float64 { return 0.05 * r.ExpFloat64() }

func lognormal(r *rand.Rand, _ int) float64 { return 0.02 * math.Exp(1.5*r.NormFloat64()) }

// TestCoverage: a certificate says something about the next run. In at least 95
// of 100 pairs of runs of one kind the error of the p99 of the second is within
// the bound of the first.
func TestCoverage(t *testing.T) {
	const trials, n = 400, 800
	const rare = "rare bursts"
	tests := []struct {
		name string
		run  process
	}{
		{"constant truth, exponential error", from(steady, exponential)},
		{"constant truth, heavy tail", from(steady, lognormal)},
		{"jitter of the server", from(func(r *rand.Rand, _ int) float64 { return 20 + r.NormFloat64() }, exponential)},
		{"one of 500 responses is slow", from(twoModes(0.002), exponential)},
		{"one of 25 responses is slow", from(twoModes(0.04), exponential)},
		{"a stall of 5 ms in one of 100", from(steady, func(r *rand.Rand, i int) float64 {
			if r.Float64() < 0.01 {
				return 5 + exponential(r, i)
			}
			return exponential(r, i)
		})},
		{"errors of both signs", from(steady, func(r *rand.Rand, _ int) float64 { return 0.1 * r.NormFloat64() })},
		{"short bursts", bursts(80, 3)},
		{"long bursts", bursts(100, 10)},
		// One or two in a run on average: not every first run has one.
		{rare, bursts(500, 12)},
	}
	for k, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(1, uint64(k)))
			covered, sure, claimed := 0, 0, 0.0
			for range trials {
				b := newBound(tt.run(r, n))
				next := newBound(tt.run(r, n))
				if (next.reported - next.truth).Abs() <= b.added {
					covered++
				}
				claimed += b.confidence
				if b.confidence >= level {
					sure++
				}
			}
			want := trials * 95 / 100
			if tt.name == rare {
				want = int(claimed) // what did not happen can be in no bound, but must be in the confidence
			}
			if covered < want {
				t.Errorf("%d of %d bounds hold, want at least %d", covered, trials, want)
			}
			t.Logf("%d of %d bounds hold, %d with full confidence, %.0f claimed", covered, trials, sure, claimed)
		})
	}
}

// A bound that holds because it is far too large says nothing: it must be near the
// quantile that it rests on.
func TestBoundIsSharp(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	b := newBound(from(steady, exponential)(r, 20_000))
	truth := 0.05 * -math.Log(1-tail) // p99 of the errors, in ms
	if got := ms(b.added); got < truth || got > 1.15*truth {
		t.Errorf("bound %.4f ms, want from %.4f to 15 %% more", got, truth)
	}
	if b.confidence < level || b.effective != b.count {
		t.Errorf("confidence %.3f of %d effective values, want at least %.3f of all %d", b.confidence, b.effective, level, b.count)
	}
}

func TestEffective(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	b := newBound(bursts(500, 12)(r, 8000))
	if b.effective > b.count/4 {
		t.Errorf("bursts of about 15: %d effective values of %d, want at most a quarter", b.effective, b.count)
	}
}

// TestPrecedence compares with simple cases and with counting.
func TestPrecedence(t *testing.T) {
	tests := []struct {
		name    string
		m, k, j int
		want    float64
	}{
		{"one against one", 1, 1, 1, 0.5},
		{"largest against largest", 50, 50, 50, 0.5},
		{"smallest below the second", 2, 1, 2, 5.0 / 6},
		{"median against median", 3, 2, 2, 0.5},
		{"largest below the smallest", 2, 2, 1, 1.0 / 6},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := precedence(tt.m, tt.k, tt.j); math.Abs(got-tt.want) > 1e-9 {
				t.Errorf("precedence(%d, %d, %d) = %v, want %v", tt.m, tt.k, tt.j, got, tt.want)
			}
		})
	}
	t.Run("sum and normal distribution agree where one takes over", func(t *testing.T) {
		for _, j := range []int{49_480, 49_500, 49_520, 49_560} {
			p := precedence(exact, rank(exact, tail), j)
			q := precedence(exact+1, rank(exact, tail), j)
			if math.Abs(p-q) > 0.01 {
				t.Errorf("rank %d: %v by the sum, %v by the normal distribution", j, p, q)
			}
		}
	})
}

// TestOrder: few values cannot give a bound of a p99 with full confidence, and the
// result says so.
func TestOrder(t *testing.T) {
	tests := []struct {
		m, least int // smallest rank that may come out
		sure     bool
	}{{1, 1, false}, {50, 50, false}, {300, 300, false}, {800, 793, true}, {20_000, 19_800, true}, {1_000_000, 990_000, true}}
	for _, tt := range tests {
		j, confidence := order(tt.m)
		if j < tt.least || j > tt.m {
			t.Errorf("order(%d) = %d, want from %d to %d", tt.m, j, tt.least, tt.m)
		}
		if sure := confidence >= level; sure != tt.sure {
			t.Errorf("order(%d) has confidence %v", tt.m, confidence)
		}
	}
}
