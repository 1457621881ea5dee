package study

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/config/sweep"
	"aiperfd/internal/engine/metric"
	"aiperfd/internal/engine/metric/catalogue"
	"aiperfd/internal/engine/stat"
	"aiperfd/internal/engine/verdict"
	"aiperfd/internal/results"
	"aiperfd/internal/run"
	"aiperfd/internal/study/capacity"
	"aiperfd/internal/study/cell"
	"aiperfd/internal/study/search"
)

// load returns the search for a capacity that the study is; ok = false if it is another study.
func (p *performance) load() (l search.Load, ok bool) {
	found, isSearch := p.planner.(*search.Search)
	if !isSearch {
		return l, false
	}
	l, ok = found.Planner.(search.Load)
	return l, ok
}

// planned returns how the last of the outcomes is probed, which has no trial yet.
func (p *performance) planned() (l search.Load, plan capacity.Plan, ok bool) {
	if l, ok = p.load(); ok {
		plan, ok = l.Plan(p.outcomes[:len(p.outcomes)-1])
	}
	return l, plan, ok
}

// endedBy is the beginning of the reason for which a probe is cancelled by its own study. Such a
// probe has a result.
const endedBy = "probe ended early: "

// endedEarly returns why the study has ended a probe before its time; empty = it has not.
func endedEarly(r *run.Run) string {
	if r.State != bench.StateCancelled || r.Cancelled == nil {
		return ""
	}
	for _, why := range []string{capacity.Overload, capacity.Hopeless} {
		if r.Cancelled.Reason == endedBy+why {
			return why
		}
	}
	return ""
}

// failedWith reports whether a run failed for a cause.
func failedWith(r *run.Run, cause run.ErrorCode) bool {
	return r.State == bench.StateFailed && r.Error != nil && r.Error.Code == cause
}

// cutShort returns why a probe ended before its time and still has a result: the study ended it, or
// a limit of its document on what the server leaves undone; empty = neither. What a user cancels has
// no result: its requests were not cut by the load.
func cutShort(r *run.Run) string {
	switch {
	case failedWith(r, run.Saturated):
		return capacity.Overload
	case failedWith(r, run.ErrorThreshold):
		return capacity.Hopeless
	}
	return endedEarly(r)
}

// watchEvery is how often a probe is looked at while it runs.
const watchEvery = 500 * time.Millisecond

// watchProbe ends a probe of a search for a capacity once the server is overloaded by it, or so
// many requests of its window are bad that it has failed. In a closed loop none is ended: the load of
// such a server is bounded, and how many requests it will have is not known. It stores for how long the
// server is under load, and returns when ctx ends or the probe is ended.
func (p *performance) watchProbe(ctx context.Context, id string) {
	l, plan, ok := p.planned()
	if !ok {
		return
	}
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	arrivals := plan.Level * plan.Window.Seconds() * 1.05 // they are random
	w := probeWatch{plan: plan, tolerated: (1 - l.Rules.Target) * arrivals}
	mayEnd := !l.Rules.Closed && (plan.MaxInFlight > 0 || plan.Curtail)
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		snap, err := p.opts.Runner.Snapshot(ctx, id)
		if err != nil || snap.State != bench.StateRunning {
			continue
		}
		p.storeLoad(ctx, loadOf(snap))
		if !mayEnd {
			continue
		}
		if why := w.look(snap); why != "" {
			stop := run.CancelRequest{Force: true, Reason: endedBy + why}
			if _, _, err := p.opts.Runner.Cancel(ctx, id, stop); err != nil && !errors.Is(err, run.ErrAlreadyFinished) {
				p.opts.Log.Error().Err(err).Str("run", id).Msg("end probe")
			}
			return
		}
	}
}

// loadEvery is how often a study stores for how long its active cell has loaded servers.
const loadEvery = 5 * time.Second

// storeLoad stores for how long the active cell has loaded servers, from time to time.
func (p *performance) storeLoad(ctx context.Context, load time.Duration) {
	if load.Seconds() < p.item.View().Study.LoadActive+loadEvery.Seconds() {
		return
	}
	p.item.Change(ctx, func(r *run.Run) { r.Study.LoadActive = load.Seconds() })
}

// loadOf returns for how long a run has loaded its servers in its profiling phase.
func loadOf(snap *run.Snapshot) time.Duration {
	i := slices.IndexFunc(snap.Phases, func(p run.Phase) bool { return p.Stats.Kind == bench.Profiling })
	if i < 0 {
		return 0
	}
	return max(0, snap.Phases[i].Stats.LastUpdate-snap.Phases[i].Stats.Start)
}

// probeWatch decides whether a probe goes on.
type probeWatch struct {
	plan      capacity.Plan
	tolerated float64 // bad requests that the window may have
	begun     bool    // the window has
	bad, done int64   // when it began
}

