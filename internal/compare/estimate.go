package compare

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"aiperfd/internal/engine/metric"
	"aiperfd/internal/engine/stat"
)

// The methods by which sides are compared.
const (
	methodWelch      = "welch"      // means of the logarithms of the runs' values
	methodPrediction = "prediction" // one run of B, and where a further run of A would lie
	methodMover      = "mover"      // two runs by their intervals
	methodPaired     = "paired"     // two runs request by request
)

// estimate fills in the values of both sides, and the difference if it can be estimated.
func (m *MetricAnswer) estimate(a, b []Input, q asked) {
	left, right := valuesOf(a, q), valuesOf(b, q)
	m.A, m.B = meanOf(left), meanOf(right)
	m.Verdict = Inconclusive
	switch {
	case len(left) == 0 || len(left) < len(a) || len(right) == 0 || len(right) < len(b):
		m.Reason = "not every run has a value"
		return
	case slices.ContainsFunc(slices.Concat(a, b), func(in Input) bool { return distorted(&in, q.tag) }):
		m.Verdict, m.Reason = Invalid, "distorted by the load generator"
		return
	case followsSchedule(q.tag) && (keepsSchedule(a) || keepsSchedule(b)):
		m.Verdict, m.Reason = NotTested, "an open loop below saturation repeats its schedule"
		return
	case !q.points && collapsed(left, right):
		m.Verdict, m.Reason = IsWorse, "0 in every run of one side, and in none of the other"
		if (slices.Max(left) == 0) == (m.Better == Higher) {
			m.Verdict = IsBetter
		}
		return
	case !q.points && (slices.Min(left) <= 0 || slices.Min(right) <= 0):
		m.Verdict, m.Reason = NotTested, "a value of 0 has no relative change"
		return
	}
	var ok bool
	switch {
	case len(a) == 1 && len(b) == 1:
		m.difference, ok = m.single(&a[0], &b[0], q)
	case len(a) >= minBaseline && len(b) == 1:
		m.Method = methodPrediction
		m.difference, ok = stat.Predict(scaled(left, q), scaled(right, q)[0])
	default:
		m.Method = methodWelch
		m.difference, ok = stat.Welch(scaled(left, q), scaled(right, q))
		if ok && min(len(a), len(b)) < minRuns {
			m.Reason = fmt.Sprintf("a verdict needs %d runs on each side", minRuns)
		}
	}
	if !ok {
		m.Method = ""
		if m.Reason == "" {
			m.Reason = fmt.Sprintf("a verdict needs %d runs on each side", minRuns)
		}
		return
	}
	if min(len(a), len(b)) >= minPermutation {
		if p, ok := stat.Permutation(scaled(left, q), scaled(right, q)); ok {
			m.Permutation = &p
		}
	}
	low, high := m.difference.Interval(stat.Level)
	m.Change, m.Low, m.High = m.change(m.difference.Estimate), m.change(low), m.change(high)
	m.Detectable = m.change(m.difference.Detectable())
	m.plan(scaled(left, q), scaled(right, q))
}

// plan says how many runs on each side find a change as large as the margin, if runs differ as these do.
func (m *MetricAnswer) plan(left, right []float64) {
	if m.Method != methodWelch && m.Method != methodPrediction {
		return
	}
	deviation := stat.Deviation(left, right)
	m.Deviation = m.change(deviation)
	if n, ok := stat.RunsFor(deviation, m.limit()); ok {
		m.Planned = &n
	}
}

// collapsed reports whether all runs of one side have the value 0 and none of the other, so that the direction is
// sure although there is no relative change.
func collapsed(left, right []float64) bool {
	if min(len(left), len(right)) < minRuns {
		return false
	}
	return slices.Max(left) == 0 && slices.Min(left) == 0 && slices.Min(right) > 0 ||
		slices.Max(right) == 0 && slices.Min(right) == 0 && slices.Min(left) > 0
}

// followsSchedule reports whether a metric is a rate, which an open loop below saturation repeats from its schedule.
func followsSchedule(tag string) bool { return strings.HasSuffix(tag, "_throughput") }

// single compares two runs by their requests, or by the intervals that are stored with them; ok is
// false if that is not possible.
func (m *MetricAnswer) single(a, b *Input, q asked) (d stat.Difference, ok bool) {
	if requests(a) < minRequests || requests(b) < minRequests {
		m.Reason = fmt.Sprintf("a run that is compared alone needs %d requests", minRequests)
		return d, false
	}
	m.Method = methodMover
	if q.points {
		return stat.Mover(errorShare(a), errorShare(b)), true
	}
	if d, correlation, ok := m.byRequests(a, b, q); ok {
		if correlation > stat.LongestDependence {
			m.Reason, m.short = reasonShort, true
		}
		return d, true
	}
	left, right := valueOf(a, q.tag, q.stat), valueOf(b, q.tag, q.stat)
	if left.Interval == nil || right.Interval == nil || left.Interval[0] <= 0 || right.Interval[0] <= 0 {
		m.Verdict, m.Reason = NotTested, "one run has no interval for it; repeat the runs"
		return d, false
	}
	return stat.Mover(interval(&left).Logarithm(), interval(&right).Logarithm()), true
}

