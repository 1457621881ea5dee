package compare

import (
	"fmt"
	"math"
	"slices"

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
	case q.tag == "output_token_throughput" && (keepsSchedule(a) || keepsSchedule(b)):
		m.Verdict, m.Reason = NotTested, "an open loop below saturation repeats its schedule"
		return
	case !q.points && (slices.Min(left) <= 0 || slices.Min(right) <= 0):
		m.Verdict, m.Reason = NotTested, "a value of 0 has no relative change"
		return
	}
	var ok bool
	switch {
	case len(a) == 1 && len(b) == 1:
		m.Method = methodMover
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
	low, high := m.difference.Interval(stat.Level)
	m.Change, m.Low, m.High = m.change(m.difference.Estimate), m.change(low), m.change(high)
	m.Detectable = m.change(m.difference.Detectable())
}

// single compares two runs by their intervals; ok is false if one of them has none.
func (m *MetricAnswer) single(a, b *Input, q asked) (d stat.Difference, ok bool) {
	if requests(a) < minRequests || requests(b) < minRequests {
		m.Reason = fmt.Sprintf("a run that is compared alone needs %d requests", minRequests)
		return d, false
	}
	if q.points {
		return stat.Mover(errorShare(a), errorShare(b)), true
	}
	left, right := valueOf(a, q.tag, q.stat), valueOf(b, q.tag, q.stat)
	if left.Interval == nil || right.Interval == nil || left.Interval[0] <= 0 || right.Interval[0] <= 0 {
		m.Verdict, m.Reason = NotTested, "one run has no interval for it; repeat the runs"
		return d, false
	}
	return stat.Mover(logarithms(&left), logarithms(&right)), true
}

// logarithms returns the logarithms of a value and its interval.
func logarithms(v *Value) stat.Estimated {
	return stat.Estimated{Value: math.Log(*v.Value), Low: math.Log(v.Interval[0]), High: math.Log(v.Interval[1])}
}

// errorShare returns the share of failed requests of a run, in percent.
func errorShare(in *Input) stat.Estimated {
	e := stat.Wilson(float64(in.Run.Summary.Errors), float64(requests(in)))
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
