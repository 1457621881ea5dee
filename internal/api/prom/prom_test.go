package prom

import (
	"math"
	"slices"
	"testing"

	"aiperfd/internal/engine/bench"
)

func TestFloat(t *testing.T) {
	// As repr() of Python 3 prints them.
	tests := map[float64]string{
		0: "0.0", 30: "30.0", -2.5: "-2.5", 0.1: "0.1", 41.2: "41.2", 1e15: "1000000000000000.0", 1e16: "1e+16", 1.5e300: "1.5e+300",
		0.0001: "0.0001", 0.00001: "1e-05", 123456789.125: "123456789.125", math.Inf(1): "+Inf", math.Inf(-1): "-Inf",
	}
	for v, want := range tests {
		if got := Float(v); got != want {
			t.Errorf("Float(%g) = %s, want %s", v, got, want)
		}
	}
	if got := Float(math.NaN()); got != "NaN" {
		t.Errorf("Float(NaN) = %s", got)
	}
}

func TestNames(t *testing.T) {
	units := map[string]string{
		"": "", "ms": "_ms", "%": "_percent", "tokens/sec": "_tps", "tokens/sec/user": "_tps_per_user",
		"requests/sec": "_requests_per_sec", "ms/token": "_ms_per_token", "KB": "_kb", "°C": "__c", "MJ": "_mj",
	}
	for unit, want := range units {
		if got := unitSuffix(unit); got != want {
			t.Errorf("unitSuffix(%q) = %q, want %q", unit, got, want)
		}
	}
	for tag, want := range map[string]string{"Time.To-First": "time_to_first", "1st": "_1st", "a:b": "a_b", "é": "_"} {
		if got := sanitize(tag); got != want {
			t.Errorf("sanitize(%q) = %q, want %q", tag, got, want)
		}
	}
	if got := escape("a\\b\"c\nd"); got != `a\\b\"c\nd` {
		t.Errorf("escape = %s", got)
	}
}

// Every class of failure has a label, and cancellations are no errors of the
// server.
func TestErrorClass(t *testing.T) {
	used := map[string]bool{}
	for _, c := range bench.Classes() {
		label := ErrorClass(c)
		if !slices.Contains(ErrorClasses(), label) {
			t.Errorf("ErrorClass(%s) = %s, which is not in the list", c, label)
		}
		used[label] = true
		if label == "other" && !c.Cancelled() && c != bench.ClientError {
			t.Errorf("class %s has no label of its own", c)
		}
	}
	if len(used) != len(ErrorClasses()) {
		t.Errorf("labels in use: %v", used)
	}
}

func TestBounds(t *testing.T) {
	for _, h := range histograms() {
		if !slices.IsSorted(h.bounds) || len(h.bounds) < 20 || len(h.bounds) > 30 {
			t.Errorf("%s: %d bounds %v", h.tag, len(h.bounds), h.bounds)
		}
		for i := 1; i < len(h.bounds); i++ {
			if f := h.bounds[i] / h.bounds[i-1]; f < 1.5 || f > 2 {
				t.Errorf("%s: %g follows %g", h.tag, h.bounds[i], h.bounds[i-1])
			}
		}
	}
	latency := decades(-3, 3, 0.63e3)
	if latency[0] != 0.001 || latency[len(latency)-1] != 630 {
		t.Errorf("latency bounds from %g to %g", latency[0], latency[len(latency)-1])
	}
	if token := decades(-4, 1, 10); token[0] != 0.0001 || token[len(token)-1] != 10 {
		t.Errorf("token bounds from %g to %g", token[0], token[len(token)-1])
	}
}
