package report

import (
	"strconv"
	"strings"

	"aiperfd/internal/compare"
	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/metric"
	"aiperfd/internal/engine/metric/catalogue"
	"aiperfd/internal/run"
	"aiperfd/internal/view"
)

// byPhase returns the numbers of the profiling phases of a run, if there are several.
func byPhase(s *run.Snapshot) table {
	t := newTable("Phases", []string{"Phase"}, "Requests", "Errors", "req/s", "tokens/s", "TTFT p50 ms", "TTFT p99 ms", "Latency p50 ms", "Latency p99 ms")
	if s == nil {
		return t
	}
	for i := range s.Phases {
		p := &s.Phases[i]
		if p.Stats.Kind != bench.Profiling {
			continue
		}
		value := func(tag string, stat metric.Stat) string {
			v, ok := p.Metrics.Value(tag, stat)
			if !ok {
				return view.Absent
			}
			return starred(view.Compact(&v), !p.Metrics.Find(tag).Confidence.Supported(stat))
		}
		t.Rows = append(t.Rows, []string{
			p.Stats.Name, strconv.FormatInt(p.Stats.Completed-p.Stats.Errors, 10), strconv.FormatInt(p.Stats.Errors, 10),
			value("request_throughput", metric.Avg), value("output_token_throughput", metric.Avg),
			value("time_to_first_token", metric.P50), value("time_to_first_token", metric.P99),
			value("request_latency", metric.P50), value("request_latency", metric.P99),
		})
	}
	if len(t.Rows) < 2 {
		t.Rows = nil
	}
	t.More = starNote(t.Rows, 1)
	return t
}

// openLoop returns what an open loop asked of the servers, and what was served.
func openLoop(s *run.Snapshot) table {
	t := newTable("Open loop", []string{""}, "req/s")
	if s == nil || s.Saturation == nil {
		return t
	}
	x := s.Saturation
	t.Rows = [][]string{
		{"Asked", view.Compact(&x.AskedRate)}, {"Offered, by the due times", view.Compact(x.OfferedRate)},
		{"Sent", view.Compact(x.SentRate)}, {"Served", view.Compact(x.AchievedRate)},
	}
	message := x.Message
	if message != "" {
		message = strings.ToUpper(message[:1]) + message[1:] + "."
	}
	parts := []string{
		message, "Most requests that were due and had not returned: " + view.Whole(x.BacklogMax) + ".",
		"Due without an answer: " + view.Whole(x.Cut+x.Dropped) + ".",
	}
	t.More = strings.TrimSpace(strings.Join(parts, " "))
	return t
}

// corrected returns the latencies from the due times of the requests of an open loop.
func corrected(c *compare.Comparison) table {
	statistics := []string{"avg", "p50", "p90", "p99"}
	t := newTable("Latency from the due time", []string{"Metric", "Unit"}, statistics...)
	for _, tag := range []string{"corrected_time_to_first_token", "corrected_request_latency"} {
		m := find(c, tag)
		if m == nil {
			continue
		}
		row := []string{m.Header, m.Unit}
		for _, name := range statistics {
			row = append(row, withInterval(statistic(m, name)))
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// attainment returns the share of the requests that met each objective of single requests.
func attainment(c *compare.Comparison) table {
	t := newTable("Objectives of single requests", []string{"Objective"}, "Requests that met it")
	share := func(tag string) string {
		if m := find(c, tag); m != nil {
			if v := statistic(m, "avg"); v != nil && v.Value != nil {
				return view.Percent(*v.Value)
			}
		}
		return view.Absent
	}
	const prefix = "slo_attainment."
	for i := range c.Metrics {
		tag, ok := strings.CutPrefix(c.Metrics[i].Tag, prefix)
		if !ok {
			continue
		}
		name := tag
		if def, known := catalogue.Lookup(tag); known {
			name = def.Header
		}
		t.Rows = append(t.Rows, []string{name, share(prefix + tag)})
	}
	if find(c, "good_request_fraction") != nil {
		t.Rows = append(t.Rows, []string{"all of them", share("good_request_fraction")})
	}
	return t
}
