package cell

import (
	"fmt"
	"math"
	"testing"

	"aiperfd/internal/engine/config/sweep"
	"aiperfd/internal/engine/config/vary"
)

// repeated is the outcome of runs with these values of a latency, each with a margin of 2 %.
func repeated(values ...float64) Outcome {
	o := Outcome{Variation: vary.Variation{Label: "base"}}
	for i, v := range values {
		o.Trials = append(o.Trials, Trial{Label: fmt.Sprint("run_", i), Metrics: []Metric{{
			Tag: "request_latency", Unit: "ms", Stats: map[string]float64{"avg": v, "max": 2 * v}, Margins: map[string]float64{"avg": 0.02 * v},
		}}})
	}
	return o
}

func TestRepeats(t *testing.T) {
	c := NewResult(repeated(100, 110, 90, 105), nil, 0.95)
	got := c.Repeats(0.95)
	if len(got) != 1 || got[0].Stat != "avg" || got[0].N != 4 || got[0].HasTrend != true || got[0].Drifts() {
		t.Fatalf("repeats = %+v", got)
	}
	r := got[0]
	if r.Low >= r.Mean || r.High <= r.Mean || math.Abs(r.Mean-100.9) > 0.2 || math.Abs(r.Within-0.02/1.96) > 1e-4 || r.ShareBetween() < 0.9 {
		t.Errorf("heterogeneous runs: %+v, share %v", r, r.ShareBetween())
	}
	wide := c.Repeats(0.98)[0]
	if !(wide.Low < r.Low && wide.High > r.High) {
		t.Errorf("98 %%: %+v", wide)
	}
	equal := NewResult(repeated(100, 100.1, 99.9), nil, 0.95)
	if r := equal.Repeats(0.95)[0]; r.Between != 0 || r.ShareBetween() != 0 {
		t.Errorf("equal runs: %+v", r)
	}
	rising := NewResult(repeated(100, 101, 102, 103, 104, 105), nil, 0.95)
	if r := rising.Repeats(0.95)[0]; !r.Drifts() || r.Trend != 1 {
		t.Errorf("rising runs: %+v", r)
	}
	one := NewResult(repeated(100), nil, 0.95)
	if got := one.Repeats(0.95); got != nil {
		t.Errorf("one run: %+v", got)
	}
}

func TestLevelUsed(t *testing.T) {
	for _, tt := range []struct {
		level float64
		c     *sweep.Convergence
		want  float64
	}{
		{0.95, nil, 0.95}, {0.95, &sweep.Convergence{}, 0.985}, {0.95, &sweep.Convergence{MinRuns: 3}, 0.98},
		{0.99, &sweep.Convergence{MinRuns: 3}, 0.99},
	} {
		if got := LevelUsed(tt.level, tt.c); got != tt.want {
			t.Errorf("LevelUsed(%v, %+v) = %v, want %v", tt.level, tt.c, got, tt.want)
		}
	}
}
