package search

import (
	"math"
	"slices"

	"aiperfd/internal/engine/config/vary"
)

// History is search_history.json: AIPerf 0.13's file, with members of ours behind its own.
type History struct {
	Config            historyConfig      `json:"config"`
	Iterations        []historyIteration `json:"iterations"`
	BestTrials        []historyBest      `json:"best_trials"` // null = nothing was measured
	BoundarySummary   *historyBoundary   `json:"boundary_summary"`
	Recipe            *string            `json:"recipe"`
	ConvergenceReason *string            `json:"convergence_reason"` // null = the search was interrupted
	Tiers             []historyTier      `json:"tiers,omitempty"`
}

type historyConfig struct {
	Planner            Algorithm          `json:"planner"`
	Objectives         []historyObjective `json:"objectives"`
	OutcomeConstraints []struct{}         `json:"outcome_constraints"` // always empty: they are read as filters
	SearchSpace        []historyDimension `json:"search_space"`
	SLAFilters         []historyFilter    `json:"sla_filters"`
	MaxIterations      int                `json:"max_iterations"`
	InitialPoints      int                `json:"n_initial_points"`
	RandomSeed         int64              `json:"random_seed"`
	Patience           int                `json:"improvement_patience"`
	PlateauWindow      int                `json:"plateau_window"`
	PlateauThreshold   float64            `json:"plateau_threshold"`
}

type historyObjective struct {
	Metric    string   `json:"metric"`
	Stat      string   `json:"stat"`
	Direction string   `json:"direction"`
	Threshold *float64 `json:"threshold"`
}

type historyDimension struct {
	Path string  `json:"path"`
	Lo   float64 `json:"lo"`
	Hi   float64 `json:"hi"`
	Kind string  `json:"kind"`
}

type historyIteration struct {
	Index        int            `json:"iteration_idx"`
	Values       map[string]any `json:"variation_values"`
	Objectives   []*float64     `json:"objective_values"` // null = one was not measured
	Feasible     bool           `json:"feasible"`
	NonMonotonic bool           `json:"non_monotonic_warning"`

	// Ours.
	Label         string           `json:"label"`
	Settings      map[string]any   `json:"settings,omitempty"` // how long it was measured
	SLA           []historyReading `json:"sla,omitempty"`
	ClientLimited bool             `json:"client_limited,omitempty"`
	Runs          []historyRun     `json:"runs"`
}

type historyFilter struct {
	MetricTag string  `json:"metric_tag"`
	Stat      string  `json:"stat"`
	Op        string  `json:"op"`
	Threshold float64 `json:"threshold"`
}

type historyReading struct {
	historyFilter
	Observed    *float64 `json:"observed"`
	Unsupported bool     `json:"unsupported,omitempty"` // too few requests for the percentile
}

func newReading(r *Reading) *historyReading {
	if r == nil {
		return nil
	}
	return &historyReading{historyFilter(r.Filter), r.Observed, r.Unsupported}
}

type historyRun struct {
	ID      string `json:"run_id"`
	Label   string `json:"label"`
	Failure string `json:"failure,omitempty"`
}

type historyBest struct {
	Index         int            `json:"iteration_idx"`
	Objectives    []*float64     `json:"objective_values"`
	Values        map[string]any `json:"variation_values"`
	Feasible      bool           `json:"feasible"`
	FeasibleCount int            `json:"feasible_count"`
	ParetoRank    int            `json:"pareto_rank"`
}

type historyBoundary struct {
	Path     string           `json:"swept_dim_path"`
	Pass     *historyPass     `json:"feasible_max"`
	Fail     *historyFail     `json:"infeasible_min"`
	Type     string           `json:"boundary_type,omitempty"`
	Binding  string           `json:"binding_constraint,omitempty"`
	Interval *historyInterval `json:"boundary_ci,omitempty"`
}

type historyPass struct {
	Value     float64  `json:"value"`
	Iteration int      `json:"iteration_idx"`
	Objective *float64 `json:"objective_value"`
}

type historyFail struct {
	Value     float64         `json:"value"`
	Iteration int             `json:"iteration_idx"`
	Breach    *historyReading `json:"first_breach"`
}

type historyInterval struct {
	Lo float64 `json:"lo"`
	Hi float64 `json:"hi"`
}

type historyTier struct {
	Label    string           `json:"label"`
	Status   string           `json:"status"`
	Boundary *historyBoundary `json:"boundary_summary"`
}

