package export

import (
	"strconv"

	"aiperfd/internal/engine/metric"
	"aiperfd/internal/engine/metric/agents"
	"aiperfd/internal/engine/metric/measure"
	"aiperfd/internal/view"
)

// column is a column of a table of results by group.
type column struct {
	view.Column
	tag  string
	stat metric.Stat
}

// targetColumns are the columns of the tables of servers and models, besides their names.
var targetColumns = [...]column{
	{view.Column{Title: "Requests", Number: true}, "request_count", metric.Avg},
	{view.Column{Title: "Errors", Number: true}, "error_request_count", metric.Avg},
	{view.Column{Title: "Req/s", Number: true}, "request_throughput", metric.Avg},
	{view.Column{Title: "Output tok/s", Weight: 3, Number: true}, "output_token_throughput", metric.Avg},
	{view.Column{Title: "TTFT p50 ms", Number: true}, "time_to_first_token", metric.P50},
	{view.Column{Title: "TTFT p99 ms", Weight: 2, Number: true}, "time_to_first_token", metric.P99},
	{view.Column{Title: "Latency p50 ms", Weight: 1, Number: true}, "request_latency", metric.P50},
	{view.Column{Title: "Latency p99 ms", Number: true}, "request_latency", metric.P99},
}

// categoryColumns are the columns of the table of categories if servers report speculative
// decoding, besides their names.
var categoryColumns = [...]column{
	{view.Column{Title: "Requests", Number: true}, "request_count", metric.Avg},
	{view.Column{Title: "Errors", Number: true}, "error_request_count", metric.Avg},
	{view.Column{Title: "Accept len", Number: true}, "spec_decode_token_weighted_acceptance_length", metric.Avg},
	{view.Column{Title: "Accept %", Number: true}, "spec_decode_overall_draft_acceptance_rate", metric.Avg},
	{view.Column{Title: "tok/s/user", Weight: 1, Number: true}, "output_token_throughput_per_user", metric.Avg},
	{view.Column{Title: "ITL avg ms", Weight: 2, Number: true}, "inter_token_latency", metric.Avg},
	{view.Column{Title: "TTFT p50 ms", Weight: 3, Number: true}, "time_to_first_token", metric.P50},
}

// turnColumns are the columns of the table of turns, besides their numbers.
var turnColumns = [...]column{
	{view.Column{Title: "Requests", Number: true}, "request_count", metric.Avg},
	{view.Column{Title: "Errors", Number: true}, "error_request_count", metric.Avg},
	{view.Column{Title: "Cache hits", Number: true}, "cache_hit_ratio", metric.Avg},
	{view.Column{Title: "TTFT p50 ms", Number: true}, "time_to_first_token", metric.P50},
	{view.Column{Title: "TTFT p99 ms", Weight: 2, Number: true}, "time_to_first_token", metric.P99},
	{view.Column{Title: "Latency p50 ms", Weight: 1, Number: true}, "turn_latency", metric.P50},
	{view.Column{Title: "Latency p99 ms", Number: true}, "turn_latency", metric.P99},
}

// targetTable prints the results by server, by model, and by turn.
type targetTable struct{ *page }

// print prints the results of each server and of each model, if there are several, of each
// category of the dataset, and of each turn.
func (p targetTable) print(r *Report) {
	p.group(view.Table{Title: "aiperfd | Results by URL", Columns: []view.Column{{Title: "URL"}}}, targetColumns[:], r.ByTarget,
		func(i int) string { return view.Printable(r.Targets[i]) })
	models, byModel := namedResults(r.ByModel)
	p.group(view.Table{Title: "aiperfd | Results by Model", Columns: []view.Column{{Title: "Model"}}}, targetColumns[:], byModel,
		func(i int) string { return view.Printable(models[i]) })
	names, categories := namedResults(r.ByCategory)
	columns := targetColumns[:]
	if len(r.AcceptedDrafts) > 0 {
		columns = categoryColumns[:]
	}
	p.group(view.Table{Title: "aiperfd | Results by Category", Columns: []view.Column{{Title: "Category"}}}, columns, categories,
		func(i int) string { return view.Printable(names[i]) })
	p.group(view.Table{Title: "aiperfd | Results by Turn", Columns: []view.Column{{Title: "Turn"}}}, turnColumns[:], r.ByTurn, strconv.Itoa)
	if r.Agents != nil && len(r.Agents.ByContext) > 1 {
		t := contextTable(r.Agents.ByContext)
		t.Narrow(view.Boxed, p.width)
		p.text.WriteString(p.boxes.Table(&t))
	}
}

// contextTable has the results by the length of prompts.
func contextTable(groups []agents.Group) view.Table {
	t := view.Table{Title: "aiperfd | Results by Prompt Length", Columns: []view.Column{
		{Title: "Tokens"}, {Title: "Requests", Number: true}, {Title: "Errors", Number: true}, {Title: "Cached", Number: true},
		{Title: "TTFT p50 ms", Number: true}, {Title: "TTFT p90 ms", Number: true, Weight: 2},
		{Title: "ITL p50 ms", Number: true}, {Title: "Latency p50 ms", Number: true, Weight: 1},
	}}
	for i := range groups {
		g := &groups[i]
		cached := "-"
		if g.Cached != nil {
			cached = view.Percent(*g.Cached)
		}
		row := []string{g.Name(), view.Whole(int64(g.Requests)), view.Whole(int64(g.Errors)), cached}
		for _, of := range []struct {
			q   *agents.Quantiles
			p90 bool
		}{{g.TTFT, false}, {g.TTFT, true}, {g.ITL, false}, {g.Latency, false}} {
			switch {
			case of.q == nil:
				row = append(row, "-")
			case of.p90:
				row = append(row, view.Figure(of.q.P90))
			default:
				row = append(row, view.Figure(of.q.P50))
			}
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// namedResults returns the names of groups that have results of their own, and these results.
func namedResults(groups []measure.NamedResults) (names []string, results []metric.Results) {
	for _, g := range groups {
		names, results = append(names, g.Name), append(results, g.Results)
	}
	return names, results
}

// group prints a table with a row for each group.
func (p targetTable) group(t view.Table, columns []column, groups []metric.Results, name func(i int) string) {
	if len(groups) == 0 {
		return
	}
	for _, c := range columns {
		t.Columns = append(t.Columns, c.Column)
	}
	for i, rs := range groups {
		row := []string{name(i)}
		for _, c := range columns {
			row = append(row, p.cell(rs, c.tag, c.stat))
		}
		t.Rows = append(t.Rows, row)
	}
	t.Narrow(view.Boxed, p.width)
	t.WrapColumn(0, p.width, 16)
	p.text.WriteString(p.boxes.Table(&t))
}

// cell formats a statistic of one group; counts of what never happened are 0.
func (p targetTable) cell(rs metric.Results, tag string, stat metric.Stat) string {
	m := rs.Find(tag)
	switch {
	case m != nil && m.Def.Unit == "requests":
		v, _ := m.Get(stat)
		return view.Whole(int64(v))
	case m != nil:
		return p.number(m, stat)
	case tag == "error_request_count" || tag == "request_count":
		return "0"
	}
	return "N/A"
}
