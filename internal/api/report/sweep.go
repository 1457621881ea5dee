package report

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"aiperfd/internal/api/wire"
	"aiperfd/internal/engine/config/sweep"
	"aiperfd/internal/engine/metric/catalogue"
	"aiperfd/internal/results"
	"aiperfd/internal/view"
)

// sweepColumn is a statistic in the table of a sweep.
type sweepColumn struct{ title, tag, stat string }

// sweepColumns returns the statistics that any row has: the usual ones, and those with limits.
func sweepColumns(s *results.Sweep) []sweepColumn {
	all := []sweepColumn{
		{"req/s", "request_throughput", "avg"}, {"tokens/s", "output_token_throughput", "avg"},
		{"tokens/s/user p50", "output_token_throughput_per_user", "p50"},
		{"TTFT p50 ms", "time_to_first_token", "p50"}, {"TTFT p99 ms", "time_to_first_token", "p99"},
		{"Latency p50 ms", "request_latency", "p50"}, {"Latency p99 ms", "request_latency", "p99"},
	}
	for i := range s.Rows {
		for j := range s.Rows[i].Readings {
			c := &s.Rows[i].Readings[j].Condition
			if !slices.ContainsFunc(all, func(k sweepColumn) bool { return k.tag == c.Metric && k.stat == c.Statistic }) {
				all = append(all, sweepColumn{strings.TrimSpace(statisticName(c) + " " + c.Unit), c.Metric, c.Statistic})
			}
		}
	}
	return slices.DeleteFunc(all, func(k sweepColumn) bool {
		return !slices.ContainsFunc(s.Rows, func(r results.SweepRow) bool {
			_, has := r.Metrics[k.tag].Statistics[k.stat]
			return has
		})
	})
}

// metricName returns how people call a metric.
func metricName(tag string) string {
	if def, ok := catalogue.Lookup(tag); ok {
		return def.Header
	}
	if tag == sweep.Attainment {
		return "Good Requests"
	}
	return tag
}

// statisticName returns how people call what a limit is about: the share of good requests has one statistic alone.
func statisticName(c *results.Condition) string {
	if c.Metric == sweep.Attainment {
		return metricName(c.Metric)
	}
	return metricName(c.Metric) + " " + c.Statistic
}

// pairedText adds what a comparison of two servers rests on to a text whose answer is that.
func (t *text) pairedText(a *results.Answer) {
	metrics := a.PairedTable()
	metrics.Title = "Change from A to B"
	t.add(table{Table: metrics})
	t.Lists = append(t.Lists, list{Title: "About the answer", Items: a.PairedNotes()})
}

// answer returns what a sweep found, in sentences.
func answer(s *results.Sweep) []string {
	out := slices.Clone(s.Findings)
	if s.Search != nil {
		if s.Search.Planner != sweep.Capacity { // its answer is an estimate of all probes
			out = append(s.Undecided(), out...)
		}
		if s.Search.ReasonText != "" {
			out = append(out, "The search ended: "+s.Search.ReasonText+".")
		}
		return out
	}
	best := func(what string, at *int, tag, stat, unit string) {
		if at == nil {
			return
		}
		row := &s.Rows[*at]
		beyond := slices.ContainsFunc(s.Rows, func(r results.SweepRow) bool { return r.Outcome == "fail" })
		if beyond && row.Outcome == "pass" {
			what += " within the limits"
		}
		text := fmt.Sprintf("%s: %s (%s %s)", what, row.Name, withSpread(row, tag, stat), unit)
		if row.Outcome == "fail" {
			text += ", beyond a limit"
		}
		out = append(out, text+".")
	}
	best("Best throughput", s.BestThroughput, "request_throughput", "avg", "req/s")
	best("Lowest "+metricName(s.LatencyMetric)+" p99", s.BestLatency, s.LatencyMetric, "p99", "ms")
	return out
}

// withSpread returns the mean of a statistic of a row, with half the width of its interval if
// there are several runs, a star if a run has too few requests for the percentile, and a mark
// if it counts for nothing.
func withSpread(row *results.SweepRow, tag, stat string) string {
	e, ok := row.Metrics[tag].Statistics[stat]
	if !ok {
		return view.Absent
	}
	text := view.Compact(&e.Mean)
	if e.Unsupported {
		text += "*"
	}
	if e.Runs > 1 {
		text += " ±" + view.Compact(new((e.High-e.Low)/2))
	}
	if e.Distorted {
		text += " (distorted)"
	}
	return text
}

// boundaries returns what was measured on both sides of the boundaries of a search.
func boundaries(s *results.Sweep) []table {
	if s.Search == nil {
		return nil
	}
	var out []table
	for i := range s.Search.Boundaries {
		b := &s.Search.Boundaries[i]
		name := func(e *results.SweepEdge, which string) string {
			if e == nil {
				return "none " + which
			}
			return fmt.Sprintf("%s %s, %s", b.Parameter.Name, strconv.FormatFloat(e.Value, 'f', -1, 64), which)
		}
		title := "On both sides of the boundary"
		if b.Tier != "" {
			title += ", " + b.Tier
		}
		t := newTable(title, []string{"Limit"}, name(b.Pass, "within"), name(b.Fail, "beyond"))
		limits := readings(b.Pass)
		if len(limits) == 0 {
			limits = readings(b.Fail)
		}
		for j := range limits {
			text := limitText(&limits[j].Condition)
			if b.Binding != nil && *b.Binding == limits[j].Condition && len(limits) > 1 {
				text += " (reached first)"
			}
			t.Rows = append(t.Rows, []string{text, observed(readings(b.Pass), j), observed(readings(b.Fail), j)})
		}
		for _, e := range []*results.SweepEdge{b.Pass, b.Fail} {
			if e != nil && !e.Valid {
				t.More = "The load generator distorted a number that decides: the boundary may be that of the load generator, not of the server."
			}
		}
		out = append(out, t)
	}
	return out
}

