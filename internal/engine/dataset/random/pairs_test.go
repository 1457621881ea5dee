package random

import (
	"math"
	"strings"
	"testing"

	"aiperfd/internal/engine/bench"
)

func TestPairs(t *testing.T) {
	spread := made(t, Spec{Mean: new(200.0), Stddev: 10})
	p, err := NewPairs([]Pair{{Fixed(10), Fixed(20), 25}, {spread, Fixed(5), 75}})
	if err != nil {
		t.Fatal(err)
	}
	const n = 20_000
	r := bench.Seed(3).Rand("test")
	first, sum, squares := 0.0, 0.0, 0.0
	for range n {
		switch in, out := p.Draw(r); {
		case in == 10 && out == 20:
			first++
		case out == 5 && in > 100:
			sum += float64(in)
			squares += float64(in) * float64(in)
		default:
			t.Fatalf("drew %d and %d, which are no pair", in, out)
		}
	}
	mean := sum / (n - first)
	sd := math.Sqrt(squares/(n-first) - mean*mean)
	// Four standard errors around 25 %, 200 and 10.
	if math.Abs(first-n/4) > 4*math.Sqrt(n*0.25*0.75) || math.Abs(mean-200) > 4*10/math.Sqrt(0.75*n) || math.Abs(sd-10) > 0.3 {
		t.Errorf("%v of %d were the first pair; the second has mean %v and standard deviation %v", first, n, mean, sd)
	}
	if !p.Given() || (Pairs{}).Given() {
		t.Error("only the zero value must mean: not given")
	}
}

func TestPairsRefuse(t *testing.T) {
	one := Fixed(1)
	for _, tt := range []struct {
		pairs []Pair
		want  string
	}{
		{nil, "add up to 0: they are percentages and must add up to 100"},
		{[]Pair{{one, one, 0.4}, {one, one, 0.6}}, "add up to 1:"},
		{[]Pair{{one, one, 60}, {one, one, 60}}, "add up to 120"},
		{[]Pair{{one, one, 100}, {one, one, -1}}, "pairs[1]: weight -1"},
		{[]Pair{{one, Dist{}, 100}}, "pairs[0]: needs an input and an output length"},
		{[]Pair{{one, one, math.NaN()}}, "weight NaN"},
	} {
		if _, err := NewPairs(tt.pairs); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("error = %v, want one with %q", err, tt.want)
		}
	}
}
