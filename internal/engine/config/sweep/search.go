package sweep

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"aiperfd/internal/engine/config/schema"
	"aiperfd/internal/engine/config/vary"
)

// The planners of adaptive searches.
const (
	Bayesian       = "bayesian"
	Optuna         = "optuna" // AIPerf's other name for the same; there is one implementation here
	MonotonicSLA   = "monotonic_sla"
	SmoothIsotonic = "smooth_isotonic"
)

// The defaults of adaptive searches.
const (
	DefaultIterations       = 20
	DefaultInitialPoints    = 5
	DefaultPatience         = 10
	DefaultPlateauWindow    = 8
	DefaultPlateauThreshold = 0.01
	DefaultStability        = 2
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

// searchRules checks and completes an adaptive search.
type searchRules struct {
	*Block
	rules
}

// planners names the members that only some planners use.
func planners() map[string][]string {
	optimum := []string{Bayesian, Optuna}
	return map[string][]string{
		"nInitialPoints": optimum, "improvementPatience": optimum, "plateauWindow": optimum, "plateauThreshold": optimum,
		"monotonicStabilityTrials": {MonotonicSLA}, "slaReplicates": {SmoothIsotonic},
	}
}

// checkSearch checks the search and fills in its defaults.
func (b searchRules) checkSearch(path string) {
	if b.Planner == "" {
		b.Planner = Bayesian
	}
	b.checkSpace(path + ".searchSpace")
	b.checkObjectives(path)
	for i := range b.OutcomeConstraints {
		for _, name := range []string{"metric", "op", "bound"} {
			if at := path + ".outcomeConstraints." + strconv.Itoa(i) + "." + name; !b.has(at) {
				b.require(at, name+" is required")
			}
		}
	}
	b.checkTiers(path)
	for name, uses := range planners() {
		if at := path + "." + name; b.has(at) && (len(b.SLATiers) > 0 || !slices.Contains(uses, b.Planner)) {
			b.Conflict(at, "the search does not use it; it is for the planner "+schema.ChoiceList(uses))
		}
	}
	b.searchDefaults()
	if !b.Boundary() && b.InitialPoints >= b.MaxIterations && b.has(path+".nInitialPoints") {
		b.Conflict(path+".nInitialPoints", "must be less than maxIterations")
	}
}

func (b searchRules) searchDefaults() {
	fill := func(p *int, v int) {
		if *p == 0 {
			*p = v
		}
	}
	fill(&b.MaxIterations, DefaultIterations)
	fill(&b.InitialPoints, min(DefaultInitialPoints, max(b.MaxIterations-1, 1)))
	fill(&b.ImprovementPatience, DefaultPatience)
	fill(&b.PlateauWindow, DefaultPlateauWindow)
	fill(&b.StabilityTrials, DefaultStability)
	if b.PlateauThreshold == 0 {
		b.PlateauThreshold = DefaultPlateauThreshold
	}
	if b.SLAPrecision == "" {
		b.SLAPrecision = "normal"
	}
}

func (b searchRules) checkSpace(path string) {
	if len(b.SearchSpace) == 0 {
		if !b.Failed[path] {
			b.require(path, "searchSpace is required: the paths that the search may vary, each with lo and hi")
		}
		return
	}
	seen := make(map[string]bool)
	for i := range b.SearchSpace {
		d, at := &b.SearchSpace[i], path+"."+strconv.Itoa(i)
		if d.Path != "" && seen[d.Path] {
			b.Conflict(at+".path", "the path "+d.Path+" is given twice")
		}
		seen[d.Path] = true
		d.check(b.rules, at)
	}
	if b.Boundary() && (len(b.SearchSpace) != 1 || b.SearchSpace[0].Kind != "int") {
		b.Conflict(path, "a search for a boundary takes one dimension, of kind int")
	}
}

func (d *SearchDimension) check(r rules, path string) {
	for _, name := range []string{"path", "lo", "hi"} {
		if !r.has(path + "." + name) {
			r.require(path+"."+name, name+" is required")
		}
	}
	if d.Kind == "" {
		d.Kind = "real"
	}
	if d.Prior == "" {
		d.Prior = "uniform"
	}
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

func (b searchRules) checkObjectives(path string) {
	if len(b.Objectives) == 0 && !b.Boundary() && !b.Failed[path+".objectives"] {
		b.require(path+".objectives", "objectives is required: what the search maximizes or minimizes")
	}
	for i := range b.Objectives {
		o := &b.Objectives[i]
		for _, name := range []string{"metric", "direction"} {
			if at := path + ".objectives." + strconv.Itoa(i) + "." + name; !b.has(at) {
				b.require(at, name+" is required")
			}
		}
		if o.Stat == "" {
			o.Stat = "avg"
		}
	}
}

func (b searchRules) checkTiers(path string) {
	if len(b.SLATiers) == 0 {
		if b.Boundary() && len(b.SLAFilters) == 0 && !b.Failed[path+".slaFilters"] {
			b.require(path+".slaFilters", "the planner "+b.Planner+" needs at least one filter in slaFilters")
		}
		return
	}
	if b.has(path+".planner") && b.Planner != MonotonicSLA {
		b.Conflict(path+".planner", "slaTiers are searched by bisection: leave planner out, or give "+MonotonicSLA)
	}
	seen := make(map[string]bool)
	for i := range b.SLATiers {
		t, at := &b.SLATiers[i], path+".slaTiers."+strconv.Itoa(i)
		if t.Label == "" && !b.Failed[at+".label"] {
			b.require(at+".label", "label is required")
		} else if seen[t.Label] {
			b.Conflict(at+".label", "the label is given twice")
		}
		seen[t.Label] = true
		for j := range t.Filters {
			t.Filters[j].check(b.rules, at+".filters."+strconv.Itoa(j))
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
