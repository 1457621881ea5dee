package endpoint

import "aiperfd/internal/engine/bench"

// growth is how the texts of a choice's events relate to each other. Some servers
// send what is new, others all there is so far.
type growth struct {
	mode  growthMode
	grown int     // texts that went on from all before them
	tries []trial // events whose text may have been either
}

type growthMode uint8

const (
	growthUnknown growthMode = iota // so far every text began with all before it
	growthWhole
	growthNew
)

// trial is an event that was read as if its text held all there is so far.
type trial struct {
	size  int // of that text
	chunk int // index of what it made; that of the one before if it had nothing new
}

// maxTrials is how many events may pass before the way of a stream is settled, and
// enoughGrown how many texts that go on from those before them settle it.
const (
	maxTrials   = 16
	enoughGrown = 2
)

// grow takes the text of an event that may be what is new or all there is so far.
// A text that does not begin with all before it tells the former, and what was
// taken for the latter until then is put right.
func (d *decoder) grow(c *choiceState, text []byte) {
	g := &c.growth
	if len(text) == 0 {
		return
	}
	if !d.streamed || g.mode == growthNew {
		d.emit(c, bench.Text, text)
		return
	}
	before := len(c.text)
	isMore := len(text) >= before && string(text[:before]) == string(c.text)
	if g.mode == growthUnknown && !isMore {
		d.separate(c)
		d.emit(c, bench.Text, text)
		return
	}
	if !isMore { // the server has thought better of the end of its text
		c.text = append(c.text[:0], text...)
		if len(text) > before {
			d.emitSize(c, bench.Text, len(text)-before)
		}
		return
	}
	d.emit(c, bench.Text, text[before:])
	if g.mode == growthUnknown {
		d.try(c, len(text), len(text) > before)
	}
}

// try remembers an event that may have been either, and settles the matter when
// there is evidence enough.
func (d *decoder) try(c *choiceState, size int, isLonger bool) {
	g := &c.growth
	chunk := len(d.a.Chunks) - 1
	if !isLonger {
		chunk = g.tries[len(g.tries)-1].chunk
	} else if len(g.tries) > 0 {
		g.grown++
	}
	g.tries = append(g.tries, trial{size, chunk})
	switch {
	case g.grown >= enoughGrown || len(g.tries) >= maxTrials && g.grown > 0:
		g.mode = growthWhole
	case len(g.tries) >= maxTrials: // one text again and again
		d.separate(c)
	}
}

// separate reads the events so far again: each text was new.
func (d *decoder) separate(c *choiceState) {
	g := &c.growth
	g.mode = growthNew
	last := string(c.text)
	c.text = c.text[:0]
	for _, t := range g.tries {
		d.a.Chunks[t.chunk].Bytes = 0
	}
	for _, t := range g.tries {
		c.text = append(c.text, last[:t.size]...)
		d.a.Chunks[t.chunk].Bytes += int32(t.size)
	}
}
