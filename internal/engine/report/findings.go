package report

import (
	"slices"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/export"
	"aiperfd/internal/engine/metric"
	"aiperfd/internal/engine/telemetry/diagnose"
	"aiperfd/internal/engine/telemetry/gpu"
)

// unwanted returns the outcome of the objectives that the profiling phases have none of some findings. One that
// cannot be judged, because no page was read, is met with a doubt: a page that is gone fails no run.
func unwanted(codes []string, rep *export.Report) []metric.SLOResult {
	var out []metric.SLOResult
	for _, code := range codes {
		phases, doubt := serverFindings(rep.Server), "no metrics of a server were read"
		if slices.Contains(gpu.Codes(), code) {
			phases, doubt = gpuFindings(rep.GPU), "no metrics of a GPU were read"
		}
		r := metric.SLOResult{
			Objective: "no finding " + code, Metric: metric.FindingPrefix + code, Statistic: metric.FindingCount, Operator: "<=", Met: true,
		}
		if len(phases) == 0 {
			r.Uncertain, r.Doubt = true, doubt
			out = append(out, r)
			continue
		}
		count := 0.0
		for _, findings := range phases {
			if slices.ContainsFunc(findings, func(f diagnose.Finding) bool { return f.Code == code }) {
				count++
			}
		}
		r.Value, r.Met = &count, count == 0
		out = append(out, r)
	}
	return out
}

// serverFindings returns the findings about servers of each profiling phase in which they were read.
func serverFindings(s *diagnose.Server) (out [][]diagnose.Finding) {
	if s == nil {
		return nil
	}
	for _, p := range s.Profiling() {
		out = append(out, p.Findings)
	}
	return out
}

// gpuFindings returns the findings about accelerators of each profiling phase in which they were read.
func gpuFindings(r *gpu.Report) (out [][]diagnose.Finding) {
	if r == nil {
		return nil
	}
	for i := range r.Phases {
		if p := &r.Phases[i]; p.Kind == string(bench.Profiling) && len(p.Devices) > 0 {
			out = append(out, p.Findings)
		}
	}
	return out
}
