package report

import (
	"aiperfd/internal/engine/export"
	"aiperfd/internal/engine/metric"
	"aiperfd/internal/run"
)

// Summarize picks the few numbers of a list view from a report.
func Summarize(rep *export.Report) *run.Summary {
	s := &run.Summary{}
	get := func(tag string, stat metric.Stat) *float64 { return valueOf(rep.Results, tag, stat) }
	all := summarizeGroup(rep.Results)
	s.Requests, s.Errors = all.Requests, all.Errors
	s.Cancelled, s.CancelledByTest = int64(average(rep.Results, "cancelled_request_count")), int64(average(rep.Results, "cancelled_by_test_count"))
	s.ErrorRate = get("request_error_rate", metric.Avg)
	s.RequestThroughput, s.OutputTokenThroughput = all.RequestThroughput, all.OutputTokenThroughput
	s.TTFTP50, s.TTFTP99, s.LatencyP50, s.LatencyP99 = all.TTFTP50, all.TTFTP99, all.LatencyP50, all.LatencyP99
	s.ITLAvg, s.ITLP99 = get("inter_token_latency", metric.Avg), get("inter_token_latency", metric.P99)
	s.Goodput = get("goodput", metric.Avg)
	s.SLOs, s.Windows, s.ByURL, s.ByModel = rep.SLOs.Run, windowSummaries(rep), byURL(rep), byModel(rep)
	s.ByCategory = byCategory(rep)
	s.Saturation, s.Unsupported = rep.Saturation, []string{}
	for _, p := range []struct {
		name, tag string
		stat      metric.Stat
	}{
		{"time_to_first_token_p50_ms", "time_to_first_token", metric.P50}, {"time_to_first_token_p99_ms", "time_to_first_token", metric.P99},
		{"inter_token_latency_p99_ms", "inter_token_latency", metric.P99},
		{"request_latency_p50_ms", "request_latency", metric.P50}, {"request_latency_p99_ms", "request_latency", metric.P99},
	} {
		if m := rep.Results.Find(p.tag); m != nil && get(p.tag, p.stat) != nil && !m.Confidence.Supported(p.stat) {
			s.Unsupported = append(s.Unsupported, p.name)
		}
	}
	return s
}

// valueOf returns a statistic of a metric; nil = it does not exist.
func valueOf(rs metric.Results, tag string, stat metric.Stat) *float64 {
	if m := rs.Find(tag); m != nil {
		if v, ok := m.Get(stat); ok {
			return &v
		}
	}
	return nil
}

// average returns the average of a metric; 0 if the result does not have it.
func average(rs metric.Results, tag string) float64 {
	if m := rs.Find(tag); m != nil {
		if v, ok := m.Get(metric.Avg); ok {
			return v
		}
	}
	return 0
}

// windowSummaries returns the throughput in each named window.
func windowSummaries(rep *export.Report) []run.Window {
	var out []run.Window
	for _, w := range rep.Windows() {
		out = append(out, run.Window{
			Name: w.Name, Method: w.Method, Absent: w.Absent, Seconds: w.End.Sub(w.Start).Seconds(), Trend: w.Trend,
			RequestThroughput:     valueOf(w.Results, "request_throughput", metric.Avg),
			OutputTokenThroughput: valueOf(w.Results, "output_token_throughput", metric.Avg),
		})
	}
	return out
}

// byURL returns the numbers of each server; nil unless there are several.
func byURL(rep *export.Report) []run.URLSummary {
	var out []run.URLSummary
	for i, rs := range rep.ByTarget {
		out = append(out, run.URLSummary{URL: rep.Targets[i], GroupSummary: summarizeGroup(rs)})
	}
	return out
}

// byModel returns the numbers of each model; nil unless there are several.
func byModel(rep *export.Report) []run.ModelSummary {
	var out []run.ModelSummary
	for _, m := range rep.ByModel {
		out = append(out, run.ModelSummary{Model: m.Name, GroupSummary: summarizeGroup(m.Results)})
	}
	return out
}

// byCategory returns the numbers of each category; nil unless the dataset has some.
func byCategory(rep *export.Report) []run.CategorySummary {
	var out []run.CategorySummary
	for _, c := range rep.ByCategory {
		out = append(out, run.CategorySummary{
			Category: c.Name, GroupSummary: summarizeGroup(c.Results),
			AcceptanceLength: valueOf(c.Results, "spec_decode_token_weighted_acceptance_length", metric.Avg),
			AcceptanceRate:   valueOf(c.Results, "spec_decode_overall_draft_acceptance_rate", metric.Avg),
		})
	}
	return out
}

// summarizeGroup picks the numbers of a group of requests.
func summarizeGroup(rs metric.Results) run.GroupSummary {
	get := func(tag string, stat metric.Stat) *float64 { return valueOf(rs, tag, stat) }
	s := run.GroupSummary{
		RequestThroughput:     get("request_throughput", metric.Avg),
		OutputTokenThroughput: get("output_token_throughput", metric.Avg),
		TTFTP50:               get("time_to_first_token", metric.P50), TTFTP99: get("time_to_first_token", metric.P99),
		LatencyP50: get("request_latency", metric.P50), LatencyP99: get("request_latency", metric.P99),
	}
	s.Requests, s.Errors = int64(average(rs, "request_count")), int64(average(rs, "error_request_count"))
	return s
}
