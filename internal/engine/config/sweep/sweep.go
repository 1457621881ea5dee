// Package sweep has the blocks of a document that ask for several runs, and computes the variations
// that are known in advance: grids, lists, Sobol points and Latin hypercubes.
package sweep

import (
	"aiperfd/internal/engine/config/schema"
	"aiperfd/internal/engine/config/tree"
)

// The types of sweeps.
const (
	Grid           = "grid"            // the product of lists of values
	Zip            = "zip"             // the lists side by side
	Scenarios      = "scenarios"       // named variations
	Sobol          = "sobol"           // points of a Sobol sequence
	LatinHypercube = "latin_hypercube" // points of a Latin hypercube
	Adaptive       = "adaptive_search" // the next point follows from the results
	Paired         = "ab"              // the document's server and another one, compared by pairs of requests
)

// The orders of trials.
const (
	Repeated    = "repeated"    // the first trial of every variation, then the second
	Independent = "independent" // all trials of a variation, then the next variation
)

// Abort ends a sweep at its first failed variation.
const Abort = "abort"

// The defaults.
const (
	DefaultMinRuns = 2
	// defaultPreciseRuns is that of [Precise]: two runs that happen to agree end the repeats too often.
	defaultPreciseRuns = 3
	DefaultStat        = "p95" // of an SLA filter
)

// Block is the sweep block: which variations of the document are performed.
type Block struct {
	Type            string      `json:"type"`
	Parameters      Parameters  `json:"parameters"` // grid and zip: path → values
	Runs            []Scenario  `json:"runs"`       // scenarios
	Samples         int         `json:"samples"`    // sobol and latin_hypercube
	Seed            *int64      `json:"seed"`
	Dimensions      []Dimension `json:"dimensions"`
	Scramble        *bool       `json:"scramble"` // sobol; default true
	Optimization    *string     `json:"optimization"`
	LabelFormat     string      `json:"labelFormat"`
	IterationOrder  string      `json:"iterationOrder"`
	SameSeed        bool        `json:"sameSeed"`
	CooldownSeconds float64     `json:"cooldownSeconds"`
	SLAFilters      []Filter    `json:"slaFilters"`
	StopWhen        []Filter    `json:"stopWhen,omitempty"` // conditions under which more load is not measured
	OnFailure       string      `json:"onFailure"`
	MaxFailures     *int        `json:"maxFailures"`
	RecipeName      string      `json:"recipeName"`

	// AutoRequests replaces the number of requests of the profiling phase by one that is large
	// enough for percentiles: 1000, and 30 per concurrent session.
	AutoRequests bool         `json:"autoRequests,omitempty"`
	PostProcess  *PostProcess `json:"postProcess,omitempty"` // nil = none

	// Of adaptive_search.
	Planner             string            `json:"planner,omitempty"`
	SearchSpace         []SearchDimension `json:"searchSpace,omitempty"`
	Objectives          []Objective       `json:"objectives,omitempty"`
	OutcomeConstraints  []Constraint      `json:"outcomeConstraints,omitempty"`
	SLATiers            []Tier            `json:"slaTiers,omitempty"`
	MaxIterations       int               `json:"maxIterations,omitempty"`
	InitialPoints       int               `json:"nInitialPoints,omitempty"`
	ImprovementPatience int               `json:"improvementPatience,omitempty"`
	PlateauWindow       int               `json:"plateauWindow,omitempty"`
	PlateauThreshold    float64           `json:"plateauThreshold,omitempty"`
	RandomSeed          *int64            `json:"randomSeed,omitempty"` // nil = that of the study
	StabilityTrials     int               `json:"monotonicStabilityTrials,omitempty"`
	SLAReplicates       int               `json:"slaReplicates,omitempty"` // 0 = 2
	SLAPrecision        string            `json:"slaPrecision,omitempty"`
	// before each probe; nil = none but that of the document
	SLAWarmupSeconds *float64 `json:"slaWarmupSeconds,omitempty"`

	// Of the planner capacity.
	AttainmentFraction float64 `json:"sloAttainmentFraction,omitempty"` // share of requests that must be good
	RelativePrecision  float64 `json:"relativePrecision,omitempty"`     // half the width of the interval
	SearchStart        float64 `json:"searchStart,omitempty"`           // where the bracket begins; 0 = twice the lower end
	MaxLoadSeconds     float64 `json:"maxLoadSeconds,omitempty"`        // for which the server is under load, at most; also of ab

	// Of ab.
	Design       string  `json:"design,omitempty"`       // which requests each server gets, and when
	B            Tree    `json:"b,omitzero"`             // merged over the benchmark for the server B
	BlockSeconds float64 `json:"blockSeconds,omitempty"` // least length of a block of pairs
	Margin       float64 `json:"margin,omitempty"`       // share by which a latency may change and still be called equal
}

