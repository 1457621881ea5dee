package compare

import (
	"fmt"
	"math"
	"slices"

	"aiperfd/internal/engine/metric"
	"aiperfd/internal/engine/metric/catalogue"
	"aiperfd/internal/engine/stat"
	"aiperfd/internal/engine/verdict"
)

// AnswerSchema is the schema of an [Answer].
const AnswerSchema = "aiperfd-answer/1"

// Answer says whether runs B are better or worse than runs A, how sure that is, and what would
// decide it if it is open.
type Answer struct {
	Schema   string         `json:"schema" example:"aiperfd-answer/1"`
	Kind     string         `json:"kind" enums:"compare"`
	Question string         `json:"question"`
	Verdict  Judgement      `json:"verdict" enums:"better,worse,equivalent,inconclusive,invalid,not_comparable"`
	A        []string       `json:"a"`          // ids of the runs of the reference
	B        []string       `json:"b"`          // ids of the runs that are compared with it
	Speaks   string         `json:"speaks_for"` // these runs, or these configurations
	Metrics  []MetricAnswer `json:"metrics"`
	Load     []Difference   `json:"load_differences"`    // that make the runs incomparable
	Subject  []Difference   `json:"subject_differences"` // what is compared
	Doubts   []Doubt        `json:"doubts"`
	Decide   string         `json:"decide,omitempty"` // what would decide open metrics
}

// MetricAnswer is the answer for one statistic of one metric.
type MetricAnswer struct {
	Tag       string   `json:"tag" example:"time_to_first_token"`
	Header    string   `json:"header" example:"Time to First Token"`
	Statistic string   `json:"statistic" enums:"avg,p50,p95"`
	Unit      string   `json:"unit" example:"ms"`
	A         *float64 `json:"a"` // of the run, or the mean of the runs; null = it has none
	B         *float64 `json:"b"`
	// Change is B relative to A in percent, or for rates of errors B minus A in points; Low and
	// High are its 95 % interval. Null = there is no estimate.
	Change *float64 `json:"change"`
	Low    *float64 `json:"low"`
	High   *float64 `json:"high"`
	Points bool     `json:"points,omitempty"` // the change is in percentage points
	// Margin is the change up to which both count as equivalent, in the unit of Change.
	Margin     float64   `json:"margin"`
	P          *float64  `json:"p_adjusted"` // of no difference, adjusted for the number of metrics (Holm)
	Detectable *float64  `json:"detectable"` // change that these runs find with a power of 80 %
	Method     string    `json:"method" enums:"welch,prediction,mover,"`
	Verdict    Judgement `json:"verdict" enums:"better,worse,equivalent,inconclusive,invalid,not_tested"`
	Reason     string    `json:"reason,omitempty"` // why it is inconclusive, invalid or not tested
	difference stat.Difference
	better     Direction
}

// Judgement is the verdict of a comparison.
type Judgement string

// The verdicts.
const (
	IsBetter      Judgement = "better"
	IsWorse       Judgement = "worse"
	Equivalent    Judgement = "equivalent"     // the 90 % interval lies within the margin
	Inconclusive  Judgement = "inconclusive"   // too few or too short runs to say
	Invalid       Judgement = "invalid"        // the load generator distorted a number that is needed
	NotTested     Judgement = "not_tested"     // the number cannot show a difference
	NotComparable Judgement = "not_comparable" // the servers were asked for different things
)

// Doubt is a reason to trust an answer less.
type Doubt struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// doubt adds one; a code is named once.
func (a *Answer) doubt(code, message string) {
	if !slices.Contains(a.Doubts, Doubt{code, message}) {
		a.Doubts = append(a.Doubts, Doubt{code, message})
	}
}

// AnswerOptions say how runs are judged.
type AnswerOptions struct {
	Margin float64  // change that counts as none, as a share; 0 = the default of each statistic
	Allow  []string // JSON pointers of values of the load that may differ
}

// Runs that a verdict on configurations needs.
const (
	minRuns     = 3   // on each side
	minBaseline = 5   // of A, if B is one run
	minRequests = 160 // of a run that is compared alone: 16 blocks of 10
)

// asked is a statistic that the default question names.
type asked struct {
	tag    string
	stat   metric.Stat
	margin float64 // as a share, or as percentage points for a rate of errors
	points bool
}

