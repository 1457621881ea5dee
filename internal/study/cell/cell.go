// Package cell defines the trials of the variations of a document and the interface of the planners
// that choose the next variation, and computes what the trials say together, when they are stable,
// and which variations are best. Its functions are pure; package study performs the trials.
package cell

import (
	"slices"
	"time"

	"aiperfd/internal/engine/config/vary"
	"aiperfd/internal/study/capacity"
)

// Metric is one metric of a trial.
type Metric struct {
	Tag   string             `json:"tag"`
	Unit  string             `json:"unit"`
	Stats map[string]float64 `json:"stats"` // by name: avg, p99, …; finite
	// Margins are half the widths of the 95 % intervals of statistics within the run;
	// nil = there are none.
	Margins map[string]float64 `json:"margins,omitempty"`
	// Unsupported are the percentiles that the run has too few independent requests for.
	Unsupported []string `json:"unsupported,omitempty"`
	// Doubt is how far the load generator distorted the metric; nil = it did not.
	Doubt *Doubt `json:"doubt,omitempty"`
}

// Doubt is how far the load generator distorted a metric of a trial, and why.
type Doubt struct {
	Invalid bool    `json:"invalid"` // the values are wrong, so that they do not count; false = they may be wrong
	Number  string  `json:"number"`  // that was judged, by its name on the console: TTFT
	Off     string  `json:"off"`     // off by at most 39 ms for 95 % of requests
	Times   float64 `json:"times"`   // the error as a multiple of its tolerance
	Cause   string  `json:"cause"`   // short of CPU: other processes used 1.89 of the 2 cores
	Remedy  string  `json:"remedy"`
	// Side is 1 if the values are too large, -1 if they are too small, 0 if they may be either.
	Side int `json:"side"`
}

// Trial is one performed run of a variation.
type Trial struct {
	RunID   string   `json:"run_id"`
	Label   string   `json:"label"` // run_0001; unique within the outcome
	Seed    int64    `json:"random_seed"`
	Failure string   `json:"failure,omitempty"` // why the run is not a result; empty = it is one
	Client  string   `json:"client,omitempty"`  // verdict on the load generator by the default metrics; empty = none
	Metrics []Metric `json:"metrics"`           // in the order of the catalogue; empty if the run measured nothing
	// Prompts is the same for trials that sent the same prompts; empty = no other trial did.
	Prompts string `json:"-"`
	// Cached is the share of prompt tokens that servers report to have had in their cache; nil = unknown.
	Cached *float64 `json:"-"`
	// Requests ended in the profiling phases, which took Load of the Whole of the run.
	Requests    int64         `json:"-"`
	Load, Whole time.Duration `json:"-"`
	// Probe is what the requests of the run say of a level of load, in a search for a capacity; nil
	// = they were not measured.
	Probe *capacity.Probe `json:"-"`
	// Samples returns the values of the metric of all successful requests, in no
	// particular order; false = they were not kept. It may read a file. The slice must
	// not be changed. nil = none were kept.
	Samples func(tag string) (values []float64, ok bool) `json:"-"`
}

// Distorted reports whether the load generator made one of these metrics wrong, so that its
// value does not count.
func (t *Trial) Distorted(tags ...string) bool {
	return slices.ContainsFunc(tags, func(tag string) bool {
		m := t.Metric(tag)
		return m != nil && m.Doubt != nil && m.Doubt.Invalid
	})
}

// Sound reports whether the trial is a result in which the load generator did not distort any of
// these metrics.
func (t *Trial) Sound(tags ...string) bool { return t.Failure == "" && !t.Distorted(tags...) }

// Unsure reports whether the load generator leaves open if a metric satisfies a condition. holds
// is whether the measured value does: a latency that is too large and still below its limit is
// below it without the distortion, too.
func (t *Trial) Unsure(tag, op string, holds bool) bool {
	if !t.Distorted(tag) {
		return false
	}
	side := t.Metric(tag).Doubt.Side
	switch op {
	case "lt", "le":
		return !holds || side <= 0
	case "gt", "ge":
		return !holds || side >= 0
	}
	return true
}

// Stat returns one statistic of one metric, in the metric's display unit.
func (t *Trial) Stat(tag, stat string) (float64, bool) {
	m := t.Metric(tag)
	if m == nil {
		return 0, false
	}
	v, ok := m.Stats[stat]
	return v, ok
}

// Metric returns a metric by its tag, or nil.
func (t *Trial) Metric(tag string) *Metric {
	i := slices.IndexFunc(t.Metrics, func(m Metric) bool { return m.Tag == tag })
	if i < 0 {
		return nil
	}
	return &t.Metrics[i]
}

// Sound returns the sound trials.
func Sound(trials []Trial, tags ...string) []Trial {
	return slices.DeleteFunc(slices.Clone(trials), func(t Trial) bool { return !t.Sound(tags...) })
}

// Counting returns the trials whose values of a metric count: the sound ones or, if there are none,
// all results.
func Counting(trials []Trial, tag string) []Trial {
	if sound := Sound(trials, tag); len(sound) > 0 {
		return sound
	}
	return Sound(trials)
}

// Distorted reports whether there is one of these metrics that the load generator distorted in all
// results.
func Distorted(trials []Trial, tags ...string) bool {
	return slices.ContainsFunc(tags, func(tag string) bool {
		counting := Counting(trials, tag)
		return len(counting) > 0 && counting[0].Distorted(tag)
	})
}

// Outcome is a variation with the trials of it that have ended.
type Outcome struct {
	vary.Variation
	Trials []Trial `json:"trials"` // in the order in which they ended
}

// Successful returns the trials that are results.
func (o *Outcome) Successful() []Trial { return Sound(o.Trials) }

// Planner chooses the variations of a study. Its methods are pure functions of their
// arguments and of how the planner was made: a study that was interrupted gets the same
// answers when it replays its outcomes.
type Planner interface {
	// Next returns the variation to perform after those that are done, in their order;
	// false = the study is complete. Failed variations are among those done.
	Next(done []Outcome) (v vary.Variation, more bool)
	// Budget returns the largest number of variations that the planner may choose, ≥ 1.
	Budget() int
}

// List is the planner of variations that are known in advance.
type List []vary.Variation

var _ Planner = List{}

// Next implements [Planner].
func (l List) Next(done []Outcome) (vary.Variation, bool) {
	if len(done) >= len(l) {
		return vary.Variation{}, false
	}
	return l[len(done)], true
}

// Budget implements [Planner].
func (l List) Budget() int { return len(l) }
