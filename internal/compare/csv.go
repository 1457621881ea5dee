package compare

import (
	"bytes"
	"encoding/csv"
	"strconv"
)

// ComparisonFile has the answer of a comparison that was measured, a line per metric.
const ComparisonFile = "comparison.csv"

// CSV returns the answer as a table for programs: a line per metric, numbers in full, an empty field for what is not
// known.
func (a *Answer) CSV() []byte {
	var text bytes.Buffer
	out := csv.NewWriter(&text)
	write := func(row ...string) { _ = out.Write(row) } // a buffer takes everything
	write("cell", "metric", "statistic", "unit", "runs_a", "runs_b", "a", "b", "change", "low", "high", "change_unit",
		"margin", "p_adjusted", "detectable", "method", "verdict", "reason", "deviation", "runs_planned")
	number := func(v *float64) string {
		if v == nil {
			return ""
		}
		return strconv.FormatFloat(*v, 'g', -1, 64)
	}
	for i := range a.Metrics {
		m := &a.Metrics[i]
		unit := "%"
		if m.Points {
			unit = "points"
		}
		planned := ""
		if m.Planned != nil {
			planned = strconv.Itoa(*m.Planned)
		}
		write(m.Cell, m.Tag, m.Statistic, m.Unit, strconv.Itoa(m.RunsA), strconv.Itoa(m.RunsB), number(m.A), number(m.B),
			number(m.Change), number(m.Low), number(m.High), unit, number(&m.Margin), number(m.P), number(m.Detectable),
			m.Method, string(m.Verdict), m.Reason, number(m.Deviation), planned)
	}
	out.Flush()
	return text.Bytes()
}
