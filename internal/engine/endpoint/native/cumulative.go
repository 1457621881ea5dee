package native

import (
	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/endpoint/answer"
)

// cumulative reads the texts of the events of APIs whose servers differ: some send
// the new text, others the whole text so far. Which one it is shows in the stream.
// The zero value is ready.
type cumulative struct {
	choices []cumulativeText // by the position of the choice
}

// cumulativeText is how the texts of the events of a choice relate to each other.
type cumulativeText struct {
	mode   cumulativeMode
	longer int     // texts that continued all before them
	trials []trial // events whose text may have been either
}

type cumulativeMode uint8

const (
	modeUnknown cumulativeMode = iota // so far every text began with all before it
	modeWhole
	modeNew
)

// trial is an event that was read as if its text were the whole text so far.
type trial struct {
	size  int // of that text
	chunk int // index of its chunk; that of the event before if it had nothing new
}

// The mode of a stream is decided after maxTrials events, or as soon as enoughLonger
// texts have continued those before them.
const (
	maxTrials    = 16
	enoughLonger = 2
)

// reset prepares for another response.
func (m *cumulative) reset() { m.choices = m.choices[:0] }

func (m *cumulative) of(c *answer.Choice) *cumulativeText {
	for len(m.choices) <= c.Position {
		n := len(m.choices)
		if n == cap(m.choices) {
			m.choices = append(m.choices, cumulativeText{})
			continue
		}
		m.choices = m.choices[:n+1] // reuse the buffer of an earlier response
		m.choices[n] = cumulativeText{trials: m.choices[n].trials[:0]}
	}
	return &m.choices[c.Position]
}

// add takes the text of an event, which may be the new text or the whole text so
// far. A text that does not begin with all before it is new; the events before it
// are then corrected.
func (m *cumulative) add(b *answer.Builder, c *answer.Choice, text []byte) {
	if len(text) == 0 {
		return
	}
	t := m.of(c)
	if !b.Streamed || t.mode == modeNew {
		b.Emit(c, bench.Text, text)
		return
	}
	before := len(c.Text)
	isMore := len(text) >= before && string(text[:before]) == string(c.Text)
	if t.mode == modeUnknown && !isMore {
		t.separate(b, c)
		b.Emit(c, bench.Text, text)
		return
	}
	if !isMore { // the server has changed the end of its text
		c.Text = append(c.Text[:0], text...)
		if len(text) > before {
			b.EmitSize(c, bench.Text, len(text)-before)
		}
		return
	}
	b.Emit(c, bench.Text, text[before:])
	if t.mode == modeUnknown {
		t.try(b, c, len(text), len(text) > before)
	}
}

// try records an event that may have been either, and decides the mode if there is
// enough evidence.
func (t *cumulativeText) try(b *answer.Builder, c *answer.Choice, size int, isLonger bool) {
	chunk := len(b.Answer.Chunks) - 1
	if !isLonger {
		chunk = t.trials[len(t.trials)-1].chunk
	} else if len(t.trials) > 0 {
		t.longer++
	}
	t.trials = append(t.trials, trial{size, chunk})
	switch {
	case t.longer >= enoughLonger || len(t.trials) >= maxTrials && t.longer > 0:
		t.mode = modeWhole
	case len(t.trials) >= maxTrials: // the same text again and again
		t.separate(b, c)
	}
}

// separate reads the events so far again: each text was new.
func (t *cumulativeText) separate(b *answer.Builder, c *answer.Choice) {
	t.mode = modeNew
	last := string(c.Text)
	c.Text = c.Text[:0]
	for _, trial := range t.trials {
		b.Answer.Chunks[trial.chunk].Bytes = 0
	}
	for _, trial := range t.trials {
		c.Text = append(c.Text, last[:trial.size]...)
		b.Answer.Chunks[trial.chunk].Bytes += int32(trial.size)
	}
}