// look returns why the probe ends; empty = it goes on.
func (w *probeWatch) look(snap *run.Snapshot) string {
	i := slices.IndexFunc(snap.Phases, func(p run.Phase) bool { return p.Stats.Kind == bench.Profiling })
	if i < 0 {
		return ""
	}
	s := &snap.Phases[i].Stats
	inFlight := s.Sent - s.Completed - s.Cancelled + s.Backlog
	if w.plan.MaxInFlight > 0 && inFlight > int64(w.plan.MaxInFlight) {
		return capacity.Overload
	}
	bad := s.Records.Errors
	for _, missed := range snap.Phases[i].Counters.SLOMissed {
		bad = max(bad, missed)
	}
	done := s.Records.Success + s.Records.Errors
	if !w.begun {
		w.begun, w.bad, w.done = s.LastUpdate-s.Start >= w.plan.Warmup, bad, done
		return ""
	}
	bad, done = bad-w.bad, done-w.done
	if w.plan.Curtail && float64(bad) > w.tolerated && bad > done/2 {
		return capacity.Hopeless
	}
	return ""
}

// probed returns what the requests of a run say of its level of load; nil = they say nothing.
func (p *performance) probed(r *run.Run, snap *run.Snapshot) *capacity.Probe {
	l, plan, ok := p.planned()
	if !ok {
		return nil
	}
	i := slices.IndexFunc(snap.Phases, func(p run.Phase) bool { return p.Stats.Kind == bench.Profiling })
	if i < 0 {
		return nil
	}
	phase := &snap.Phases[i]
	begun := phase.Epoch.Add(phase.Stats.Start)
	ended := cutShort(r)
	end := plan.Warmup + plan.Window
	if ended != "" {
		end = min(end, phase.Stats.SentEnd-phase.Stats.Start)
	}
	w := window{
		start: begun.Add(plan.Warmup).UnixNano(), length: end - plan.Warmup,
		limits: l.Limits, open: !l.Rules.Closed, missed: make(map[string]int),
	}
	if w.length <= 0 { // it was overloaded before its window began: the warm-up says as much
		w.start, w.length = begun.UnixNano(), max(end, time.Nanosecond)
	}
	for record, err := range results.Open(p.opts.Store.Dir(r.ID), p.prefix).Records() {
		if err == nil && record.Metadata.Kind == bench.Profiling {
			w.add(record)
		}
	}
	if dropped, ok := dropped(snap.Metrics); ok {
		w.drop(dropped, end)
	}
	out := w.probe()
	if out == nil {
		return nil
	}
	out.Level, out.Window, out.Load, out.Ended = plan.Level, plan.Window, end+seconds(r.Cell.LoadLost), ended
	if ended != "" {
		out.Lasted = w.length
	}
	out.Busy = slices.ContainsFunc(r.Warnings, func(w bench.Warning) bool { return w.Code == run.NotIdle })
	if r.Client != nil {
		out.Distorted, out.Suspect = w.doubtful(r.Client.Reasons)
	}
	return out
}

// drop counts arrivals of a phase of a length that were never sent. When each was due is not known: the
// window has its part of them, evenly.
func (w *window) drop(arrivals float64, phase time.Duration) {
	for k := range w.all {
		w.all[k] += arrivals * float64(w.length) / float64(max(phase, w.length)) / stat.Blocks
	}
}

// dropped returns how many arrivals of a run were due and never sent.
func dropped(all metric.Results) (float64, bool) {
	for i := range all {
		if all[i].Def.Tag == "dropped_arrival_count" {
			return all[i].Get(metric.Avg)
		}
	}
	return 0, false
}

// window are the requests of a probe after its warm-up.
type window struct {
	start  int64 // nanoseconds since 1970
	length time.Duration
	limits map[string]float64 // by metric
	open   bool               // latencies count from when a request was due

	good, all [stat.Blocks]float64 // by due time
	good0     [stat.Blocks]float64 // of them, on the clock of starts
	levels    [stat.Blocks]float64 // time in flight, in blocks
	missed    map[string]int       // by metric
	latencies []float64            // ms
}

