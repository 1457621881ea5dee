package cell

import (
	"testing"

	"aiperfd/internal/engine/config/vary"
)

// A list is planned in its order, whatever became of the variations.
func TestList(t *testing.T) {
	plan := List{{Index: 0, Label: "a", Values: []vary.Assignment{{Path: "rate", Value: 1.0}}}, {Index: 1, Label: "b"}}
	var done []Outcome
	for _, want := range plan {
		v, more := plan.Next(done)
		if !more || v.Label != want.Label {
			t.Fatalf("after %d variations: %q, %v; want %q", len(done), v.Label, more, want.Label)
		}
		done = append(done, Outcome{Variation: v, Trials: []Trial{{Failure: "no success"}}})
	}
	if v, more := plan.Next(done); more {
		t.Errorf("after the last variation comes %q", v.Label)
	}
	if v, ok := plan[0].Value("rate"); !ok || v != 1.0 {
		t.Errorf("value of rate = %v, %v", v, ok)
	}
	if _, ok := plan[1].Value("rate"); ok {
		t.Error("b has a rate")
	}
}

// Only the trials without a failure are results, and a statistic that was not measured
// does not exist.
func TestOutcome(t *testing.T) {
	good := Trial{Label: "run_0001", Metrics: []Metric{{Tag: "request_latency", Unit: "ms", Stats: map[string]float64{"p99": 12}}}}
	o := Outcome{Trials: []Trial{{Label: "run_0000", Failure: "no success"}, good}}
	if s := o.Successful(); len(s) != 1 || s[0].Label != good.Label {
		t.Errorf("successful: %v", s)
	}
	if v, ok := good.Stat("request_latency", "p99"); !ok || v != 12 {
		t.Errorf("p99 = %v, %v", v, ok)
	}
	for _, missing := range [][2]string{{"request_latency", "p50"}, {"goodput", "avg"}} {
		if v, ok := good.Stat(missing[0], missing[1]); ok {
			t.Errorf("%v = %v", missing, v)
		}
	}
}
