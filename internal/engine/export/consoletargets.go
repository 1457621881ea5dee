package export

import (
	"strconv"

	"aiperfd/internal/engine/metric"
)

// column is a column of a table of results by group.
type column struct {
	head, tag string
	stat      metric.Stat
}

// targetColumns are the columns of the tables of servers and models, besides their names.
var targetColumns = [...]column{
	{"Requests", "request_count", metric.Avg},
	{"Errors", "error_request_count", metric.Avg},
	{"Req/s", "request_throughput", metric.Avg},
	{"Output tok/s", "output_token_throughput", metric.Avg},
	{"TTFT p50 ms", "time_to_first_token", metric.P50},
	{"TTFT p99 ms", "time_to_first_token", metric.P99},
	{"Latency p50 ms", "request_latency", metric.P50},
	{"Latency p99 ms", "request_latency", metric.P99},
}

// turnColumns are the columns of the table of turns, besides their numbers.
var turnColumns = [...]column{
	{"Requests", "request_count", metric.Avg},
	{"Errors", "error_request_count", metric.Avg},
	{"Cache hits", "cache_hit_ratio", metric.Avg},
	{"TTFT p50 ms", "time_to_first_token", metric.P50},
	{"TTFT p99 ms", "time_to_first_token", metric.P99},
	{"Latency p50 ms", "turn_latency", metric.P50},
	{"Latency p99 ms", "turn_latency", metric.P99},
}

// targetTable prints the results by server, by model, and by turn.
type targetTable struct{ *page }

// print prints the results of each server and of each model, if there are several, and of
// each turn.
func (p targetTable) print(r *Report) {
	p.group(table{title: "aiperfd | Results by URL", head: []string{"URL"}}, targetColumns[:], r.ByTarget,
		func(i int) string { return Printable(r.Targets[i]) })
	names, models := r.models()
	p.group(table{title: "aiperfd | Results by Model", head: []string{"Model"}}, targetColumns[:], models,
		func(i int) string { return Printable(names[i]) })
	p.group(table{title: "aiperfd | Results by Turn", head: []string{"Turn"}}, turnColumns[:], r.ByTurn, strconv.Itoa)
}

// models returns the names of the models that have results of their own, and these results.
func (r *Report) models() (names []string, results []metric.Results) {
	for _, m := range r.ByModel {
		names, results = append(names, m.Name), append(results, m.Results)
	}
	return names, results
}

// group prints a table with a row for each group.
func (p targetTable) group(t table, columns []column, groups []metric.Results, name func(i int) string) {
	if len(groups) == 0 {
		return
	}
	t.left = []bool{true}
	for _, c := range columns {
		t.head = append(t.head, c.head)
	}
	for i, rs := range groups {
		row := []string{name(i)}
		for _, c := range columns {
			row = append(row, p.cell(rs, c.tag, c.stat))
		}
		t.rows = append(t.rows, row)
	}
	for _, head := range []string{"Output tok/s", "TTFT p99 ms", "Latency p50 ms"} {
		if t.width() > p.width {
			t.dropColumn(head)
		}
	}
	t.wrapColumn(0, p.width, 16)
	t.render(&p.screen)
}

// cell formats a statistic of one group; counts of what never happened are 0.
func (p targetTable) cell(rs metric.Results, tag string, stat metric.Stat) string {
	m := rs.Find(tag)
	switch {
	case m != nil && m.Def.Unit == "requests":
		v, _ := m.Get(stat)
		return whole(int64(v))
	case m != nil:
		return p.number(m, stat)
	case tag == "error_request_count" || tag == "request_count":
		return "0"
	}
	return "N/A"
}
