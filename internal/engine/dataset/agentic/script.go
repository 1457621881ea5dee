package agentic

import (
	"fmt"
	"hash/maphash"
	"io"
	"slices"

	"aiperfd/internal/engine/bench"
)

// play holds what the prompts of a trace are written from. It is immutable.
type play struct {
	texts  *blockTexts
	trace  int // number in the input
	id     string
	source string       // SHA-256 of the record
	seed   maphash.Seed // of the ids of parts that are no blocks
}

// strand is the blocks of the prompts of a stream, by their ranks in the trace: the order in which
// the recording has them for the first time.
type strand struct {
	play  *play
	id    string
	from  *strand // that the first prompt begins like; nil = none
	after int     // the turn of it
	turns []strandTurn
}

// strandTurn is one prompt: so many blocks of the one before, then new ones.
type strandTurn struct {
	shared int
	fresh  []uint32
	last   *message
}

// ranks numbers the blocks of a trace in the order of its record.
type ranks struct {
	small []uint32 // ranks + 1 by id, if ids are about as small as there are blocks
	other map[int64]uint32
	count uint32
}

// rank returns the number of a block, which is the next one if the block is new.
func (r *ranks) rank(id int64) uint32 {
	if id >= 0 && id < int64(len(r.small)) {
		if r.small[id] == 0 {
			r.count++
			r.small[id] = r.count
		}
		return r.small[id] - 1
	}
	rank, known := r.other[id]
	if !known {
		rank = r.count
		r.other[id] = rank
		r.count++
	}
	return rank
}

// ranksOf returns the numbers of the blocks of a trace.
func ranksOf(g *Graph) *ranks {
	const sparse = 4 // as many places as blocks
	sent, blocks, most := g.bySending(), 0, int64(0)
	for _, r := range sent {
		for _, id := range r.blocks[r.known:] {
			blocks, most = blocks+1, max(most, id)
		}
	}
	out := &ranks{small: make([]uint32, min(most, int64(sparse*blocks))+1), other: map[int64]uint32{}}
	for _, r := range sent {
		for _, id := range r.blocks[r.known:] {
			out.rank(id)
		}
	}
	return out
}

// strands returns the prompts of a graph, by the ids of its streams.
func (p *play) strands(g *Graph) map[string]*strand {
	numbers := ranksOf(g)
	out := map[string]*strand{}
	for _, s := range g.Streams {
		out[s.ID] = &strand{play: p, id: s.ID, turns: make([]strandTurn, len(s.Requests))}
	}
	for _, s := range g.Streams {
		st := out[s.ID]
		if s.Spawn != nil {
			parent, turn := splitName(s.Spawn.After)
			st.from, st.after = out[parent], turn
		}
		for i, last := range messagesOf(s, g.Block) {
			r, t := &s.Requests[i], &st.turns[i]
			t.shared, t.last = r.Shared, last
			t.fresh = make([]uint32, len(r.New))
			for k, id := range r.New {
				t.fresh[k] = numbers.rank(id)
			}
		}
	}
	return out
}

// spans returns the ranks of the first n blocks of a prompt, as lists that follow each other.
func (s *strand) spans(turn, n int) (list [][]uint32) {
	for n > 0 {
		t := &s.turns[turn]
		if n > t.shared {
			list = append(list, t.fresh[:n-t.shared])
			n = t.shared
		}
		if turn--; turn < 0 {
			s, turn = s.from, s.after
		}
	}
	slices.Reverse(list)
	return list
}

// script is the prompt of one turn.
type script struct {
	strand *strand
	turn   int
	in     bench.Tokens
}

var _ bench.Script = (*script)(nil)

// Size implements [bench.Script].
func (s *script) Size(mark bench.Mark) int { return s.prompt(mark).size() }

// Messages implements [bench.Script].
func (s *script) Messages(mark bench.Mark) io.Reader { return &promptReader{prompt: s.prompt(mark)} }

// AppendMessages implements [bench.Script].
func (s *script) AppendMessages(dst []byte, mark bench.Mark) []byte {
	p := s.prompt(mark)
	size := p.size()
	dst = slices.Grow(dst, size)
	n, _ := io.ReadFull(&promptReader{prompt: p}, dst[len(dst):len(dst)+size]) // which never fails
	return dst[:len(dst)+n]
}

// Tokens implements [bench.Script].
func (s *script) Tokens(m bench.Mark) bench.Tokens {
	return s.in + bench.Tokens(s.strand.play.texts.count(m.Text))
}

// Key implements [bench.Script].
func (s *script) Key() string {
	p := s.strand.play
	return fmt.Sprintf("%s %d %s/%d %x", p.source, p.trace, s.strand.id, s.turn, p.texts.key)
}

// AppendParts implements [bench.Script].
func (s *script) AppendParts(dst []bench.PromptPart, mark bench.Mark) []bench.PromptPart {
	one := s.prompt(mark)
	p, texts := one.play, one.play.texts
	ranks := slices.Concat(one.spans...)
	other := func(text string, tokens int, mark bool) {
		const noRank = 1 << 63
		dst = append(dst, bench.PromptPart{ID: noRank | maphash.String(p.seed, text), Tokens: int32(tokens), Mark: mark})
	}
	for i, m := range one.list {
		if i == one.marked && !mark.Suffix {
			other(mark.Text, texts.count(mark.Text), true)
		}
		for _, rank := range ranks[m.from:m.to] {
			dst = append(dst, bench.PromptPart{ID: uint64(rank), Tokens: int32(texts.block)})
		}
		if m.tail > 0 {
			other(tailName(s.strand.id, m.turn), m.tail, false)
		}
		if i == one.marked && mark.Suffix {
			other(mark.Text, texts.count(mark.Text), true)
		}
	}
	return dst
}

// tailName is the name of what follows the blocks of a prompt.
func tailName(stream string, turn int) string {
	return fmt.Sprintf("%s:turn_%d:partial_tail", stream, turn)
}

// markedMessage returns the index of the message that a mark goes into; -1 = none.
func markedMessage(list []*message, m bench.Mark) int {
	if m.Text == "" {
		return -1
	}
	of := func(role string) int {
		return slices.IndexFunc(list, func(one *message) bool { return one.role == role })
	}
	if at := of("system"); m.System && at >= 0 {
		return at
	}
	return max(0, of("user"))
}
