package dashboard

import (
	"math"
	"slices"

	"aiperfd/internal/api/wire"
)

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
