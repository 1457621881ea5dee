package spec

import (
	"iter"
	"time"

	"aiperfd/internal/engine/arrival"
)

// Share is what one of several load generators performs of a load. Each of them enumerates the sessions, arrivals and
// slots of the whole load and leaves out what it does not own, so that together they send what one would have sent.
// The zero Share is the whole load.
type Share struct {
	// Owns reports whether a session or an arrival, numbered from 0, is in the share. It depends on the number alone.
	// nil = all are.
	Owns func(n int64) bool
	// Slots reports the same of a slot, and of a place below the limit of prefills.
	Slots func(i int) bool
	// Arrivals is the part of the arrivals that are in the share, on average; 0 to 1.
	Arrivals float64
}

// Part says of which phase another one is a part.
type Part struct {
	Whole *Phase
	Share Share
	// First is the number of the first session of the phase, and of its first arrival.
	First int64
	users int64 // of those at the start of the phase, how many are in the share
}

// Of returns the part of a phase that the share has, whose sessions and arrivals are numbered from first; false = there
// is none, because all its slots, sessions or requests are of other shares. An open loop with fewer slots than shares
// must not be divided: arrivals of a share without a slot would wait for ever.
func (s *Share) Of(whole *Phase, first int64) (part *Phase, ok bool) {
	if s.Owns == nil {
		return whole, true
	}
	out := *whole
	out.Part = &Part{Whole: whole, Share: *s, First: first}
	out.Concurrency, out.Prefill = count(whole.Concurrency, s.Slots), count(whole.Prefill, s.Slots)
	owns := func(n int64) bool { return s.Owns(first + n) }
	out.Requests, out.Sessions = count(whole.Requests, owns), count(whole.Sessions, owns)
	if whole.Arrivals != nil {
		out.Arrivals = pick(whole.Arrivals, owns)
	}
	if whole.Users != nil {
		out.Part.users = count(int64(whole.Users.Count), owns)
	}
	out.Rate *= s.Arrivals
	lost := s.Arrivals == 0 || out.Concurrency < min(1, whole.Concurrency) || out.Prefill < min(1, whole.Prefill) ||
		out.Requests < min(1, whole.Requests) || out.Sessions < min(1, whole.Sessions)
	return &out, !lost
}

// count returns how many of the first n numbers are owned.
func count[N int | int64](n N, owns func(N) bool) (owned N) {
	for i := N(0); i < n; i++ {
		if owns(i) {
			owned++
		}
	}
	return owned
}

// pick yields the elements of a sequence whose index is owned.
func pick[N int | int64](seq iter.Seq[time.Duration], owns func(N) bool) iter.Seq[time.Duration] {
	return func(yield func(time.Duration) bool) {
		n := N(0)
		for d := range seq {
			if owns(n) && !yield(d) {
				return
			}
			n++
		}
	}
}

// SlotSteps yields when the slots of the phase open, since its start.
func (p *Phase) SlotSteps() iter.Seq[time.Duration] {
	return p.steps(p.Shape.Concurrency, p.Undivided().Concurrency)
}

// PrefillSteps yields when the limit of prefills rises by one.
func (p *Phase) PrefillSteps() iter.Seq[time.Duration] {
	return p.steps(p.Shape.Prefill, p.Undivided().Prefill)
}

// steps yields the steps of a ramp to a target of the whole phase that are in the share.
func (p *Phase) steps(ramp arrival.Ramp, target int) iter.Seq[time.Duration] {
	steps := ramp.Steps(target)
	if p.Part == nil {
		return steps
	}
	return pick(steps, p.Part.Share.Slots)
}

// Undivided returns the phase that this one is a part of, or the phase itself.
func (p *Phase) Undivided() *Phase {
	if p.Part != nil {
		return p.Part.Whole
	}
	return p
}

// Owns reports whether a session, numbered from 0 in the run, is performed by this load generator.
func (p *Phase) Owns(session int64) bool { return p.Part == nil || p.Part.Share.Owns(session) }

// FirstUsers returns how many of the users at the start of the phase are performed by this load generator.
func (p *Phase) FirstUsers() int64 {
	if p.Part != nil {
		return p.Part.users
	}
	return int64(p.Users.Count)
}

// SessionBound returns how many sessions the phase has at most; <0 = without bound. A session sends one request at
// least.
func (p *Phase) SessionBound() int64 {
	bound := int64(-1)
	for _, n := range []int64{p.Requests, p.Sessions} {
		if n > 0 && (bound < 0 || n < bound) {
			bound = n
		}
	}
	return bound
}
