package measure

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/metric"
	"aiperfd/internal/engine/metric/catalogue"
	"aiperfd/internal/engine/metric/timeline"
	"aiperfd/internal/engine/sketch"
	"aiperfd/internal/engine/stat"
)

// newTotals joins the counts of a set with those of its phases. A running phase may
// still send what waits. Nothing is known of what waited when a process died, nor of
// connections that were opened before the phase.
func (s *Set) newTotals(w time.Duration, phases ...bench.PhaseStats) *catalogue.Totals {
	t := &catalogue.Totals{Tally: &s.tally, Sums: s.sums(), Window: seconds(w), Opened: float64(s.tally.Preconnected)}
	for _, p := range phases {
		t.SkippedTurns += p.SkippedTurns
		t.Dropped += float64(p.Backlog + p.Arrivals.Dropped)
		if p.RequestsEnd == 0 || p.End == bench.PhaseAborted {
			t.Dropped = math.NaN()
		}
		if p.End == bench.PhaseAborted {
			t.Opened = math.NaN()
		}
	}
	return t
}

// seconds returns a window in seconds; NaN if there is none.
func seconds(w time.Duration) float64 {
	if w > 0 {
		return w.Seconds()
	}
	return math.NaN()
}

// Live returns the metrics of a running phase at an instant of the run's clock, from
// sketches and counters, so that the work does not grow with the number of records.
// Curves are absent because they include requests in flight.
func (s *Set) Live(p bench.PhaseStats, now time.Duration) metric.Results {
	f := finisher{set: s, totals: s.newTotals(p.Measured(now), p), live: true}
	return f.results()
}

// Final returns the metrics of a finished phase. w is its window W, which rates are
// divided by; curves span w from p.Start. Internal and experimental metrics are
// included; callers filter by flags.
func (s *Set) Final(w time.Duration, p bench.PhaseStats) metric.Results {
	f := finisher{
		set: s, totals: s.newTotals(w, p),
		parts: []Part{{Set: s, Window: w, Phase: p}},
	}
	return f.results()
}

// ByTarget returns the metrics of finished phases together, for each target; nil unless
// the records are divided by target. Rates are divided by the windows of the phases
// together.
func ByTarget(parts ...Part) []metric.Results {
	return grouped(parts, func(s *Set) []*fold { return s.targets })
}

// grouped returns the metrics of phases together for each of the groups that of returns,
// of which all sets have equally many.
func grouped(parts []Part, of func(*Set) []*fold) []metric.Results {
	if len(parts) == 0 {
		return nil
	}
	s := parts[0].Set
	var out []metric.Results
	for i := range of(s) {
		all := newFold(s)
		all.server = of(s)[i].server
		for _, p := range parts {
			all.merge(of(p.Set)[i], s)
		}
		out = append(out, all.results(s, &catalogue.Totals{Window: seconds(Joint(parts...))}, nil))
	}
	return out
}

// Part is one phase of a pooled result.
type Part struct {
	Set    *Set
	Window time.Duration
	Phase  bench.PhaseStats
	Slots  int           // requests that a closed loop keeps in flight; 0 = the phase is an open loop
	Ramp   time.Duration // after the start of the phase, in which its load rises
}

// Finished is all that is computed of a finished phase.
type Finished struct {
	Results metric.Results
	Windows []Window // phase, activity and steady; nil without a request
	Slices  []Slice  // up to the end of the phase, empty ones too; nil = none were asked for
}

// Finish returns the metrics of a finished phase. Internal and experimental metrics are
// included; callers filter by flags.
func (p Part) Finish() Finished {
	f := finisher{set: p.Set, totals: p.Set.newTotals(p.Window, p.Phase), parts: []Part{p}}
	return Finished{Results: f.results(), Windows: f.windows(), Slices: f.slices()}
}

// Pool returns the metrics of several phases together, as if their windows
// followed one another: W is the sum of the windows. The sets must have the same
// options; they stay as they are.
func Pool(parts ...Part) (metric.Results, error) {
	switch len(parts) {
	case 0:
		return nil, errors.New("pool phases: there are none")
	case 1:
		return parts[0].Set.Final(parts[0].Window, parts[0].Phase), nil
	}
	o := parts[0].Set.opts
	for _, p := range parts[1:] {
		o.Budget += p.Set.opts.Budget // so that the values kept of each are kept of all
	}
	all, err := NewSet(o)
	if err != nil {
		return nil, fmt.Errorf("pool phases: %w", err)
	}
	all.network = parts[0].Set.network
	var phases []bench.PhaseStats
	for _, p := range parts {
		if err := all.Merge(p.Set); err != nil {
			return nil, fmt.Errorf("pool phases: %w", err)
		}
		phases = append(phases, p.Phase)
	}
	f := finisher{set: all, totals: all.newTotals(Joint(parts...), phases...), parts: parts}
	return f.results(), nil
}

