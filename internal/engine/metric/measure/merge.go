package measure

import (
	"errors"
	"maps"
	"slices"
)

// Merge adds the records of o, which stays as it is. Counts and quantiles are those
// of one set that has observed all records. The sets must have the same options
// except the budget, of which that of s applies.
func (s *Set) Merge(o *Set) error {
	if !s.opts.equal(&o.opts) {
		return errors.New("merge metric sets: their options differ")
	}
	s.dropLike(o)
	gapsFrom := 0
	if s.gaps != nil {
		gapsFrom = s.gaps.exact.Len()
	}
	for i := range s.series {
		s.series[i].merge(&o.series[i])
	}
	s.timeline.Merge(o.timeline, gapsFrom)
	if o.disk.Lost() {
		s.dropExact()
	}
	s.tally.Merge(&o.tally)
	for i := range s.targets {
		s.targets[i].merge(o.targets[i], s)
	}
	for i := range s.models {
		s.models[i].merge(o.models[i].fold, s)
	}
	for _, c := range o.categories {
		s.categories[growCategories(s, c.name)].merge(c.fold, s)
	}
	growTurns(s, len(o.turns))
	for i := range o.turns {
		s.turns[i].merge(o.turns[i], s)
	}
	s.errors.Merge(o.errors)
	s.enforce()
	return nil
}

// dropLike drops the values that o has dropped.
func (s *Set) dropLike(o *Set) {
	if o.sketched && !s.sketched {
		s.dropExact()
	}
	if o.timeline.Binned() {
		s.timeline.UseBins()
	}
	for i := range s.series {
		if o.series[i].dropped() {
			s.dropList(&s.series[i])
		}
	}
}

// equal reports whether two sets measure the same things.
func (o *Options) equal(p *Options) bool {
	return o.Streaming == p.Streaming && o.Caps == p.Caps && o.ServerTokens == p.ServerTokens &&
		o.OpenLoop == p.OpenLoop && o.Replay == p.Replay && o.Prefill == p.Prefill && o.Targets == p.Targets && slices.Equal(o.Models, p.Models) && o.Deadline == p.Deadline && maps.Equal(o.SLOs, p.SLOs)
}
