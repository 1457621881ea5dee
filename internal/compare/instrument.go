package compare

import (
	"slices"

	"aiperfd/internal/engine/metric"
	"aiperfd/internal/engine/verdict"
)

// instrumentError returns the error of the load generator that could be the whole difference between two
// sides, in the unit of the metric; 0 = it is not known. The load generator adds to latencies and never
// takes from them, so that it is the error of the side with the larger value: the mean over its runs of
// what their reports allow for the statistic.
func instrumentError(c *pair, m *MetricAnswer) float64 {
	if m.A == nil || m.B == nil || m.Unit != "ms" {
		return 0
	}
	side := c.a
	if *m.B > *m.A {
		side = c.b
	}
	sum := 0.0
	for i := range side {
		client := side[i].Run.Client
		if client == nil {
			return 0
		}
		at := slices.IndexFunc(client.Bias, func(b verdict.Bias) bool { return b.Metric == m.Tag })
		if at < 0 {
			return 0
		}
		sum += errorOf(&client.Bias[at], m.Statistic)
	}
	return sum / float64(len(side))
}

// errorOf returns the bound of the error of a statistic.
func errorOf(b *verdict.Bias, statistic string) float64 {
	switch statistic {
	case metric.P50.String():
		return b.P50
	case metric.P99.String():
		return b.P99
	}
	return b.Judged
}
