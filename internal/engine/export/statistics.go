package export

import (
	"slices"
	"strings"

	"aiperfd/internal/engine/metric"
	"aiperfd/internal/engine/stat"
)

// intervalStats are the statistics that have a confidence interval.
var intervalStats = [...]metric.Stat{metric.Avg, metric.P50, metric.P90, metric.P95, metric.P99}

// ourStats are the statistics that the blocks of the metrics do not have.
var ourStats = [...]metric.Stat{metric.StdSample, metric.IQR, metric.MAD, metric.TailRatio, metric.Max100}

// addStatistics appends how far each metric can be trusted, in an object of its own:
// the blocks of the metrics have AIPerf's shape.
func (o *object) addStatistics(rs metric.Results) {
	metrics := object{}
	for _, m := range ordered(rs) {
		if printable(m) && (qualified(m) || spread(m)) {
			metrics.add(m.Def.Tag, doubtsOf(m))
		}
	}
	if len(metrics) > 0 {
		o.add("statistics", object{{"confidence_level", stat.Level}, {"metrics", metrics}})
	}
}

// qualified reports whether there is something to say about a metric.
func qualified(m *metric.Result) bool {
	return m.Confidence != nil || m.Method() != metric.Exact
}

// spread reports whether a metric has statistics of ours.
func spread(m *metric.Result) bool {
	return slices.ContainsFunc(ourStats[:], func(stat metric.Stat) bool {
		_, ok := m.Get(stat)
		return ok
	})
}

// doubtsOf returns the intervals and the remarks of a metric.
func doubtsOf(m *metric.Result) object {
	out := object{{"percentile_method", string(m.Method())}}
	if m.RelError != 0 {
		out.add("relative_error", m.RelError)
	}
	if m.Bin != 0 {
		out.add("bin_seconds", m.Bin.Seconds())
	}
	for _, stat := range ourStats {
		out.addStat(m, stat)
	}
	c := m.Confidence
	if c == nil {
		return out
	}
	out.add("effective_sample_size", c.Effective)
	for _, stat := range intervalStats {
		if in, ok := c.Interval(stat); ok {
			out.add(stat.String(), object{{"ci_low", in.Low}, {"ci_high", in.High}})
		}
	}
	unsupported := []string{}
	for _, stat := range c.Unsupported {
		unsupported = append(unsupported, stat.String())
	}
	out.add("unsupported_percentiles", unsupported)
	return out
}

// confidenceTable is the third table of the CSV file; nil if there is nothing to
// say.
func confidenceTable(rs []*metric.Result, digits *int) [][]string {
	head := []string{"Metric", "percentile_method", "relative_error", "effective_sample_size"}
	for _, stat := range intervalStats {
		head = append(head, stat.String()+"_ci_low", stat.String()+"_ci_high")
	}
	rows := [][]string{append(head, "unsupported_percentiles")}
	for _, m := range rs {
		if qualified(m) {
			rows = append(rows, confidenceRow(m, digits))
		}
	}
	if len(rows) == 1 {
		return nil
	}
	return rows
}

// confidenceRow is one line of the table.
func confidenceRow(m *metric.Result, digits *int) []string {
	row := []string{csvName(m.Def), string(m.Method()), "", ""}
	if m.RelError != 0 {
		row[2] = decimal(m.RelError, nil)
	}
	var unsupported []string
	if c := m.Confidence; c != nil {
		row[3] = decimal(c.Effective, digits)
		for _, stat := range c.Unsupported {
			unsupported = append(unsupported, stat.String())
		}
	}
	for _, stat := range intervalStats {
		low, high := "", ""
		if in, ok := m.Confidence.Interval(stat); ok {
			low, high = decimal(in.Low, digits), decimal(in.High, digits)
		}
		row = append(row, low, high)
	}
	return append(row, strings.Join(unsupported, " "))
}
