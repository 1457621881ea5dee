package compare

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"aiperfd/internal/engine/metric"
	"aiperfd/internal/engine/metric/catalogue"
	"aiperfd/internal/engine/stat"
	"aiperfd/internal/engine/verdict"
	"aiperfd/internal/results"
)

// Answer says whether runs B are better or worse than runs A, how sure that is, and what would
// decide it if it is open.
type Answer struct {
	results.AnswerHead
	A       []string       `json:"a"`       // ids of the runs of the reference
	B       []string       `json:"b"`       // ids of the runs that are compared with it
	Metrics []MetricAnswer `json:"metrics"` // of each cell in turn, if sweeps are compared
	// Estimate is that of the metric that the verdict is about; null = nothing is estimated.
	Estimate *Estimate    `json:"estimate"`
	Evidence []Evidence   `json:"evidence"`            // the values of its runs
	Load     []Difference `json:"load_differences"`    // that make the runs incomparable
	Subject  []Difference `json:"subject_differences"` // what is compared
}

// Estimate is the change of one statistic from A to B with its interval.
type Estimate struct {
	results.AnswerInterval         // in percent or points; N are the repetitions on both sides together
	Cell                   string  `json:"cell,omitempty"`
	Freedom                float64 `json:"df"` // degrees of freedom
}

// Evidence is what one run says about the metric that the verdict is about.
type Evidence struct {
	Run   string   `json:"run_id"`
	Name  string   `json:"name"`
	Role  string   `json:"role" enums:"a,b"`
	Value *float64 `json:"value"` // in the unit of the metric
	// Low and High are the 95 % interval within the run; null = it has none.
	Low  *float64 `json:"low"`
	High *float64 `json:"high"`
	// Client says whether the load generator kept up; null = not known.
	Client *verdict.Level `json:"client" enums:"ok,suspect,invalid,unknown"`
}

// MetricAnswer is the answer for one statistic of one metric.
type MetricAnswer struct {
	Cell      string `json:"cell,omitempty" example:"concurrency 8"` // of a sweep
	Tag       string `json:"tag" example:"time_to_first_token"`
	Header    string `json:"header" example:"Time to First Token"`
	Statistic string `json:"statistic" example:"p95"`
	Unit      string `json:"unit" example:"ms"`
	RunsA     int    `json:"runs_a"`
	RunsB     int    `json:"runs_b"`
	// A and B are the value of the run, or the mean of the runs; null = a side has none.
	A *float64 `json:"a"`
	B *float64 `json:"b"`
	// Change is B relative to A in percent, or for shares B minus A in points; Low and
	// High are its 95 % interval. Null = there is no estimate.
	Change *float64  `json:"change"`
	Low    *float64  `json:"low"`
	High   *float64  `json:"high"`
	Points bool      `json:"points,omitempty"` // the change is in percentage points
	Better Direction `json:"better" enums:"higher,lower"`
	// Margin is the change up to which both count as equivalent, in the unit of Change.
	Margin      float64  `json:"margin"`
	P           *float64 `json:"p_adjusted"`              // of no difference, adjusted for the number of metrics (Holm)
	Permutation *float64 `json:"p_permutation,omitempty"` // of the exact permutation test; from 4 runs on each side
	Detectable  *float64 `json:"detectable"`              // change that these runs find with a power of 80 %
	// Deviation is the standard deviation between runs of a side, in the unit of Change, and Planned the number of runs on
	// each side that find a change as large as the margin with a power of 80 %, if runs differ by that; null = unknown.
	Deviation  *float64        `json:"deviation,omitempty"`
	Planned    *int            `json:"runs_planned,omitempty"`
	Method     string          `json:"method" enums:"welch,prediction,mover,paired,"`
	Verdict    results.Verdict `json:"verdict" enums:"better,worse,equivalent,inconclusive,invalid,not_tested"`
	Reason     string          `json:"reason,omitempty"` // why it is inconclusive, invalid or not tested
	difference stat.Difference
	short      bool    // the runs are shorter than their own correlation
	instrument float64 // error of the load generator that could be the difference, in the unit of A and B
}

// The verdicts: of answers, of metrics, and of gates and their rules.
const (
	IsBetter      results.Verdict = "better"
	IsWorse       results.Verdict = "worse"
	Equivalent    results.Verdict = "equivalent"     // the 90 % interval lies within the margin
	Inconclusive  results.Verdict = "inconclusive"   // too few or too short runs to say
	Invalid       results.Verdict = "invalid"        // the load generator distorted a number that is needed
	NotTested     results.Verdict = "not_tested"     // of a metric: the number cannot show a difference
	NotComparable results.Verdict = "not_comparable" // the servers were asked for different things
	Passes        results.Verdict = "pass"
	Fails         results.Verdict = "fail"
)

