// Package sweep holds the blocks of a document that ask for more than one run: which
// variations of it are performed, and how often.
package sweep

import (
	"aiperfd/internal/engine/config/decode"
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
	DefaultConfidence = 0.95
	DefaultMinRuns    = 2
	DefaultStat       = "p95" // of an SLA filter
)

// Block is the sweep block: which variations of the document are performed.
type Block struct {
	Type            string      `json:"type" validate:"oneof=grid zip scenarios sobol latin_hypercube adaptive_search"`
	Parameters      Parameters  `json:"parameters"`                        // grid and zip: path → values
	Runs            []Scenario  `json:"runs"`                              // scenarios
	Samples         int         `json:"samples" validate:"gte=2,lte=1000"` // sobol and latin_hypercube
	Seed            *int64      `json:"seed" validate:"gte=0"`
	Dimensions      []Dimension `json:"dimensions" validate:"min=1,max=21"`
	Scramble        *bool       `json:"scramble"` // sobol; default true
	Optimization    *string     `json:"optimization" validate:"oneof=random-cd lloyd none"`
	LabelFormat     string      `json:"labelFormat" validate:"oneof=index kv"`
	IterationOrder  string      `json:"iterationOrder" validate:"oneof=repeated independent"`
	SameSeed        bool        `json:"sameSeed"`
	CooldownSeconds float64     `json:"cooldownSeconds" validate:"gte=0,lte=86400"`
	SLAFilters      []Filter    `json:"slaFilters"`
	StopWhen        []Filter    `json:"stopWhen,omitempty"` // conditions under which more load is not measured
	OnFailure       string      `json:"onFailure" validate:"oneof=continue abort"`
	MaxFailures     *int        `json:"maxFailures" validate:"gte=1"`
	RecipeName      string      `json:"recipeName"`

	// AutoRequests replaces the number of requests of the profiling phase by one that is large
	// enough for percentiles: 1000, and 30 per concurrent session.
	AutoRequests bool         `json:"autoRequests,omitempty"`
	PostProcess  *PostProcess `json:"postProcess,omitempty"` // nil = none

	// Of adaptive_search.
	Planner             string            `json:"planner,omitempty" validate:"oneof=bayesian optuna monotonic_sla smooth_isotonic"`
	SearchSpace         []SearchDimension `json:"searchSpace,omitempty" validate:"min=1,max=21"`
	Objectives          []Objective       `json:"objectives,omitempty" validate:"max=4"`
	OutcomeConstraints  []Constraint      `json:"outcomeConstraints,omitempty"`
	SLATiers            []Tier            `json:"slaTiers,omitempty" validate:"min=2,max=10"`
	MaxIterations       int               `json:"maxIterations,omitempty" validate:"gte=2,lte=200"`
	InitialPoints       int               `json:"nInitialPoints,omitempty" validate:"gte=1"`
	ImprovementPatience int               `json:"improvementPatience,omitempty" validate:"gte=2"`
	PlateauWindow       int               `json:"plateauWindow,omitempty" validate:"gte=2"`
	PlateauThreshold    float64           `json:"plateauThreshold,omitempty" validate:"gt=0"`
	RandomSeed          *int64            `json:"randomSeed,omitempty" validate:"gte=0"` // nil = that of the study
	StabilityTrials     int               `json:"monotonicStabilityTrials,omitempty" validate:"gte=1,lte=10"`
	SLAReplicates       int               `json:"slaReplicates,omitempty" validate:"gte=0,lte=20"` // 0 = 2
	SLAPrecision        string            `json:"slaPrecision,omitempty" validate:"oneof=tight normal coarse"`
	SLAWarmupSeconds    *float64          `json:"slaWarmupSeconds,omitempty" validate:"gte=0,lte=3600"` // before each probe; nil = none but that of the document
}

// Dimension is one dimension of a sampled design.
type Dimension struct {
	Path    string   `json:"path" validate:"min=1"`
	Lo      *float64 `json:"lo"`
	Hi      *float64 `json:"hi"`
	Scale   string   `json:"scale" validate:"oneof=linear log"`
	Kind    string   `json:"kind" validate:"oneof=int real"`
	Choices Values   `json:"choices"` // instead of lo and hi
}

// Filter is one condition that a variation must satisfy to be feasible.
type Filter struct {
	MetricTag string  `json:"metricTag" choices:"metrics"`
	Stat      string  `json:"stat" validate:"oneof=avg p1 p5 p10 p25 p50 p75 p90 p95 p99 min max"`
	Op        string  `json:"op" validate:"oneof=lt le gt ge"`
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
	NumRuns                 int          `json:"numRuns" validate:"gte=1,lte=10"`
	CooldownSeconds         float64      `json:"cooldownSeconds" validate:"gte=0,lte=86400"`
	ConfidenceLevel         float64      `json:"confidenceLevel" validate:"gt=0"`
	DisableWarmupAfterFirst bool         `json:"disableWarmupAfterFirst"`
	SetConsistentSeed       bool         `json:"setConsistentSeed"` // seed 42 if none is given
	VarySeedPerTrial        bool         `json:"varySeedPerTrial"`
	Convergence             *Convergence `json:"convergence"`
}

// Convergence ends the repeats of a variation when its results are stable.
type Convergence struct {
	Metric    string   `json:"metric" choices:"metrics"`
	Stat      string   `json:"stat" validate:"oneof=avg p50 p90 p95 p99 min max"`
	Mode      string   `json:"mode" validate:"oneof=ci_width cv distribution"`
	Threshold *float64 `json:"threshold" validate:"gt=0"`
	MinRuns   int      `json:"minRuns" validate:"gte=2,lte=10"`
}

// The modes of convergence.
const (
	CIWidth      = "ci_width"
	CV           = "cv"
	Distribution = "distribution"
)

// Limit returns the threshold, or the default of the mode.
func (c *Convergence) Limit() float64 {
	switch {
	case c.Threshold != nil:
		return *c.Threshold
	case c.Mode == CIWidth:
		return 0.10
	}
	return 0.05
}

// NewBlock returns a sweep with the defaults.
func NewBlock() Block {
	return Block{Type: Grid, LabelFormat: "index", IterationOrder: Repeated, OnFailure: "continue"}
}

// Boundary reports whether a search looks for the boundary of its filters, in one
// dimension, and not for an optimum.
func (b *Block) Boundary() bool {
	return b.Planner == MonotonicSLA || b.Planner == SmoothIsotonic || len(b.SLATiers) > 0
}

// Decode reads a block over the defaults.
func (b *Block) Decode(f decode.Field, n *tree.Node) bool {
	type fields Block // without this method
	*b = NewBlock()
	f.Fields(n, (*fields)(b), f.Path)
	return true
}

// NewMultiRun returns a single run with the defaults.
func NewMultiRun() MultiRun {
	return MultiRun{NumRuns: 1, ConfidenceLevel: DefaultConfidence, DisableWarmupAfterFirst: true, SetConsistentSeed: true}
}
