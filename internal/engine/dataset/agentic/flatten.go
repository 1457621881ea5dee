package agentic

import (
	"cmp"
	"fmt"
	"slices"
)

// epsilon is a difference of recorded times that is none, in seconds.
const epsilon = 1e-6

// Rules are the limits by which agents are found in requests that were recorded as one stream. Part of this is
// heuristic: a capture does not say which agent sent a request.
type Rules struct {
	Split bool // false = every stream stays as it was recorded
	// A context that was cut continues its stream unless it begins later than SeamGap seconds after the request
	// before it and shares less than SeamOverlap of its blocks.
	SeamGap     float64
	SeamOverlap float64
	// A stream of at most AuxRequests requests is auxiliary if it has another model (with AuxModel) or a prompt
	// below AuxFloor tokens, or below AuxShare of the largest prompt of its main stream.
	AuxRequests int
	AuxModel    bool
	AuxFloor    int
	AuxShare    float64
	// So is one request with less than SummaryOut tokens of answer, 0 = none, and a prompt of at least AuxFloor
	// tokens and of more than SummaryRatio times its answer.
	SummaryOut   int
	SummaryRatio float64
	GroupLeast   int // streams of a group; 0 = there are no groups
}

// DefaultRules are those of AIPerf 0.13.
func DefaultRules() Rules {
	return Rules{
		Split: true, SeamGap: 3600, SeamOverlap: 0.5, AuxRequests: 1, AuxModel: true, AuxFloor: 16384, AuxShare: 0.1,
		SummaryOut: 4000, SummaryRatio: 20, GroupLeast: 3,
	}
}

// titleTokens is the largest answer of a call that only makes a title.
const titleTokens = 64

// chain is the requests of one agent.
type chain struct {
	calls  []int // in the order of time
	tail   int   // the last call with blocks; -1 = none
	source int   // the call whose context it began with; -1 = none
	shared int   // blocks in common with that
	joined int   // the chain that it continues; -1 = it stands for itself
}

// splitter finds the chains of a scope.
type splitter struct {
	rules  Rules
	calls  []call // by time
	chains []*chain
	owner  []int         // the chain of each call, as it was first found
	forks  map[int][]int // chains by the call whose context they began with
}

// part is a stream of a scope: the main one first.
type part struct {
	kind   Kind
	suffix string // of the stream's name; empty = the main one
	calls  []call // by time
	lead   []int64
}

// split divides the requests of a scope into streams.
func split(calls []call, rules Rules) []part {
	calls = slices.SortedFunc(slices.Values(calls), byTime)
	if !rules.Split || len(calls) < 2 {
		return []part{{kind: Main, calls: calls, lead: lead(calls)}}
	}
	rest := calls
	if preamble(calls) {
		rest = calls[1:]
	}
	s := &splitter{rules: rules, calls: rest, owner: make([]int, len(rest)), forks: map[int][]int{}}
	for i := range rest {
		s.place(i)
	}
	s.join()
	return s.parts(calls[:len(calls)-len(rest)])
}

// preamble reports whether the first request is one that has nothing to do with what follows, such as one for a
// title: no other begins with its first block, and it is short or no block of it appears again.
func preamble(calls []call) bool {
	first := calls[0].blocks
	if len(first) == 0 {
		return false
	}
	for i := range calls[1:] {
		if common(first, calls[i+1].blocks) > 0 {
			return false
		}
	}
	if calls[0].Out <= titleTokens {
		return true
	}
	own := map[int64]bool{}
	for _, id := range first {
		own[id] = true
	}
	for i := range calls[1:] {
		if slices.ContainsFunc(calls[i+1].blocks, func(id int64) bool { return own[id] }) {
			return false
		}
	}
	return true
}

