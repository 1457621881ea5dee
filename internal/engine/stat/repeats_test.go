package stat

import (
	"math"
	"math/rand/v2"
	"testing"
)

// The golden values were computed with scipy 1.17.
func TestCombine(t *testing.T) {
	tests := []struct {
		name                       string
		values, errors             []float64
		between, q, mean, low, top float64
	}{
		{"heterogeneous", []float64{212, 205.5, 231.2, 209.9, 218.4}, []float64{.012, .015, .010, .020, .012},
			0.04391199, 1, 215.485778, 203.496036, 228.181942},
		{"homogeneous", []float64{212, 211.5, 212.9, 211.8}, []float64{.012, .015, .010, .020},
			0, 0.0566730, 212.262035, 207.936180, 216.677886},
	}
	for _, tt := range tests {
		var y []float64
		for _, v := range tt.values {
			y = append(y, math.Log(v))
		}
		r := Combine(y, tt.errors)
		low, high := r.Interval(0.95)
		got := []float64{r.Between, r.Q, math.Exp(r.Mean), math.Exp(low), math.Exp(high)}
		for i, want := range []float64{tt.between, tt.q, tt.mean, tt.low, tt.top} {
			if !closeTo(got[i], want) {
				t.Errorf("%s: %v, want %v at %d", tt.name, got, want, i)
			}
		}
	}
}

func TestTrend(t *testing.T) {
	tests := []struct {
		name           string
		values         []float64
		correlation, p float64
		ok             bool
	}{
		{"rising", []float64{1, 2, 3, 4, 5, 6}, 1, 2.0 / 720, true},
		{"falling", []float64{6, 5, 4, 3, 2, 1}, -1, 2.0 / 720, true},
		{"four in disorder", []float64{2, 1, 4, 3}, 0.6, 10.0 / 24, true},
		{"equal", []float64{1, 1, 1, 1}, 0, 1, false},
		{"three", []float64{1, 2, 3}, 0, 1, false},
		{"nine rising", []float64{1, 2, 3, 4, 5, 6, 7, 8, 9}, 1, 0, true},
	}
	for _, tt := range tests {
		r, p, ok := Trend(tt.values)
		if math.Abs(r-tt.correlation) > 1e-9 || math.Abs(p-tt.p) > 1e-9 || ok != tt.ok {
			t.Errorf("%s: %v, %v, %v, want %v, %v, %v", tt.name, r, p, ok, tt.correlation, tt.p, tt.ok)
		}
	}
}

// Repeats that end when the interval of their mean is narrow report an interval that still covers
// the true value in 94.5 %, whatever the ratio of noise to precision is; the short form allows three standard errors
// less.
func TestSimulateRepeats(t *testing.T) {
	draws, bound := 4000, 0.945-3*math.Sqrt(0.05*0.95/4000)
	if full() {
		draws, bound = 40_000, 0.945
	}
	for _, limits := range [][2]int{{2, 10}, {3, 10}, {3, 20}, {5, 20}} {
		least, most := limits[0], limits[1]
		quantile := make([]float64, most+1)
		for k := 2; k <= most; k++ {
			quantile[k] = Student((1+WatchedLevel(least))/2, float64(k-1))
		}
		for _, noise := range []float64{0.2, 0.5, 0.8, 1.2, 2, 3} { // standard deviation over precision
			r, held := rand.New(rand.NewPCG(uint64(100*most+least), uint64(10*noise))), 0
			for range draws {
				var values []float64
				for len(values) < most {
					values = append(values, noise*r.NormFloat64())
					if len(values) < least {
						continue
					}
					_, e := meanError(values)
					if quantile[len(values)]*e <= 1 {
						break
					}
				}
				mean, e := meanError(values)
				if math.Abs(mean) <= quantile[len(values)]*e {
					held++
				}
			}
			share := float64(held) / float64(draws)
			if share < bound {
				t.Errorf("%d to %d runs, noise %v: covered in %.3f, want %v", least, most, noise, share, bound)
			}
			t.Logf("%d to %d runs, noise %v: %.2f %%", least, most, noise, 100*share)
		}
	}
}
