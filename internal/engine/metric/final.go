package metric

import (
	"errors"
	"fmt"
	"math"
	"time"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/metric/timeline"
	"aiperfd/internal/engine/sketch"
	"aiperfd/internal/engine/stat"
)

// totals are the inputs of derived metrics.
type totals struct {
	*tally
	set          *Set
	window       float64 // seconds; NaN = none, so that rates are absent
	skippedTurns int64
	dropped      float64 // arrivals that were due and never sent; NaN = not known
	opened       float64 // connections that were opened before the phase; NaN = not known
}

// newTotals joins the counts of a set with those of its phases. A running phase may
// still send what waits. Nothing is known of what waited when a process died, nor of
// connections that were opened before the phase.
func (s *Set) newTotals(w time.Duration, phases ...bench.PhaseStats) *totals {
	t := &totals{tally: &s.tally, set: s, window: positive(w.Seconds()), opened: float64(s.tally.preconnected)}
	for _, p := range phases {
		t.skippedTurns += p.SkippedTurns
		t.dropped += float64(p.Backlog)
		if p.RequestsEnd == 0 || p.End == bench.PhaseAborted {
			t.dropped = math.NaN()
		}
		if p.End == bench.PhaseAborted {
			t.opened = math.NaN()
		}
	}
	return t
}

// count returns the number of values of a per-record metric.
func (t *totals) count(tag string) uint64 {
	i, ok := t.set.byTag[tag]
	if !ok {
		return 0
	}
	return t.set.series[i].sketch.Count()
}

// sum returns the sum of a per-record metric in display units; NaN if it has no
// values.
func (t *totals) sum(tag string) float64 {
	if t.count(tag) == 0 {
		return math.NaN()
	}
	se := &t.set.series[t.set.byTag[tag]]
	return se.sketch.Sum() * se.row.unit.sketch / se.row.unit.div
}

// Live returns the metrics of a running phase at an instant of the run's clock, from
// sketches and counters, so that the work does not grow with the number of records.
// Curves are absent because they include requests in flight.
func (s *Set) Live(p bench.PhaseStats, now time.Duration) Results {
	f := finisher{set: s, totals: s.newTotals(p.Measured(now), p), live: true}
	return f.results()
}

// Final returns the metrics of a finished phase. w is its window W, which rates are
// divided by; curves span w from p.Start. Internal and experimental metrics are
// included; callers filter by flags.
func (s *Set) Final(w time.Duration, p bench.PhaseStats) Results {
	f := finisher{
		set: s, totals: s.newTotals(w, p),
		parts: []Part{{Set: s, Window: w, Phase: p}},
	}
	return f.results()
}

// Part is one phase of a pooled result.
type Part struct {
	Set    *Set
	Window time.Duration
	Phase  bench.PhaseStats
}

// Pool returns the metrics of several phases together, as if their windows
// followed one another: W is the sum of the windows. The sets must have the same
// options; they stay as they are.
func Pool(parts ...Part) (Results, error) {
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
	var w time.Duration
	var phases []bench.PhaseStats
	for _, p := range parts {
		if err := all.Merge(p.Set); err != nil {
			return nil, fmt.Errorf("pool phases: %w", err)
		}
		w += p.Window
		phases = append(phases, p.Phase)
	}
	f := finisher{set: all, totals: all.newTotals(w, phases...), parts: parts}
	return f.results(), nil
}

// finisher turns a set into results.
type finisher struct {
	set    *Set
	totals *totals
	parts  []Part
	live   bool

	sorted    []float64 // values of the series sortedTag, ascending
	scratch   []float64 // memory for sorting
	sortedTag string
	sweep     *timeline.Sweep // made for the first curve
}

// results goes through the catalogue.
func (f *finisher) results() Results {
	out := make(Results, 0, len(catalogue)+len(f.set.slos))
	for i := range catalogue {
		r := &catalogue[i]
		if !f.set.opts.measures(r) {
			continue
		}
		res := Result{Def: &r.Def}
		f.fill(&res, r)
		if res.has != 0 {
			out = append(out, res)
		}
	}
	attempts := positive(float64(f.totals.Success + f.totals.Errors))
	for i := range f.set.slos {
		res := Result{Def: &f.set.slos[i].def}
		res.Set(Avg, float64(f.totals.SLOs[i].Met)/attempts)
		if res.has != 0 {
			out = append(out, res)
		}
	}
	return out
}

