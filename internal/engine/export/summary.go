package export

import (
	"io"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/metric"
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

// writeJSON writes AIPerf's summary: profile_export_aiperf.json.
func writeJSON(w io.Writer, r *Report) error {
	text, err := summaryOf(r).appendJSON(nil)
	if err != nil {
		return err
	}
	return writeIndented(w, "", append(text, '\n'), "")
}

// summaryOf returns the members of the summary.
func summaryOf(r *Report) object {
	s := object{
		{"schema_version", schemaVersion}, {"aiperfd_version", r.Version}, {"aiperf_version", compatVersion},
		{"benchmark_id", r.RunID},
	}
	first := make(map[string]bool, len(leading))
	for _, tag := range leading {
		first[tag] = true
		if m := r.Results.Find(tag); m != nil {
			s.addMetric(m)
		}
	}
	s.add("input_config", r.InputConfig)
	s.add("run_info", runInfo{BenchmarkID: r.RunID, Seed: r.Seed, Command: r.CLICommand, Name: r.Name, Labels: r.Labels})
	s.add("was_cancelled", r.Cancelled)
	s.add("is_complete", r.Complete)
	s.add("error_summary", errorSummary(r.Errors))
	if r.Results.Truncated() {
		s.add("truncated", true)
	}
	s.addTime("start_time", r.Start)
	s.addTime("end_time", r.End)
	if data := telemetryData(r); data != nil {
		s.add("telemetry_data", data)
	}
	if r.Warmup != nil {
		s.add("warmup_metrics", metricsObject(r.Warmup))
	}
	s.addMetrics(r.Results, first)
	s.addStatistics(r.Results)
	s.addGroups("results_by_url", r.ByTarget, func(i int) property { return property{"url", r.Targets[i]} })
	models, byModel := namedResults(r.ByModel)
	s.addGroups("results_by_model", byModel, func(i int) property { return property{"model", models[i]} })
	names, categories := namedResults(r.ByCategory)
	s.addGroups("results_by_category", categories, func(i int) property { return property{"category", names[i]} })
	s.addGroups("results_by_turn", r.ByTurn, func(i int) property { return property{"turn", i} })
	if len(r.AcceptedDrafts) > 0 {
		s.add("pooled_spec_decode_acceptance_histogram", r.AcceptedDrafts)
	}
	s.add("notes", append([]bench.Warning{}, r.Warnings...)) // never null
	if r.Layout.Kept != nil {
		s.add("record_files", r.Layout.Kept)
	}
	if r.Tokenizer != "" {
		s.add("token_counts", r.Tokenizer)
	}
	if r.Dataset.Hash != "" {
		s.add("dataset", r.Dataset)
	}
	s.addVerdicts(r)
	if v := r.Validity; v != nil {
		s.add("metadata", submission{Scenario: v.Name(), Valid: v.Valid, Reasons: v.Reasons(), Dataset: v.Dataset})
		s.add("validity", v)
	}
	return s
}

// submission is AIPerf's stamp on the result of a scenario.
type submission struct {
	Scenario string   `json:"scenario"`
	Valid    bool     `json:"submission_valid"`
	Reasons  []string `json:"submission_invalid_reasons"`
	Dataset  string   `json:"dataset"`
}

// addGroups appends the results of groups of requests, if there are any; name says which one it is.
func (o *object) addGroups(key string, groups []metric.Results, name func(i int) property) {
	if len(groups) == 0 {
		return
	}
	list := make([]object, len(groups))
	for i, rs := range groups {
		list[i] = object{name(i), {"metrics", metricsObject(rs)}}
	}
	o.add(key, list)
}

// addVerdicts appends how far the numbers can be believed, and what affects them.
func (o *object) addVerdicts(r *Report) {
	if w := r.Windows(); len(w) > 0 {
		o.add("windows", windowsObject(w))
	}
	if len(r.SLOs.Run) > 0 {
		o.add("slo_results", r.SLOs.Run)
	}
	if r.Client != nil {
		o.add("client", r.Client)
	}
	if r.Saturation != nil {
		o.add("saturation", r.Saturation)
	}
	if r.Stream != nil {
		o.add("stream", r.Stream)
	}
	if c := r.PrefixCache(); c != nil {
		o.add("cache", c)
	}
	if len(r.Checks.Checked) > 0 {
		o.add("consistency", r.Checks)
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

func errorSummary(groups []metric.ErrorGroup) []errorCount {
	out := make([]errorCount, 0, len(groups))
	for i := range groups {
		g := &groups[i]
		out = append(out, errorCount{describeError(g.Class, g.Status, g.Example), g.Count})
	}
	return out
}

// windowsObject returns the windows by name, each with its bounds and rates.
func windowsObject(all []Window) object {
	out := object{}
	for i := range all {
		w := &all[i]
		one := object{{"method", w.Method}, {"absent", w.Absent}}
		if !w.Absent {
			one.addTime("start_time", w.Start)
			one.addTime("end_time", w.End)
			one.add("seconds", w.End.Sub(w.Start).Seconds())
			if w.Trend != nil {
				one.add("trend", w.Trend)
			}
			for j := range w.Results {
				one.addMetric(&w.Results[j])
			}
		}
		out.add(w.Name, one)
	}
	return out
}
