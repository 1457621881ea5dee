package capacity

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"aiperfd/internal/engine/stat"
	"aiperfd/internal/view"
)

// Verdict is what a search found.
type Verdict string

// The verdicts.
const (
	Estimated   Verdict = "estimated"    // the capacity lies in the interval
	LowerBound  Verdict = "lower_bound"  // the server bears the largest load that was probed
	UpperBound  Verdict = "upper_bound"  // the capacity is below the least load that was probed
	NotFound    Verdict = "not_found"    // the least load already misses the objectives
	NonMonotone Verdict = "non_monotone" // more load met the objectives better than less
	Invalid     Verdict = "invalid"      // nothing was measured, or too little, or the load generator decided it
)

// Answer is what a search says after some probes. It is meaningful at every stop: a shorter
// search has a wider interval.
type Answer struct {
	Verdict Verdict
	Reason  Reason // empty = the search goes on, or its study ended it
	// Capacity is the fit; nil for not_found, non_monotone and if the measurements bound it on no side.
	Capacity *stat.Capacity
	// Good and Bad are the largest probed level that is confirmed as good and the smallest that
	// is confirmed as bad; nil = there is none.
	Good, Bad *Evidence
	Evidence  []Evidence // every probe, in order
	Binding   string     // the objective that is missed first; empty = none was missed
	Distorted string     // the objective that the load generator may have decided; empty = none
	Doubts    []Doubt
	Load      time.Duration // for which the server was under load
	// Halving is how much more load half the width of the interval would take; 0 = unknown.
	Halving time.Duration
	// Costs is how many percentage points of good requests 5 % more load than the capacity costs.
	Costs float64
}

// Evidence is a probe, and what it is worth.
type Evidence struct {
	Probe
	Role      Role
	Low, High float64 // interval of the share, over the blocks
	Worth     float64 // independent requests; 0 = unknown
}

// Doubt is a reason to trust an answer less.
type Doubt struct{ Code, Message string }

// Answer returns what the probes say.
func (s *Search) Answer() Answer {
	a := Answer{Reason: s.Reason(), Load: s.load}
	for i, p := range s.probes {
		e := Evidence{Probe: p, Role: s.roles[i]}
		if p.Failure == "" {
			e.Low, e.High = max(0, p.Share.X-p.Share.Margin()), min(1, p.Share.X+p.Share.Margin())
			e.Worth = p.Share.N / s.fit.Dispersion
		}
		a.Evidence = append(a.Evidence, e)
	}
	a.Verdict, a.Distorted = s.verdict(), s.distorted()
	if a.Verdict == Estimated || a.Verdict == LowerBound || a.Verdict == UpperBound || a.Verdict == Invalid && !s.unbounded() {
		a.Capacity = s.fit
	}
	s.confirmed(&a)
	s.doubts(&a)
	if c := a.Capacity; c != nil {
		a.Costs = 100 * (c.At(c.Value) - c.At(1.05*c.Value))
		if c.Local > 0 {
			a.Halving = 3 * s.local()
		}
	}
	return a
}

// local returns for how long the server was near its capacity.
func (s *Search) local() time.Duration {
	var sum time.Duration
	for i := range s.probes {
		if p := &s.probes[i]; p.Failure == "" && p.Level >= nearEstimate*s.fit.Value && s.fit.At(p.Level) > 0.5 {
			sum += p.Load
		}
	}
	return sum
}

func (s *Search) verdict() Verdict {
	switch {
	case s.fit == nil, s.distorted() != "":
		return Invalid
	case s.ended == NotMet:
		return NotFound
	case s.ended == NotMonotone:
		return NonMonotone
	case s.unbounded():
		return Invalid
	case s.ended == InRange, s.fit.OpenAbove, s.fit.High >= s.options.High:
		return LowerBound
	case s.fit.OpenBelow, s.fit.Low <= s.options.Low:
		return UpperBound
	}
	return Estimated
}

// unbounded reports whether the probes say neither what the server bears nor what it does not.
func (s *Search) unbounded() bool {
	return s.ended != InRange && (s.fit == nil || s.fit.OpenAbove && s.fit.OpenBelow)
}

// distorted returns the objective that the load generator may have decided at a level that
// decides; empty = none.
func (s *Search) distorted() string {
	if s.fit == nil {
		return ""
	}
	for i := range s.probes {
		p := &s.probes[i]
		decides := s.roles[i] == Baseline || p.Level <= 1/nearEstimate*s.fit.Value
		if p.Failure == "" && p.Distorted != "" && decides && p.Share.X < 1 {
			return p.Distorted
		}
	}
	return ""
}

