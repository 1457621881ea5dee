package plan

import (
	"fmt"
	"math"

	"aiperfd/internal/engine/load/spec"
	"aiperfd/internal/view"
)

// NeedsWorkersCode is the code of the warning of [NeedsWorkers].
const NeedsWorkersCode = "needs-workers"

// What one process was seen to do, in docs/accuracy.md ("Measured").
const (
	requestsPerCore = 21369.0 / 2 // per second: plain-64, two cores that the client shared with the server
	coresPerEvent   = 8.73e-6     // streams-1000, in seconds per event
)

// shortest is how long a phase must last at its rate, in seconds, so that it is a load and not a burst.
const shortest = 1.0

// NeedsWorkers returns a warning if a phase asks for more than a process with so many cores sends, by what was
// measured; empty = none does, or it is not known: how fast a closed loop is depends on the server. Pass the plan of the whole: a
// part of one has the rate of all parts.
func NeedsWorkers(p *Plan, cores int) string {
	if p.Document != nil && p.Document.Benchmark.Cluster != nil {
		return "" // who performs it is not known here
	}
	for i := range p.Phases {
		ph := &p.Phases[i]
		rate := steadyRate(ph)
		if rate <= 0 || math.IsInf(rate, 0) || math.IsNaN(rate) {
			continue
		}
		need, answers, events, assumed := rate/requestsPerCore, "", "", ""
		if tokens := meanAnswer(p); tokens > 0 {
			need += rate * tokens * coresPerEvent
			answers = fmt.Sprintf(", with streams of up to %s tokens on average", view.Figure(tokens))
			events, assumed = ", and an event of a stream took 8.73 µs of CPU", " if each token is an event of its own"
		}
		if need <= float64(cores) {
			continue
		}
		return fmt.Sprintf("phase %s: %s requests per second are asked for%s. In the measurements of docs/accuracy.md, "+
			"client and server together did %s requests per second with a core%s. By these figures the load takes up to "+
			"%s cores%s, and this process may use %d. Divide it among load generators (docs/more-load.md), or see "+
			"whether the verdict on the client is ok",
			ph.Name, view.Figure(rate), answers, view.Figure(requestsPerCore), events, view.Figure(need), assumed, cores)
	}
	return ""
}

// steadyRate returns the requests per second that a phase asks for, of a series the most; 0 = there is no such number,
// or its bounds end it within a second.
func steadyRate(p *spec.Phase) float64 {
	rate := p.Rate
	switch {
	case p.Users != nil:
		rate = p.Users.Rate
	case p.Arrivals == nil || p.PerSession || p.InTurns:
		return 0
	}
	switch {
	case p.Requests > 0 && float64(p.Requests) < rate*shortest,
		p.Sessions > 0 && float64(p.Sessions) < rate*shortest,
		p.Duration > 0 && p.Duration.Seconds() < shortest:
		return 0
	}
	return rate
}

// meanAnswer returns how many tokens the answers of a plan have at most, on average; 0 = they are not streamed, or it is
// not known.
func meanAnswer(p *Plan) float64 {
	o := &p.Dataset.Options
	s := &o.Synthetic
	if !p.Settings.Streaming || !o.OSL.Given() || s.Pairs.Given() || s.Ratio.Given || p.Document == nil ||
		len(p.Document.Benchmark.Datasets) != 1 || p.Document.Benchmark.Datasets[0].Type != "synthetic" {
		return 0
	}
	return o.OSL.Mean()
}