func readings(e *results.SweepEdge) []results.Reading {
	if e == nil {
		return nil
	}
	return e.Readings
}

// limitText writes a condition: Time to First Token p95 < 500 ms.
func limitText(c *results.Condition) string {
	return strings.TrimSpace(fmt.Sprintf("%s %s %s %s", statisticName(c), c.Operator, view.Compact(&c.Threshold), c.Unit))
}

// observed returns a reading as text.
func observed(all []results.Reading, i int) string {
	if i >= len(all) {
		return view.Absent
	}
	r := &all[i]
	text := strings.TrimSpace(view.Compact(r.Observed) + " " + r.Unit)
	if r.Doubt != "" {
		text += " (" + r.Doubt + ")"
	}
	return text
}

// sweepRows returns the values of a sweep with the means of their runs.
func sweepRows(s *results.Sweep) table {
	columns := sweepColumns(s)
	t := newTable("Values", []string{"Value", "Runs", "Outcome"})
	for _, k := range columns {
		t.Columns = append(t.Columns, view.Column{Title: k.title, Number: true})
	}
	repeated := false
	for i := range s.Rows {
		if i == maxCells {
			t.More = plural(int64(len(s.Rows)-i), "more value") + ". "
			break
		}
		row := &s.Rows[i]
		good := 0
		for _, r := range row.Runs {
			if r.Failure == "" {
				good++
			}
		}
		repeated = repeated || good > 1
		runs := strconv.Itoa(good)
		if good < len(row.Runs) {
			runs = fmt.Sprintf("%d of %d", good, len(row.Runs))
		}
		cells := []string{cmp.Or(row.Name, view.Absent), runs, join(marks(s, i))}
		for _, k := range columns {
			cells = append(cells, withSpread(row, k.tag, k.stat))
		}
		t.Rows = append(t.Rows, cells)
	}
	if repeated {
		t.More += fmt.Sprintf("Means over the runs of a value; ± is half the width of the %.4g %% confidence interval over the runs. ", 100*s.ConfidenceLevel)
	}
	if slices.ContainsFunc(s.Rows, func(r results.SweepRow) bool { return r.Pareto }) {
		t.More += "Pareto: no other value, of those with valid numbers, has both more requests per second and a lower " +
			metricName(s.LatencyMetric) + " p99. "
	}
	t.More = strings.TrimSpace(t.More + starNote(t.Rows, 3))
	return t
}

// marks says what a row is: its outcome, and what it is best at.
func marks(s *results.Sweep, at int) []string {
	row := &s.Rows[at]
	out := map[string][]string{
		"pass": {"within the limits"}, "fail": {"beyond a limit"}, "excluded": {"excluded: distorted by the load generator"}, "failed": {"failed"}, "waiting": {"not measured yet"},
	}[row.Outcome]
	if s.BestThroughput != nil && *s.BestThroughput == at {
		out = append(out, "best throughput")
	}
	if s.BestLatency != nil && *s.BestLatency == at {
		out = append(out, "lowest latency")
	}
	if row.Pareto {
		out = append(out, "Pareto")
	}
	return out
}

// sweepTables returns the tables of a sweep: its values, or its runs if there is no summary.
func (c *content) sweepTables() []table {
	if c.sweep == nil {
		return []table{cells(&c.cells)}
	}
	return append(boundaries(c.sweep), sweepRows(c.sweep))
}

// byValue puts sweeps side by side: a row for each value that any of them has.
func byValue(names []string, sweeps []*results.Sweep) table {
	t := newTable("Values side by side", []string{"Value", "Metric"}, names...)
	for _, value := range valuesOf(sweeps) {
		for _, k := range []sweepColumn{
			{"req/s", "request_throughput", "avg"}, {"tokens/s", "output_token_throughput", "avg"},
			{"TTFT p99 ms", "time_to_first_token", "p99"}, {"Latency p99 ms", "request_latency", "p99"},
		} {
			cells, found := []string{value, k.title}, false
			for _, s := range sweeps {
				text := view.Absent
				if i := slices.IndexFunc(s.Rows, func(r results.SweepRow) bool { return r.Name == value }); i >= 0 {
					text = withSpread(&s.Rows[i], k.tag, k.stat)
				}
				found = found || text != view.Absent
				cells = append(cells, text)
			}
			if found {
				t.Rows = append(t.Rows, cells)
			}
		}
	}
	return t
}

// valuesOf returns the names of the rows of sweeps, each once.
func valuesOf(sweeps []*results.Sweep) []string {
	var out []string
	for _, s := range sweeps {
		for i := range s.Rows {
			if name := s.Rows[i].Name; !slices.Contains(out, name) {
				out = append(out, name)
			}
		}
	}
	return out
}

// trials returns the number of runs of a sweep that have ended.
func trials(r *wire.Run) string {
	if r.Progress == nil || r.Progress.CellsDone == nil || r.Progress.CellsTotal == nil {
		return ""
	}
	return fmt.Sprintf("%d of %d runs", *r.Progress.CellsDone, *r.Progress.CellsTotal)
}