// PoolLive returns the metrics of several phases together, of which some may go on. They are those of [Set.Live]:
// from sketches and counters. The sets must have the same options; they stay as they are.
func PoolLive(parts ...Part) (metric.Results, error) {
	if len(parts) == 0 {
		return nil, errors.New("pool phases: there are none")
	}
	o := parts[0].Set.opts
	o.Budget = -1 // no values are kept
	all, err := NewSet(o)
	if err != nil {
		return nil, fmt.Errorf("pool phases: %w", err)
	}
	all.network = parts[0].Set.network
	var phases []bench.PhaseStats
	for _, p := range parts {
		if !o.equal(&p.Set.opts) {
			return nil, errors.New("pool phases: their options differ")
		}
		for i := range all.series {
			all.series[i].sketch.Merge(p.Set.series[i].sketch)
		}
		all.tally.Merge(&p.Set.tally)
		phases = append(phases, p.Phase)
	}
	f := finisher{set: all, totals: all.newTotals(Joint(parts...), phases...), live: true}
	return f.results(), nil
}

// Joint returns the length of the windows of phases together, in the order of their
// starts. A time that belongs to several windows counts once.
func Joint(parts ...Part) (w time.Duration) {
	var end time.Duration
	for _, p := range parts {
		from := max(p.Phase.Start, p.Phase.Records.From)
		w += max(0, min(p.Window, from+p.Window-end))
		end = max(end, from+p.Window)
	}
	return w
}

// finisher turns a set into results.
type finisher struct {
	set    *Set
	totals *catalogue.Totals
	parts  []Part
	live   bool

	sorted    []float64 // values of the series sortedTag, ascending
	scratch   []float64 // memory for sorting
	sortedTag string
	sweep     *timeline.Sweep // made for the first curve
}

// results computes all metrics.
func (f *finisher) results() metric.Results {
	return append(f.set.collect(f.fill), attainments(f.set.slos, f.totals.Tally)...)
}

// fill computes one metric.
func (f *finisher) fill(res *metric.Result, r *catalogue.Row) {
	switch {
	case r.Total != nil:
		res.Set(metric.Avg, r.Total(f.totals))
		if r.Parts != nil && !res.Empty() {
			count, sum := r.Parts(f.totals)
			res.Count = int64(math.Round(count))
			res.Set(metric.Sum, sum)
		}
	case r.Curve != catalogue.NoCurve:
		if !f.live {
			f.fillCurve(res, r.Curve)
		}
	case r.Power != nil: // it is known after the end
	case r.Trip:
		f.set.network.fill(res, r)
	case r.LessTrip != "":
		f.fillLessTrip(res, f.set.byTag[r.LessTrip])
	case r.Lag != nil:
		f.fillLag(res, r)
	case r.Bounded != "":
		f.fillBounded(res, &f.set.series[f.set.byTag[r.Bounded]])
	case r.Base != "":
		f.fillAdjusted(res, &f.set.series[f.set.byTag[r.Base]])
	default:
		se := &f.set.series[f.set.byTag[r.Tag]]
		switch {
		case se.sketch.Count() == 0:
		case f.live || se.dropped() || !f.fromValues(res, se):
			f.fromSketch(res, se)
		}
	}
}

// fillLag computes a metric about the lags of a replay: the offsets from the schedule
// minus the smallest of them.
func (f *finisher) fillLag(res *metric.Result, r *catalogue.Row) {
	se := &f.set.series[f.set.byTag[catalogue.ReplayOffset]]
	if se.sketch.Count() == 0 {
		return
	}
	const ms = float64(time.Millisecond)
	quantile := func(p float64) float64 {
		return max(0, se.sketch.Quantile(p)-se.sketch.Min()) * se.row.SketchDiv / ms
	}
	if !f.live && !se.dropped() {
		if sorted := f.sort(se); len(sorted) == se.exact.Len() {
			quantile = func(p float64) float64 { return (stat.Quantile(sorted, p) - sorted[0]) / ms }
		}
	}
	res.Set(metric.Avg, r.Lag(quantile))
}

