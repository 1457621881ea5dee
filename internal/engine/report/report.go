package report

import (
	"fmt"
	"slices"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/config"
	"aiperfd/internal/engine/export"
	"aiperfd/internal/engine/load/spec"
	"aiperfd/internal/engine/metric"
	"aiperfd/internal/engine/metric/catalogue"
	"aiperfd/internal/engine/metric/measure"
	"aiperfd/internal/engine/plan"
	"aiperfd/internal/engine/sketch"

	"aiperfd/internal/engine/verdict"
	"aiperfd/internal/run"
)

// Measured is a phase with its measurements.
type Measured struct {
	Plan  *spec.Phase
	Set   *measure.Set
	Stats bench.PhaseStats
	Tally *verdict.Tally

	Self       *verdict.Self       // nil = the client was not monitored
	Client     *verdict.Report     // on the client; nil = there is no judgement
	Saturation *verdict.Saturation // nil = a closed loop, or there is no judgement
	Silence    string              // how long the servers sent nothing, as a sentence; empty = never for long
}

// Build computes the exact results of phases. The caller sets the state of the run and
// everything else that is not measured in its phases.
func Build(r *run.Run, m *plan.Measure, clock bench.Clock, phases []Measured) *export.Report {
	rep := describe(r, m)
	var profiling, warmup []measure.Part
	complete := true
	for i := range phases {
		m := &phases[i]
		part := measure.Part{Set: m.Set, Window: m.Stats.Measured(m.Stats.LastUpdate), Phase: m.Stats, Slots: slots(m.Plan), Ramp: m.Plan.Shape.Ramp()}
		done := part.Finish()
		from := max(m.Stats.Start, m.Stats.Records.From)
		rep.Phases = append(rep.Phases, export.PhaseReport{
			Stats: m.Stats, Start: clock.Wall(from), End: clock.Wall(from + part.Window),
			Results: done.Results, Errors: m.Set.ErrorGroups(), Sketches: sketches(m.Set),
		})
		complete = complete && (m.Stats.End == bench.PhaseCompleted)
		switch {
		case m.Plan.Kind == bench.Warmup:
			warmup = append(warmup, part)
		case !m.Plan.Excluded:
			profiling = append(profiling, part)
			rep.Phases[i].Slices, rep.Phases[i].Windows = slicesOf(m, done.Slices, clock), windowsOf(done.Windows, clock)
			rep.Expected += m.Plan.Requests
			if rep.Start.IsZero() {
				rep.Start = clock.Wall(from)
			}
			if end := clock.Wall(from + part.Window); end.After(rep.End) {
				rep.End = end
			}
		}
	}
	rep.Duration = measure.Joint(profiling...)
	rep.Complete = complete && len(profiling) > 0
	rep.Results, rep.Errors = pooled(profiling, rep.Phases)
	rep.ByTarget = measure.ByTarget(profiling...)
	rep.ByTurn = measure.ByTurn(profiling...)
	rep.ByModel = measure.ModelResults(profiling...)
	rep.ByCategory, rep.AcceptedDrafts = measure.CategoryResults(profiling...), measure.AcceptedDrafts(profiling...)
	rep.Warmup, _ = pooled(warmup, rep.Phases)
	rep.SLOs.Run = measure.Judge(m.RunSLOs, rep.Results)
	rep.Stream, rep.Saturation = Stream(phases), Saturation(phases)
	rep.Checks = consistency(rep, phases)
	return rep
}

// sketches returns the sketches of the metrics of a phase that have values.
func sketches(set *measure.Set) map[string]*sketch.Sketch {
	all := map[string]*sketch.Sketch{}
	for _, def := range catalogue.Defs() {
		if s, ok := set.Histogram(def.Tag); ok && s.Count() > 0 {
			all[def.Tag] = s
		}
	}
	return all
}

// slots returns how many requests a phase keeps in flight; 0 = as many as there are.
func slots(p *spec.Phase) int {
	if p.Open() {
		return 0
	}
	return p.Concurrency
}

// slicesOf returns the time slices of a phase.
func slicesOf(m *Measured, all []measure.Slice, clock bench.Clock) []export.Slice {
	var out []export.Slice
	for _, s := range all {
		out = append(out, export.Slice{
			Phase: m.Stats.Name, Start: clock.Wall(s.From), End: clock.Wall(s.To), Complete: s.Complete, Results: s.Results,
		})
	}
	return out
}

// windowsOf returns the windows of a phase.
func windowsOf(all []measure.Window, clock bench.Clock) []export.Window {
	var out []export.Window
	for _, w := range all {
		out = append(out, export.Window{
			Name: w.Name, Method: w.Method, Absent: w.Absent, Start: clock.Wall(w.From), End: clock.Wall(w.To), Results: w.Results, Trend: w.Trend,
		})
	}
	return out
}

// describe returns a report with the fields that do not depend on measurements.
func describe(r *run.Run, m *plan.Measure) *export.Report {
	rep := &export.Report{
		Identity:    export.Identity{RunID: r.ID, Version: r.Version, Seed: r.Seed, Name: r.Name, Labels: r.Labels, CLICommand: r.CLICommand},
		InputConfig: config.InputConfig(m.Document), Models: r.Models, Endpoint: r.Endpoint, Title: m.Kind.Title, Streaming: r.Streaming,
		SLOs: export.SLOs{Requests: m.Metrics.SLOs}, Groups: export.Groups{Targets: r.Targets}, Layout: m.Files.Layout,
	}
	for i := range m.Phases {
		if p := &m.Phases[i]; p.Kind == bench.Profiling {
			if rep.Load != "" {
				rep.Load += ", then "
			}
			rep.Load += p.Load
		}
	}
	return rep
}

// pooled returns the results and errors of several phases together; those of a
// single one are in its report already.
func pooled(parts []measure.Part, done []export.PhaseReport) (metric.Results, []metric.ErrorGroup) {
	switch len(parts) {
	case 0:
		return nil, nil
	case 1:
		i := slices.IndexFunc(done, func(r export.PhaseReport) bool { return r.Stats.Index == parts[0].Phase.Index })
		return done[i].Results, done[i].Errors
	}
	results, err := measure.Pool(parts...)
	if err != nil {
		panic(fmt.Sprintf("phases of one run have the same metrics: %v", err))
	}
	all := measure.NewErrorGroups()
	for _, p := range parts {
		for _, g := range p.Set.ErrorGroups() {
			all.AddGroup(&g)
		}
	}
	return results, all.Groups()
}

// consistency checks whether the numbers of every phase in a report agree.
func consistency(rep *export.Report, phases []Measured) verdict.Checks {
	var checks []verdict.Checks
	for i := range phases {
		m, r := &phases[i], &rep.Phases[i]
		checks = append(checks, verdict.Check(&verdict.Account{
			Results: r.Results, Counters: m.Set.Counters(), Stats: m.Stats, Window: m.Stats.Measured(m.Stats.LastUpdate),
			Start: r.Start, End: r.End, Tally: m.Tally, Self: m.Self,
		}))
	}
	return verdict.JoinChecks(checks)
}
