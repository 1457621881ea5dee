package measure

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/metric"
	"aiperfd/internal/engine/metric/catalogue"
	"aiperfd/internal/engine/metric/timeline"
	"aiperfd/internal/engine/sketch"
)

// Set accumulates the records of one phase. Make one with [NewSet]. It is not safe
// for concurrent use; the goroutine that calls Observe also computes results, which
// may be passed on.
type Set struct {
	tally  catalogue.Tally
	opts   Options
	series []series       // one for each per-record metric that applies, in catalogue order
	byTag  map[string]int // indexes series; fixed after NewSet
	slos   []slo

	gaps     *series // inter_chunk_latency; nil if it does not apply
	timeline *timeline.Timeline
	slicer   *slicer     // nil = no time slices
	targets  []*fold     // nil = records are not divided by target
	models   []modelFold // nil = records are not divided by model
	// categories are those of the records so far, in order of appearance.
	categories []modelFold
	turns      []*fold // of the records of conversations of several turns, by turn
	sessions   sessions
	disk       timeline.Disk
	network    *Network // nil = the round trips are not known

	sketched  bool // the values of single requests exceeded the budget
	unchecked int  // records since the budget was last checked
	errors    *ErrorGroups

	view   catalogue.View // scratch of Observe
	values []float64      // scratch of Observe: this record's value for each series
	list   []float64      // scratch of Observe
	parts  []*fold        // scratch of Observe: what accumulates this record besides the set
}

// Options describe what a run can measure and the objectives that it has.
type Options struct {
	Streaming    bool // responses are requested as streams
	Caps         bench.Caps
	SLOs         map[string]float64 // thresholds by tag of a per-record metric, in its display unit
	ServerTokens bool               // tokens are counted by the server alone, so there is nothing to compare
	OpenLoop     bool               // requests are due by a schedule
	Replay       bool               // the schedule is that of the dataset
	Prefill      bool               // requests wait if too many have no content yet
	Deadline     catalogue.Deadline // of the tokens of each request; zero = there is none
	Targets      int                // servers; with several, records are also divided by them
	Models       []string           // of the requests; with several, records are also divided by them
	Slice        time.Duration      // length of a time slice; 0 = there are none
	// Budget bounds the values that a set keeps, in memory and on disk, in bytes. While
	// all values fit, percentiles are exact; see [Set.Size] for what happens beyond.
	// 0 = [DefaultBudget]; negative = no values are kept.
	Budget int64
}

// DefaultBudget is the default of [Options.Budget]: 64 MiB, enough for all values of
// about 400,000 streamed requests and 2 million content events.
const DefaultBudget = 64 << 20

// run returns what decides which metrics there are.
func (o *Options) run() catalogue.Run {
	return catalogue.Run{
		Streaming: o.Streaming, Caps: o.Caps, ServerTokens: o.ServerTokens,
		OpenLoop: o.OpenLoop, Replay: o.Replay, Prefill: o.Prefill, Objectives: len(o.SLOs) > 0, Deadline: o.Deadline,
	}
}

// NewSet returns an empty set. Its error names every objective that cannot be
// measured, with the nearest tag that can.
func NewSet(o Options) (*Set, error) {
	if o.Budget == 0 {
		o.Budget = DefaultBudget
	}
	o.SLOs = maps.Clone(o.SLOs)
	s := &Set{opts: o, byTag: make(map[string]int), errors: NewErrorGroups(), sessions: make(sessions)}
	s.view.Deadline = o.Deadline
	s.tally.ByClass = make(map[bench.Class]int64)
	rows, run := catalogue.Rows(), o.run()
	for i := range rows {
		r := &rows[i]
		if (r.Each == nil && r.List == nil) || !run.Measures(r) {
			continue
		}
		s.byTag[r.Tag] = len(s.series)
		s.series = append(s.series, series{row: r, sketch: sketch.New(), exact: timeline.On(&s.disk)})
	}
	s.values = make([]float64, len(s.series))
	var gaps *timeline.Column
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
	for i := range o.Targets {
		if o.Targets > 1 {
			one := newFold(s)
			one.server = i + 1
			s.targets = append(s.targets, one)
		}
	}
	s.models = newModels(s)
	return s, nil
}

// Observe adds one record. It retains only numbers of r and the texts of its
// failure.
func (s *Set) Observe(r *bench.Record) {
	v := &s.view
	v.Load(r)
	v.SessionStart = s.sessions.observe(v)
	part := s.part(r)
	s.parts = s.parts[:0]
	if part != nil {
		s.parts = append(s.parts, part)
	}
	if r.Target < len(s.targets) {
		s.parts = append(s.parts, s.targets[r.Target])
	}
	if model := modelOf(s, r); model != nil {
		s.parts = append(s.parts, model)
	}
	if category := categoryOf(s, r); category != nil {
		s.parts = append(s.parts, category)
	}
	if turn := turnOf(s, r); turn != nil {
		s.parts = append(s.parts, turn)
	}
	added := s.measure(v, s.parts)
	s.tally.Observe(v)
	s.score(v, s.parts)
	if v.Outcome == catalogue.Failed {
		s.errors.Add(v.Failure(), at(r))
	}
	s.keepRequest(v)
	s.keepWithinBudget()
	for _, p := range s.parts {
		p.tally.Observe(v)
	}
	if part != nil {
		s.slicer.enforce(s, added)
	}
	v.Record, v.Usage = nil, nil
}

