package collect

import (
	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/load/spec"
	"aiperfd/internal/engine/metric/agents"
	"aiperfd/internal/engine/metric/measure"
)

// NewAgents returns the observer that collects the plays of recorded sessions in the phases that enter the results, with
// what phases before them have sent of these sessions.
func NewAgents(to *agents.Jobs) RunObserver {
	return RunObserver{Phase: func(p *spec.Phase, _ *measure.Set) Observer {
		return Observer{Observe: AgentsOf(p, to)}
	}}
}

// AgentsOf returns the function that takes the requests of a phase of recorded sessions.
func AgentsOf(p *spec.Phase, to *agents.Jobs) func(*bench.Record) {
	switch {
	case p.Counted():
		return to.Add
	case p.Lanes != nil && p.Lanes.Primers:
		return to.AddPrimer
	}
	return to.AddWarmup
}

// expect notes how many tokens of the prompt of a request of a recorded session a prefix cache could have.
func (r *Run) expect(rec *bench.Record) { rec.Content.Expected = new(r.Prefixes.Add(rec)) }
