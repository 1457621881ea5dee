package search

import (
	"math"
	"strconv"
	"strings"

	"aiperfd/internal/engine/stat"
	"aiperfd/internal/study/cell"
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

// width is the width of the final bracket of a boundary search, as a share of its end.
func (p Precision) width() float64 {
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
}

// Requests returns the number of requests that a variation needs.
func (s Sizing) Requests(values []cell.Assignment) int {
	return int(max(s.Precision.requests(), perSession*s.load(values)))
}

// First returns the number of requests for a first look at a variation, which decides only
// if the verdict is clear.
func (s Sizing) First(values []cell.Assignment, filters []Filter) int {
	n := max(firstLook, perSessionFirst*s.load(values))
	for _, f := range filters {
		if q, ok := quantile(f.Stat); ok {
			n = max(n, math.Ceil(firstBeyond/min(q, 1-q)-1e-9))
		}
	}
	return min(int(n), s.Requests(values))
}

// load returns the concurrency of a variation, or the rate if that is more.
func (s Sizing) load(values []cell.Assignment) float64 {
	rate, _ := assigned(values, "rate")
	return max(s.concurrency(values), rate)
}

func (s Sizing) concurrency(values []cell.Assignment) float64 {
	if x, ok := assigned(values, "concurrency"); ok {
		return max(x, 1)
	}
	return math.Max(float64(s.Concurrency), 1)
}

// assigned returns the value of the field of a phase that a variation assigns.
func assigned(values []cell.Assignment, field string) (float64, bool) {
	v := cell.Variation{Values: values}
	for _, a := range values {
		if a.Path == field || strings.HasSuffix(a.Path, "."+field) {
			if x, ok := number(&v, a.Path); ok {
				return x, true
			}
		}
	}
	return 0, false
}

// Settings returns the assignments that make a variation with these values last long
// enough.
func (s Sizing) Settings(values []cell.Assignment) []cell.Assignment {
	return s.settings(values, s.Requests(values))
}

func (s Sizing) settings(values []cell.Assignment, requests int) []cell.Assignment {
	var out []cell.Assignment
	if !s.Given {
		out = append(out, cell.Assignment{Path: requestsPath, Value: float64(requests)})
	}
	if s.Warmup > 0 {
		out = append(out,
			cell.Assignment{Path: warmupPath + ".duration", Value: s.Warmup},
			cell.Assignment{Path: warmupPath + ".concurrency", Value: s.concurrency(values)})
	}
	return out
}

// Supported reports whether the statistic of a metric is taken of enough values. Means and
// extremes always are; of a percentile, five values are expected beyond it.
func Supported(t *cell.Trial, metric, name string) bool {
	q, percentile := quantile(name)
	n, counted := t.Stat(metric, "count")
	return !percentile || !counted || stat.Supports(n, q)
}

// quantile returns the quantile that a statistic is; false = it is none.
func quantile(name string) (float64, bool) {
	digits, ok := strings.CutPrefix(name, "p")
	q, err := strconv.ParseFloat(digits, 64)
	return q / 100, ok && err == nil && q > 0 && q < 100
}
