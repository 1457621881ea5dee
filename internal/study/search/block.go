package search

import (
	"slices"

	"aiperfd/internal/engine/config/sweep"
)

// FromBlock returns the options of a valid block of a document. sizing is what the
// document says about the length of a phase; seed is that of the study.
func FromBlock(b *sweep.Block, sizing Sizing, seed int64) Options {
	sizing.Precision = Precision(b.SLAPrecision)
	if b.SLAWarmupSeconds != nil {
		sizing.Warmup = *b.SLAWarmupSeconds
	}
	o := Options{
		Algorithm: Algorithm(b.Planner), Filters: slices.Clone(b.SLAFilters), Iterations: b.MaxIterations, Initial: b.InitialPoints,
		Patience: b.ImprovementPatience, PlateauWindow: b.PlateauWindow, PlateauThreshold: b.PlateauThreshold,
		Stability: b.StabilityTrials, Replicates: b.SLAReplicates, Seed: seed, Sizing: sizing,
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
