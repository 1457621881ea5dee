package export

import (
	"bytes"
	"encoding/json"
	"io"
	"strconv"
	"time"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/metric"
	"aiperfd/internal/engine/metric/catalogue"
	"aiperfd/internal/engine/metric/errorgroup"
	"aiperfd/internal/engine/plainjson"
	"aiperfd/internal/engine/verdict"
)

// The versions that the summary claims.
const (
	schemaVersion = "1.4"
	compatVersion = "0.13.0-compat"
)

// leading lists the metrics at the head of the summary, in AIPerf's order.
var leading = [...]string{
	"request_throughput", "request_latency", "request_count", "time_to_first_token", "time_to_second_token",
	"inter_token_latency", "output_token_throughput", "output_token_throughput_per_user",
	"output_sequence_length", "input_sequence_length", "goodput", "good_request_count",
	"output_token_count", "reasoning_token_count", "inter_chunk_latency", "total_output_tokens",
	"total_reasoning_tokens", "benchmark_duration", "total_isl", "total_osl", "error_request_count",
	"error_isl", "total_error_isl",
}

// jsonStats is the order of statistics in a metric block; count and sum follow.
var jsonStats = [...]metric.Stat{
	metric.Avg, metric.P1, metric.P5, metric.P10, metric.P25, metric.P50, metric.P75, metric.P90, metric.P95,
	metric.P99, metric.P999, metric.P9999, metric.Min, metric.Max, metric.Std,
}

// writeJSON writes AIPerf's summary: profile_export_aiperf.json.
func writeJSON(w io.Writer, r *Report) error {
	var s summary
	s.text("schema_version", schemaVersion)
	s.text("aiperfd_version", r.Version)
	s.text("aiperf_version", compatVersion)
	s.text("benchmark_id", r.RunID)
	first := make(map[string]bool, len(leading))
	for _, tag := range leading {
		first[tag] = true
		if m := r.Results.Find(tag); m != nil {
			s.metric(m)
		}
	}
	s.value("input_config", r.InputConfig)
	s.value("run_info", runInfo{BenchmarkID: r.RunID, Seed: r.Seed, Command: r.CLICommand, Name: r.Name, Labels: r.Labels})
	s.value("was_cancelled", r.Cancelled)
	s.value("is_complete", r.Complete)
	s.value("error_summary", errorSummary(r.Errors))
	if r.Results.Truncated() {
		s.value("truncated", true)
	}
	s.time("start_time", r.Start)
	s.time("end_time", r.End)
	if r.Warmup != nil {
		s.key("warmup_metrics")
		s.raw = append(s.raw, '{')
		s.metrics(r.Warmup, nil)
		s.raw = append(s.raw, '}')
	}
	s.metrics(r.Results, first)
	s.statistics(r.Results)
	s.groups("results_by_url", r.ByTarget, func(i int) { s.text("url", r.Targets[i]) })
	names, models := r.models()
	s.groups("results_by_model", models, func(i int) { s.text("model", names[i]) })
	s.groups("results_by_turn", r.ByTurn, func(i int) { s.value("turn", i) })
	s.value("notes", append([]bench.Warning{}, r.Warnings...)) // never null
	if r.Layout.Kept != nil {
		s.value("record_files", r.Layout.Kept)
	}
	if r.Tokenizer != "" {
		s.value("token_counts", r.Tokenizer)
	}
	if r.Dataset.Hash != "" {
		s.value("dataset", r.Dataset)
	}
	s.verdicts(r)
	if s.err != nil {
		return s.err
	}
	var out bytes.Buffer
	if err := json.Indent(&out, append(append([]byte{'{'}, s.raw...), '}'), "", "  "); err != nil {
		return err
	}
	out.WriteByte('\n')
	_, err := out.WriteTo(w)
	return err
}

// groups writes the results of groups of requests, if there are any; name writes which one
// it is.
func (s *summary) groups(key string, groups []metric.Results, name func(i int)) {
	if len(groups) == 0 {
		return
	}
	s.key(key)
	for i, rs := range groups {
		s.raw = append(s.raw, "[,"[min(i, 1)], '{')
		name(i)
		s.key("metrics")
		s.raw = append(s.raw, '{')
		s.metrics(rs, nil)
		s.raw = append(s.raw, '}', '}')
	}
	s.raw = append(s.raw, ']')
}