// place gives a call to the chain that it extends, or begins a chain with it.
func (s *splitter) place(i int) {
	c := &s.calls[i]
	if len(c.blocks) == 0 {
		if len(s.chains) == 0 {
			s.chains = append(s.chains, &chain{tail: -1, source: -1, joined: -1})
		}
		s.chains[0].calls = append(s.chains[0].calls, i) // nothing tells whose it is
		return
	}
	extended, extendedLen := -1, 0
	nearest, depth, depthLen := -1, 0, 0
	for k, ch := range s.chains {
		if ch.tail < 0 {
			continue
		}
		tail := &s.calls[ch.tail]
		n := common(tail.blocks, c.blocks)
		if n == len(tail.blocks) && n > extendedLen && tail.Model == c.Model && tail.End() <= c.T+epsilon {
			extended, extendedLen = k, n
		}
		if n > depth || n == depth && n > 0 && len(tail.blocks) > depthLen {
			nearest, depth, depthLen = k, n, len(tail.blocks)
		}
	}
	switch {
	case extended >= 0:
		s.extend(extended, i)
	case len(s.chains) > 0 && !slices.ContainsFunc(s.chains, func(ch *chain) bool { return ch.tail >= 0 }):
		s.extend(0, i) // the first with blocks
	default:
		ch := &chain{tail: -1, source: -1, joined: -1, shared: depth}
		s.chains = append(s.chains, ch)
		if nearest >= 0 {
			ch.source = s.chains[nearest].tail
			s.forks[ch.source] = append(s.forks[ch.source], len(s.chains)-1)
		}
		s.extend(len(s.chains)-1, i)
	}
}

// extend adds a call with blocks to a chain.
func (s *splitter) extend(k, i int) {
	s.chains[k].calls = append(s.chains[k].calls, i)
	s.chains[k].tail, s.owner[i] = i, k
}

// resolve returns the chain that a chain has become part of.
func (s *splitter) resolve(k int) int {
	for s.chains[k].joined >= 0 {
		k = s.chains[k].joined
	}
	return k
}

// join continues each chain whose last context was never extended with the one of its forks that is the same
// agent after its context was cut: the deepest that begins after its end. The sources are visited in the order of
// the record; what moves to a later call is visited with that.
func (s *splitter) join() {
	byIndex := func(a, b int) int { return cmp.Compare(s.calls[a].index, s.calls[b].index) }
	var waiting []int
	for source := range s.forks {
		waiting = append(waiting, source)
	}
	slices.SortFunc(waiting, byIndex)
	for len(waiting) > 0 {
		source := waiting[0]
		waiting = waiting[1:]
		k := s.resolve(s.owner[source])
		into := s.chains[k]
		if into.tail != source {
			continue
		}
		forks := slices.DeleteFunc(slices.Clone(s.forks[source]), func(f int) bool {
			return s.chains[f].joined >= 0 || s.chains[f].source != source
		})
		chosen := s.elect(source, forks)
		if chosen < 0 {
			continue
		}
		next := s.chains[chosen]
		into.calls, into.tail, next.joined = append(into.calls, next.calls...), next.tail, k
		moved := false
		for _, f := range forks {
			if f == chosen {
				continue
			}
			other := s.chains[f]
			if n := common(s.calls[into.tail].blocks, s.calls[other.calls[0]].blocks); n > 0 {
				other.source, other.shared, moved = into.tail, n, true
				s.forks[into.tail] = append(s.forks[into.tail], f)
			}
		}
		if at, found := slices.BinarySearchFunc(waiting, into.tail, byIndex); moved && !found {
			waiting = slices.Insert(waiting, at, into.tail)
		}
	}
}

// elect returns the fork that continues its source; -1 = none does.
func (s *splitter) elect(source int, forks []int) int {
	from, best := &s.calls[source], -1
	for _, f := range forks {
		ch := s.chains[f]
		first := &s.calls[ch.calls[0]]
		far := first.T-from.End() > s.rules.SeamGap && float64(ch.shared)/float64(len(from.blocks)) < s.rules.SeamOverlap
		if first.Model != from.Model || from.End() > first.T+epsilon || far {
			continue
		}
		if best < 0 || cmp.Or(cmp.Compare(s.chains[best].shared, ch.shared),
			cmp.Compare(first.T, s.calls[s.chains[best].calls[0]].T), cmp.Compare(f, best)) < 0 {
			best = f
		}
	}
	return best
}

