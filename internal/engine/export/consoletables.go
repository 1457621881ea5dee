package export

import (
	"cmp"
	"slices"

	"aiperfd/internal/engine/metric"
	"aiperfd/internal/engine/metric/catalogue"
	"aiperfd/internal/engine/verdict"
	"aiperfd/internal/view"
)

// consoleGroups are the tables in order, with the ends of their titles.
var consoleGroups = [...]struct {
	group catalogue.Group
	title string
}{
	{catalogue.GroupEffective, ": Effective"},
	{catalogue.GroupActive, ": Active"},
	{catalogue.GroupUsage, ": Usage"},
	{catalogue.GroupDefault, ""},
	{catalogue.GroupSpeculation, ": Spec Decode"},
	{catalogue.GroupPowerNVIDIA, ": GPU Power Efficiency (NVIDIA)"},
	{catalogue.GroupPowerAMD, ": GPU Power Efficiency (AMD)"},
}

// consoleStats are the columns of a table of metrics.
var consoleStats = [...]metric.Stat{
	metric.Avg, metric.Min, metric.Max, metric.P99, metric.P90, metric.P50, metric.Std,
}

// dispensable are the columns that are omitted in a narrow terminal, the last one first.
var dispensable = [...]metric.Stat{metric.P90, metric.Max, metric.Min, metric.Std}

// groups prints the tables of metrics.
func (p *page) groups(r *Report) {
	p.line("")
	title := "aiperfd | " + cmp.Or(view.Printable(r.Title), "Metrics")
	if p.opts.Detail != AIPerf || p.opts.Traces {
		p.traces(r)
	}
	for _, g := range consoleGroups {
		p.metrics(r, title+g.title, grouping(r.Results, g.group))
		if g.group == catalogue.GroupSpeculation {
			p.acceptedDrafts(r)
		}
	}
	p.deviceTables(r)
	if p.opts.Detail != AIPerf {
		targetTable{p}.print(r)
	}
	p.footnotes(r)
}

// acceptedDrafts prints what the steps of speculative decoding have accepted, if servers report
// it.
func (p *page) acceptedDrafts(r *Report) {
	line := view.AcceptedDrafts(r.AcceptedDrafts)
	if line == "" {
		return
	}
	if line = "  " + line; view.Width(line) > p.width {
		line = view.Wrap(line, p.width)
	}
	p.line(line)
}

// traces prints the table of HTTP timings; in AIPerf's layout, AIPerf's rows only.
func (p *page) traces(r *Report) {
	rows := traces(r.Results)
	if p.opts.Detail == AIPerf {
		rows = slices.DeleteFunc(rows, func(m *metric.Result) bool { return m.Def.Origin == catalogue.Ours })
	}
	p.metrics(r, "aiperfd | HTTP Trace Timing", rows)
}

// metrics prints one table, unless it has no rows.
func (p *page) metrics(r *Report, title string, rows []*metric.Result) {
	if len(rows) == 0 {
		return
	}
	t := view.Table{Title: title, Columns: []view.Column{{Title: "Metric", Number: true}}}
	for _, s := range consoleStats {
		weight := 1 + slices.Index(dispensable[:], s)
		t.Columns = append(t.Columns, view.Column{Title: s.String(), Weight: weight, Number: true})
	}
	for _, m := range rows {
		row := p.row(m)
		if r.Stream != nil {
			withhold(row, r.Stream.Withheld[m.Def.Tag])
		}
		t.Rows = append(t.Rows, row)
	}
	t.WrapColumn(0, p.width, 30)
	t.Narrow(view.Boxed, p.width)
	t.WrapColumn(0, p.width, 16)
	p.text.WriteString(p.boxes.Table(&t))
}

// traces returns the metrics of connections, sorted by their order.
func traces(rs metric.Results) []*metric.Result {
	var rows []*metric.Result
	for i := range rs {
		if f := rs[i].Def.Flags; f&catalogue.HTTPTraceOnly != 0 && rs[i].Def.Shown() {
			rows = append(rows, &rs[i])
		}
	}
	slices.SortStableFunc(rows, func(a, b *metric.Result) int { return cmp.Compare(a.Def.Order, b.Def.Order) })
	return rows
}

// grouping returns the metrics of one table, sorted by their order; those without one
// are last.
func grouping(rs metric.Results, g catalogue.Group) []*metric.Result {
	rows := slices.DeleteFunc(ordered(rs), func(m *metric.Result) bool {
		return m.Def.Group != g || m.Def.Flags&catalogue.ErrorOnly != 0 // errors have their own table
	})
	slices.SortStableFunc(rows, func(a, b *metric.Result) int {
		if (a.Def.Order == 0) != (b.Def.Order == 0) {
			return cmp.Compare(b.Def.Order, a.Def.Order)
		}
		return cmp.Compare(a.Def.Order, b.Def.Order)
	})
	return rows
}

// longHeader is the length of a header above which its unit is on a line of its own.
const longHeader = 30

// row returns the cells of one metric.
func (p *page) row(m *metric.Result) []string {
	separator := " "
	if len(m.Def.Header) > longHeader {
		separator = "\n"
	}
	row := []string{m.Def.Header + separator + "(" + m.Def.Unit + ")"}
	for _, s := range consoleStats {
		row = append(row, p.number(m, s))
	}
	return row
}

// withhold replaces the percentiles of a row if they are invalid; a warning has the
// reason.
func withhold(row []string, w verdict.Withheld) {
	if w.Reason == "" {
		return
	}
	for i, s := range consoleStats {
		switch s {
		case metric.P50, metric.P90, metric.P99, metric.Std:
			row[i+1] = "withheld"
		default:
		}
	}
}

// number formats one statistic. Error-adjusted ones can be infinite. A percentile that
// the sample does not support has an asterisk.
func (p *page) number(m *metric.Result, s metric.Stat) string {
	v, ok := m.Get(s)
	switch {
	case !ok:
		return "N/A"
	case finite(v) && !m.Confidence.Supported(s):
		return view.Grouped(v) + "*"
	case finite(v):
		return view.Grouped(v)
	case p.ascii:
		return "inf"
	}
	return "∞"
}

// footnotes explain the marks in the tables of the console.
func (p *page) footnotes(r *Report) {
	var doubtful, sketched, binned bool
	for i := range r.Results {
		m := &r.Results[i]
		sketched = sketched || m.Method() == metric.Sketched
		binned = binned || m.Method() == metric.Binned
		for _, stat := range consoleStats {
			doubtful = doubtful || shown(m) && !m.Confidence.Supported(stat)
		}
	}
	note := func(applies bool, text string) {
		if applies {
			p.line(view.Wrap(text, p.width))
		}
	}
	note(doubtful, "* unreliable: fewer than five independent samples lie beyond this percentile")
	note(sketched, "Percentiles of metrics with more values than fit in memory are accurate to 0.3 %; the JSON file names them.")
	note(binned, "Percentiles and extremes over time are computed from means over short intervals; the JSON file gives their length.")
}

// shown reports whether a metric is in a table of the console.
func shown(m *metric.Result) bool {
	return m.Def.Group != catalogue.NoGroup && m.Def.Shown() && m.Def.Flags&catalogue.ErrorOnly == 0
}