// verdicts writes how far the numbers can be believed, and what affects them.
func (s *summary) verdicts(r *Report) {
	if w := r.Windows(); len(w) > 0 {
		s.windows(w)
	}
	if len(r.SLOs.Run) > 0 {
		s.value("slo_results", r.SLOs.Run)
	}
	if r.Client != nil {
		s.value("client", r.Client)
	}
	if r.Saturation != nil {
		s.value("saturation", r.Saturation)
	}
	if r.Stream != nil {
		s.value("stream", r.Stream)
	}
	if c := verdict.NewCache(r.Results); c != nil {
		s.value("cache", c)
	}
	if len(r.Checks.Checked) > 0 {
		s.value("consistency", r.Checks)
	}
}

// runInfo is the run_info object.
type runInfo struct {
	BenchmarkID string `json:"benchmark_id"`
	Seed        int64  `json:"random_seed"`
	Trial       int    `json:"trial"` // from 0
	Command     string `json:"cli_command,omitempty"`

	Name   string            `json:"name,omitempty"`
	Labels map[string]string `json:"labels,omitempty"`
}

// errorCount is one entry of error_summary.
type errorCount struct {
	Details errorDetails `json:"error_details"`
	Count   int64        `json:"count"`
}

func errorSummary(groups []errorgroup.Group) []errorCount {
	out := make([]errorCount, 0, len(groups))
	for i := range groups {
		g := &groups[i]
		out = append(out, errorCount{describeError(g.Class, g.Status, g.Example), g.Count})
	}
	return out
}

// summary collects the members of the summary object in order.
type summary struct {
	raw []byte
	err error // the first one
}

// key begins a member.
func (s *summary) key(name string) {
	if n := len(s.raw); n > 0 && s.raw[n-1] != '{' {
		s.raw = append(s.raw, ',')
	}
	s.raw = append(appendText(s.raw, name), ':')
}

func (s *summary) text(name, value string) {
	s.key(name)
	s.raw = appendText(s.raw, value)
}

func (s *summary) value(name string, value any) {
	data, err := plainjson.Marshal(value)
	if err != nil && s.err == nil {
		s.err = err
	}
	s.key(name)
	s.raw = append(s.raw, data...)
}

// time writes an instant in UTC without a zone, as AIPerf does; an unknown one
// is left out.
func (s *summary) time(name string, t time.Time) {
	if !t.IsZero() {
		s.text(name, t.UTC().Format("2006-01-02T15:04:05.000000"))
	}
}

// metrics writes the metrics that are for everybody, but not those in skip:
// AIPerf's, and then ours.
func (s *summary) metrics(rs metric.Results, skip map[string]bool) {
	for _, m := range ordered(rs) {
		if !skip[m.Def.Tag] {
			s.metric(m)
		}
	}
}

// ordered returns the metrics that are for everybody: AIPerf's first, then
// ours, both in catalogue order.
func ordered(rs metric.Results) []*metric.Result {
	var theirs, ours []*metric.Result
	for i := range rs {
		switch m := &rs[i]; {
		case m.Def.Flags&(catalogue.Internal|catalogue.Experimental) != 0:
		case m.Def.Origin == "aiperf":
			theirs = append(theirs, m)
		default:
			ours = append(ours, m)
		}
	}
	return append(theirs, ours...)
}

// metric writes one metric. Statistics that are not finite are left out, and so
// is a metric that has no others.
func (s *summary) metric(m *metric.Result) {
	if !printable(m) {
		return
	}
	s.key(m.Def.Tag)
	s.raw = append(s.raw, '{')
	s.text("unit", m.Def.Unit)
	for _, stat := range jsonStats {
		s.stat(m, stat)
	}
	if m.Count > 0 {
		s.key("count")
		s.raw = strconv.AppendInt(s.raw, m.Count, 10)
	}
	s.stat(m, metric.Sum)
	s.raw = append(s.raw, '}')
}

func (s *summary) stat(m *metric.Result, stat metric.Stat) {
	if v, ok := m.Get(stat); ok && finite(v) {
		s.key(stat.String())
		s.raw = appendFloat(s.raw, v)
	}
}

// printable reports whether a metric has a finite statistic.
func printable(m *metric.Result) bool {
	for _, stat := range jsonStats {
		if v, ok := m.Get(stat); ok && finite(v) {
			return true
		}
	}
	return false
}
