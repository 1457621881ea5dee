package report

import (
	"slices"

	"aiperfd/internal/api/wire"
	"aiperfd/internal/compare"
	"aiperfd/internal/engine/metric/catalogue"
	"aiperfd/internal/run"
	"aiperfd/internal/view"
)

// speculation returns the metrics of speculative decoding; without rows unless servers report it.
// snap may be nil.
func speculation(c *compare.Comparison, snap *run.Snapshot) table {
	statistics := []string{"avg", "p50", "p90", "p99"}
	t := newTable("Speculative decoding", []string{"Metric", "Unit"}, statistics...)
	for _, def := range catalogue.Defs() {
		m := find(c, def.Tag)
		if def.Group != catalogue.GroupSpeculation || m == nil {
			continue
		}
		row := []string{m.Header, m.Unit}
		for _, name := range statistics {
			row = append(row, withInterval(statistic(m, name)))
		}
		t.Rows = append(t.Rows, row)
	}
	if snap != nil {
		t.More = view.AcceptedDrafts(snap.AcceptedDrafts)
	}
	return t
}

// byCategory returns the numbers of each category of the dataset; without rows if it has none.
func byCategory(r *wire.Run) table {
	t := newTable("By category", []string{"Category"},
		"Requests", "Errors", "Output tokens/s", "Latency p50 (ms)", "Acceptance length", "Acceptance (%)")
	if r.Summary == nil {
		return t
	}
	speculates := slices.ContainsFunc(r.Summary.ByCategory, func(s run.CategorySummary) bool { return s.AcceptanceLength != nil })
	if !speculates {
		t.Columns = t.Columns[:len(t.Columns)-2]
	}
	number := func(v *float64) string { return view.FigureOr(v, "") }
	for _, s := range r.Summary.ByCategory {
		row := []string{
			s.Category, view.Whole(s.Requests), view.Whole(s.Errors), number(s.OutputTokenThroughput), number(s.LatencyP50),
			number(s.AcceptanceLength), number(s.AcceptanceRate),
		}
		t.Rows = append(t.Rows, row[:len(t.Columns)])
	}
	return t
}
