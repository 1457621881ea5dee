package search

import (
	"math"
	"slices"
	"strconv"

	"aiperfd/internal/engine/config/address"
	"aiperfd/internal/engine/config/sweep"
	"aiperfd/internal/engine/config/tree"
	"aiperfd/internal/study/cell"
)

// SizingOf returns how long the variations of a sweep are measured. document is in the long
// form. If the block asks for a warm-up before each probe, that is put in front of the
// profiling phase, in place of the document's own.
func SizingOf(b *sweep.Block, document *tree.Node) Sizing {
	s := Sizing{Precision: Precision(b.SLAPrecision), Given: !b.AutoRequests}
	phases, _ := address.Find(document, []string{"benchmark", "phases"})
	if phases.Shape != tree.List {
		return s
	}
	if c, n := address.Find(document, []string{"benchmark", "phases", "profiling", "concurrency"}); n == 4 {
		if v, err := strconv.Atoi(c.Scalar); err == nil {
			s.Concurrency = v
		}
	}
	if b.SLAWarmupSeconds == nil || *b.SLAWarmupSeconds == 0 {
		return s
	}
	s.Warmup = *b.SLAWarmupSeconds
	phases.Items = slices.DeleteFunc(phases.Items, func(p *tree.Node) bool { return address.KindOf(p) == "warmup" })
	warmup := tree.ObjectNode()
	warmup.Set("name", tree.TextNode("warmup"))
	warmup.Set("type", tree.TextNode("concurrency"))
	phases.Items = slices.Insert(phases.Items, 0, warmup)
	phases.Locate("#/benchmark/phases")
	return s
}

// FromBlock returns the options of a valid block of a document. sizing is that of
// [SizingOf]; seed is that of the study.
func FromBlock(b *sweep.Block, sizing Sizing, seed int64) Options {
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

// Search is the search of a document.
type Search struct {
	Planner
	Options Options
	Recipe  string // that made it; empty = none
}

// Of returns the search of a valid block, see [FromBlock].
func Of(b *sweep.Block, sizing Sizing, seed int64) *Search {
	o := FromBlock(b, sizing, seed)
	return &Search{New(o), o, b.RecipeName}
}

// History returns what the outcomes so far amount to, as a file has it.
func (s *Search) History(done []cell.Outcome) History {
	return NewHistory(s.Options, s.Summarize(done), s.Recipe)
}

// Corners returns the variations with the lowest and with the highest values, to check
// that the document takes them.
func (s *Search) Corners() []cell.Variation {
	var low, high []float64
	for _, d := range s.Options.Space {
		lo, hi := d.Lo, d.Hi
		if d.Integer {
			lo, hi = math.Ceil(lo), math.Floor(hi)
		}
		low, high = append(low, lo), append(high, hi)
	}
	var out []cell.Variation
	for _, at := range [][]float64{low, high} {
		v, _ := s.Options.variation(nil, at)
		v.Label = sweep.Label(v.Values)
		out = append(out, v)
	}
	return out
}
