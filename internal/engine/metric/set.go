package metric

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/metric/errorgroup"
	"aiperfd/internal/engine/metric/timeline"
	"aiperfd/internal/engine/metric/values"
	"aiperfd/internal/engine/sketch"
)

// Set accumulates the records of one phase. Make one with [NewSet]. It is not safe
// for concurrent use; the goroutine that calls Observe also computes results, which
// may be passed on.
type Set struct {
	tally  tally
	opts   Options
	series []series       // one for each per-record metric that applies, in catalogue order
	byTag  map[string]int // indexes series; fixed after NewSet
	slos   []slo

	gaps     *series // inter_chunk_latency; nil if it does not apply
	timeline *timeline.Timeline
	disk     values.Disk

	sketched  bool // the values of single requests exceeded the budget
	unchecked int  // records since the budget was last checked
	errors    *errorgroup.Set

	view   view      // scratch of Observe
	values []float64 // scratch of Observe: this record's value for each series
	list   []float64 // scratch of Observe
}

// tally holds the counts of a set besides the values of metrics.
type tally struct {
	Counters
	firstStart, lastContent time.Duration // of the successes
	firstSent               time.Duration // the first start of all records
	goodTokens              float64       // output tokens of good requests
	oslMismatches           int64
	compared, discrepancies int64 // records with two token counts, and those that disagree
	reuse                   Reuse
	preconnected            int64 // connections that were opened before the phase
	late                    int64 // requests that started more than LateAfter after they were due
}

// Counters are plain totals of a set, for scraping.
type Counters struct {
	Success         int64 // records that entered latency metrics
	Errors          int64 // failures that were not cancellations
	Cancelled       int64 // ended by the benchmark itself
	CancelledByTest int64 // ended by a cancellation test; not in Cancelled
	ByClass         map[bench.Class]int64

	InputTokens     int64 // of successes
	OutputTokens    int64 // of successes, reasoning not included
	ReasoningTokens int64 // of successes
	WastedTokens    int64 // that arrived for errors and cancellations

	ServerCounted int64 // successes whose tokens the server counted
	ClientCounted int64 // successes whose tokens the run counted

	Retries int64 // requests sent again because a reused connection had failed; see bench.Connection

	Good int64      // successes that meet every objective
	SLOs []SLOCount // one for each objective, ordered by tag
}

// NewSet returns an empty set. Its error names every objective that cannot be
// measured, with the nearest tag that can.
func NewSet(o Options) (*Set, error) {
	if o.Budget == 0 {
		o.Budget = DefaultBudget
	}
	o.SLOs = maps.Clone(o.SLOs)
	s := &Set{opts: o, byTag: make(map[string]int), errors: errorgroup.New()}
	s.tally.ByClass = make(map[bench.Class]int64)
	for i := range catalogue {
		r := &catalogue[i]
		if (r.each == nil && r.list == nil) || !o.measures(r) {
			continue
		}
		s.byTag[r.Tag] = len(s.series)
		s.series = append(s.series, series{row: r, sketch: sketch.New(), exact: values.On(&s.disk)})
	}
	s.values = make([]float64, len(s.series))
	var gaps *values.Column
	if i, ok := s.byTag["inter_chunk_latency"]; ok {
		s.gaps = &s.series[i]
		gaps = &s.gaps.exact
	}
	s.timeline = timeline.New(o.Budget, &s.disk, gaps)
	if o.Budget < 0 {
		s.dropExact()
	}
	var err error
	if s.slos, s.tally.SLOs, err = resolveSLOs(s); err != nil {
		return nil, fmt.Errorf("read objectives: %w", err)
	}
	return s, nil
}

// Observe adds one record. It retains only numbers of r and the texts of its
// failure.
func (s *Set) Observe(r *bench.Record) {
	v := &s.view
	v.load(r)
	s.measure(v)
	s.tally.Retries += int64(r.Conn.Retries)
	if start := r.Stamps.Start; start != 0 && (s.tally.firstSent == 0 || start < s.tally.firstSent) {
		s.tally.firstSent = start
	}
	if since(r.Stamps.Start, r.Stamps.Due) > float64(LateAfter) {
		s.tally.late++
	}
	switch v.outcome {
	case success:
		s.succeed(v)
	case failure:
		f := failureOf(r)
		s.tally.Errors++
		s.tally.ByClass[f.Class]++
		s.errors.Add(f, at(r))
		s.tally.WastedTokens += int64(v.wasted())
		for i := range s.slos {
			s.tally.SLOs[i].Missed++
		}
	case cancelled:
		class := r.Answer.Failure.Class
		if s.tally.ByClass[class]++; class == bench.CancelledByTest {
			s.tally.CancelledByTest++
		} else {
			s.tally.Cancelled++
		}
		s.tally.WastedTokens += int64(v.wasted())
	}
	s.keepRequest(v)
	s.keepWithinBudget()
	v.r, v.usage = nil, nil
}

