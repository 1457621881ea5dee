// Package agents measures the replay of recorded sessions of agents: how much of each prompt a prefix cache can
// have, and how long jobs took, compared with their recordings.
package agents

import (
	"hash/maphash"
	"math"
	"slices"
	"time"

	"aiperfd/internal/engine/bench"
)

// CacheBlock is the granularity of the expected cache: servers cache whole blocks, of 16 tokens by default.
const CacheBlock = 16

// mostPlays is how many plays are remembered. Of a play with a marker of its own, nothing can be found once it has
// ended; of those whose end is not known, the oldest is forgotten first.
const mostPlays = 4096

// Prefixes knows which prompts of recorded sessions were sent, to tell how many tokens of the next ones a prefix cache
// of unlimited size would have. It needs eight bytes per part of a prompt that it had not seen.
type Prefixes struct {
	seed  maphash.Seed
	sent  map[string][]segment // by the id of the session: texts of different ones are different
	plays map[int64]*sentPlay
	order []int64       // of plays, the oldest first
	lanes map[int]int64 // the play of each lane
	parts []bench.PromptPart
	chain []uint64
}

// sentPlay is a session that is being played.
type sentPlay struct {
	session string
	left    int // requests that have not returned
}

// segment is the part of a prompt that was not sent before: a piece of its chain of hashes. A hash is that of a part
// and all before it, of the model and of the server.
type segment struct {
	play  int64 // that alone can have it; shared = any
	from  int
	links []uint64
	end   time.Duration // of the request
}

// shared is the play of a segment that all plays of the session can have.
const shared = -1

// NewPrefixes returns a Prefixes that knows of no prompt.
func NewPrefixes() *Prefixes {
	return &Prefixes{
		seed: maphash.MakeSeed(), sent: map[string][]segment{}, plays: map[int64]*sentPlay{}, lanes: map[int]int64{},
	}
}

// Add takes a request of a recorded session that has returned, and returns how many tokens of its prompt requests
// that had ended before it began have sent to the same server. Requests are added in about the order in which they
// end.
func (p *Prefixes) Add(r *bench.Record) (expected bench.Tokens) {
	turn := r.Content.Replayed
	session := turn.Recorded.Session.ID
	play := p.play(r)
	p.parts = turn.Script.AppendParts(p.parts[:0], turn.Mark)
	p.chain = p.chain[:0]
	all := bench.Tokens(0)
	link := maphash.Comparable(p.seed, struct {
		model  string
		target int
	}{r.Model, r.Target})
	for i := range p.parts {
		link = bench.Mix(link ^ bench.Mix(p.parts[i].ID))
		p.chain = append(p.chain, link)
		all += bench.Tokens(p.parts[i].Tokens)
	}
	for i := range p.found(session, r.Stamps.Start) {
		expected += bench.Tokens(p.parts[i].Tokens)
	}
	if r.OK() {
		p.remember(session, r)
	}
	if play.left--; play.left <= 0 {
		p.forget(r.SessionNum)
	}
	return min(expected, max(0, all-1)) / CacheBlock * CacheBlock
}

// play returns the play of a request. A lane that plays a session has ended the one before it.
func (p *Prefixes) play(r *bench.Record) *sentPlay {
	if one := p.plays[r.SessionNum]; one != nil {
		return one
	}
	if r.Lane > 0 {
		if before, known := p.lanes[r.Lane]; known {
			p.forget(before)
		}
		p.lanes[r.Lane] = r.SessionNum
	}
	session := r.Content.Replayed.Recorded.Session
	one := &sentPlay{session: session.ID, left: len(session.Turns)}
	p.plays[r.SessionNum] = one
	p.order = append(p.order, r.SessionNum)
	if len(p.order) > mostPlays {
		p.forget(p.order[0])
	}
	return one
}

// found returns how many parts of the prompt were sent by requests that had ended before an instant. If a beginning
// of the prompt was sent, so were all shorter ones.
func (p *Prefixes) found(session string, before time.Duration) int {
	segments := p.sent[session]
	low, high := 0, len(p.chain)
	for low < high {
		middle := (low + high + 1) / 2
		if slices.ContainsFunc(segments, func(s segment) bool { return s.end <= before && s.has(middle-1, p.chain[middle-1]) }) {
			low = middle
		} else {
			high = middle - 1
		}
	}
	return low
}

// has reports whether the segment has a link at a place of the chain.
func (s *segment) has(at int, link uint64) bool {
	at -= s.from
	return at >= 0 && at < len(s.links) && s.links[at] == link
}

// remember keeps those parts of the prompt that are new. No other play can have what comes after a marker.
func (p *Prefixes) remember(session string, r *bench.Record) {
	known, own := p.found(session, math.MaxInt64), len(p.chain)
	if at := slices.IndexFunc(p.parts, func(part bench.PromptPart) bool { return part.Mark }); at >= 0 {
		own = at
	}
	keep := func(play int64, from, to int) {
		if from < to {
			p.sent[session] = append(p.sent[session], segment{play, from, slices.Clone(p.chain[from:to]), r.Stamps.End})
		}
	}
	keep(shared, known, own)
	keep(r.SessionNum, max(known, own), len(p.chain))
}

// forget removes what only a play can have that has ended.
func (p *Prefixes) forget(play int64) {
	one := p.plays[play]
	if one == nil {
		return
	}
	delete(p.plays, play)
	p.order = slices.DeleteFunc(p.order, func(n int64) bool { return n == play })
	left := slices.DeleteFunc(p.sent[one.session], func(s segment) bool { return s.play == play })
	if p.sent[one.session] = left; len(left) == 0 {
		delete(p.sent, one.session)
	}
}