// Connected adds the cost of a connection that was opened before the requests. The
// cost of connections that requests opened is in their records.
func (s *Set) Connected(cost bench.Setup) {
	s.tally.Preconnected++
	for i := range s.series {
		if se := &s.series[i]; se.row.Setup != nil {
			se.add(se.row.Setup(cost))
		}
	}
}

// Reused sets how much of what the phase has sent so far is a repetition.
func (s *Set) Reused(r catalogue.Reuse) { s.tally.Reuse = r }

// Reuse returns what Reused has set.
func (s *Set) Reuse() catalogue.Reuse { return s.tally.Reuse }

// SliceFrom makes the set divide its records into slices of [Options.Slice], which
// begin with the phase. Call it before the first record; without slices it does
// nothing.
func (s *Set) SliceFrom(start time.Duration) {
	if s.opts.Slice > 0 {
		s.slicer = &slicer{width: s.opts.Slice, origin: start}
	}
}

// SliceWidth returns the length of the slices; 0 = there are none. It is longer than that
// of [Options.Slice] if there would have been too many.
func (s *Set) SliceWidth() time.Duration {
	if s.slicer == nil {
		return 0
	}
	return s.slicer.width
}

// part returns what accumulates the slice of a record; nil = there are no slices, or
// the record was never sent.
func (s *Set) part(r *bench.Record) *fold {
	if s.slicer == nil || r.Stamps.Start == 0 {
		return nil
	}
	return s.slicer.at(r.Stamps.Start, s)
}

// measure adds the record's value to each series, and to those of parts. It returns the
// number of the latter.
func (s *Set) measure(v *catalogue.View, parts []*fold) (n int) {
	for i := range s.series {
		se := &s.series[i]
		s.values[i] = math.NaN()
		if !se.row.Scope.Covers(v.Outcome) {
			if se.row.Least != nil && v.Unfinished() {
				se.addLeast(se.row.Least(v))
			}
			continue
		}
		if se.row.List != nil {
			s.list = se.row.List(v, s.list[:0])
			se.addAll(s.list)
			for _, part := range parts {
				part.samples[i].add(se.row.SketchDiv, s.list...)
				n += len(s.list)
			}
			continue
		}
		if x := se.row.Each(v); !math.IsNaN(x) {
			s.values[i] = x
			se.add(x)
			for _, part := range parts {
				part.samples[i].add(se.row.SketchDiv, x)
				n++
			}
		}
	}
	return n
}

// score counts the objectives that a record meets.
func (s *Set) score(v *catalogue.View, parts []*fold) {
	if len(s.slos) == 0 {
		return
	}
	countSLOs(&s.tally, s.slos, v, s.values)
	for _, part := range parts {
		countSLOs(&part.tally, s.slos, v, s.values)
	}
}

// keepRequest adds the record to the timeline.
func (s *Set) keepRequest(v *catalogue.View) {
	st := &v.Record.Stamps
	if st.Start == 0 {
		return
	}
	r := timeline.Request{Start: st.Start, End: max(st.End, st.Start), ISL: v.ISL, OSL: v.OSL, OK: v.Outcome == catalogue.Success}
	if v.Outcome == catalogue.Success && v.Streams {
		r.First = st.Start + time.Duration(v.First)
		if s.gaps != nil {
			r.Gaps = v.Gaps
		}
	}
	s.list = s.list[:0]
	if s.timeline.Binned() && r.Gaps > 0 {
		s.list = catalogue.GapList(v, s.list)
	}
	s.timeline.Add(&r, s.list)
}

// Counters returns a copy of the counters.
func (s *Set) Counters() catalogue.Counters { return cloned(&s.tally.Counters) }

// cloned returns a copy of counters.
func cloned(of *catalogue.Counters) catalogue.Counters {
	c := *of
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
func (s *Set) ErrorGroups() []metric.ErrorGroup { return s.errors.Groups() }

// at returns when a failure was detected.
func at(r *bench.Record) time.Duration { return max(r.Stamps.End, r.Stamps.Start) }

// sums are those of the metrics of single records of a set, or of some of its records.
type sums struct {
	set   *Set
	count func(i int) uint64  // values of a series
	sum   func(i int) float64 // of these, in base units
}

// sums returns the sums of the series.
func (s *Set) sums() sums {
	return sums{
		s,
		func(i int) uint64 { return s.series[i].sketch.Count() },
		func(i int) float64 { return s.series[i].sketch.Sum() * s.series[i].row.SketchDiv },
	}
}

// Count implements [catalogue.Sums].
func (s sums) Count(tag string) uint64 {
	i, ok := s.set.byTag[tag]
	if !ok {
		return 0
	}
	return s.count(i)
}

// Sum implements [catalogue.Sums].
func (s sums) Sum(tag string) float64 {
	if s.Count(tag) == 0 {
		return math.NaN()
	}
	i := s.set.byTag[tag]
	return s.sum(i) / s.set.series[i].row.Div
}

// collect returns the results that fill computes of the metrics that a set measures.
func (s *Set) collect(fill func(*metric.Result, *catalogue.Row)) metric.Results {
	rows, run := catalogue.Rows(), s.opts.run()
	out := make(metric.Results, 0, len(rows)+len(s.slos))
	for i := range rows {
		res := metric.Result{Def: &rows[i].Def}
		if run.Measures(&rows[i]) {
			fill(&res, &rows[i])
		}
		if !res.Empty() {
			out = append(out, res)
		}
	}
	return out
}