// Dimension is one dimension of a sampled design.
type Dimension struct {
	Path    string   `json:"path"`
	Lo      *float64 `json:"lo"`
	Hi      *float64 `json:"hi"`
	Scale   string   `json:"scale"`
	Kind    string   `json:"kind"`
	Choices Values   `json:"choices"` // instead of lo and hi
}

// Filter is one condition that a variation must satisfy to be feasible.
type Filter struct {
	MetricTag string  `json:"metricTag"`
	Stat      string  `json:"stat"`
	Op        string  `json:"op"`
	Threshold float64 `json:"threshold"` // in the metric's display unit
}

// Holds reports whether a value satisfies the condition.
func (f Filter) Holds(value float64) bool {
	switch f.Op {
	case "lt":
		return value < f.Threshold
	case "le":
		return value <= f.Threshold
	case "gt":
		return value > f.Threshold
	}
	return value >= f.Threshold
}

// MultiRun is how often every variation is performed.
type MultiRun struct {
	NumRuns                 int          `json:"numRuns"`
	CooldownSeconds         float64      `json:"cooldownSeconds"`
	ConfidenceLevel         float64      `json:"confidenceLevel"`
	DisableWarmupAfterFirst bool         `json:"disableWarmupAfterFirst"`
	SetConsistentSeed       bool         `json:"setConsistentSeed"` // seed 42 if none is given
	VarySeedPerTrial        bool         `json:"varySeedPerTrial"`
	Convergence             *Convergence `json:"convergence"`
}

// Convergence ends the repeats of a variation when its results are stable.
type Convergence struct {
	Metric    string   `json:"metric"`
	Stat      string   `json:"stat"`
	Mode      string   `json:"mode"`
	Threshold *float64 `json:"threshold"`
	MinRuns   int      `json:"minRuns"`
}

// The modes of convergence.
const (
	CIWidth      = "ci_width"
	CV           = "cv"
	Distribution = "distribution"
	Equivalence  = "equivalence" // of p50 and p95 of the last run and of those before
	Precise      = "precision"   // of the mean over all runs of the configuration, see Repeats
)

// Limit returns the threshold, or the default of the mode.
func (c *Convergence) Limit() float64 {
	switch {
	case c.Threshold != nil:
		return *c.Threshold
	case c.Mode == CIWidth: // the whole width
		return 0.10
	}
	return 0.05
}

// Repeats repeats a benchmark until the mean of a statistic is known well enough. It is the short form of a
// [MultiRun] that ends by [Precise], with a seed of its own and a warm-up for every run.
type Repeats struct {
	Metric    string  `json:"metric"`
	Stat      string  `json:"stat"`
	Min       int     `json:"min"`
	Max       int     `json:"max"`
	Precision float64 `json:"precision"` // half the width of the interval, as a share of the mean
}

// NewBlock returns a sweep with the defaults.
func NewBlock() Block {
	var b Block
	schema.Fill(&b, "sweep")
	return b
}

// Boundary reports whether a search looks for a boundary in one dimension, that of its filters or of
// the objectives of requests, and not for an optimum.
func (b *Block) Boundary() bool {
	return b.Planner == MonotonicSLA || b.Planner == SmoothIsotonic || b.Planner == Capacity || len(b.SLATiers) > 0
}

// Decode reads a block over the defaults.
func (b *Block) Decode(f schema.Target, n *tree.Node) bool {
	type fields Block // without this method
	*b = NewBlock()
	f.Fields(n, (*fields)(b), f.Path)
	return true
}

// NewMultiRun returns a single run with the defaults.
func NewMultiRun() MultiRun {
	var m MultiRun
	schema.Fill(&m, "multiRun")
	return m
}