// Connected adds the cost of a connection that was opened before the requests. The
// cost of connections that requests opened is in their records.
func (s *Set) Connected(cost bench.Setup) {
	s.tally.preconnected++
	for i := range s.series {
		if se := &s.series[i]; se.row.setup != nil {
			se.add(se.row.setup(cost))
		}
	}
}

// Reused sets how much of what the phase has sent so far is a repetition.
func (s *Set) Reused(r Reuse) { s.tally.reuse = r }

// measure adds the record's value to each series.
func (s *Set) measure(v *view) {
	for i := range s.series {
		se := &s.series[i]
		s.values[i] = math.NaN()
		if !se.row.scope.covers(v.outcome) {
			continue
		}
		if se.row.list != nil {
			s.list = se.row.list(v, s.list[:0])
			se.addAll(s.list)
			continue
		}
		if x := se.row.each(v); !math.IsNaN(x) {
			s.values[i] = x
			se.add(x)
		}
	}
}

// succeed counts a success.
func (s *Set) succeed(v *view) {
	s.tally.Success++
	s.tally.InputTokens += known(v.isl)
	s.tally.OutputTokens += known(v.out)
	s.tally.ReasoningTokens += known(v.think)
	switch v.r.TokenSource {
	case bench.TokensServer:
		s.tally.ServerCounted++
	case bench.TokensClient:
		s.tally.ClientCounted++
	case bench.TokensNone:
	}
	if oslMismatched(v) {
		s.tally.oslMismatches++
	}
	compared, discrepant := compare(v)
	s.tally.compared += b2i(compared)
	s.tally.discrepancies += b2i(discrepant)
	if len(s.slos) > 0 && s.tally.countSLOs(s.slos, s.values) {
		s.tally.Good++
		s.tally.goodTokens += orZero(v.osl)
	}
	start := v.r.Stamps.Start
	if s.tally.firstStart == 0 || start < s.tally.firstStart {
		s.tally.firstStart = start
	}
	s.tally.lastContent = max(s.tally.lastContent, start+time.Duration(v.last))
}

// keepRequest adds the record to the timeline.
func (s *Set) keepRequest(v *view) {
	st := &v.r.Stamps
	if st.Start == 0 {
		return
	}
	r := timeline.Request{Start: st.Start, End: max(st.End, st.Start), ISL: v.isl, OSL: v.osl}
	if v.outcome == success && v.streams {
		r.First = st.Start + time.Duration(v.first)
		if s.gaps != nil {
			r.Gaps = v.gaps
		}
	}
	s.list = s.list[:0]
	if s.timeline.Binned() && r.Gaps > 0 {
		s.list = gapList(v, s.list)
	}
	s.timeline.Add(&r, s.list)
}

// Counters returns a copy of the counters.
func (s *Set) Counters() Counters {
	c := s.tally.Counters
	c.ByClass = maps.Clone(c.ByClass)
	c.SLOs = slices.Clone(c.SLOs)
	return c
}

// Histogram returns a copy of the sketch of a per-record metric; false if the metric
// does not exist or does not apply. Times are in seconds, sizes in bytes,
// everything else in its display unit.
func (s *Set) Histogram(tag string) (*sketch.Sketch, bool) {
	i, ok := s.byTag[tag]
	if !ok {
		return nil, false
	}
	return s.series[i].sketch.Clone(), true
}

// ErrorGroups returns the errors by kind, most frequent first, without
// cancellations.
func (s *Set) ErrorGroups() []errorgroup.Group { return s.errors.Groups() }

// failureOf returns why a record is an error. A record can be one without a
// failure attached, when it has no content or its content came in no time.
func failureOf(r *bench.Record) *bench.Failure {
	switch {
	case r.Answer.Failure != nil:
		return r.Answer.Failure
	case len(r.Answer.Chunks) == 0:
		return &bench.Failure{Class: bench.EmptyOutput, Step: bench.StepBody, Status: r.Status, Message: "no content"}
	}
	return &bench.Failure{
		Class: bench.ClientError, Step: bench.StepBody, Status: r.Status,
		Message: "last content is not after the start of the request",
	}
}

// at returns when a failure was detected.
func at(r *bench.Record) time.Duration { return max(r.Stamps.End, r.Stamps.Start) }

// known returns a token count as an integer, 0 if it is unknown.
func known(x float64) int64 { return int64(orZero(x)) }

// orZero returns x, 0 if it is NaN.
func orZero(x float64) float64 {
	if math.IsNaN(x) {
		return 0
	}
	return x
}

// b2i is 1 for true, 0 for false.
func b2i(b bool) int64 {
	if b {
		return 1
	}
	return 0
}
