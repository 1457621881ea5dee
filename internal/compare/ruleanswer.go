package compare

import (
	"fmt"
	"math"
	"slices"

	"aiperfd/internal/engine/metric"
	"aiperfd/internal/engine/metric/catalogue"
	"aiperfd/internal/engine/stat"
	"aiperfd/internal/results"
)

// RuleAnswer is the answer for one rule.
type RuleAnswer struct {
	Text      string `json:"rule" example:"time_to_first_token:p95<400"`
	Metric    string `json:"metric" example:"time_to_first_token"`
	Statistic string `json:"statistic" example:"p95"`
	Header    string `json:"header" example:"Time to First Token"`
	Unit      string `json:"unit" example:"ms"` // of the values
	// Candidate and Reference are means of the runs (of latencies and rates: geometric ones).
	Candidate *float64 `json:"candidate"`
	Reference *float64 `json:"reference"` // of the baseline; null for limits
	// Estimate is what the rule limits: the value of the candidate or, for max_regression, its change from
	// the baseline in percent or points. Low and High are its interval at Level.
	Estimate *float64        `json:"estimate"`
	Low      *float64        `json:"low"`
	High     *float64        `json:"high"`
	Level    float64         `json:"level,omitempty"` // corrected for the looks and the number of rules
	Look     int             `json:"look,omitempty"`  // runs of the candidate that the estimate rests on
	Method   string          `json:"method,omitempty" enums:"welch,prediction,mover,t"`
	Verdict  results.Verdict `json:"verdict" enums:"pass,fail,inconclusive,invalid"`
	// Counts is what the verdict counts as: an inconclusive rule may count as pass or fail.
	Counts results.Verdict `json:"counts_as" enums:"pass,fail,inconclusive,invalid"`
	// OnInconclusive is why.
	OnInconclusive OnInconclusive `json:"on_inconclusive" enums:"error,pass,fail"`
	Reason         string         `json:"reason,omitempty"`
	Points         bool           `json:"points,omitempty"` // Estimate is a change in percentage points
	Relative       bool           `json:"relative"`         // the rule limits a change from the baseline

	rule      *resolved
	tolerance float64         // on the scale of comparison, at least 0
	worse     stat.Difference // positive = worse, or beyond the limit
	linear    bool            // a limit that is compared without logarithms
	// instrument is what the load generator may have added to the side that is slower, in ms.
	instrument float64
}

// estimated reports whether there is an estimate of how much worse the candidate is.
func (r *RuleAnswer) estimated() bool { return r.Method != "" }

// beyond returns the p-value of the candidate being no worse than the baseline, or not beyond the limit.
func (r *RuleAnswer) beyond() float64 {
	if r.worse.Estimate <= 0 {
		return 1
	}
	return r.worse.P()
}

// within returns the p-value of the candidate being worse by the tolerance or more, or beyond the limit.
func (r *RuleAnswer) within() float64 {
	left := stat.Difference{
		Estimate: r.worse.Estimate - r.tolerance, Below: r.worse.Below, Above: r.worse.Above, Freedom: r.worse.Freedom,
	}
	switch {
	case left.Estimate > 0:
		return 1
	case left.Estimate == 0 && left.Above == 0 && !r.Relative:
		return 0 // exactly at the limit in every run
	}
	return left.P()
}

// byInstrument reports whether the load generator itself may have made all of what is beyond the reference or the
// limit.
func (r *RuleAnswer) byInstrument() bool {
	switch {
	case r.Candidate == nil || r.instrument == 0:
		return false
	case !r.Relative:
		return math.Abs(*r.Candidate-r.limit()) <= r.instrument
	}
	return r.Reference != nil && math.Abs(*r.Candidate-*r.Reference) <= r.instrument
}

// conclude sets the verdict and the interval that it was judged by.
func (r *RuleAnswer) conclude(v results.Verdict, alpha float64) {
	r.Verdict, r.Reason, r.Level = v, "", 1-alpha
	low, high := r.worse.Interval(1 - alpha)
	r.Estimate, r.Low, r.High = r.shown(r.worse.Estimate), r.shown(low), r.shown(high)
	if r.descends() {
		r.Low, r.High = r.High, r.Low
	}
	if v == Inconclusive {
		r.Reason = r.open(low, high)
	}
}

