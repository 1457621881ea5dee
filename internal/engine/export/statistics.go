package export

import (
	"slices"
	"strconv"
	"strings"

	"aiperfd/internal/engine/metric"
)

// intervalStats are the statistics that have a confidence interval.
var intervalStats = [...]metric.Stat{metric.Avg, metric.P50, metric.P90, metric.P95, metric.P99}

// statistics writes how far each metric can be trusted, in an object of its own:
// the blocks of the metrics have AIPerf's shape.
func (s *summary) statistics(rs metric.Results) {
	rows := slices.DeleteFunc(ordered(rs), func(m *metric.Result) bool { return !printable(m) || !qualified(m) })
	if len(rows) == 0 {
		return
	}
	s.key("statistics")
	s.raw = append(s.raw, '{')
	s.number("confidence_level", metric.Level)
	s.key("metrics")
	s.raw = append(s.raw, '{')
	for _, m := range rows {
		s.qualify(m)
	}
	s.raw = append(s.raw, "}}"...)
}

// qualified reports whether there is something to say about a metric.
func qualified(m *metric.Result) bool {
	return m.Confidence != nil || m.Method() != metric.Exact
}

// qualify writes the doubts about one metric.
func (s *summary) qualify(m *metric.Result) {
	s.key(m.Def.Tag)
	s.raw = append(s.raw, '{')
	s.text("percentile_method", string(m.Method()))
	if m.RelError != 0 {
		s.number("relative_error", m.RelError)
	}
	if m.Bin != 0 {
		s.number("bin_seconds", m.Bin.Seconds())
	}
	if c := m.Confidence; c != nil {
		s.number("effective_sample_size", c.Effective)
		for _, stat := range intervalStats {
			if in, ok := c.Interval(stat); ok {
				s.key(stat.String())
				s.raw = append(s.raw, '{')
				s.number("ci_low", in.Low)
				s.number("ci_high", in.High)
				s.raw = append(s.raw, '}')
			}
		}
		s.key("unsupported_percentiles")
		s.raw = append(s.raw, '[')
		for i, stat := range c.Unsupported {
			if i > 0 {
				s.raw = append(s.raw, ',')
			}
			s.raw = strconv.AppendQuote(s.raw, stat.String())
		}
		s.raw = append(s.raw, ']')
	}
	s.raw = append(s.raw, '}')
}

// number writes a finite number.
func (s *summary) number(name string, v float64) {
	s.key(name)
	s.raw = appendFloat(s.raw, v)
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
