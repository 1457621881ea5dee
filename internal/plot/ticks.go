package plot

import (
	"math"

	"gonum.org/v1/plot"
)

// roundTicks marks multiples of 1, 2 or 5 times a power of ten, about n of them.
type roundTicks struct{ n float64 }

// Ticks implements [plot.Ticker].
func (t roundTicks) Ticks(low, high float64) []plot.Tick {
	if !(high > low) || math.IsInf(high-low, 0) {
		return nil
	}
	step := math.Pow(10, math.Floor(math.Log10((high-low)/t.n)))
	for _, factor := range []float64{1, 2, 5, 10} {
		if (high-low)/(step*factor) <= t.n {
			step *= factor
			break
		}
	}
	var ticks []plot.Tick
	for i := math.Ceil(low / step); i*step <= high+step/1e6; i++ {
		v := i * step
		if math.Abs(v) < step/1e6 {
			v = 0
		}
		ticks = append(ticks, plot.Tick{Value: v, Label: number(math.Round(v/step*1e6) / 1e6 * step)})
	}
	return ticks
}

// decadeTicks marks 1, 2 and 5 times the powers of ten.
type decadeTicks struct{}

// Ticks implements [plot.Ticker].
func (decadeTicks) Ticks(low, high float64) []plot.Tick {
	if low <= 0 || math.IsInf(high, 0) {
		return nil
	}
	var ticks []plot.Tick
	for decade := math.Floor(math.Log10(low)); decade <= math.Log10(high); decade++ {
		for m := 1.0; m < 10; m++ {
			v := m * math.Pow(10, decade)
			if v < low || v > high {
				continue
			}
			label := ""
			if m == 1 || m == 2 || m == 5 {
				label = number(v)
			}
			ticks = append(ticks, plot.Tick{Value: v, Label: label})
		}
	}
	return ticks
}