// open returns why a rule with an interval, on the scale of comparison, is not decided.
func (r *RuleAnswer) open(low, high float64) string {
	within := func(v float64) bool { return low <= v && v <= high }
	switch {
	case r.worse.Estimate >= r.tolerance && r.byInstrument():
		return "the load generator itself may have added " + metric.ValueText(r.instrument, r.Unit) +
			", which is all of the difference"
	case r.Relative && within(0) && within(r.tolerance):
		return "the interval contains both no change and the largest change that is allowed"
	case r.Relative && within(r.tolerance):
		return "the interval contains the largest change that is allowed"
	case !r.Relative && within(0):
		return "the interval contains the limit"
	}
	return "it is not sure enough for a gate with these rules and looks"
}

// descends reports whether a higher value is better for the rule.
func (r *RuleAnswer) descends() bool {
	if r.Relative {
		return r.rule.better == Higher
	}
	return r.rule.Min != nil
}

// shown returns a value of the scale of comparison, positive = worse, as users read it.
func (r *RuleAnswer) shown(worse float64) *float64 {
	if r.descends() {
		worse = -worse
	}
	switch {
	case !r.Relative && r.linear:
		return finite(r.limit() + worse)
	case !r.Relative:
		return finite(r.limit() * math.Exp(worse))
	case r.rule.points:
		return finite(worse)
	}
	return finite(100 * math.Expm1(worse))
}

// limit returns the limit of a rule that has one.
func (r *RuleAnswer) limit() float64 {
	if r.rule.Max != nil {
		return *r.rule.Max
	}
	return *r.rule.Min
}

// estimate fills in the values of both sides and how much worse the candidate is, or why that cannot be said.
func (r *RuleAnswer) estimate(base, candidate []Input) {
	r.Candidate, r.Reference, r.Estimate, r.Low, r.High = nil, nil, nil, nil, nil
	r.Verdict, r.Method, r.Level, r.Look = Inconclusive, "", 0, len(candidate)
	q := asked{tag: r.Metric, stat: r.rule.stat, points: r.rule.points}
	values := valuesOf(candidate, q)
	if absentIsZero(r.Metric) && len(values) == 0 {
		values = make([]float64, len(candidate))
	}
	switch {
	case slices.ContainsFunc(candidate, func(in Input) bool { return distorted(&in, r.Metric) }):
		r.Verdict, r.Reason = Invalid, "the load generator distorted it in a run of the candidate"
		return
	case len(values) < len(candidate):
		r.Reason = "not every run of the candidate has a value"
		return
	}
	r.instrument = 0
	if r.Unit == "ms" {
		r.instrument = instrumentError(candidate, r.Metric, r.Statistic)
	}
	if !r.Relative {
		r.linear = r.rule.points || r.limit() <= 0 || slices.Min(values) <= 0
		r.estimateLimit(candidate, values)
		return
	}
	reference := valuesOf(base, q)
	if absentIsZero(r.Metric) && len(reference) == 0 {
		reference = make([]float64, len(base))
	}
	linear := r.rule.points
	switch {
	case len(base) == 0:
		r.Reason = "there is no baseline"
	case slices.ContainsFunc(base, func(in Input) bool { return distorted(&in, r.Metric) }):
		r.Verdict, r.Reason = Invalid, "the load generator distorted it in a run of the baseline"
	case len(reference) < len(base):
		r.Reason = "not every run of the baseline has a value"
	case followsSchedule(r.Metric) && (keepsSchedule(base) || keepsSchedule(candidate)):
		r.Reason = "an open loop below saturation repeats its schedule; give a limit (min), or a rule on latencies"
	case r.Metric == "request_latency" && lengthsDiffer(base, candidate, "output_sequence_length"):
		r.Reason = "answers of the baseline and of the candidate are not equally long"
	case !linear && collapsed(reference, values):
		r.Verdict, r.Reason = Fails, "0 in every run of one side, and in none of the other"
		if (slices.Max(reference) == 0) == (r.rule.better == Higher) {
			r.Verdict = Passes
		}
	case !linear && (slices.Min(values) <= 0 || slices.Min(reference) <= 0):
		r.Reason = "a value of 0 has no relative change"
	default:
		r.estimateChange(base, candidate, reference, values)
	}
}

