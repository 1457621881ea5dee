package metric

import (
	"math"
	"time"

	"aiperfd/internal/engine/metric/catalogue"
)

// Stat names one statistic of a metric, in the order in which files list them.
type Stat uint8

// The statistics. Those up to Std are AIPerf's, the others ours: two rare percentiles, the
// standard deviation of a sample, the range from p25 to p75, the median distance from the
// median, p99 / p50, and the largest mean of a curve over 100 ms.
const (
	Avg Stat = iota
	Min
	Max
	Sum
	P1
	P5
	P10
	P25
	P50
	P75
	P90
	P95
	P99
	Std
	P999
	P9999
	StdSample
	IQR
	MAD
	TailRatio
	Max100
	numStats
)

var _ = [1]struct{}{}[numStats-21]

// String returns the key in JSON files: avg, min, p50, p99, p99_9.
func (s Stat) String() string {
	return [numStats]string{
		"avg", "min", "max", "sum", "p1", "p5", "p10", "p25", "p50", "p75", "p90", "p95",
		"p99", "std", "p99_9", "p99_99", "std_sample", "iqr", "mad", "tail_ratio", "max_100ms",
	}[s]
}

// Result is one metric of a finished or running phase, in display units.
type Result struct {
	Def   *catalogue.Def
	Count int64 // observations; 0 = a scalar, or a family that has no count
	// RelError bounds the relative error of the percentiles: 0 = they are exact,
	// otherwise they come from a sketch.
	RelError float64
	// Bin is the width of the bins of a curve whose requests were too many to be
	// kept: its statistics are of the means over bins. The average stays exact,
	// except of curves per user and of active ones; extremes are smoothed. 0 = all
	// statistics are exact.
	Bin time.Duration
	// Confidence has the intervals; nil for live results and for metrics that are not
	// samples.
	Confidence *Confidence

	values [numStats]float64
	has    uint32
}

// Set stores a statistic. NaN means "no value" and is not stored; infinities
// are (an error-adjusted percentile can be infinite) and every writer decides
// what to print for them.
func (r *Result) Set(s Stat, v float64) {
	if math.IsNaN(v) {
		return
	}
	r.values[s] = v
	r.has |= 1 << s
}

// Get returns a statistic, and whether it exists.
func (r *Result) Get(s Stat) (float64, bool) {
	return r.values[s], r.has&(1<<s) != 0
}

// Empty reports whether no statistic exists.
func (r *Result) Empty() bool { return r.has == 0 }

// Method returns how the percentiles were computed.
func (r *Result) Method() Method {
	switch {
	case r.RelError != 0:
		return Sketched
	case r.Bin != 0:
		return Binned
	}
	return Exact
}

// Method is how percentiles are computed.
type Method string

// The methods.
const (
	Exact    Method = "exact"  // all values
	Sketched Method = "sketch" // a sketch, with the relative error of the result
	Binned   Method = "binned" // means over equal intervals of time
)

// Scalar reports whether the metric has one value only, kept in Avg.
func (r *Result) Scalar() bool { return r.has == 1<<Avg && r.Count == 0 }

// Results is a set of metrics in catalogue order.
type Results []Result

// Value returns a statistic of the metric with a tag; false = there is none.
func (rs Results) Value(tag string, stat Stat) (float64, bool) {
	m := rs.Find(tag)
	if m == nil || m.has&(1<<stat) == 0 {
		return 0, false
	}
	return m.values[stat], true
}

// Find returns the metric with a tag, nil if it is absent.
func (rs Results) Find(tag string) *Result {
	for i := range rs {
		if rs[i].Def.Tag == tag {
			return &rs[i]
		}
	}
	return nil
}

// truncatedShare is the share of unfinished requests above which results are marked.
const truncatedShare = 0.01

// Truncated reports whether the end of the grace period cut so many of the requests that
// percentiles without them mislead.
func (rs Results) Truncated() bool {
	count := func(tag string) float64 {
		v, _ := rs.Value(tag, Avg) // 0 = there is none
		return v
	}
	sent := count("request_count") + count("error_request_count") + count("cancelled_request_count") + count("cancelled_by_test_count")
	return count("unfinished_at_end") > truncatedShare*sent
}

// ParseStat returns the statistic with a name in JSON files.
func ParseStat(name string) (Stat, bool) {
	for s := range numStats {
		if s.String() == name {
			return s, true
		}
	}
	return 0, false
}

// StatNames returns the names of all statistics in order.
func StatNames() []string {
	var names []string
	for s := range numStats {
		names = append(names, s.String())
	}
	return names
}
