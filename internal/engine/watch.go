package engine

import (
	"sync"
	"time"

	"aiperfd/internal/engine/bench"
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

// median returns the median of a latency; 0 = unknown.
func median(live metric.Results, tag string) time.Duration {
	if m := live.Find(tag); m != nil {
		if v, ok := m.Get(metric.P50); ok {
			return time.Duration(v * float64(time.Millisecond))
		}
	}
	return 0
}
