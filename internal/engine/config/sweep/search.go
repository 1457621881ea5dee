package sweep

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"

	"aiperfd/internal/engine/config/schema"
	"aiperfd/internal/engine/config/tree"
	"aiperfd/internal/engine/config/vary"
)

// The planners of adaptive searches.
const (
	Bayesian       = "bayesian"
	Optuna         = "optuna" // AIPerf's other name for the same; there is one implementation here
	MonotonicSLA   = "monotonic_sla"
	SmoothIsotonic = "smooth_isotonic"
	Capacity       = "capacity" // the load at which a share of the requests meets all objectives
)

// Attainment is the metric by which the planner capacity judges a probe: the share of the requests
// due in its window that met all objectives on the clock of due times, in percent. It is not a
// metric of runs, whose results include the warm-up of the probe.
const Attainment = "attainment"

// The defaults of adaptive searches.
const (
	DefaultIterations       = 20
	DefaultInitialPoints    = 5
	DefaultPatience         = 10
	DefaultPlateauWindow    = 8
	DefaultPlateauThreshold = 0.01
	DefaultStability        = 2

	DefaultCapacityProbes    = 40
	DefaultAttainment        = 0.95
	DefaultRelativePrecision = 0.05
	DefaultMaxLoadSeconds    = 3600
)

// SearchDimension is one dimension of the space of a search.
type SearchDimension struct {
	Path  string   `json:"path"`
	Lo    *float64 `json:"lo"` // required
	Hi    *float64 `json:"hi"` // required; greater than lo
	Kind  string   `json:"kind,omitempty"`
	Prior string   `json:"prior,omitempty"`
}

// Objective is a statistic that a search optimizes.
type Objective struct {
	Metric    string `json:"metric"`
	Stat      string `json:"stat,omitempty"`
	Direction string `json:"direction"`
}

// Constraint is a limit of the mean of a metric.
type Constraint struct {
	Metric string   `json:"metric"`
	Op     string   `json:"op"`
	Bound  *float64 `json:"bound"`
}

// Tier is a group of filters with a boundary of its own.
type Tier struct {
	Label   string   `json:"label"`
	Filters []Filter `json:"filters"`
}

// planners names the members that only some planners use.
func planners() map[string][]string {
	optimum := []string{Bayesian, Optuna}
	return map[string][]string{
		"nInitialPoints": optimum, "improvementPatience": optimum, "plateauWindow": optimum, "plateauThreshold": optimum,
		"monotonicStabilityTrials": {MonotonicSLA}, "slaReplicates": {SmoothIsotonic},
		"sloAttainmentFraction": {Capacity}, "relativePrecision": {Capacity}, "searchStart": {Capacity},
		"maxLoadSeconds": {Capacity},
	}
}

// checkSearch checks the search and fills in its defaults.
func (b *Block) checkSearch(r rules, path string) {
	b.Planner = cmp.Or(b.Planner, Bayesian)
	b.checkSpace(r, path+".searchSpace")
	b.checkObjectives(r, path)
	for i := range b.OutcomeConstraints {
		r.requireAll(path+".outcomeConstraints."+strconv.Itoa(i), "metric", "op", "bound")
	}
	b.checkTiers(r, path)
	for name, uses := range planners() {
		if at := path + "." + name; r.Has(at) && (len(b.SLATiers) > 0 || !slices.Contains(uses, b.Planner)) {
			r.Conflict(at, "the search does not use it; it is for the planner "+schema.ChoiceList(uses))
		}
	}
	if b.Planner == Capacity {
		b.checkCapacity(r, path)
	}
	b.searchDefaults()
	if !b.Boundary() && b.InitialPoints >= b.MaxIterations && r.Has(path+".nInitialPoints") {
		r.Conflict(path+".nInitialPoints", "must be less than maxIterations")
	}
}

// checkCapacity checks a search that is judged by the objectives of single requests, and not by
// filters, and fills in its defaults.
func (b *Block) checkCapacity(r rules, path string) {
	for _, name := range []string{"slaFilters", "slaTiers", "outcomeConstraints", "objectives", "slaPrecision", "autoRequests"} {
		if r.Has(path + "." + name) {
			r.Conflict(path+"."+name, "the planner capacity is judged by the objectives of requests (benchmark.slos)")
		}
	}
	b.MaxIterations = cmp.Or(b.MaxIterations, DefaultCapacityProbes)
	b.AttainmentFraction = cmp.Or(b.AttainmentFraction, DefaultAttainment)
	b.RelativePrecision = cmp.Or(b.RelativePrecision, DefaultRelativePrecision)
	b.MaxLoadSeconds = cmp.Or(b.MaxLoadSeconds, DefaultMaxLoadSeconds)
	b.SLAFilters = []Filter{{MetricTag: Attainment, Stat: "avg", Op: "ge", Threshold: 100 * b.AttainmentFraction}}
	if len(b.SearchSpace) != 1 || b.SearchSpace[0].Lo == nil || b.SearchSpace[0].Hi == nil {
		return
	}
	d, at := &b.SearchSpace[0], path+".searchSpace.0"
	if name := tree.SnakeCase(Name(d.Path)); name != "rate" && name != "concurrency" {
		r.Conflict(at+".path", "the planner capacity varies phases.profiling.rate or phases.profiling.concurrency")
	} else if name == "concurrency" && d.Kind != "int" {
		r.Conflict(at+".kind", "a concurrency is of kind int")
	}
	if *d.Lo <= 0 {
		r.Conflict(at+".lo", "the least load must be greater than 0")
	}
	if x := b.SearchStart; x != 0 && (x < *d.Lo || x > *d.Hi) {
		r.Conflict(path+".searchStart", fmt.Sprintf("must lie between lo and hi, %v to %v", *d.Lo, *d.Hi))
	}
}