// fill computes one metric.
func (f *finisher) fill(res *Result, r *row) {
	switch {
	case r.total != nil:
		res.Set(Avg, r.total(f.totals))
		if r.parts != nil && res.has != 0 {
			count, sum := r.parts(f.totals)
			res.Count = int64(math.Round(count))
			res.Set(Sum, sum)
		}
	case r.curve != timeline.None:
		if !f.live {
			f.fillCurve(res, r.curve)
		}
	case r.lag != nil:
		f.fillLag(res, r)
	case r.base != "":
		f.fillAdjusted(res, &f.set.series[f.set.byTag[r.base]])
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
func (f *finisher) fillLag(res *Result, r *row) {
	se := &f.set.series[f.set.byTag[replayOffset]]
	if se.sketch.Count() == 0 {
		return
	}
	const ms = float64(time.Millisecond)
	quantile := func(p float64) float64 {
		return max(0, se.sketch.Quantile(p)-se.sketch.Min()) * se.row.unit.sketch / ms
	}
	if !f.live && !se.dropped() {
		if sorted := f.sort(se); len(sorted) == se.exact.Len() {
			quantile = func(p float64) float64 { return (stat.Quantile(sorted, p) - sorted[0]) / ms }
		}
	}
	res.Set(Avg, r.lag(quantile))
}

// fromValues computes a metric from all its values; false if the disk has lost
// some.
func (f *finisher) fromValues(res *Result, se *series) bool {
	sorted, div := f.sort(se), se.row.unit.div
	if len(sorted) < se.exact.Len() {
		return false
	}
	exactly(res, &se.exact, sorted, div)
	var at [stat.Thresholds]float64
	for i, p := range monitored {
		at[i] = stat.Quantile(sorted, p)
	}
	sequence := stat.NewSequence(at)
	for run := range se.exact.Runs() {
		sequence.AddAll(run)
	}
	if se.exact.Lost() {
		*res = Result{Def: res.Def}
		return false
	}
	res.Confidence = newConfidence(res, sequence, func(k int64) float64 { return sorted[k] / div })
	return true
}

// fromSketch computes a metric whose values were dropped, or of a running phase.
func (f *finisher) fromSketch(res *Result, se *series) {
	scale := se.row.unit.sketch / se.row.unit.div
	sketched(res, se.sketch, scale)
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
func (f *finisher) fillAdjusted(res *Result, se *series) {
	if f.totals.Errors == 0 || se.sketch.Count() == 0 {
		return
	}
	n := int64(se.sketch.Count())
	if !f.live && !se.dropped() {
		if sorted := f.sort(se); int64(len(sorted)) == n {
			withErrors(res, n, f.totals.Errors, func(k int64) float64 { return sorted[k] / se.row.unit.div })
			return
		}
	}
	scale := se.row.unit.sketch / se.row.unit.div
	res.RelError = sketch.RelativeError
	withErrors(res, n, f.totals.Errors, func(k int64) float64 { return se.sketch.Rank(uint64(k)) * scale })
}

// fillCurve computes a time-weighted metric.
func (f *finisher) fillCurve(res *Result, c timeline.Curve) {
	if f.sweep == nil {
		f.sweep = newSweep(f.parts)
	}
	if ws := f.sweep.Curve(c); ws != nil {
		res.Bin = f.sweep.Bin()
		weighted(res, ws)
	}
}

// newSweep returns a sweep over the windows of parts.
func newSweep(parts []Part) *timeline.Sweep {
	spans := make([]timeline.Part, len(parts))
	for i, p := range parts {
		from := max(p.Phase.Start, p.Phase.Records.From)
		if from == 0 {
			from = p.Set.tally.firstSent
		}
		spans[i] = p.Set.timeline.Part(from, from+p.Window)
	}
	return timeline.NewSweep(spans...)
}