// family returns the statistics that are judged by default.
func family() []asked {
	return []asked{
		{"time_to_first_token", metric.P50, 0.03, false},
		{"time_to_first_token", metric.P95, 0.05, false},
		{"inter_token_latency", metric.P50, 0.03, false},
		{"inter_token_latency", metric.P95, 0.05, false},
		{"request_latency", metric.P50, 0.03, false},
		{"request_latency", metric.P95, 0.05, false},
		{"output_token_throughput", metric.Avg, 0.03, false},
		{"goodput", metric.Avg, 0.03, false},
		{"request_error_rate", metric.Avg, 1, true},
	}
}

// Judge compares the runs of b with those of a, the reference. Each side has at least one run.
func Judge(a, b []Input, o AnswerOptions) (*Answer, error) {
	out := &Answer{
		Schema: AnswerSchema, Kind: "compare", Question: "Is B better or worse than A?", A: idsOf(a), B: idsOf(b),
		Speaks: "these runs", Metrics: []MetricAnswer{}, Load: []Difference{}, Subject: []Difference{}, Doubts: []Doubt{},
	}
	if len(a) >= minRuns && len(b) >= minRuns || len(a) >= minBaseline && len(b) == 1 {
		out.Speaks = "these configurations"
	}
	both := slices.Concat(a, b)
	if err := out.compareLoads(both, o.Allow); err != nil {
		return nil, err
	}
	if len(out.Load) > 0 {
		out.Verdict = NotComparable
		return out, nil
	}
	defs := definitions(both)
	for _, q := range family() {
		i := slices.IndexFunc(defs, func(d *catalogue.Def) bool { return d.Tag == q.tag })
		if i < 0 {
			continue
		}
		if o.Margin > 0 && !q.points {
			q.margin = o.Margin
		}
		m := MetricAnswer{
			Tag: q.tag, Header: defs[i].Header, Statistic: q.stat.String(), Unit: defs[i].Unit, Points: q.points,
			Margin: q.margin, better: direction(defs[i]),
		}
		if !q.points {
			m.Margin *= 100
		}
		m.estimate(a, b, q)
		if m.A != nil || m.B != nil {
			out.Metrics = append(out.Metrics, m)
		}
	}
	out.addDoubts(a, b)
	out.judge()
	return out, nil
}

// idsOf returns the ids of runs.
func idsOf(runs []Input) []string {
	out := make([]string, len(runs))
	for i := range runs {
		out[i] = runs[i].Run.ID
	}
	return out
}

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
		m.Method = "mover"
		m.difference, ok = m.single(&a[0], &b[0], q)
	case len(a) >= minBaseline && len(b) == 1:
		m.Method = "prediction"
		m.difference, ok = stat.Predict(scaled(left, q), scaled(right, q)[0])
	default:
		m.Method = "welch"
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

// judge gives each metric its verdict, and the answer the worst of them.
func (a *Answer) judge() {
	var tested []*MetricAnswer
	var p []float64
	for i := range a.Metrics {
		m := &a.Metrics[i]
		if m.Change != nil && m.Verdict == Inconclusive && m.Reason == "" {
			tested = append(tested, m)
			p = append(p, m.difference.P())
		}
	}
	for i, adjusted := range stat.Holm(p) {
		m := tested[i]
		m.P = new(adjusted)
		switch {
		case m.difference.Equivalent(m.limit()):
			m.Verdict = Equivalent
		case m.difference.P() >= 1-stat.Level:
			m.Reason = "no change and changes beyond the margin are both within the interval"
		case adjusted >= 1-stat.Level:
			m.Reason = fmt.Sprintf("not significant among %d metrics (Holm)", len(tested))
		case (m.difference.Estimate > 0) == (m.better == Higher):
			m.Verdict = IsBetter
		default:
			m.Verdict = IsWorse
		}
	}
	a.Verdict = overall(a.Metrics)
	a.Decide = a.decide()
}

// overall returns the worst verdict of metrics that were tested.
func overall(metrics []MetricAnswer) Judgement {
	for _, v := range []Judgement{IsWorse, Invalid, Inconclusive, IsBetter, Equivalent} {
		if slices.ContainsFunc(metrics, func(m MetricAnswer) bool { return m.Verdict == v }) {
			return v
		}
	}
	return Inconclusive
}

// decide says what would decide the open metrics: the runs that find a change of the margin.
func (a *Answer) decide() string {
	var runs float64
	for i := range a.Metrics {
		m := &a.Metrics[i]
		if m.Verdict != Inconclusive {
			continue
		}
		if m.Change == nil || m.Method == "mover" {
			runs = max(runs, minRuns)
			continue
		}
		ratio := m.difference.Detectable() / m.limit()
		runs = max(runs, float64(min(len(a.A), len(a.B)))*ratio*ratio)
	}
	if runs == 0 {
		return ""
	}
	const most = 1000
	if n := max(minRuns, math.Ceil(runs)); n <= most {
		return fmt.Sprintf("about %.0f runs on each side, measured alternately, decide changes of the margins", n)
	}
	return "the runs differ too much among themselves for any sensible number of them; find out why first"
}

