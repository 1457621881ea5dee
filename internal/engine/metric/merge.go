package metric

import (
	"errors"
	"maps"
)

// Merge adds everything that o has observed. o stays as it is. Counts and
// quantiles come out as if one set had observed all records. The sets must have
// the same options.
func (s *Set) Merge(o *Set) error {
	if !s.opts.equal(&o.opts) {
		return errors.New("merge metric sets: their options differ")
	}
	gapsBefore := len(s.gapValues())
	for i := range s.series {
		s.series[i].merge(&o.series[i], s.opts.ExactLimit)
	}
	s.mergeSpans(o, gapsBefore)
	s.tally.merge(&o.tally)
	s.errors.Merge(o.errors)
	s.cancelled.Merge(o.cancelled)
	return nil
}

// equal reports whether two sets measure the same things.
func (o *Options) equal(p *Options) bool {
	return o.Streaming == p.Streaming && o.Caps == p.Caps && o.ServerTokens == p.ServerTokens &&
		o.OpenLoop == p.OpenLoop && o.ExactLimit == p.ExactLimit && maps.Equal(o.SLOs, p.SLOs)
}

// merge adds the values of o, a series of the same metric.
func (s *series) merge(o *series, limit int) {
	s.sketch.Merge(o.sketch)
	if s.dropped || o.dropped || len(s.exact)+len(o.exact) > limit {
		s.exact, s.dropped = nil, true
		return
	}
	s.exact = append(s.exact, o.exact...)
}

// mergeSpans adds the spans of o, whose gaps now begin after ours.
func (s *Set) mergeSpans(o *Set, gapsBefore int) {
	if s.noSpans || o.noSpans || len(s.spans)+len(o.spans) > s.opts.ExactLimit {
		s.spans, s.noSpans = nil, true
		return
	}
	for _, sp := range o.spans {
		sp.gapsAt += gapsBefore
		s.spans = append(s.spans, sp)
	}
}

// merge adds the counts of o.
func (t *tally) merge(o *tally) {
	t.Success += o.Success
	t.Errors += o.Errors
	t.Cancelled += o.Cancelled
	for class, n := range o.ByClass {
		t.ByClass[class] += n
	}
	t.InputTokens += o.InputTokens
	t.OutputTokens += o.OutputTokens
	t.ReasoningTokens += o.ReasoningTokens
	t.WastedTokens += o.WastedTokens
	t.ServerCounted += o.ServerCounted
	t.ClientCounted += o.ClientCounted
	t.Good += o.Good
	for i := range t.SLOs {
		t.SLOs[i].Met += o.SLOs[i].Met
		t.SLOs[i].Missed += o.SLOs[i].Missed
	}
	t.goodTokens += o.goodTokens
	t.oslMismatches += o.oslMismatches
	t.compared += o.compared
	t.discrepancies += o.discrepancies
	if o.firstStart != 0 && (t.firstStart == 0 || o.firstStart < t.firstStart) {
		t.firstStart = o.firstStart
	}
	if o.firstSent != 0 && (t.firstSent == 0 || o.firstSent < t.firstSent) {
		t.firstSent = o.firstSent
	}
	t.lastContent = max(t.lastContent, o.lastContent)
	t.lastEnd = max(t.lastEnd, o.lastEnd)
}