// add counts a request.
func (w *window) add(r *results.Record) {
	due := r.Metadata.Start
	if lag, ok := r.Value("schedule_lag"); ok && w.open {
		due -= int64(lag * 1e6)
	}
	at := func(ns int64) float64 { return float64(ns-w.start) / float64(w.length.Nanoseconds()) * stat.Blocks }
	from, to := at(due), at(r.Metadata.End)
	for k := max(0, int(from)); k < stat.Blocks && float64(k) < to; k++ {
		w.levels[k] += max(0, min(to, float64(k+1))-max(from, float64(k)))
	}
	if from < 0 || from >= stat.Blocks {
		return
	}
	k := int(from)
	w.all[k]++
	latency := "request_latency"
	if w.open {
		latency = "corrected_request_latency"
	}
	if v, ok := r.Value(latency); ok && r.Succeeded() {
		w.latencies = append(w.latencies, v)
	}
	good, good0 := r.Succeeded(), r.Succeeded()
	for tag, limit := range w.limits {
		value, ok := r.Value(tag)
		good0 = good0 && ok && meets(tag, value, limit)
		if corrected, has := r.Value("corrected_" + tag); has && w.open {
			value = corrected
		}
		if !ok || !meets(tag, value, limit) {
			good = false
			w.missed[tag]++
		}
	}
	if !r.Succeeded() && len(r.Error) > 0 {
		w.missed["errors"]++
	}
	if good {
		w.good[k]++
	}
	if good0 {
		w.good0[k]++
	}
}

// meets reports whether a value keeps its limit.
func meets(tag string, value, limit float64) bool {
	if def, ok := catalogue.Lookup(tag); ok && def.Flags&catalogue.LargerIsBetter != 0 {
		return value >= limit
	}
	return value <= limit
}

// probe returns what the window says; nil without requests.
func (w *window) probe() *capacity.Probe {
	share := stat.BlockShare(w.good, w.all)
	if share.N == 0 {
		return nil
	}
	trend := stat.BlockLine(w.levels)
	out := &capacity.Probe{
		Share: share, FromStart: stat.BlockShare(w.good0, w.all).X, Growing: w.open && trend.Growing(), InFlight: trend.Mean,
		Missed: w.missed,
	}
	slices.Sort(w.latencies)
	if len(w.latencies) > 0 {
		ms := func(q float64) time.Duration {
			return time.Duration(stat.Quantile(w.latencies, q) * float64(time.Millisecond))
		}
		out.Median, out.P95 = ms(0.5), ms(0.95)
	}
	return out
}

// attainment returns the share of good requests as a metric of the trial.
func attainment(p *capacity.Probe, measured []cell.Metric) cell.Metric {
	out := cell.Metric{
		Tag: sweep.Attainment, Unit: "%", Stats: map[string]float64{"avg": 100 * p.Share.X},
		Margins: map[string]float64{"avg": 100 * p.Share.Margin()},
	}
	for i := range measured {
		if m := &measured[i]; p.Distorted != "" && m.Doubt != nil && strings.HasSuffix(m.Tag, p.Distorted) {
			d := *m.Doubt
			d.Invalid, d.Side = true, -1 // a late client makes good requests bad
			out.Doubt = &d
		}
	}
	return out
}

// tellable is the share of a limit that the error of the load generator may have: more may move
// requests across the limit.
const tellable = 0.1

// doubtful returns the objective that the load generator may have decided, and whether it may
// have distorted one.
func (w *window) doubtful(reasons []verdict.Reason) (distorted string, suspect bool) {
	for _, tag := range slices.Sorted(maps.Keys(w.limits)) {
		number := tag
		if _, has := catalogue.Lookup("corrected_" + tag); has && w.open {
			number = "corrected_" + tag
		}
		r := verdict.Affects(reasons, number)
		if r == nil {
			continue
		}
		if r.Level == verdict.Invalid && r.Unit == "ms" && r.Value > tellable*w.limits[tag] {
			return tag, true
		}
		suspect = true
	}
	return "", suspect
}

// settle waits before a probe until the servers are idle, for the time that a turn of a crossover waits at most. It
// returns why they are not.
func (p *performance) settle(ctx context.Context, s run.Servers) string {
	end := time.Now().Add(drainPatience)
	switch {
	case !emptied(ctx, s, end):
		return fmt.Sprintf("by its own metrics, the server still had requests after %v without load", drainPatience)
	case !p.idle.settle(ctx, s.Canary, time.Until(end)):
		return fmt.Sprintf("the server answered a short request more slowly than when it was idle, after %v of waiting",
			drainPatience)
	}
	return ""
}

// leastIdle is the shortest pause between probes: the server empties its queue.
const leastIdle = 2 * time.Second

// idleBefore returns how many seconds a study waits before a variation.
func (p *performance) idleBefore() float64 {
	given := p.doc.Sweep.CooldownSeconds
	if _, ok := p.load(); !ok || given > 0 {
		return given
	}
	idle := leastIdle
	if n := len(p.outcomes); n > 1 && len(p.outcomes[n-2].Trials) > 0 {
		if before := p.outcomes[n-2].Trials[0].Probe; before != nil {
			idle = max(idle, before.Median)
		}
	}
	return idle.Seconds()
}
