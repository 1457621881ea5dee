package report

import (
	"fmt"
	"strings"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/telemetry/diagnose"
	"aiperfd/internal/engine/telemetry/otel"
	"aiperfd/internal/view"
)

// servers returns what the servers' metrics say of the profiling phases: first in words, as the console has it, then
// where the time to the first token went, and the load of the servers. s may be nil.
func servers(s *diagnose.Server) []table {
	if s == nil {
		return nil
	}
	title := "Server"
	if kinds := s.Kinds(); len(kinds) > 0 {
		title += ": " + strings.Join(kinds, ", ")
	}
	phases := s.Profiling()
	words := newTable(title, []string{"Phase", "", "What its metrics say"})
	times := newTable("Time to the first token, on average", []string{"Phase", "Part"}, "ms", "Share")
	loads := newTable("Load of the server", []string{"Phase", "Metric"}, "avg", "p99", "max")
	for _, p := range phases {
		for _, f := range p.Findings {
			words.Rows = append(words.Rows, []string{p.Name, "Finding", f.Message})
		}
		if line := p.Line(); line != "" {
			words.Rows = append(words.Rows, []string{p.Name, "Server", line})
		}
		if p.Budget != nil {
			words.Rows = append(words.Rows, []string{p.Name, "Time", p.Budget.Line()})
			times.Rows = append(times.Rows, budgetRows(p.Name, p.Budget)...)
		}
		loads.Rows = append(loads.Rows, loadRows(p)...)
	}
	out := []table{words, times, loads}
	if len(phases) < 2 {
		for i := range out {
			out[i].dropFirst()
		}
	}
	return out
}

// dropFirst removes the first column.
func (t *table) dropFirst() {
	t.Columns = t.Columns[1:]
	for i := range t.Rows {
		t.Rows[i] = t.Rows[i][1:]
	}
}

// budgetRows returns the parts of the time to the first token and their sum.
func budgetRows(phase string, b *diagnose.Budget) [][]string {
	share := func(ms float64) string {
		if b.TTFT <= 0 {
			return view.Absent
		}
		return view.Percent(ms / b.TTFT)
	}
	var rows [][]string
	for _, part := range b.Parts() {
		rows = append(rows, []string{phase, part.Name, view.Figure(part.MS), share(part.MS)})
	}
	return append(rows, []string{phase, "in all, from the due time", view.Figure(b.TTFT), share(b.TTFT)})
}

// loadRows returns the levels of the servers in a phase, and the hit rate of the prefix cache.
func loadRows(p *diagnose.Phase) [][]string {
	var rows [][]string
	level := func(name, text string, write func(float64) string) {
		if v := p.Value(name); v != nil && v.Avg != nil {
			rows = append(rows, []string{p.Name, text, write(*v.Avg), write(*v.P99), write(*v.Max)})
		}
	}
	level("running", "Running in the server", view.Figure)
	level("waiting", "Waiting in the server", view.Figure)
	level("kv_usage", "KV cache in use", view.Percent)
	if share, ok := p.HitRate(); ok {
		rows = append(rows, []string{p.Name, "Prompt tokens cached", view.Percent(share), view.Absent, view.Absent})
	}
	return rows
}

// spans returns how long the parts of single requests of the profiling phases took by the spans of their servers. s may
// be nil.
func spans(s *otel.ServerSpans) table {
	if s == nil {
		return table{}
	}
	t := newTable("Single requests, by the spans of the server", []string{"Phase", "Part"}, "requests", "p50 ms", "p90 ms", "p99 ms", "max ms")
	phases := 0
	for i := range s.Phases {
		p := &s.Phases[i]
		if p.Kind != string(bench.Profiling) || p.Joined == 0 {
			continue
		}
		phases++
		for _, part := range p.Segments {
			t.Rows = append(t.Rows, []string{
				p.Name, part.Title(), view.Whole(part.Count), view.Figure(part.P50), view.Figure(part.P90), view.Figure(part.P99), view.Figure(part.Max),
			})
		}
	}
	if phases < 2 {
		t.dropFirst()
	}
	t.More = fmt.Sprintf("%s %s with times came; %s of %s %s had one (%s), warm-up included.", view.Whole(s.Received), view.Noun(s.Received, "span"),
		view.Whole(s.Joined), view.Whole(s.Requests), view.Noun(s.Requests, "request"), view.Percent(float64(s.Joined)/float64(max(s.Requests, 1))))
	return t
}
