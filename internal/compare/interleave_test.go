package compare

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"aiperfd/internal/engine/stat"
)

func TestSecondOfABBA(t *testing.T) {
	var order strings.Builder
	for i := range 10 {
		order.WriteString(map[bool]string{true: "B", false: "A"}[SecondOfABBA(i)])
	}
	if got := order.String(); got != "ABBAABBAAB" {
		t.Errorf("order %s", got)
	}
}

// Equal sides on a server that drifts by 5 % in all, with runs that deviate by 1 %: one side after the other
// alarms in most cases, alternating ones do not.
func TestInterleavingDrift(t *testing.T) {
	const draws, runs, drift = 1000, 5, 0.05
	random := rand.New(rand.NewPCG(9, 10))
	alarms := func(second func(int) bool) float64 {
		found := 0.0
		for range draws {
			var a, b []float64
			for i := range 2 * runs {
				v := math.Log1p(drift*float64(i)/(2*runs-1)) + 0.01*random.NormFloat64()
				if second(i) {
					b = append(b, v)
				} else {
					a = append(a, v)
				}
			}
			if d, _ := stat.Welch(a, b); d.P() < 0.05 {
				found += 100.0 / draws
			}
		}
		return found
	}
	apart, alternating := alarms(func(i int) bool { return i >= runs }), alarms(SecondOfABBA)
	t.Logf("one side after the other: %.1f %%, alternating: %.1f %%", apart, alternating)
	if apart < 75 || alternating > 5 {
		t.Errorf("alarms: one side after the other %.1f %%, want over 75; alternating %.1f %%, want at most 5", apart, alternating)
	}
}
