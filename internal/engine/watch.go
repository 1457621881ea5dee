package engine

import (
	"cmp"
	"fmt"
	"strings"
	"sync"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/collect"
	"aiperfd/internal/engine/export"
	"aiperfd/internal/engine/monitor"
	"aiperfd/internal/engine/verdict"
)

// saturation says whether the servers kept up with the open loops so far: it is of
// the first phase that they did not keep up with, or else of the last one. It is nil
// without an open loop. running is the watch of the phase that goes on, or nil.
func (x *execution) saturation(running *collect.Client) *verdict.Saturation {
	var last *verdict.Saturation
	watches := make([]*collect.Client, 0, len(x.finished)+1)
	for i := range x.finished {
		watches = append(watches, x.finished[i].client)
	}
	for _, w := range append(watches, running) {
		if w == nil || w.Saturation == nil {
			continue
		}
		if last = w.Saturation; last.Saturated {
			return last
		}
	}
	return last
}

// trust says how far the numbers of all phases so far can be trusted; running is
// the watch of the phase that goes on, or nil. Both are nil where there is
// nothing to judge.
func (x *execution) trust(running *collect.Client) (*verdict.Report, *verdict.Stream) {
	var reports []verdict.Report
	var tallies []*verdict.Tally
	add := func(w *collect.Client) {
		if w == nil || !w.Counted() {
			return
		}
		tallies = append(tallies, &w.Tally)
		if w.Report != nil {
			reports = append(reports, *w.Report)
		}
	}
	for i := range x.finished {
		add(x.finished[i].client)
	}
	add(running)
	stream := verdict.Streams(tallies...)
	if len(reports) == 0 && x.observed.certificate == nil {
		return nil, stream
	}
	overall := verdict.Overall(reports)
	overall.Certificate = x.observed.certificate
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

// watched performs work while the process watches itself.
func (x *execution) watched(o monitor.Options, work func()) {
	x.observed.monitor = monitor.Start(o)
	stop := sync.OnceFunc(x.observed.monitor.Stop)
	defer stop()
	work()
}
