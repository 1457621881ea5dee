package export

import (
	"io"
	"path"
	"slices"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/telemetry/diagnose"
)

// phaseTelemetry is a file with what was read beside the requests of one phase, as AIPerf has it.
type phaseTelemetry struct {
	about  string
	file   string        // in the folder of the phase
	member string        // in the list of phases
	data   func() object // computes the content; nil = it is not known any more, in a report that was read
}

// Where these files are.
const (
	phaseFolder      = "phases"
	phaseDevicesFile = "gpu_telemetry.json"
	phaseServersFile = "server_metrics.json"
)

// phaseTelemetries returns those of a phase: of the accelerators, and of the servers, in whatever formats their metrics
// are written.
func phaseTelemetries(r *Report, p *PhaseReport) (out []phaseTelemetry) {
	if r.GPU != nil {
		for i := range r.GPU.Phases {
			if one := &r.GPU.Phases[i]; one.Name == p.Stats.Name && len(one.Devices) > 0 {
				data := func() object { return devicesObject(r.GPU, one) }
				out = append(out, phaseTelemetry{"GPU telemetry", phaseDevicesFile, "gpu_telemetry_json", data})
			}
		}
	}
	if r.Server != nil {
		for i := range r.Server.Phases {
			if one := &r.Server.Phases[i]; one.Name == p.Stats.Name {
				data := phaseServers(r, p, one)
				out = append(out, phaseTelemetry{"server metrics", phaseServersFile, "server_metrics_json", data})
			}
		}
	}
	return out
}

func (t *phaseTelemetry) path(p *PhaseReport) string {
	return path.Join(phaseFolder, p.Stats.Name, t.file)
}

// write writes the file.
func (t *phaseTelemetry) write(w io.Writer, p *PhaseReport) error {
	const version = 1
	all := object{{"schema_version", version}, {"phase", p.identity()}, {"data", t.data()}, {"warnings", []string{}}}
	text, err := all.appendJSON(nil)
	if err != nil {
		return err
	}
	return writeIndented(w, "", append(text, '\n'), "")
}

// phaseServers returns what computes what the servers' metrics were in a phase; nil = it is not known any more.
func phaseServers(r *Report, p *PhaseReport, summary *diagnose.Phase) func() object {
	if r.Server.Pages == nil {
		return nil
	}
	for i := range r.Server.Pages.Ranges {
		if at := &r.Server.Pages.Ranges[i]; at.Name == p.Stats.Name {
			return func() object { return phaseServersObject(r, p, at, summary) }
		}
	}
	return nil
}

// phaseServersObject returns what the servers' metrics were in a phase: by page, in contrast to the file of the run.
func phaseServersObject(r *Report, p *PhaseReport, at *diagnose.Range, summary *diagnose.Phase) object {
	pages, s := r.Server.Pages, &p.Stats
	summaries, answered := object{}, []string{}
	for i := range pages.Pages {
		page := &pages.Pages[i]
		metrics := serverMetrics{}
		metrics.add(pages.Clock, "", page.History.Reduce(at.Window, pages.Slice))
		answered = append(answered, page.URL)
		name := exporterOf(page.URL)
		if slices.ContainsFunc(summaries, func(one property) bool { return one.name == name }) {
			name = page.URL
		}
		summaries.add(name, object{{"endpoint_url", page.URL}, {"info", page.Info}, {"metrics", metrics}})
	}
	out := object{
		{"benchmark_id", r.RunID}, {"phase", s.Kind}, {"phase_index", s.Index}, {"phase_name", s.Name}, {"phase_kind", s.Kind},
		{"endpoint_summaries", summaries},
		{"start_ns", pages.Clock.UnixNano(at.Window.From)}, {"end_ns", pages.Clock.UnixNano(at.Window.To)},
		{"endpoints_configured", pages.Configured}, {"endpoints_successful", answered},
		{"error_summary", failedReadings(r.Server.Targets)}, {"phase_results", []object{}},
	}
	if s.Kind == bench.Profiling {
		out.add("profiling_index", s.ProfilingIndex)
	}
	out.add("ours", summary)
	return out
}

// identity says which phase it is, as AIPerf does.
func (p *PhaseReport) identity() map[string]any {
	s := &p.Stats
	out := map[string]any{
		"phase_index": s.Index, "phase_name": s.Name, "phase_kind": s.Kind, "profiling_index": nil,
		"start_ns": p.Start.UnixNano(), "end_ns": p.End.UnixNano(), "was_cancelled": s.End == bench.PhaseCancelled,
	}
	if s.Kind == bench.Profiling {
		out["profiling_index"] = s.ProfilingIndex
	}
	return out
}
