package stat

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func logs(values ...float64) []float64 {
	out := make([]float64, len(values))
	for i, v := range values {
		out[i] = math.Log(v)
	}
	return out
}

// near fails if got is not want with a relative error of 1e-6, the digits that are given.
func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > 1e-6*math.Abs(want) {
		t.Errorf("%s = %.9g, want %.9g", what, got, want)
	}
}

// percent is the change of a ratio from its logarithm.
func percent(ln float64) float64 { return 100 * math.Expm1(ln) }

// The expected values are scipy's (1.17).
func TestWelch(t *testing.T) {
	a, b := logs(1052, 1047, 1061, 1039, 1055), logs(1018, 1026, 1009, 1031, 1022)
	d, ok := Welch(a, b)
	if !ok {
		t.Fatal("Welch gives nothing for five values each")
	}
	near(t, "t", d.Estimate/d.Below, -5.607790)
	near(t, "degrees of freedom", d.Freedom, 7.991508)
	near(t, "p", d.P(), 5.075514e-4)
	near(t, "change", percent(d.Estimate), -2.817065)
	low, high := d.Interval(0.95)
	near(t, "low", percent(low), -3.952536)
	near(t, "high", percent(high), -1.668170)
	low, high = d.Interval(0.9)
	near(t, "low, 90 %", percent(low), -3.733700)
	near(t, "high, 90 %", percent(high), -1.891702)
	near(t, "detectable", d.Detectable(), 0.01628234)
	low, _ = d.Interval(1 - 2*0.425865) // which ends at the margin of a test with this p-value
	near(t, "margin of p 0.425865", percent(-low), 3)
	if d.Equivalent(math.Log(1.03)) {
		t.Error("equivalent within 3 %, want not: the p-value is 0.43")
	}
	if !d.Equivalent(math.Log(1.04)) {
		t.Error("not equivalent within 4 %")
	}
	if _, ok := Welch(a[:1], b); ok {
		t.Error("Welch compares one value")
	}
}

// Equal values without spread are equal, different ones differ.
func TestWelchConstant(t *testing.T) {
	same, _ := Welch([]float64{1, 1}, []float64{1, 1})
	if p := same.P(); p != 1 || !same.Equivalent(0.01) {
		t.Errorf("equal constants: p %v, equivalent %v", p, same.Equivalent(0.01))
	}
	other, _ := Welch([]float64{1, 1}, []float64{2, 2})
	if p := other.P(); p != 0 || other.Equivalent(0.01) {
		t.Errorf("different constants: p %v, equivalent %v", p, other.Equivalent(0.01))
	}
}

func TestMover(t *testing.T) {
	ln := func(value, low, high float64) Estimated {
		return Estimated{math.Log(value), math.Log(low), math.Log(high)}
	}
	d := Mover(ln(200, 190, 212), ln(210, 198, 226))
	near(t, "change", percent(d.Estimate), 5)
	low, high := d.Interval(0.95)
	near(t, "low", percent(low), -3.344752)
	near(t, "high", percent(high), 14.838787)
}

func TestHolm(t *testing.T) {
	got := Holm([]float64{0.001, 0.012, 0.021, 0.04, 0.2, 0.6})
	want := []float64{0.006, 0.06, 0.084, 0.12, 0.4, 0.6}
	if diff := cmp.Diff(want, got, cmpopts.EquateApprox(1e-12, 0)); diff != "" {
		t.Errorf("Holm (-want +got):\n%s", diff)
	}
	// The order of the family does not matter, and no value exceeds 1.
	got = Holm([]float64{0.6, 0.001, 0.9})
	if diff := cmp.Diff([]float64{1, 0.003, 1}, got, cmpopts.EquateApprox(1e-12, 0)); diff != "" {
		t.Errorf("Holm (-want +got):\n%s", diff)
	}
}

// One new value against five: the interval is s·√(1 + 1/5)·t₄ wide on either side.
func TestPredict(t *testing.T) {
	d, ok := Predict([]float64{100, 102, 98, 101, 99}, 104)
	if !ok || d.Freedom != 4 || d.Estimate != 4 {
		t.Fatalf("Predict = %+v, %v", d, ok)
	}
	low, high := d.Interval(0.95)
	near(t, "half width", (high-low)/2, math.Sqrt(2.5)*math.Sqrt(1.2)*2.7764451051977987)
}

// Published values: 10 of 100 gives 0.0552 to 0.1744 (Newcombe, Stat. Med. 17, 1998, method 3).
func TestWilson(t *testing.T) {
	got := Wilson(10, 100)
	if math.Abs(got.Low-0.0552) > 5e-5 || math.Abs(got.High-0.1744) > 5e-5 {
		t.Errorf("Wilson(10, 100) = %v", got)
	}
	if none := Wilson(0, 50); none.Low != 0 || none.High <= 0 {
		t.Errorf("Wilson(0, 50) = %v", none)
	}
}

// The example of t-intervals: 100, 110, 105 against 100 gives 105 ± 12.4.
func TestAgainst(t *testing.T) {
	d, ok := Against([]float64{100, 110, 105}, 100)
	if !ok || d.Estimate != 5 || d.Freedom != 2 {
		t.Fatalf("Against = %+v, %v", d, ok)
	}
	low, high := d.Interval(0.95)
	near(t, "low", 100+low, 92.579311)
	near(t, "high", 100+high, 117.420689)
	if _, ok := Against([]float64{1}, 1); ok {
		t.Error("Against compares one value")
	}
}
