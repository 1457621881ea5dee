package agentic

import (
	"cmp"
	"slices"

	"aiperfd/internal/engine/bench"
)

// recordings returns what the trace says of each request, by its name.
func (g *Graph) recordings() map[string]*bench.Recording {
	out := map[string]*bench.Recording{}
	session := &bench.RecordedSession{ID: g.ID, Digest: g.Source.SHA256}
	for _, s := range g.Streams {
		for i := range s.Requests {
			r := &s.Requests[i]
			one := &bench.Recording{
				Start: seconds(r.T), End: seconds(r.End()), Session: session,
				Number: len(session.Turns), Blocks: len(r.blocks),
			}
			session.Turns = append(session.Turns, one)
			out[name(s.ID, i)] = one
		}
	}
	for _, s := range g.Streams {
		for i := range s.Requests {
			at := name(s.ID, i)
			r := out[at]
			switch {
			case i > 0:
				r.After = append(r.After, out[name(s.ID, i-1)])
			case s.Spawn != nil:
				r.After = append(r.After, out[s.Spawn.After])
			}
			for _, need := range g.Needs[at] {
				r.After = append(r.After, out[need])
			}
		}
	}
	g.countSeen()
	for _, s := range g.Streams {
		for i := range s.Requests {
			out[name(s.ID, i)].Seen = *s.Requests[i].seen
		}
	}
	byStart := slices.Clone(session.Turns) // the latest first
	slices.SortFunc(byStart, func(a, b *bench.Recording) int { return cmp.Compare(b.Start, a.Start) })
	for i, from := 0, 0; i < len(byStart); i++ {
		if i+1 == len(byStart) || byStart[i+1].Start < byStart[i].Start {
			for ; from <= i; from++ {
				byStart[from].Later = i + 1
			}
		}
	}
	return out
}

// countSeen counts, unless that is done, how many leading blocks of each request an earlier request of the recording
// had: what a prefix cache of unlimited size would have found.
func (g *Graph) countSeen() {
	if g.Streams[0].Requests[0].seen != nil {
		return
	}
	chains := map[*Request][]uint64{}
	sent := map[uint64]struct{}{} // chains of all requests so far
	for _, r := range g.bySending() {
		chain := make([]uint64, r.known, len(r.blocks))
		copy(chain, chains[r.continues])
		seen := r.known
		for at, id := range r.blocks[r.known:] {
			chain = append(chain, nextLink(chain, uint64(id)))
			if _, found := sent[chain[len(chain)-1]]; found && seen == r.known+at {
				seen++
			}
		}
		for _, link := range chain[r.known:] {
			sent[link] = struct{}{}
		}
		chains[r.Request] = chain
		r.seen = new(seen)
	}
}

// nextLink returns the hash of a list of blocks and one more, of the hashes of its beginnings.
func nextLink(chain []uint64, id uint64) uint64 {
	before := uint64(len(chain))
	if before > 0 {
		before = chain[before-1]
	}
	return bench.Mix(before ^ bench.Mix(id+1))
}
