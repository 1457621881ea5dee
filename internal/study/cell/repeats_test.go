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
	got := c.Repeats(0.95, nil)
	if len(got) != 1 || got[0].Stat != "avg" || got[0].N != 4 || got[0].HasTrend != true || got[0].Drifts() {
		t.Fatalf("repeats = %+v", got)
	}
	r := got[0]
	if r.Low >= r.Mean || r.High <= r.Mean || math.Abs(r.Mean-100.9) > 0.2 || math.Abs(r.Within-0.02/1.96) > 1e-4 || r.ShareBetween() < 0.9 {
		t.Errorf("heterogeneous runs: %+v, share %v", r, r.ShareBetween())
	}
	wide := c.Repeats(0.98, nil)[0]
	if !(wide.Low < r.Low && wide.High > r.High) {
		t.Errorf("98 %%: %+v", wide)
	}
	equal := NewResult(repeated(100, 100.1, 99.9), nil, 0.95)
	if r := equal.Repeats(0.95, nil)[0]; r.Between != 0 || r.ShareBetween() != 0 {
		t.Errorf("equal runs: %+v", r)
	}
	rising := NewResult(repeated(100, 101, 102, 103, 104, 105), nil, 0.95)
	if r := rising.Repeats(0.95, nil)[0]; !r.Drifts() || r.Trend != 1 {
		t.Errorf("rising runs: %+v", r)
	}
	one := NewResult(repeated(100), nil, 0.95)
	if got := one.Repeats(0.95, nil); got != nil {
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

// TestPrecise: repeats end by the interval that is reported, at its level.
func TestPrecise(t *testing.T) {
	limit := 0.05
	rule := &sweep.Convergence{Metric: "request_latency", Stat: "avg", Mode: sweep.Precise, Threshold: &limit, MinRuns: 3}
	for _, tt := range []struct {
		name   string
		values []float64
		want   bool
	}{
		{"two equal runs", []float64{100, 100}, false},
		{"three runs within 1 %", []float64{100, 101, 100.5}, true},
		{"three runs within 5 %", []float64{100, 105, 102}, false}, // t at 98 % with two degrees of freedom is 7
		{"eight runs within 5 %", []float64{100, 105, 102, 101, 104, 102, 103, 102}, true},
	} {
		o := repeated(tt.values...)
		if got := Converged(rule, 0.95, o.Trials); got != tt.want {
			t.Errorf("%s: converged %v, want %v", tt.name, got, tt.want)
		}
		reported := NewResult(o, nil, 0.95)
		r := reported.Repeats(LevelUsed(0.95, rule), rule)
		if met := len(r) == 1 && r[0].N >= 3 && r[0].Precision() <= limit; met != tt.want {
			t.Errorf("%s: the reported interval is %+v", tt.name, r)
		}
	}

	c := NewResult(repeated(100, 101, 100.5), nil, 0.95)
	const reached = "request_latency avg: 100.5 ms, 96.5 to 105 (98 % interval): ± 4.1 % after 3 runs; ± 5 % was reached."
	if got := c.PrecisionLine(0.95, rule); got != reached {
		t.Errorf("line %q, want %q", got, reached)
	}

	rule.Stat = "max" // no run has an interval of it: Student's alone
	o := repeated(100, 101, 100.5)
	c = NewResult(o, nil, 0.95)
	if got := c.Repeats(0.98, rule); len(got) != 2 || got[1].Stat != "max" || got[1].Within != 0 || !Converged(rule, 0.95, o.Trials) {
		t.Errorf("without intervals of the runs: %+v", got)
	}
	o.Trials[0].Metrics[0].Margins["max"] = 1
	if Converged(rule, 0.95, o.Trials) {
		t.Error("converged although only one run has an interval")
	}
}

// TestPrecisionLine_refused: why repeats say nothing of how precisely a number is known. Shares may be 0.
func TestPrecisionLine_refused(t *testing.T) {
	rule := &sweep.Convergence{Metric: "request_latency", Stat: "avg", Mode: sweep.Precise, Threshold: new(0.05), MinRuns: 3}
	const begin = "request_latency avg: how precisely it is known cannot be said: "
	zero, one := repeated(100, 0, 101), repeated(100, 100, 100)
	one.Trials[1].Metrics[0].Margins = nil
	for _, c := range []struct {
		name string
		o    Outcome
		want string
	}{
		{"a value of 0", zero, begin + "run_1 has the value 0, which has no logarithm."},
		{"a run without an interval", one, begin + "only 2 of 3 runs have an interval of their own."},
		{"one run", repeated(100), begin + "fewer than two of its runs count."},
	} {
		r := NewResult(c.o, nil, 0.95)
		if got := r.PrecisionLine(0.95, rule); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}

	shares := repeated(0, 20, 10, 10, 10, 10)
	for i := range shares.Trials {
		shares.Trials[i].Metrics[0].Unit, shares.Trials[i].Metrics[0].Margins = "%", nil
	}
	r := NewResult(shares, nil, 0.95)
	got := r.Repeats(0.95, rule)
	if len(got) != 1 || got[0].Mean != 10 || math.Abs(got[0].Low-3.362) > 0.01 || math.Abs(got[0].Between-0.6325) > 1e-3 {
		t.Errorf("shares: %+v, want a mean of 10 from 3.36 on, with a deviation of 63 %%", got)
	}
	for i := range shares.Trials {
		shares.Trials[i].Metrics[0].Stats["avg"] = 0
	}
	if r = NewResult(shares, nil, 0.95); r.Repeats(0.95, rule) != nil || Converged(rule, 0.95, shares.Trials) {
		t.Errorf("shares of 0: %+v, want none", r.Repeats(0.95, rule))
	}
}
