package agentic

import (
	"io"

	"aiperfd/internal/engine/bench"
)

// prompt is the messages of one turn, with a mark in one of them.
type prompt struct {
	play   *play
	strand string // its id
	list   []*message
	spans  [][]uint32 // the ranks of all blocks, in order
	mark   bench.Mark
	marked int // the message with the mark; -1 = none
}

func (s *script) prompt(mark bench.Mark) *prompt {
	list := s.strand.turns[s.turn].last.listed()
	return &prompt{
		play: s.strand.play, strand: s.strand.id, list: list, mark: mark, marked: markedMessage(list, mark),
		spans: s.strand.spans(s.turn, list[len(list)-1].to),
	}
}

// promptReader reads the messages of a prompt as JSON, separated by commas. It never fails.
type promptReader struct {
	*prompt
	message int      // of list, that is being read
	stage   stage    // of the message
	blocks  int      // of the message that were not read yet
	ranks   []uint32 // of the span that is being read, those that were not read yet
	span    int      // that is read after it
	bare    bool     // the next text begins the message, and so without its blank
	piece   []byte   // what was written of the message and not read yet
	own     []byte   // the memory of pieces that are no part of the corpus
}

// stage is how far a message was read.
type stage uint8

const (
	opening stage = iota // before its role
	filling              // before its blocks, and what follows them
)

var _ io.Reader = (*promptReader)(nil)

// Read implements [io.Reader].
func (r *promptReader) Read(p []byte) (n int, err error) {
	for n < len(p) {
		if len(r.piece) == 0 {
			if n += r.fill(p[n:]); n == len(p) {
				break
			}
			if !r.next() {
				return n, io.EOF
			}
		}
		size := copy(p[n:], r.piece)
		n, r.piece = n+size, r.piece[size:]
	}
	return n, nil
}

// fill reads blocks of the message, as many as there is room for, and returns the number of bytes.
func (r *promptReader) fill(p []byte) (n int) {
	texts, trace := r.play.texts, uint64(r.play.trace)
	for r.stage == filling && r.blocks > 0 && !r.bare {
		ranks := r.open()
		for i, rank := range ranks {
			head, rest := texts.parts(trace, rank)
			if len(p)-n < len(head)+len(rest) {
				r.taken(i)
				return n
			}
			n += copy(p[n:], head)
			n += copy(p[n:], rest)
		}
		r.taken(len(ranks))
	}
	return n
}

// open returns the ranks of the next blocks of the message, at least one.
func (r *promptReader) open() []uint32 {
	for len(r.ranks) == 0 {
		r.ranks, r.span = r.spans[r.span], r.span+1
	}
	return r.ranks[:min(len(r.ranks), r.blocks)]
}

// taken notes that so many blocks were read.
func (r *promptReader) taken(n int) { r.ranks, r.blocks = r.ranks[n:], r.blocks-n }

// next writes the next piece; false = there is none.
func (r *promptReader) next() bool {
	if r.message == len(r.list) {
		return false
	}
	m, texts := r.list[r.message], r.play.texts
	own := r.own[:0]
	switch {
	case r.stage == opening:
		if r.message > 0 {
			own = append(own, ',')
		}
		own = append(append(append(own, `{"role":"`...), m.role...), `","content":"`...)
		r.bare = texts.trims
		if r.message == r.marked && !r.mark.Suffix {
			own, r.bare = appendInside(own, r.mark.Text), false
		}
		r.stage, r.blocks = filling, m.to-m.from
	case r.blocks > 0:
		head, rest := texts.parts(uint64(r.play.trace), r.open()[0])
		if r.bare {
			head = head[1:]
		}
		own, r.bare = append(append(own, head...), rest...), false
		r.taken(1)
	default:
		if m.tail > 0 {
			own = texts.appendTail(own, tailName(r.strand, m.turn), m.tail, r.bare)
		}
		if r.message == r.marked && r.mark.Suffix {
			own = appendInside(own, r.mark.Text)
		}
		own = append(own, `"}`...)
		r.stage, r.message = opening, r.message+1
	}
	r.own, r.piece = own, own
	return true
}

// size returns how many bytes a reader of the prompt reads.
func (p *prompt) size() (n int) {
	r := promptReader{prompt: p}
	for r.next() {
		n += len(r.piece)
		for r.stage == filling && r.blocks > 0 && !r.bare {
			ranks := r.open()
			n += p.play.texts.size(uint64(p.play.trace), ranks)
			r.taken(len(ranks))
		}
	}
	return n
}