// estimateLimit estimates the distance of the candidate from a limit.
func (r *RuleAnswer) estimateLimit(candidate []Input, values []float64) {
	q := asked{points: r.linear}
	r.Candidate = r.centre(values, r.linear)
	limit := scaled([]float64{r.limit()}, q)[0]
	var d stat.Difference
	switch {
	case len(candidate) == 1:
		v, ok := r.single(&candidate[0])
		if !ok {
			r.Reason = "one run has no interval for it; repeat the run"
			return
		}
		r.Method, d = "mover", stat.Mover(stat.Estimated{Value: limit, Low: limit, High: limit}, v)
	case len(candidate) < minRuns:
		r.Reason = fmt.Sprintf("a decision needs %d runs", minRuns)
		return
	default:
		var ok bool
		if d, ok = stat.Against(scaled(values, q), limit); !ok {
			return
		}
		r.Method = "t"
	}
	r.orient(d, r.rule.Min != nil, 0)
}

// single returns the value of the only run of a side with its interval, on the scale of comparison.
func (r *RuleAnswer) single(in *Input) (stat.Estimated, bool) {
	if requests(in) < minRequests {
		return stat.Estimated{}, false
	}
	if r.Metric == "request_error_rate" {
		return errorShare(in), true
	}
	v := valueOf(in, r.Metric, r.rule.stat)
	switch {
	case v.Interval == nil:
		return stat.Estimated{}, false
	case r.linear:
		return stat.Estimated{Value: *v.Value, Low: v.Interval[0], High: v.Interval[1]}, true
	case v.Interval[0] <= 0:
		return stat.Estimated{}, false
	}
	return stat.Estimated{Value: math.Log(*v.Value), Low: math.Log(v.Interval[0]), High: math.Log(v.Interval[1])}, true
}

// estimateChange estimates the change of the candidate from the baseline.
func (r *RuleAnswer) estimateChange(base, candidate []Input, reference, values []float64) {
	r.Candidate, r.Reference = r.centre(values, r.rule.points), r.centre(reference, r.rule.points)
	q := asked{points: r.rule.points}
	left, right := scaled(reference, q), scaled(values, q)
	if r.rule.points {
		left, right = multiplied(left, r.rule.scale), multiplied(right, r.rule.scale)
	}
	var d stat.Difference
	var ok bool
	switch {
	case len(base) >= minBaseline && len(candidate) == 1:
		r.Method = "prediction"
		d, ok = stat.Predict(left, right[0])
	case len(base) < minRuns:
		r.Reason = fmt.Sprintf("the baseline has %d of the %d runs that a decision on changes needs", len(base), minRuns)
		return
	case len(candidate) < minRuns:
		r.Reason = fmt.Sprintf("a decision needs %d runs of the candidate, or 1 and %d of the baseline",
			minRuns, minBaseline)
		return
	default:
		r.Method = "welch"
		d, ok = stat.Welch(left, right)
	}
	if !ok {
		r.Method = ""
		return
	}
	tolerance := math.Log1p(*r.rule.MaxRegression)
	if r.rule.better == Higher {
		tolerance = -math.Log1p(-*r.rule.MaxRegression)
	}
	if r.rule.points {
		tolerance = 100 * *r.rule.MaxRegression
	}
	r.orient(d, r.rule.better == Higher, tolerance)
}

// orient stores a difference so that positive ones are worse.
func (r *RuleAnswer) orient(d stat.Difference, mirrored bool, tolerance float64) {
	if mirrored {
		d.Estimate, d.Below, d.Above = -d.Estimate, d.Above, d.Below
	}
	r.worse, r.tolerance = d, tolerance
}

// centre returns the mean of values, on the scale of comparison.
func (r *RuleAnswer) centre(values []float64, linear bool) *float64 {
	if linear {
		return meanOf(values)
	}
	m := meanOf(scaled(values, asked{}))
	if m == nil {
		return nil
	}
	return finite(math.Exp(*m))
}

func multiplied(values []float64, by float64) []float64 {
	out := make([]float64, len(values))
	for i, v := range values {
		out[i] = by * v
	}
	return out
}

// absentIsZero reports whether a run that counted nothing has no value of a metric.
func absentIsZero(tag string) bool {
	def, ok := catalogue.Lookup(tag)
	return ok && def.Kind == catalogue.Aggregate && slices.Contains([]string{
		"error_request_count", "cancelled_request_count", "context_overflow_count", "skipped_turns",
		"dropped_arrival_count",
	}, tag)
}