// AnswerOptions say how runs are judged.
type AnswerOptions struct {
	Version string   // of the program that judges
	Margin  float64  // change that counts as none, as a share; 0 = the default of each statistic
	Metrics []string // that are judged, such as request_latency:p95; none = those of the default question
	Allow   []string // JSON pointers of values of the load that may differ
}

// What answers speak for.
const (
	theseRuns           = "these runs"
	theseConfigurations = "these configurations"
)

// Runs that a verdict on configurations needs.
const (
	minRuns        = 3   // on each side
	minBaseline    = 5   // of A, if B is one run
	minRequests    = 160 // of a run that is compared alone: 16 blocks of 10
	minPermutation = 4   // on each side; with fewer no p-value of the permutation test is below 5 %
)

// ErrNothingInCommon means that sweeps have no cell in common, or that one side is a sweep of
// several configurations and the other is not.
var ErrNothingInCommon = errors.New("the sides have no configuration of a sweep in common; " +
	"compare a sweep with a sweep of the same values, or name runs of it")

// Judge compares the runs of b with those of a, the reference. Each side has at least one run.
// Runs of sweeps are compared cell by cell, in one family of tests. The error is that of
// [AnswerOptions] or of documents that cannot be read, or [ErrNothingInCommon].
func Judge(a, b []Input, o AnswerOptions) (*Answer, error) {
	questions, err := parseMetrics(o.Metrics)
	if err != nil {
		return nil, err
	}
	cells := inCommon(a, b)
	if len(cells) == 0 {
		return nil, ErrNothingInCommon
	}
	out := &Answer{
		AnswerHead: results.NewAnswerHead("compare", "Is B better or worse than A?", theseConfigurations),
		A:          idsOf(a), B: idsOf(b),
		Metrics: []MetricAnswer{}, Evidence: []Evidence{}, Load: []Difference{}, Subject: []Difference{},
	}
	out.Final, out.Stop.Reason, out.Provenance.Version = true, results.StopGiven, o.Version
	for _, cell := range cells {
		if err := out.compareLoads(slices.Concat(cell.a, cell.b), o.Allow); err != nil {
			return nil, err
		}
	}
	if len(out.Load) > 0 {
		out.Verdict = NotComparable
		out.Sentences = out.inWords()
		return out, nil
	}
	for i := range cells {
		out.judgeCell(&cells[i], questions, o.Margin)
	}
	if few := len(uncommon(a, b)); few > 0 {
		out.AddDoubt("cells-missing", fmt.Sprintf(
			"%d of the configurations are in one of the sweeps only, and not compared", few))
	}
	out.judge()
	out.support(cells)
	out.Sentences = out.inWords()
	if !out.Final {
		out.Stop.Reason = ""
	}
	return out, nil
}

// inWords returns the answer as sentences, the main one first.
func (a *Answer) inWords() []string {
	return asSentences(append([]string{a.Headline("B")}, a.explanations()...))
}

// judgeCell estimates the metrics of one cell.
func (a *Answer) judgeCell(c *pair, questions []asked, margin float64) {
	if !(len(c.a) >= minRuns && len(c.b) >= minRuns || len(c.a) >= minBaseline && len(c.b) == 1) {
		a.SpeaksFor = theseRuns
	}
	defs := definitions(slices.Concat(c.a, c.b))
	from := len(a.Metrics)
	for _, q := range questions {
		i := slices.IndexFunc(defs, func(d *catalogue.Def) bool { return d.Tag == q.tag })
		if i < 0 {
			continue
		}
		if margin > 0 && !q.points {
			q.margin = margin
		}
		m := MetricAnswer{
			Cell: c.cell, Tag: q.tag, Header: defs[i].Header, Statistic: q.stat.String(), Unit: defs[i].Unit, Points: q.points,
			RunsA: len(c.a), RunsB: len(c.b), Margin: q.margin, Better: direction(defs[i]),
		}
		if !q.points {
			m.Margin *= 100
		}
		m.estimate(c.a, c.b, q)
		// The load generator adds to latencies and never takes from them, so that its error on the side with
		// the larger value can be the difference.
		switch {
		case m.A == nil || m.B == nil || m.Unit != "ms":
		case *m.B > *m.A:
			m.instrument = instrumentError(c.b, m.Tag, m.Statistic)
		default:
			m.instrument = instrumentError(c.a, m.Tag, m.Statistic)
		}
		if m.A != nil || m.B != nil {
			a.Metrics = append(a.Metrics, m)
		}
	}
	a.addDoubts(c, a.Metrics[from:])
}

