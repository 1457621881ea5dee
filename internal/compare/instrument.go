package compare

import (
	"slices"

	"aiperfd/internal/engine/metric"
	"aiperfd/internal/engine/verdict"
)

// instrumentError returns what the load generator may have added to a statistic of the runs of a side, in
// ms: the mean over the runs of what their reports allow; 0 = it is not known.
func instrumentError(side []Input, tag, statistic string) float64 {
	sum := 0.0
	for i := range side {
		client := side[i].Run.Client
		if client == nil {
			return 0
		}
		at := slices.IndexFunc(client.Bias, func(b verdict.Bias) bool { return b.Metric == tag })
		if at < 0 {
			return 0
		}
		sum += errorOf(&client.Bias[at], statistic)
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
