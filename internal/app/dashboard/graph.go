package dashboard

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"aiperfd/internal/api/wire"
)

// graph draws the last values as columns, in lines of a width. The lowest value is 0, the
// highest fills all lines; NaN is a gap.
func graph(values []float64, width, lines int, ascii bool) []string {
	levels := []rune(" ▁▂▃▄▅▆▇█")
	if ascii {
		levels = []rune(" .:-=+*%#")
	}
	full := len(levels) - 1
	values = values[max(0, len(values)-width):]
	top := 0.0
	for _, v := range values {
		if v > top { // false for NaN
			top = v
		}
	}
	out := make([]string, lines)
	for i := range out {
		var b strings.Builder
		b.WriteString(strings.Repeat(" ", width-len(values)))
		below := (lines - 1 - i) * full
		for _, v := range values {
			level := 0
			if top > 0 && !math.IsNaN(v) {
				level = int(math.Ceil(max(0, v) / top * float64(lines*full)))
			}
			if i == lines-1 && !math.IsNaN(v) {
				level = max(level, 1) // 0 is seen, and is no gap
			}
			b.WriteRune(levels[min(max(level-below, 0), full)])
		}
		out[i] = b.String()
	}
	return out
}

// stretched repeats each value, so that a second takes some columns of a graph.
func stretched(values []float64, columns int) []float64 {
	out := make([]float64, 0, len(values)*columns)
	for _, v := range values {
		out = append(out, slices.Repeat([]float64{v}, columns)...)
	}
	return out
}

// axis returns the line below a graph of that width, which says how long ago its columns were:
// a second takes some columns, and the newest one is on the right.
func axis(width, columns int) string {
	const most = 6 // labels
	step := 5
	for width/(columns*step) > most {
		step *= 2
	}
	line := []byte(strings.Repeat(" ", width))
	for ago := step; ago*columns < width; ago += step {
		copy(line[width-1-ago*columns:], fmt.Sprintf("|-%d s", ago))
	}
	if now := "now"; width > len(now) {
		copy(line[width-len(now):], now)
	}
	return string(line)
}

// column returns the values of a metric, nil if there are none.
func column(t *wire.Timeseries, metric, statistic string) []float64 {
	if t == nil {
		return nil
	}
	return t.Series[metric].Values[statistic]
}

// latest returns the newest value of a metric that is a number.
func latest(t *wire.Timeseries, metric, statistic string) (float64, bool) {
	for _, v := range slices.Backward(column(t, metric, statistic)) {
		if !math.IsNaN(v) {
			return v, true
		}
	}
	return 0, false
}
