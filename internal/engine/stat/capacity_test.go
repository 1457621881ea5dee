package stat

import (
	"math"
	"testing"
)

// within fails the test unless a value is as expected, up to a relative tolerance.
func within(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tolerance*math.Abs(want)) {
		t.Errorf("%s = %v, want %v ± %v %%", what, got, want, 100*tolerance)
	}
}

// TestFitCapacity compares with an independent computation by numpy 2 and scipy 1.17.
func TestFitCapacity(t *testing.T) {
	measured := []Attained{
		{2, 260, 260, 0, false}, {4, 500, 500, 0, false}, {8, 980, 979, .001, false}, {16, 1930, 1702, .016, false},
		{11.3137, 1370, 1343, .0052, false}, {13.4543, 1610, 1557, .0062, false}, {14, 1690, 1607, .0065, false},
		{14.6, 1760, 1654, .0071, false}, {13.2, 1590, 1537, .006, false}, {15.2, 1830, 1680, .0082, false},
		{12.6, 1520, 1481, .0055, false}, {14.1, 1700, 1608, .0066, false},
	}
	c := FitCapacity(measured, 0.95)
	within(t, "capacity", c.Value, 14.03, 0.003)
	within(t, "low", c.Low, 12.64, 0.003)
	within(t, "high", c.High, 15.17, 0.003)
	within(t, "dispersion", c.Dispersion, 27.4, 0.02)
	within(t, "slope", c.mode.slope, 6.34, 0.001)
	if c.Local != 10 {
		t.Errorf("local = %d, want 10", c.Local)
	}
	if c.OpenBelow || c.OpenAbove {
		t.Errorf("open below %v, above %v; the measurements bound the capacity", c.OpenBelow, c.OpenAbove)
	}
	within(t, "share at the capacity", c.At(c.Value), 0.95, 1e-12)
}

func TestFitCapacity_open(t *testing.T) {
	all := FitCapacity([]Attained{{Level: 1, N: 500, Good: 500}, {Level: 2, N: 500, Good: 500}}, 0.95)
	none := FitCapacity([]Attained{{Level: 1, N: 500, Good: 5}, {Level: 2, N: 500, Good: 0}}, 0.95)
	if !all.OpenAbove || all.OpenBelow || !none.OpenBelow || none.OpenAbove {
		t.Errorf("open above and below: all good %v %v, none good %v %v", all.OpenAbove, all.OpenBelow, none.OpenAbove, none.OpenBelow)
	}
}

// TestFitCapacity_cut: the end of the grid is no bound, even where its quantiles lie within it.
func TestFitCapacity_cut(t *testing.T) {
	c := FitCapacity([]Attained{{Level: 1, N: 512, Good: 508}, {Level: 2, N: 512, Good: 496}}, 0.95)
	if c.OpenBelow || !c.OpenAbove {
		t.Errorf("two good levels: %v to %v, open below %v, above %v; want open above alone", c.Low, c.High, c.OpenBelow, c.OpenAbove)
	}
}

func TestBlockShare(t *testing.T) {
	s := BlockShare(
		[Blocks]float64{97, 96, 99, 95, 98, 90, 97, 98, 96, 92, 101, 95, 97, 96, 100, 94},
		[Blocks]float64{100, 98, 103, 97, 101, 99, 102, 100, 100, 95, 105, 98, 101, 99, 103, 99},
	)
	within(t, "share", s.X, 0.963125, 1e-6)
	within(t, "standard error", s.Error, 0.004224325, 1e-6)
	within(t, "low", s.X-s.Margin(), 0.954121, 1e-6)
	within(t, "high", s.X+s.Margin(), 0.972129, 1e-6)
}

func TestBlockLine(t *testing.T) {
	var line, flat, noisy [Blocks]float64
	for k := range line {
		line[k] = 20 + 2*float64(k)
		flat[k] = 7
		noisy[k] = 100 + float64(k%2)
	}
	for _, c := range []struct {
		name              string
		values            [Blocks]float64
		rise              float64
		growing, drifting bool
	}{
		{"line", line, 32, true, true},
		{"flat", flat, 0, false, false},
		{"noise", noisy, 16 * 4 / 340.0, false, false},
	} {
		got := BlockLine(c.values)
		if math.Abs(got.Rise-c.rise) > 1e-9 || got.Growing() != c.growing || got.Drifting() != c.drifting {
			t.Errorf("%s: rise %v, growing %v, drifting %v; want %v, %v, %v", c.name, got.Rise, got.Growing(), got.Drifting(), c.rise, c.growing, c.drifting)
		}
	}
}

func TestTruncation(t *testing.T) {
	values := []float64{
		230, 221, 214, 208, 203, 180, 171, 165, 160, 158, 150, 148, 147, 146, 149, 145, 151, 144, 146, 150,
		148, 149, 147, 146, 150, 145, 148, 152, 147, 146, 149, 150, 146, 147, 148, 151, 149, 145, 147, 150,
	}
	if cut, last := Truncation(values); cut != 10 || last {
		t.Errorf("Truncation = %d, %v, want 10, false", cut, last)
	}
	errors := marginalErrors([]float64{215.2, 166.8, 148, 147.2, 148, 147.6, 148, 148.4})
	for d, want := range []float64{61.919687, 6.288047, 0.023704, 0.033280} {
		if math.Abs(errors[d]-want) > 5e-7+1e-6*want {
			t.Errorf("statistic from batch %d on = %v, want %v", d, errors[d], want)
		}
	}
	if cut := SteadyFrom(values); cut != 0 {
		t.Errorf("SteadyFrom = %d, want 0: the cut is shorter than 20 requests", cut)
	}
}