// fromValues computes a metric from all its values; false if the disk has lost
// some.
func (f *finisher) fromValues(res *metric.Result, se *series) bool {
	sorted, div := f.sort(se), se.row.Div
	if len(sorted) < se.exact.Len() {
		return false
	}
	exactly(res, se.exact.Runs(), sorted, div)
	var at [stat.Thresholds]float64
	for i, p := range monitored {
		at[i] = stat.Quantile(sorted, p)
	}
	sequence := stat.NewSequence(at)
	for run := range se.exact.Runs() {
		sequence.AddAll(run)
	}
	if se.exact.Lost() {
		*res = metric.Result{Def: res.Def}
		return false
	}
	res.Confidence = newConfidence(res, sequence, func(k int64) float64 { return sorted[k] / div })
	return true
}

// fromSketch computes a metric whose values were dropped, or of a running phase.
func (f *finisher) fromSketch(res *metric.Result, se *series) {
	scale := se.row.SketchDiv / se.row.Div
	sketched(res, se.sketch, scale)
	if !f.live {
		res.Set(metric.MAD, medianDeviation(se.sketch)*scale)
	}
	if !f.live && se.dropped() && se.sequence.Count() == int64(se.sketch.Count()) { // else the disk has lost some
		res.Confidence = newConfidence(res, se.sequence, func(k int64) float64 { return se.sketch.Rank(uint64(k)) * scale })
	}
}

// sort returns the values of a series in ascending order, until the next call.
func (f *finisher) sort(se *series) []float64 {
	if f.sortedTag != se.row.Tag {
		f.sorted = se.exact.AppendTo(f.sorted[:0])
		f.scratch = stat.Sort(f.sorted, f.scratch)
		f.sortedTag = se.row.Tag
	}
	return f.sorted
}

// fillAdjusted computes an error-adjusted metric.
func (f *finisher) fillAdjusted(res *metric.Result, se *series) {
	if f.totals.Errors == 0 || se.sketch.Count() == 0 {
		return
	}
	n := int64(se.sketch.Count())
	if !f.live && !se.dropped() {
		if sorted := f.sort(se); int64(len(sorted)) == n {
			withErrors(res, n, f.totals.Errors, func(k int64) float64 { return sorted[k] / se.row.Div })
			return
		}
	}
	scale := se.row.SketchDiv / se.row.Div
	res.RelError = sketch.RelativeError
	withErrors(res, n, f.totals.Errors, func(k int64) float64 { return se.sketch.Rank(uint64(k)) * scale })
}

// fillBounded computes a metric with the requests that the end of the grace period cut.
func (f *finisher) fillBounded(res *metric.Result, se *series) {
	if f.live || len(se.least) == 0 {
		return
	}
	if !se.dropped() {
		if sorted := f.sort(se); len(sorted) == se.exact.Len() {
			all := slices.Concat(sorted, se.least)
			slices.Sort(all)
			atLeast(res, all, se.row.Div)
			return
		}
	}
	all := se.sketch.Clone()
	all.AddAll(se.least, se.row.SketchDiv)
	sketchedLeast(res, all, se.row.SketchDiv/se.row.Div)
}

// fillCurve computes a time-weighted metric.
func (f *finisher) fillCurve(res *metric.Result, c catalogue.CurveKind) {
	f.begin()
	if ws := f.sweep.Curve(c); ws != nil {
		res.Bin = f.sweep.Bin()
		weighted(res, ws)
		if peak, ok := f.sweep.Peak(c, peakWidth); ok {
			res.Set(metric.Max100, peak)
		}
	}
}

// peakWidth is the interval of the statistic max_100ms.
const peakWidth = 100 * time.Millisecond

// begin makes the sweep.
func (f *finisher) begin() {
	if f.sweep == nil {
		f.sweep = newSweep(f.parts)
	}
}

// newSweep returns a sweep over the windows of parts.
func newSweep(parts []Part) *timeline.Sweep {
	spans := make([]timeline.Part, len(parts))
	for i, p := range parts {
		from := max(p.Phase.Start, p.Phase.Records.From)
		if from == 0 {
			from = p.Set.tally.FirstSent
		}
		spans[i] = p.Set.timeline.Part(from, from+p.Window)
	}
	return timeline.NewSweep(spans...)
}