func (b *Block) searchDefaults() {
	b.MaxIterations = cmp.Or(b.MaxIterations, DefaultIterations)
	b.InitialPoints = cmp.Or(b.InitialPoints, min(DefaultInitialPoints, max(b.MaxIterations-1, 1)))
	b.ImprovementPatience = cmp.Or(b.ImprovementPatience, DefaultPatience)
	b.PlateauWindow = cmp.Or(b.PlateauWindow, DefaultPlateauWindow)
	b.StabilityTrials = cmp.Or(b.StabilityTrials, DefaultStability)
	b.PlateauThreshold = cmp.Or(b.PlateauThreshold, DefaultPlateauThreshold)
	b.SLAPrecision = cmp.Or(b.SLAPrecision, string(Normal))
}

func (b *Block) checkSpace(r rules, path string) {
	if len(b.SearchSpace) == 0 {
		if !r.Failed[path] {
			r.require(path, "searchSpace is required: the paths that the search may vary, each with lo and hi")
		}
		return
	}
	seen := make(map[string]bool)
	for i := range b.SearchSpace {
		d, at := &b.SearchSpace[i], path+"."+strconv.Itoa(i)
		if d.Path != "" && seen[d.Path] {
			r.Conflict(at+".path", "the path "+d.Path+" is given twice")
		}
		seen[d.Path] = true
		d.check(r, at)
	}
	switch {
	case b.Planner == Capacity && len(b.SearchSpace) != 1:
		r.Conflict(path, "a search for a capacity takes one dimension")
	case b.Boundary() && b.Planner != Capacity && (len(b.SearchSpace) != 1 || b.SearchSpace[0].Kind != "int"):
		r.Conflict(path, "a search for a boundary takes one dimension, of kind int")
	}
}

func (d *SearchDimension) check(r rules, path string) {
	r.requireAll(path, "path", "lo", "hi")
	d.Kind, d.Prior = cmp.Or(d.Kind, "real"), cmp.Or(d.Prior, "uniform")
	if d.Lo == nil || d.Hi == nil {
		return
	}
	switch {
	case !(*d.Lo < *d.Hi):
		r.Conflict(path+".lo", fmt.Sprintf("the lower end %v must be less than the upper end %v", *d.Lo, *d.Hi))
	case d.Prior == "log-uniform" && *d.Lo <= 0:
		r.Conflict(path+".lo", "must be greater than 0 with prior log-uniform")
	case d.Kind == "int" && math.Ceil(*d.Lo) >= math.Floor(*d.Hi):
		r.Conflict(path+".lo", "there must be two whole numbers from lo to hi")
	}
}

func (b *Block) checkObjectives(r rules, path string) {
	if len(b.Objectives) == 0 && !b.Boundary() && !r.Failed[path+".objectives"] {
		r.require(path+".objectives", "objectives is required: what the search maximizes or minimizes")
	}
	for i := range b.Objectives {
		o := &b.Objectives[i]
		r.requireAll(path+".objectives."+strconv.Itoa(i), "metric", "direction")
		o.Stat = cmp.Or(o.Stat, "avg")
	}
}

func (b *Block) checkTiers(r rules, path string) {
	if len(b.SLATiers) == 0 {
		if b.Boundary() && b.Planner != Capacity && len(b.SLAFilters) == 0 && !r.Failed[path+".slaFilters"] {
			r.require(path+".slaFilters", "the planner "+b.Planner+" needs at least one filter in slaFilters")
		}
		return
	}
	if r.Has(path+".planner") && b.Planner != MonotonicSLA {
		r.Conflict(path+".planner", "slaTiers are searched by bisection: leave planner out, or give "+MonotonicSLA)
	}
	seen := make(map[string]bool)
	for i := range b.SLATiers {
		t, at := &b.SLATiers[i], path+".slaTiers."+strconv.Itoa(i)
		if t.Label == "" && !r.Failed[at+".label"] {
			r.require(at+".label", "label is required")
		} else if seen[t.Label] {
			r.Conflict(at+".label", "the label is given twice")
		}
		seen[t.Label] = true
		for j := range t.Filters {
			t.Filters[j].check(r, at+".filters."+strconv.Itoa(j))
		}
	}
}

// Corners returns the variations of a search with the lowest and with the highest values, to
// check that the document takes them.
func (b *Block) Corners(sizing Sizing) []vary.Variation {
	out := make([]vary.Variation, 2)
	for _, d := range b.SearchSpace {
		lo, hi := *d.Lo, *d.Hi
		if d.Kind == "int" {
			lo, hi = math.Ceil(lo), math.Floor(hi)
		}
		for i, x := range []float64{lo, hi} {
			out[i].Values = append(out[i].Values, vary.Assignment{Path: d.Path, Value: x})
		}
	}
	for i := range out {
		out[i].Label = Label(out[i].Values)
		out[i].Folder = "search_iter_0000"
		out[i].Settings = sizing.Settings(out[i].Values)
	}
	return out
}
