package search

import (
	"slices"

	"aiperfd/internal/engine/config"
	"aiperfd/internal/engine/config/sweep"
	"aiperfd/internal/study/cell"
)

// OptionsOf returns the options of a search. The sweep of the study is valid.
func OptionsOf(s *config.Study) Options {
	b := s.Sweep
	o := Options{
		Algorithm: Algorithm(b.Planner), Filters: slices.Clone(b.SLAFilters), Iterations: b.MaxIterations, Initial: b.InitialPoints,
		Patience: b.ImprovementPatience, PlateauWindow: b.PlateauWindow, PlateauThreshold: b.PlateauThreshold,
		Stability: b.StabilityTrials, Replicates: b.SLAReplicates, Seed: s.Seed, Sizing: s.Sizing,
	}
	if b.RandomSeed != nil {
		o.Seed = *b.RandomSeed
	}
	for _, d := range b.SearchSpace {
		o.Space = append(o.Space, Dimension{Path: d.Path, Lo: *d.Lo, Hi: *d.Hi, Integer: d.Kind == "int", Log: d.Prior == "log-uniform"})
	}
	for _, x := range b.Objectives {
		o.Objectives = append(o.Objectives, Objective{Metric: x.Metric, Stat: x.Stat, Maximize: x.Direction == "maximize"})
	}
	for _, c := range b.OutcomeConstraints {
		op := map[string]string{"<=": "le", ">=": "ge"}[c.Op]
		o.Filters = append(o.Filters, Filter{MetricTag: c.Metric, Stat: "avg", Op: op, Threshold: *c.Bound})
	}
	for _, t := range b.SLATiers {
		o.Tiers = append(o.Tiers, Tier{Label: t.Label, Filters: t.Filters})
	}
	switch {
	case len(o.Tiers) > 0:
		o.Algorithm = Tiered
	case b.Planner == sweep.Optuna:
		o.Algorithm = Bayesian
	}
	return o
}

// Search is the search of a document.
type Search struct {
	Planner
	Options Options
	Recipe  string // that made it; empty = none
}

// Of returns the search of a study; nil = its variations are known.
func Of(s *config.Study) *Search {
	if !s.Adaptive() {
		return nil
	}
	o := OptionsOf(s)
	if o.Algorithm == Capacity {
		return &Search{loadOf(s, o), o, s.Sweep.RecipeName}
	}
	return &Search{New(o), o, s.Sweep.RecipeName}
}

// PlannerOf returns the planner of the variations of a study.
func PlannerOf(s *config.Study) cell.Planner {
	if found := Of(s); found != nil {
		return found
	}
	return cell.List(s.Variations)
}

// History returns what the outcomes so far amount to, as a file has it.
func (s *Search) History(done []cell.Outcome) History {
	return NewHistory(s.Options, s.Summarize(done), s.Recipe)
}