// addDoubts adds the reasons to trust the answer less.
func (a *Answer) addDoubts(left, right []Input) {
	both := slices.Concat(left, right)
	for i := range both {
		r := both[i].Run
		if r.Version != both[0].Run.Version {
			a.doubt("version-differs", "the runs were measured by different versions of aiperfd")
		}
		if s := both[i].Snapshot; s != nil && !s.Final {
			a.doubt("not-final", "some of the runs have not ended; their results still change")
		}
		if r.Client == nil {
			continue
		}
		for _, m := range a.Metrics {
			if verdict.Of(r.Client.Reasons, m.Tag) == verdict.Suspect {
				a.doubt("client-suspect", "the load generator may have changed "+m.Tag+" in some of the runs")
			}
		}
	}
	for _, tag := range []string{"input_sequence_length", "output_sequence_length"} {
		if !lengthsDiffer(left, right, tag) {
			continue
		}
		a.doubt("lengths-differ", fmt.Sprintf("mean %s is %.4g in A and %.4g in B", tag, *meanLength(left, tag), *meanLength(right, tag)))
		if tag == "output_sequence_length" {
			a.withhold("request_latency", "answers of A and B are not equally long")
		}
	}
	if len(left) > 1 && len(right) > 1 && (isBefore(left, right) || isBefore(right, left)) {
		a.doubt("not-interleaved", "all runs of one side were measured before those of the other, "+
			"so a change of the server in time looks like one between A and B")
	}
}

// lengthsDiffer reports whether the means of a length differ by more than 1 %.
func lengthsDiffer(a, b []Input, tag string) bool {
	const share = 0.01
	la, lb := meanLength(a, tag), meanLength(b, tag)
	return la != nil && lb != nil && math.Abs(*la-*lb) > share*math.Abs(*la)
}

// meanLength returns the mean of a length over runs; nil if none has one.
func meanLength(runs []Input, tag string) *float64 {
	return meanOf(valuesOf(runs, asked{tag: tag, stat: metric.Avg}))
}

// withhold marks a metric as not tested.
func (a *Answer) withhold(tag, reason string) {
	for i := range a.Metrics {
		if m := &a.Metrics[i]; m.Tag == tag && m.Verdict == Inconclusive {
			m.Verdict, m.Reason = NotTested, reason
		}
	}
}

// isBefore reports whether every run of a was created before every one of b.
func isBefore(a, b []Input) bool {
	created := func(x, y Input) int { return x.Run.CreatedAt.Compare(y.Run.CreatedAt) }
	last, first := slices.MaxFunc(a, created), slices.MinFunc(b, created)
	return last.Run.CreatedAt.Before(first.Run.CreatedAt)
}

// Regression is the outcome of a limit on how much worse B may be.
type Regression string

// The outcomes.
const (
	Passed    Regression = "pass"
	Failed    Regression = "fail"
	Undecided Regression = "undecided"
)

// Regressed judges the limit that no metric is worse than in A by share or more: it fails if a
// metric is worse by at least share and surely not equal, passes if every interval ends below
// share, and is undecided otherwise. The level is shared among the metrics (Holm).
func (a *Answer) Regressed(share float64) (Regression, []*MetricAnswer) {
	var tested, failed, open []*MetricAnswer
	for i := range a.Metrics {
		switch m := &a.Metrics[i]; {
		case m.Verdict == NotTested:
		case m.P == nil:
			open = append(open, m)
		default:
			tested = append(tested, m)
		}
	}
	for _, m := range tested {
		limit := math.Log1p(share)
		if m.Points {
			limit = 100 * share
		}
		worse, beyond := m.difference.Estimate, m.difference.Above
		if m.better == Higher {
			worse, beyond = -m.difference.Estimate, m.difference.Below
		}
		switch level := (1 - stat.Level) / float64(len(tested)); {
		case worse >= limit && *m.P < 1-stat.Level:
			failed = append(failed, m)
		case worse+stat.Student(1-level/2, m.difference.Freedom)*beyond >= limit:
			open = append(open, m)
		}
	}
	switch {
	case failed != nil:
		return Failed, failed
	case open != nil || len(tested) == 0:
		return Undecided, open
	}
	return Passed, nil
}