// reasonShort is why a metric of a short run has no verdict.
const reasonShort = "the runs are shorter than their own correlation"

// byRequests compares two runs request by request if both sent the same requests in the same order,
// otherwise by the intervals that their requests give. It returns the correlation of blocks of
// requests, too; ok is false without requests, and if they do not support the statistic.
func (m *MetricAnswer) byRequests(a, b *Input, q asked) (d stat.Difference, correlation float64, ok bool) {
	if q.tag == "output_token_throughput" {
		left, okLeft := a.Requests.rate()
		right, okRight := b.Requests.rate()
		return separate(left, right, okLeft && okRight)
	}
	if a.Run.Seed == b.Run.Seed {
		if left, right, cuts, ok := a.Requests.pairs(b.Requests, q.tag); ok {
			if q.stat == metric.Avg {
				d, correlation = stat.PairedMean(left, right, cuts)
			} else {
				d, correlation, ok = stat.PairedPercentile(left, right, cuts, shareOf(q.stat))
			}
			if ok {
				m.Method = methodPaired
				return d, correlation, true
			}
		}
	}
	left, okLeft := estimateOf(a.Requests, q)
	right, okRight := estimateOf(b.Requests, q)
	return separate(left, right, okLeft && okRight)
}

// separate compares two independent estimates.
func separate(a, b stat.SeriesEstimate, ok bool) (stat.Difference, float64, bool) {
	if !ok || a.Low <= 0 || b.Low <= 0 {
		return stat.Difference{}, 0, false
	}
	return stat.Mover(a.Logarithm(), b.Logarithm()), (a.BlockCorrelation + b.BlockCorrelation) / 2, true
}

// estimateOf returns a statistic of the requests of a run.
func estimateOf(r *Requests, q asked) (stat.SeriesEstimate, bool) {
	values, cuts, ok := r.series(q.tag)
	switch {
	case !ok:
		return stat.SeriesEstimate{}, false
	case q.stat == metric.Avg:
		return stat.EstimateMean(values, cuts), true
	}
	return stat.EstimatePercentile(values, cuts, shareOf(q.stat))
}

// shareOf returns the share of values below a percentile.
func shareOf(s metric.Stat) float64 {
	return map[metric.Stat]float64{metric.P50: 0.5, metric.P90: 0.9, metric.P95: 0.95, metric.P99: 0.99}[s]
}

// interval returns a value with its interval, which it has.
func interval(v *Value) stat.Estimated {
	return stat.Estimated{Value: *v.Value, Low: v.Interval[0], High: v.Interval[1]}
}

// errorShare returns the share of failed requests of a run, in percent.
func errorShare(in *Input) stat.Estimated {
	n := requests(in)
	share := float64(in.Run.Summary.Errors) / float64(n)
	effective := in.Requests.effectiveErrors(share, n)
	e := stat.Wilson(share*effective, effective)
	return stat.Estimated{Value: 100 * e.Value, Low: 100 * e.Low, High: 100 * e.High}
}

// requests returns how many requests of a run have ended, failed ones included.
func requests(in *Input) int64 {
	if in.Run.Summary == nil {
		return 0
	}
	return in.Run.Summary.Requests + in.Run.Summary.Errors
}

// keepsSchedule reports whether the rate of a run is that of its schedule: an open loop whose
// servers kept up.
func keepsSchedule(runs []Input) bool {
	return slices.ContainsFunc(runs, func(in Input) bool {
		s := in.Run.Summary
		return s != nil && s.Saturation != nil && !s.Saturation.Saturated
	})
}

// valuesOf returns the values of the runs that have one.
func valuesOf(runs []Input, q asked) []float64 {
	var out []float64
	for i := range runs {
		if v := valueOf(&runs[i], q.tag, q.stat); v.Value != nil {
			out = append(out, *v.Value)
		}
	}
	return out
}

// scaled returns values on the scale on which they are compared: latencies and rates as
// logarithms, shares as they are.
func scaled(values []float64, q asked) []float64 {
	if q.points {
		return values
	}
	out := make([]float64, len(values))
	for i, v := range values {
		out[i] = math.Log(v)
	}
	return out
}

// meanOf returns the mean of values; nil of none.
func meanOf(values []float64) *float64 {
	if len(values) == 0 {
		return nil
	}
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return finite(sum / float64(len(values)))
}

// change returns a difference on the scale of comparison as what users read: percent of A, or
// points.
func (m *MetricAnswer) change(d float64) *float64 {
	if m.Points {
		return finite(d)
	}
	return finite(100 * math.Expm1(d))
}

// limit returns the margin on the scale of comparison.
func (m *MetricAnswer) limit() float64 {
	if m.Points {
		return m.Margin
	}
	return math.Log1p(m.Margin / 100)
}
