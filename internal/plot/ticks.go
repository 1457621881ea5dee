package plot

import "math"

// tick is a marked value of an axis.
type tick struct {
	value float64
	label string // empty = none
}

// roundTicks marks multiples of 1, 2 or 5 times a power of ten, about n of them.
func roundTicks(low, high, n float64) []tick {
	if !(high > low) || math.IsInf(high-low, 0) {
		return nil
	}
	step := math.Pow(10, math.Floor(math.Log10((high-low)/n)))
	for _, factor := range []float64{1, 2, 5, 10} {
		if (high-low)/(step*factor) <= n {
			step *= factor
			break
		}
	}
	var ticks []tick
	for i := math.Ceil(low / step); i*step <= high+step/1e6; i++ {
		v := i * step
		if math.Abs(v) < step/1e6 {
			v = 0
		}
		ticks = append(ticks, tick{v, number(math.Round(v/step*1e6) / 1e6 * step)})
	}
	return ticks
}

// decadeTicks marks multiples of the powers of ten, and labels 1, 2 and 5 times them.
func decadeTicks(low, high float64) []tick {
	if low <= 0 || math.IsInf(high, 0) {
		return nil
	}
	var ticks []tick
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
			ticks = append(ticks, tick{v, label})
		}
	}
	return ticks
}
