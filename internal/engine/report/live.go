package report

import (
	"fmt"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/metric"
	"aiperfd/internal/engine/metric/catalogue"
	"aiperfd/internal/engine/metric/measure"
	"aiperfd/internal/engine/sketch"
	"aiperfd/internal/engine/verdict"
	"aiperfd/internal/run"
)

// Counted returns the phases that enter the result.
func Counted(phases []Measured) (counted []Measured) {
	for i := range phases {
		if phases[i].Plan.Counted() {
			counted = append(counted, phases[i])
		}
	}
	return counted
}

// Together returns the metrics so far of phases of one run, of which some may go on.
func Together(phases []Measured) metric.Results {
	var parts []measure.Part
	for i := range phases {
		m := &phases[i]
		parts = append(parts, measure.Part{Set: m.Set, Window: m.Stats.Measured(m.Stats.LastUpdate), Phase: m.Stats})
	}
	results, err := measure.PoolLive(parts...)
	if err != nil {
		panic(fmt.Sprintf("phases of one run have the same metrics: %v", err))
	}
	return results
}

// Errors returns the errors so far of phases, in groups, most frequent first.
func Errors(phases []Measured) []metric.ErrorGroup {
	all := measure.NewErrorGroups()
	for i := range phases {
		for _, g := range phases[i].Set.ErrorGroups() {
			all.AddGroup(&g)
		}
	}
	return all.Groups()
}

// Client returns the judgement on the client over the phases of a run; the last one
// may still be running. It is nil if there is neither a judgement nor a certificate.
func Client(phases []Measured, certificate *verdict.Certificate) *verdict.Report {
	var reports []verdict.Report
	for i := range phases {
		if c := phases[i].Client; c != nil {
			reports = append(reports, *c)
		}
	}
	if len(reports) == 0 && certificate == nil {
		return nil
	}
	overall := verdict.Overall(reports)
	overall.Certificate = certificate
	return &overall
}

// Stream describes how the responses of the phases that enter the result arrived;
// nil without streams.
func Stream(phases []Measured) *verdict.Stream {
	var tallies []*verdict.Tally
	for i := range phases {
		if m := &phases[i]; m.Plan.Counted() {
			tallies = append(tallies, m.Tally)
		}
	}
	return verdict.Streams(tallies...)
}

// Saturation reports whether the servers kept up with the open loops: the judgement is
// that of the first phase with which they did not, or of the last one if there is none;
// nil without an open loop.
func Saturation(phases []Measured) *verdict.Saturation {
	var last *verdict.Saturation
	for i := range phases {
		if s := phases[i].Saturation; s != nil {
			if last = s; s.Saturated {
				break
			}
		}
	}
	return last
}

// Public returns a phase as the API shows it. The bytes sent and received are left to
// the caller.
func (m *Measured) Public(clock bench.Clock) run.Phase {
	c := counters(m.Set)
	c.Sent = m.Stats.Sent
	for _, model := range measure.ByModel(m.Set) {
		if c.Models == nil {
			c.Models = make(map[string]run.Counters)
		}
		c.Models[model.Name] = counters(model)
	}
	p := run.Phase{Stats: m.Stats, Epoch: clock.Wall(0), Counters: c}
	if m.Plan.Concurrency > 0 {
		p.Concurrency = &m.Plan.Concurrency
	}
	return p
}

// counters returns what records counted.
func counters(of interface {
	Counters() catalogue.Counters
	Histogram(tag string) (*sketch.Sketch, bool)
}) run.Counters {
	count := of.Counters()
	c := run.Counters{
		Success: count.Success, Cancelled: count.Cancelled, CancelledByTest: count.CancelledByTest, Errors: count.ByClass,
		InputTokens: count.InputTokens, OutputTokens: count.OutputTokens + count.ReasoningTokens,
		ReasoningTokens: count.ReasoningTokens,
		SLOMet:          map[string]int64{}, SLOMissed: map[string]int64{}, Histograms: map[string]*sketch.Sketch{},
	}
	delete(c.Errors, bench.Cancelled)
	delete(c.Errors, bench.CancelledByTest)
	for _, slo := range count.SLOs {
		c.SLOMet[slo.Tag], c.SLOMissed[slo.Tag] = slo.Met, slo.Missed
	}
	for _, tag := range catalogue.Headlines(catalogue.Exposed | catalogue.Sent) {
		if h, ok := of.Histogram(tag); ok {
			c.Histograms[tag] = h
		}
	}
	return c
}
