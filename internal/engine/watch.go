package engine

import (
	"cmp"
	"fmt"
	"strings"
	"sync"
	"time"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/export"
	"aiperfd/internal/engine/metric"
	"aiperfd/internal/engine/monitor"
	"aiperfd/internal/engine/verdict"
)

// watched performs work while the process watches itself.
func (x *execution) watched(o monitor.Options, work func()) {
	x.monitor = monitor.Start(o)
	stop := sync.OnceFunc(x.monitor.Stop)
	defer stop()
	work()
}

// watch is how the client is watched over one phase, and what its records say
// about it. Only the phase's recorder touches it, until that has ended.
type watch struct {
	tally  verdict.Tally
	mark   *monitor.Mark // nil = a phase that is not judged
	stamps verdict.Histogram
	self   *verdict.Self
	report *verdict.Report // of the last look

	saturation *verdict.Saturation // of the last look; nil = a closed loop
}

// begin opens the window.
func (w *watch) begin(p *phase) {
	x := p.run
	if x.monitor == nil || !p.plan.Counted() {
		return
	}
	if x.stampLag != nil {
		w.stamps = x.stampLag()
	}
	w.mark = x.monitor.Mark()
	w.tally.Begin(p.start)
	x.monitor.Watch(func() int64 {
		sent, _ := p.budget.counts()
		return sent - p.count.completed.Load() - p.count.cancelled.Load()
	})
}

// look judges the window so far. The last look closes it. Without a success there
// is no judgement.
func (w *watch) look(p *phase, stats *bench.PhaseStats, live metric.Results) {
	x := p.run
	if w.mark == nil {
		return
	}
	if stats.RequestsEnd != 0 {
		x.monitor.Watch(nil)
	}
	self := x.monitor.Since(w.mark)
	w.self = &self
	asked := verdict.Asked{
		Open: p.plan.Arrivals != nil, BacklogMax: stats.BacklogMax,
		TTFT: median(live, "time_to_first_token"), Latency: median(live, "request_latency"),
	}
	o := verdict.Observation{Phase: p.plan.Name, Self: self, Load: w.tally.Load(asked)}
	if asked.Open {
		w.saturation = verdict.Saturate(&verdict.Demand{
			Rate: p.plan.Rate, Smoothness: p.plan.Smoothness, Capped: o.Load.Capped, Stats: stats, Tally: &w.tally, Load: &o.Load,
		})
	}
	if !w.tally.Succeeded() {
		return // there are no numbers that could be wrong
	}
	if x.stampLag != nil {
		now := x.stampLag()
		lag := now.Since(&w.stamps)
		o.Load.StampLag = &lag
	}
	report := verdict.Judge(&o)
	w.report = &report
}

// saturation says whether the servers kept up with the open loops so far: it is of
// the first phase that they did not keep up with, or else of the last one. It is nil
// without an open loop. running is the watch of the phase that goes on, or nil.
func (x *execution) saturation(running *watch) *verdict.Saturation {
	var last *verdict.Saturation
	watches := make([]*watch, 0, len(x.finished)+1)
	for i := range x.finished {
		watches = append(watches, x.finished[i].watch)
	}
	for _, w := range append(watches, running) {
		if w == nil || w.saturation == nil {
			continue
		}
		if last = w.saturation; last.Saturated {
			return last
		}
	}
	return last
}

// median returns the median of a latency; 0 = unknown.
func median(live metric.Results, tag string) time.Duration {
	if m := live.Find(tag); m != nil {
		if v, ok := m.Get(metric.P50); ok {
			return time.Duration(v * float64(time.Millisecond))
		}
	}
	return 0
}

// trust says how far the numbers of all phases so far can be trusted; running is
// the watch of the phase that goes on, or nil. Both are nil where there is
// nothing to judge.
func (x *execution) trust(running *watch) (*verdict.Report, *verdict.Stream) {
	var reports []verdict.Report
	var tallies []*verdict.Tally
	add := func(w *watch) {
		if w == nil || w.mark == nil {
			return
		}
		tallies = append(tallies, &w.tally)
		if w.report != nil {
			reports = append(reports, *w.report)
		}
	}
	for i := range x.finished {
		add(x.finished[i].watch)
	}
	add(running)
	stream := verdict.Streams(tallies...)
	if len(reports) == 0 && x.certificate == nil {
		return nil, stream
	}
	overall := verdict.Overall(reports)
	overall.Certificate = x.certificate
	return &overall, stream
}

// trusted adds to a report how its streams came, and whether its numbers agree.
func trusted(rep *export.Report, phases []measured) {
	var tallies []*verdict.Tally
	var checks []verdict.Checks
	for i := range phases {
		m, r := &phases[i], &rep.Phases[i]
		if m.plan.Counted() {
			tallies = append(tallies, m.tally)
		}
		checks = append(checks, verdict.Check(&verdict.Account{
			Results: r.Results, Counters: m.set.Counters(), Stats: m.stats, Window: m.stats.Window(m.stats.LastUpdate),
			Start: r.Start, End: r.End, Tally: m.tally, Self: m.self,
		}))
	}
	rep.Stream = verdict.Streams(tallies...)
	rep.Checks = verdict.JoinChecks(checks)
}

// doubts lists what speaks against the numbers of a report.
func doubts(rep *export.Report) []bench.Warning {
	var out []bench.Warning
	if c := rep.Client; c != nil {
		for i := range c.Reasons {
			r := &c.Reasons[i]
			out = append(out, bench.Warning{Code: "client-" + string(r.Level), Detail: r.Message})
		}
		if len(c.Reasons) > 0 && len(c.Evidence) > 0 {
			var signs []string
			for i := range c.Evidence {
				signs = append(signs, c.Evidence[i].Message)
			}
			out = append(out, bench.Warning{Code: "client-evidence", Detail: strings.Join(signs, "; ")})
		}
	}
	if s := rep.Saturation; s != nil && !s.Saturated && s.Apart() {
		out = append(out, bench.Warning{Code: "offered-rate", Detail: s.Message + ": random arrivals; the rate of a short run differs from the mean"})
	}
	if s := rep.Stream; s != nil && s.Class != verdict.PerToken {
		out = append(out, bench.Warning{Code: "stream-" + string(s.Class), Detail: s.Message})
	}
	for i := range rep.Checks.Warnings {
		w := &rep.Checks.Warnings[i]
		out = append(out, bench.Warning{Code: "inconsistent-result", Detail: fmt.Sprintf(
			"phase %s: %s: %s", cmp.Or(w.Phase, "?"), w.Code, w.Detail)})
	}
	return out
}