// idsOf returns the ids of runs.
func idsOf(runs []Input) []string {
	out := make([]string, len(runs))
	for i := range runs {
		out[i] = runs[i].Run.ID
	}
	return out
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
		case m.byInstrument():
			m.Reason = "the load generator itself may have added " + metric.ValueText(m.instrument, m.Unit) +
				" to the larger value, which is all of the difference"
			a.AddDoubt("instrument", "a difference of "+m.Statistic+" "+m.Tag+" is within the error of the load generator; "+
				"more runs do not change that, a quieter machine does")
		case (m.difference.Estimate > 0) == (m.Better == Higher):
			m.Verdict = IsBetter
		default:
			m.Verdict = IsWorse
		}
	}
	a.Verdict = overall(a.Metrics)
	a.Decide.Needs = a.decide()
}

// byInstrument reports whether the load generator itself may have made all of the difference.
func (m *MetricAnswer) byInstrument() bool {
	return m.A != nil && m.B != nil && math.Abs(*m.B-*m.A) <= m.instrument
}

// overall returns the worst verdict of metrics that were tested.
func overall(metrics []MetricAnswer) results.Verdict {
	for _, v := range []results.Verdict{IsWorse, Invalid, Inconclusive, IsBetter, Equivalent} {
		if slices.ContainsFunc(metrics, func(m MetricAnswer) bool { return m.Verdict == v }) {
			return v
		}
	}
	return Inconclusive
}

// decide says what would decide the open metrics: the runs that find a change of the margin.
func (a *Answer) decide() string {
	if a.Verdict == Invalid {
		return "give the load generator a machine or cores of its own, and measure again"
	}
	var runs float64
	for i := range a.Metrics {
		m := &a.Metrics[i]
		if m.Verdict != Inconclusive || m.byInstrument() {
			continue
		}
		few := min(m.RunsA, m.RunsB)
		if m.Change == nil && few >= minRuns {
			continue // more runs do not help
		}
		if m.Change == nil || m.Method == methodMover || m.Method == methodPaired {
			runs = max(runs, minRuns)
			continue
		}
		ratio := m.difference.Detectable() / m.limit()
		runs = max(runs, float64(few+1), float64(few)*ratio*ratio)
	}
	if runs == 0 {
		return ""
	}
	const most = 1000
	switch n := max(minRuns, math.Ceil(runs)); {
	case n == minRuns && a.SpeaksFor == theseRuns:
		return fmt.Sprintf("at least %d runs on each side, measured alternately: "+
			"how much runs differ among themselves is not known yet", minRuns)
	case n <= most:
		return fmt.Sprintf("about %.0f runs on each side, measured alternately, show changes as large as the margins", n)
	}
	return "the runs differ too much among themselves for any sensible number of them; find out why first"
}

// support names the estimate that the verdict is about, and the values of its runs.
func (a *Answer) support(cells []pair) {
	var m *MetricAnswer
	for i := range a.Metrics {
		if x := &a.Metrics[i]; x.Verdict == a.Verdict && (m == nil || m.Change == nil && x.Change != nil) {
			m = x
		}
	}
	if m == nil && len(a.Metrics) > 0 {
		m = &a.Metrics[0]
	}
	if m == nil {
		return
	}
	i := slices.IndexFunc(cells, func(c pair) bool { return c.cell == m.Cell })
	s, _ := metric.ParseStat(m.Statistic)
	for _, side := range []struct {
		role string
		runs []Input
	}{{"a", cells[i].a}, {"b", cells[i].b}} {
		for j := range side.runs {
			in := &side.runs[j]
			v := valueOf(in, m.Tag, s)
			e := Evidence{Run: in.Run.ID, Name: in.Run.Name, Role: side.role, Value: v.Value, Client: describe(in).Client}
			if v.Interval != nil {
				e.Low, e.High = &v.Interval[0], &v.Interval[1]
			}
			a.Evidence = append(a.Evidence, e)
		}
	}
	if m.Change == nil || m.Low == nil || m.High == nil {
		return
	}
	a.Estimate = &Estimate{
		AnswerInterval: results.AnswerInterval{
			Tag: m.Tag, Statistic: m.Statistic, Value: *m.Change, Unit: "%", Low: *m.Low, High: *m.High, Level: stat.Level,
			Replication: "runs", N: m.RunsA + m.RunsB, Method: m.Method,
		},
		Cell: m.Cell, Freedom: m.difference.Freedom,
	}
	if m.Points {
		a.Estimate.Unit = "points"
	}
	switch m.Method {
	case methodMover:
		a.Estimate.Replication, a.Estimate.N = "blocks", 2*stat.Blocks
	case methodPaired:
		a.Estimate.Replication, a.Estimate.N = "blocks", stat.Blocks
	}
}
