package plan

import (
	"slices"

	"aiperfd/internal/engine/config"
	"aiperfd/internal/engine/dataset"
	"aiperfd/internal/engine/dataset/source"
	"aiperfd/internal/engine/dataset/trace"
	"aiperfd/internal/engine/load/spec"
)

// trace compiles the options that only traces have.
func (c *datasetCompiler) trace(d *config.Dataset, p *Plan, kind dataset.Kind) (out trace.Spec) {
	if !kind.Trace {
		if d.IgnoreTraceDelays {
			c.problem("datasets/0/ignoreTraceDelays", "conflict", "only traces have recorded delays, and %s is none", kind.Name)
		}
		if d.Synthesis != nil {
			c.problem("datasets/0/synthesis", "conflict", "only traces can be changed, and %s is none", kind.Name)
		}
		return out
	}
	if out.IgnoreDelays = d.IgnoreTraceDelays; out.IgnoreDelays && slices.ContainsFunc(p.Phases, func(ph spec.Phase) bool { return ph.Replay != nil }) {
		c.problem("datasets/0/ignoreTraceDelays", "conflict", "a phase of type fixed_schedule sends the trace at its times; use --no-fixed-schedule, or another type")
	}
	for _, m := range c.b.Endpoint.Extra.Members() {
		if slices.Contains(kind.Adds, m.Name) {
			c.problem("endpoint/extra/"+m.Name, "conflict", "%s sends a recorded value", kind.Name)
		}
	}
	if s := d.Synthesis; s != nil {
		value := func(n *int) int {
			if n == nil {
				return 0
			}
			return *n
		}
		out.Synthesis = trace.Synthesis{
			PrefixLen: s.PrefixLenMultiplier, PromptLen: s.PromptLenMultiplier, OutputLen: s.OutputLenMultiplier,
			Roots: value(s.PrefixRootMultiplier), MaxISL: value(s.MaxISL), MaxOSL: value(s.MaxOSL),
		}
	}
	return out
}

// window leaves out what the only replay of a dataset leaves out, so that it is not
// prepared.
func window(phases []spec.Phase, o *source.Options) {
	var only *spec.Replay
	for i := range phases {
		if r := phases[i].Replay; r != nil {
			if only != nil {
				return
			}
			only = r
		}
	}
	if only == nil {
		return
	}
	if !only.Auto {
		o.From = &only.Start
	}
	if only.End >= 0 {
		o.Until = &only.End
	}
}