// confirmed finds the levels between which the capacity lies by what was measured there, and
// the objective that decides.
func (s *Search) confirmed(a *Answer) {
	target := s.options.Target
	missed := make(map[string]int)
	for i := range a.Evidence {
		e := &a.Evidence[i]
		if e.Failure != "" {
			continue
		}
		if e.Ended == "" && (s.fit.At(e.Level) > 0.5 || e.Role == Baseline) {
			for name, n := range e.Missed {
				missed[name] += n
			}
		}
		if e.pass(target) && !e.Growing && (a.Good == nil || better(a.Good, e, 1)) {
			a.Good = e
		}
		if !e.pass(target) && (a.Bad == nil || better(a.Bad, e, -1)) {
			a.Bad = e
		}
	}
	if a.Good != nil && a.Bad != nil && a.Good.Level >= a.Bad.Level { // near the capacity, chance decides
		a.Good, a.Bad = s.below(a.Evidence), s.above(a.Evidence)
	}
	for _, name := range slices.Sorted(maps.Keys(missed)) {
		if a.Binding == "" || missed[name] > missed[a.Binding] {
			a.Binding = name
		}
	}
}

// better reports whether e is farther in a direction than the best so far.
func better(best, e *Evidence, direction float64) bool {
	return (e.Level-best.Level)*direction > 0
}

// below returns the largest good level at or below the lower end of the interval, or nil.
func (s *Search) below(all []Evidence) *Evidence {
	var out *Evidence
	for i := range all {
		e := &all[i]
		if e.Failure == "" && e.pass(s.options.Target) && !e.Growing && e.Level <= s.fit.Value && s.consistent(all, e, 1) &&
			(out == nil || e.Level > out.Level) {
			out = e
		}
	}
	return out
}

// above returns the smallest bad level at or above the estimate, or nil.
func (s *Search) above(all []Evidence) *Evidence {
	var out *Evidence
	for i := range all {
		e := &all[i]
		if e.Failure == "" && !e.pass(s.options.Target) && e.Level >= s.fit.Value && s.consistent(all, e, -1) &&
			(out == nil || e.Level < out.Level) {
			out = e
		}
	}
	return out
}

// consistent reports whether no other probe in the direction away from the capacity has the
// other verdict: below a good level, none was bad.
func (s *Search) consistent(all []Evidence, e *Evidence, direction float64) bool {
	return !slices.ContainsFunc(all, func(o Evidence) bool {
		return o.Failure == "" && (e.Level-o.Level)*direction >= 0 && o.pass(s.options.Target) != e.pass(s.options.Target)
	})
}

// collapsed reports whether most requests were bad at a load that the server surely bore before it was overloaded.
func (s *Search) collapsed() bool {
	borne, overloaded := 0.0, false
	for i := range s.probes {
		p := &s.probes[i]
		switch {
		case p.Failure != "":
		case overloaded && p.Level <= borne && p.Share.X+p.Share.Margin() < 0.5:
			return true
		case p.Ended == Overload:
			overloaded = true
		case !overloaded && p.Share.X-p.Share.Margin() >= s.options.Target:
			borne = max(borne, p.Level)
		}
	}
	return false
}

// clocksApart is the difference of the shares on the two clocks that is a doubt, one point.
const clocksApart = 0.01

// doubts adds what speaks against the answer.
func (s *Search) doubts(a *Answer) {
	add := func(code, message string) { a.Doubts = append(a.Doubts, Doubt{code, message}) }
	if s.fit == nil {
		return
	}
	if a.Distorted != "" {
		add("client", "the load generator was late, and may have decided "+a.Distorted+
			": its error is more than a tenth of the limit")
	} else if slices.ContainsFunc(s.probes, func(p Probe) bool { return p.Suspect }) {
		add("client-suspect", "the load generator may have distorted an objective")
	}
	if a.Verdict == Estimated && a.Bad != nil && a.Bad.Level < s.fit.Value {
		add("bad-below", fmt.Sprintf("a probe at %s, below the estimate, missed the target: this near the capacity, probes go "+
			"either way, and the interval has room for both; rely on its lower end, %s, or search for longer",
			view.Figure(a.Bad.Level), view.Figure(s.fit.Low)))
	}
	if s.surprise || s.collapsed() {
		add("hysteresis", "after overload, the server met the objectives less often at the same load than before: what it "+
			"bears depends on what it had to bear before")
	}
	if a.Good != nil && math.Abs(a.Good.FromStart-a.Good.Share.X) > clocksApart {
		add("clocks-differ", "from the start of requests instead of their due times, the share of good requests differs by "+
			"more than one point: the load generator was late")
	}
	if s.fit.Local >= 6 && s.fit.Between > 2*s.fit.Within {
		add("too-short", "probes of nearly the same load differ by more than their own intervals: the windows are too "+
			"short for this server")
	}
	busy := 0
	for i := range s.probes {
		if s.probes[i].Busy {
			busy++
		}
	}
	if busy > 0 {
		add("not-idle", view.Plural(busy, "probe")+" began although the server was not idle: it had other load, or still "+
			"worked on that of the probe before")
	}
	if slices.ContainsFunc(s.probes, func(p Probe) bool { return p.Failure != "" }) {
		add("probes-failed", "some probes have no result")
	}
}
