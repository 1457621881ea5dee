package sweep

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"aiperfd/internal/engine/config/tree"
	"aiperfd/internal/engine/config/vary"
)

// Precision is how exact a search is to be.
type Precision string

// The precisions.
const (
	Tight  Precision = "tight"
	Normal Precision = "normal"
	Coarse Precision = "coarse"
)

// requests is the number of requests of a probe at low concurrency. 1000 leave 50 beyond
// the 95th percentile and 10 beyond the 99th.
func (p Precision) requests() float64 {
	switch p {
	case Tight:
		return 10_000
	case Coarse:
		return 300
	case Normal:
	}
	return 1000
}

// Width is the width of the final bracket of a boundary search, as a share of its end.
func (p Precision) Width() float64 {
	switch p {
	case Tight:
		return 0
	case Coarse:
		return 0.05
	case Normal:
	}
	return 0.01
}

// The least numbers of requests of a session that stays busy: with 30, those that start
// together make up 3 % of a probe. Of an open loop they are the least numbers of seconds,
// in which a queue that grows has the time to show.
const (
	perSession      = 30
	perSessionFirst = 20
)

// firstBeyond is how many requests are to be beyond a percentile when a value is probed for
// the first time.
const firstBeyond = 10

// firstLook is the number of requests of a first look at a mean.
const firstLook = 100

// Paths that settings assign.
const (
	requestsPath = "phases.profiling.requests"
	warmupPath   = "phases.warmup"
	durationPath = "phases.profiling.duration"
	gracePath    = "phases.profiling.grace_period"
)

// Sizing decides how long each variation of a study is measured.
type Sizing struct {
	Precision Precision // empty = Normal
	// Given means that the document says how long a phase lasts; it is left alone.
	Given bool
	// Concurrency is that of the document, for variations that do not set it; 0 = 1.
	Concurrency int
	// Warmup is the duration of a warm-up at the concurrency of each variation, in
	// seconds; 0 = none but that of the document.
	Warmup float64
	// Windows means that each variation is measured for a time, after a warm-up at its own load
	// in the same phase: those of a search for a capacity.
	Windows bool
	Window  float64 // of the planner capacity: least duration of a window, in seconds
	Grace   bool    // the document says how long requests in flight may still take
}

// The defaults of a probe of the planner capacity.
const (
	DefaultProbeWarmupSeconds = 10
	DefaultProbeSeconds       = 120
)

// drainSeconds is how long the requests of a window may still take after its end.
const drainSeconds = 120

// Probe returns the assignments that make a variation last for a warm-up and a window.
func (s Sizing) Probe(warmup, window float64) []vary.Assignment {
	out := []vary.Assignment{{Path: durationPath, Value: warmup + window}}
	if !s.Grace {
		out = append(out, vary.Assignment{Path: gracePath, Value: float64(drainSeconds)})
	}
	return out
}

// SizingOf returns how long the variations of a sweep are measured. document is in the long
// form. If the block asks for a warm-up before each probe, that is put in front of the
// profiling phase, in place of the document's own.
func SizingOf(b *Block, document *tree.Node) Sizing {
	s := Sizing{Precision: Precision(b.SLAPrecision), Given: !b.AutoRequests}
	phases, _ := tree.FindPath(document, []string{"benchmark", "phases"})
	if b.Planner == Capacity {
		s.Windows, s.Warmup, s.Window = true, DefaultProbeWarmupSeconds, DefaultProbeSeconds
		if b.SLAWarmupSeconds != nil {
			s.Warmup = *b.SLAWarmupSeconds
		}
		if d, n := tree.FindPath(document, []string{"benchmark", "phases", "profiling", "duration"}); n == 4 {
			if v, err := strconv.ParseFloat(d.Scalar, 64); err == nil {
				s.Window = v
			}
		}
		_, n := tree.FindPath(document, []string{"benchmark", "phases", "profiling", "gracePeriod"})
		s.Grace = n == 4
		return s
	}
	if phases.Shape != tree.List {
		return s
	}
	if c, n := tree.FindPath(document, []string{"benchmark", "phases", "profiling", "concurrency"}); n == 4 {
		if v, err := strconv.Atoi(c.Scalar); err == nil {
			s.Concurrency = v
		}
	}
	if b.SLAWarmupSeconds == nil || *b.SLAWarmupSeconds == 0 {
		return s
	}
	s.Warmup = *b.SLAWarmupSeconds
	phases.Items = slices.DeleteFunc(phases.Items, func(p *tree.Node) bool { return tree.PhaseKind(p) == "warmup" })
	warmup := tree.ObjectNode()
	warmup.Set("name", tree.TextNode("warmup"))
	warmup.Set("type", tree.TextNode("concurrency"))
	phases.Items = slices.Insert(phases.Items, 0, warmup)
	phases.Locate("#/benchmark/phases")
	return s
}

// Requests returns the number of requests that a variation needs.
func (s Sizing) Requests(values []vary.Assignment) int {
	return int(max(s.Precision.requests(), perSession*s.load(values)))
}

// First returns the number of requests for a first look at a variation, which decides only
// if the verdict is clear.
func (s Sizing) First(values []vary.Assignment, filters []Filter) int {
	n := max(firstLook, perSessionFirst*s.load(values))
	for _, f := range filters {
		if q, ok := Quantile(f.Stat); ok {
			n = max(n, math.Ceil(firstBeyond/min(q, 1-q)-1e-9))
		}
	}
	return min(int(n), s.Requests(values))
}

// load returns the concurrency of a variation, or the rate if that is more.
func (s Sizing) load(values []vary.Assignment) float64 {
	rate, _ := assigned(values, "rate")
	return max(s.concurrency(values), rate)
}

func (s Sizing) concurrency(values []vary.Assignment) float64 {
	if x, ok := assigned(values, "concurrency"); ok {
		return max(x, 1)
	}
	return math.Max(float64(s.Concurrency), 1)
}

// assigned returns the value of the field of a phase that a variation assigns.
func assigned(values []vary.Assignment, field string) (float64, bool) {
	v := vary.Variation{Values: values}
	for _, a := range values {
		if a.Path == field || strings.HasSuffix(a.Path, "."+field) {
			if x, ok := v.Number(a.Path); ok {
				return x, true
			}
		}
	}
	return 0, false
}

// Settings returns the assignments that make a variation with these values last long
// enough.
func (s Sizing) Settings(values []vary.Assignment) []vary.Assignment {
	return s.SettingsFor(values, s.Requests(values))
}

// SettingsFor returns the assignments that give a variation this number of requests.
func (s Sizing) SettingsFor(values []vary.Assignment, requests int) []vary.Assignment {
	if s.Windows {
		return s.Probe(s.Warmup, s.Window)
	}
	var out []vary.Assignment
	if !s.Given {
		out = append(out, vary.Assignment{Path: requestsPath, Value: float64(requests)})
	}
	if s.Warmup > 0 {
		out = append(out,
			vary.Assignment{Path: warmupPath + ".duration", Value: s.Warmup},
			vary.Assignment{Path: warmupPath + ".concurrency", Value: s.concurrency(values)})
	}
	return out
}

// Quantile returns the quantile that a statistic is; false = it is none.
func Quantile(name string) (float64, bool) {
	digits, ok := strings.CutPrefix(name, "p")
	q, err := strconv.ParseFloat(digits, 64)
	return q / 100, ok && err == nil && q > 0 && q < 100
}
