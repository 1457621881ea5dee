package export

import (
	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/telemetry/diagnose"
	"aiperfd/internal/engine/telemetry/otel"
)

// serverSpans prints how long single requests of the profiling phases took in the servers.
func (p *page) serverSpans(r *Report) {
	if r.ServerSpans == nil {
		return
	}
	var phases []*otel.SpanPhase
	for i := range r.ServerSpans.Phases {
		if one := &r.ServerSpans.Phases[i]; one.Kind == string(bench.Profiling) && one.Joined > 0 {
			phases = append(phases, one)
		}
	}
	for _, one := range phases {
		name := ""
		if len(phases) > 1 {
			name = one.Name + ": "
		}
		p.entry("", "Spans", name+one.Line(), 0)
	}
}

// servers prints what the servers' metrics say of the profiling phases: the findings, of which the first names
// the cause, the load of the servers, and where the time to the first token went.
func (p *page) servers(r *Report) {
	if r.Server == nil {
		return
	}
	phases := r.Server.Profiling()
	for _, one := range phases {
		name := ""
		if len(phases) > 1 {
			name = one.Name + ": "
		}
		for _, f := range one.Findings {
			s := style("")
			if f.Level == diagnose.Notice {
				s = yellow
			}
			p.entry(s, "Finding", name+f.Message, 0)
		}
		if line := one.Line(); line != "" {
			p.entry("", "Server", name+line, 0)
		}
		if one.Budget != nil {
			p.entry("", "Time", name+one.Budget.Line(), 0)
		}
	}
}