// NewHistory returns the history of a search. recipe may be empty.
func NewHistory(o Options, s Summary, recipe string) History {
	h := History{
		Config: o.history(), Iterations: []historyIteration{},
		Recipe: optional(recipe), ConvergenceReason: optional(s.Reason), BoundarySummary: s.boundary(s.Boundary),
	}
	feasible := 0
	for _, it := range s.Iterations {
		h.Iterations = append(h.Iterations, it.history())
		if it.Verdict.Pass && it.measured() {
			feasible++
		}
	}
	for _, i := range s.Best {
		it := h.Iterations[i]
		h.BestTrials = append(h.BestTrials, historyBest{
			Index: it.Index, Objectives: it.Objectives, Values: it.Values, Feasible: it.Feasible, FeasibleCount: feasible,
		})
	}
	for _, tier := range s.Tiers {
		h.Tiers = append(h.Tiers, historyTier{tier.Label, tier.Status, s.boundary(tier.Boundary)})
	}
	return h
}

func optional(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

func (o *Options) history() historyConfig {
	c := historyConfig{
		Planner: o.Algorithm, Objectives: []historyObjective{}, OutcomeConstraints: []struct{}{}, SLAFilters: []historyFilter{},
		MaxIterations: o.Iterations, InitialPoints: o.Initial, RandomSeed: o.Seed,
		Patience: o.Patience, PlateauWindow: o.PlateauWindow, PlateauThreshold: o.PlateauThreshold,
	}
	for _, f := range o.Filters {
		c.SLAFilters = append(c.SLAFilters, historyFilter(f))
	}
	for _, x := range o.Objectives {
		direction := "minimize"
		if x.Maximize {
			direction = "maximize"
		}
		c.Objectives = append(c.Objectives, historyObjective{Metric: x.Metric, Stat: x.Stat, Direction: direction})
	}
	for _, d := range o.Space {
		kind := "real"
		if d.Integer {
			kind = "int"
		}
		c.SearchSpace = append(c.SearchSpace, historyDimension{d.Path, d.Lo, d.Hi, kind})
	}
	return c
}

// measured reports whether all objectives were.
func (it *Iteration) measured() bool { return !slices.Contains(it.Objectives, nil) }

func (it *Iteration) history() historyIteration {
	o := it.Outcome
	out := historyIteration{
		Index: o.Index, Values: byPath(o.Values), Feasible: it.Verdict.Pass, NonMonotonic: it.NonMonotonic,
		Label: o.Label, Settings: byPath(o.Settings), ClientLimited: it.ClientLimited,
	}
	for i := range it.Verdict.Readings {
		out.SLA = append(out.SLA, *newReading(&it.Verdict.Readings[i]))
	}
	if it.measured() {
		out.Objectives = it.Objectives
	}
	for _, t := range o.Trials {
		out.Runs = append(out.Runs, historyRun{t.RunID, t.Label, t.Failure})
	}
	return out
}

// byPath returns assignments as an object. Whole numbers are written without a fraction.
func byPath(values []vary.Assignment) map[string]any {
	if len(values) == 0 {
		return nil
	}
	out := make(map[string]any, len(values))
	for _, a := range values {
		out[a.Path] = a.Value
		if x, ok := a.Value.(float64); ok && x == math.Trunc(x) {
			out[a.Path] = int64(x)
		}
	}
	return out
}

func (s *Summary) boundary(b *Boundary) *historyBoundary {
	if b == nil {
		return nil
	}
	out := &historyBoundary{Path: b.Path, Type: b.Type}
	if b.Pass != nil {
		out.Pass = &historyPass{Value: b.Pass.Value, Iteration: b.Pass.Iteration}
		for _, it := range s.Iterations {
			if it.Outcome.Index == b.Pass.Iteration && len(it.Objectives) > 0 {
				out.Pass.Objective = it.Objectives[0]
			}
		}
	}
	if b.Fail != nil {
		out.Fail = &historyFail{b.Fail.Value, b.Fail.Iteration, newReading(b.Fail.Breach)}
	}
	if b.Binding != nil {
		out.Binding = b.Binding.MetricTag + ":" + b.Binding.Stat
	}
	if b.Interval != nil {
		out.Interval = &historyInterval{b.Interval[0], b.Interval[1]}
	}
	return out
}
