package export

import (
	"aiperfd/internal/engine/metric"
)

// targetColumns are the columns of the table of servers, besides their URLs.
var targetColumns = [...]struct {
	head, tag string
	stat      metric.Stat
}{
	{"Requests", "request_count", metric.Avg},
	{"Errors", "error_request_count", metric.Avg},
	{"Req/s", "request_throughput", metric.Avg},
	{"Output tok/s", "output_token_throughput", metric.Avg},
	{"TTFT p50 ms", "time_to_first_token", metric.P50},
	{"TTFT p99 ms", "time_to_first_token", metric.P99},
	{"Latency p50 ms", "request_latency", metric.P50},
	{"Latency p99 ms", "request_latency", metric.P99},
}

// targetTable prints the results by server.
type targetTable struct{ *page }

// print prints the results of each server, if there are several.
func (p targetTable) print(r *Report) {
	if len(r.ByTarget) == 0 {
		return
	}
	t := table{title: "aiperfd | Results by URL", head: []string{"URL"}, left: []bool{true}}
	for _, c := range targetColumns {
		t.head = append(t.head, c.head)
	}
	for i, rs := range r.ByTarget {
		row := []string{Printable(r.Targets[i])}
		for _, c := range targetColumns {
			row = append(row, p.cell(rs, c.tag, c.stat))
		}
		t.rows = append(t.rows, row)
	}
	for _, name := range []string{"Output tok/s", "TTFT p99 ms", "Latency p50 ms"} {
		if t.width() > p.width {
			t.dropColumn(name)
		}
	}
	t.wrapColumn(0, p.width, 16)
	t.render(&p.screen)
}

// cell formats a statistic of one server; counts of what never happened are 0.
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