// parts returns the streams that were found. The preamble is played in the main one.
func (s *splitter) parts(preamble []call) []part {
	of := func(k int) []call {
		calls := make([]call, 0, len(s.chains[k].calls))
		for _, i := range s.chains[k].calls {
			calls = append(calls, s.calls[i])
		}
		slices.SortFunc(calls, byTime)
		return calls
	}
	root := s.resolve(s.owner[0])
	main := of(root)
	peak := 0
	for i := range main {
		peak = max(peak, main[i].In)
	}
	var workers []int
	for k, ch := range s.chains {
		if ch.joined < 0 && k != root {
			workers = append(workers, k)
		}
	}
	slices.SortFunc(workers, func(a, b int) int { return cmp.Compare(s.chains[a].calls[0], s.chains[b].calls[0]) })
	groups := s.groups(workers)
	out := []part{{kind: Main, calls: slices.SortedFunc(slices.Values(slices.Concat(preamble, main)), byTime), lead: lead(main)}}
	for n, k := range workers {
		p := part{kind: Agent, suffix: fmt.Sprintf("fa:%03d", n), calls: of(k)}
		p.lead = lead(p.calls)
		if s.auxiliary(p.calls, peak, main[0].Model) {
			p.kind, p.suffix = Auxiliary, fmt.Sprintf("aux:%03d", n)
		} else if suffix, ok := groups[k]; ok {
			p.kind, p.suffix = Group, suffix
		}
		out = append(out, p)
	}
	return out
}

// lead returns the blocks of the first request that has some.
func lead(calls []call) []int64 {
	for i := range calls {
		if len(calls[i].blocks) > 0 {
			return calls[i].blocks
		}
	}
	return nil
}

// auxiliary reports whether a stream is a call beside an agent and no agent.
func (s *splitter) auxiliary(calls []call, peak int, model string) bool {
	r, first := &s.rules, &calls[0]
	if len(calls) <= r.AuxRequests && (r.AuxModel && first.Model != model || first.In < max(r.AuxFloor, int(r.AuxShare*float64(peak)))) {
		return true
	}
	return len(calls) == 1 && first.Out < r.SummaryOut && first.In >= r.AuxFloor && float64(first.In) > r.SummaryRatio*float64(first.Out)
}

// groups returns the names of the streams that are one of several at a time with the same source.
func (s *splitter) groups(workers []int) map[int]string {
	type member struct {
		chain, source int
		from, to      float64
	}
	out := map[int]string{}
	if s.rules.GroupLeast == 0 {
		return out
	}
	var all []member
	for _, k := range workers {
		ch := s.chains[k]
		if ch.source < 0 {
			continue
		}
		m := member{chain: k, source: ch.source, from: s.calls[ch.calls[0]].T}
		for _, i := range ch.calls {
			m.to = max(m.to, s.calls[i].End())
		}
		all = append(all, m)
	}
	// The workers are in the order of their beginning, and stay so within a source.
	slices.SortStableFunc(all, func(a, b member) int { return cmp.Compare(a.source, b.source) })
	var found [][]member
	end := 0.0
	for i, m := range all {
		if i == 0 || m.source != all[i-1].source || m.from >= end {
			found, end = append(found, nil), m.to
		}
		found[len(found)-1] = append(found[len(found)-1], m)
		end = max(end, m.to)
	}
	found = slices.DeleteFunc(found, func(g []member) bool { return len(g) < s.rules.GroupLeast })
	slices.SortFunc(found, func(a, b []member) int {
		return cmp.Compare(s.chains[a[0].chain].calls[0], s.chains[b[0].chain].calls[0])
	})
	for g, group := range found {
		for i, m := range group {
			out[m.chain] = fmt.Sprintf("wg:%03d_%03d", g, i)
		}
	}
	return out
}
