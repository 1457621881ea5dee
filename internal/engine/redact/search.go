package redact

import (
	"slices"
	"strings"
)

const (
	// maxSteps is how many encodings, one around the other, are undone.
	maxSteps = 4
	// maxNumerals is how many of these may be base64 or hexadecimal.
	maxNumerals = 2
	// minCut is the shortest text that may be the start of a longer one.
	minCut = 256
	// minStart is the shortest start of a secret that is taken for one, in bytes.
	minStart = 6
	// maxGrowth is how many times longer than a secret its encodings are taken to
	// be where the start of one is searched for.
	maxGrowth = 16
)

// search finds the patterns of an automaton in a text and in every text that
// undoing encodings makes of it. Secrets are not encoded in all ways that a
// server may combine; the text is decoded instead, so that the automaton stays
// small. A search is used by one goroutine at a time.
type search struct {
	a     *automaton
	cut   bool // search for the start of a pattern at the end of the text
	parts bool // search for parts of tokens
	seen  bool // there are parts of tokens
	found []span
	steps [maxSteps]buffer // of the layer made by each step
}

// redactAll returns text without the patterns, or without parts of tokens too, or text
// itself. left reports whether it has parts of tokens.
func (a *automaton) redactAll(text string, parts bool) (clean string, left bool) {
	s := a.acquire()
	defer a.searches.Put(s)
	for range maxRounds {
		s.parts = parts
		clean = replaceSpans(text, s.all(text))
		if clean == text {
			break
		}
		text = clean
	}
	return clean, s.seen
}

// acquire returns a search, to be put back.
func (a *automaton) acquire() *search {
	return a.searches.Get().(*search) //nolint:forcetypeassert // the pool has nothing else
}

// all returns the places of patterns in a text, ordered and without overlap. They are valid
// until the next use of s.
func (s *search) all(text string) []span {
	s.found, s.cut, s.seen = s.found[:0], false, false
	s.read(layer{text: text}, 0, 0)
	if len(text) >= minCut {
		s.end(text)
	}
	return union(s.found)
}

// end searches for the start of a pattern at the end of text, or in front of
// what shows that it was cut there.
func (s *search) end(text string) {
	whole := strings.TrimRight(text, ".\u2026\ufffd")
	from := max(0, len(whole)-maxGrowth*s.a.longest)
	known := len(s.found)
	s.cut = true
	s.read(layer{text: whole[from:], tail: true}, 0, 0)
	for i := known; i < len(s.found); i++ {
		s.found[i].from += from
		s.found[i].to = len(whole)
	}
}

// read searches a layer, made in so many steps, and all that can be made of it. So
// many of the steps decoded numerals.
func (s *search) read(l layer, step, decoded int) {
	s.find(l)
	if step == maxSteps {
		return
	}
	if decoded == 0 { // what digits stand for is not cleaned
		if next, ok := s.steps[step].see(l); ok {
			s.read(next, step+1, decoded)
		}
	}
	if decoded < maxNumerals {
		s.decode(l, step, decoded)
		s.broken(l, step, decoded)
	}
	if next, ok := s.steps[step].unescape(l); ok {
		s.read(next, step+1, decoded)
	}
}

// find searches one layer.
func (s *search) find(l layer) {
	if !s.cut {
		s.a.find(l, s)
	} else if n := s.a.begun(l.text); l.tail && n >= minStart {
		s.found = append(s.found, span{from: l.start(len(l.text) - n)})
	}
}

// minLine is the shortest line of digits, but for the first and the last one.
const minLine = 16

// broken decodes the runs of digits that line breaks, or blanks in place of them,
// interrupt. Where the start of a pattern is searched for, it joins all lines.
func (s *search) broken(l layer, step, decoded int) {
	if step+1 == maxSteps {
		return
	}
	base64 := &s.a.numerals[0] // its digits include those of the other
	if s.cut {
		length := breakLength
		if !hasBreak(l.text) {
			length = spaceLength
		}
		if line := base64.run(l.text, 0, minLine); hasBreak(l.text) || line.from < line.to && line.to < len(l.text) {
			joined := s.steps[step].join(l, span{0, len(l.text)}, length)
			s.find(joined)
			s.decode(joined, step+1, decoded)
		}
		return
	}
	for run := base64.run(l.text, 0, minLine); run.from < run.to; run = base64.run(l.text, run.to, minLine) {
		line := run
		if at := len(strings.TrimRight(l.text[:run.from], " \t\r\n\\")); at < run.from && skipBreaks(l.text, at, spaceLength) >= run.from {
			run.from = base64.begin(l.text[:at])
		}
		for next := skipBreaks(l.text, run.to, spaceLength); next > run.to; next = skipBreaks(l.text, run.to, spaceLength) {
			end := base64.end(l.text, next)
			if end == next {
				break
			}
			run.to = end
			if end-next < minLine {
				break // the last line
			}
		}
		if run != line {
			whole := span{run.from, run.to + len(padding(l.text[run.to:]))}
			s.decode(s.steps[step].join(l, whole, spaceLength), step+1, decoded)
		}
	}
}

// decode reads every run of base64 digits, and those of hexadecimal digits in it. Where
// in a run an encoded text begins cannot be known, because it may go on from a word or a
// path, so it is decoded from each digit at which it may begin.
func (s *search) decode(l layer, step, decoded int) {
	base64, hex := &s.a.numerals[0], &s.a.numerals[1]
	shortest, from := s.a.shortest, 0
	if s.cut {
		shortest, from = minStart, base64.begin(l.text) // the other runs are whole
	}
	least := base64.length(shortest)
	for run := base64.run(l.text, from, least); run.from < run.to; run = base64.run(l.text, run.to, least) {
		s.digits(l, run, base64, step, decoded)
		least := hex.length(shortest)
		text := l.text[:run.to]
		for sub := hex.run(text, run.from, least); sub.from < sub.to; sub = hex.run(text, sub.to, least) {
			s.digits(l, sub, hex, step, decoded)
		}
	}
}

// digits decodes a run of digits from each at which a text may begin.
func (s *search) digits(l layer, run span, n *numeral, step, decoded int) {
	if l.isOld(run) && !(s.cut && l.joined) || s.cut && run.to < len(l.text) {
		return
	}
	for range n.starts {
		s.read(s.steps[step].decode(l, run, n), step+1, decoded+1)
		run.from++
	}
}

// isOld reports whether an unescaped layer has in run what was there before, and was
// searched then.
func (l layer) isOld(run span) bool {
	return l.at != nil && !l.decoded && l.end(run.to)-l.start(run.from) == run.to-run.from
}

// union orders spans and joins those that overlap.
func union(spans []span) []span {
	slices.SortFunc(spans, func(a, b span) int { return a.from - b.from })
	out := spans[:0]
	for _, sp := range spans {
		switch last := len(out) - 1; {
		case sp.from >= sp.to: // a part of one character
		case last >= 0 && sp.from < out[last].to:
			out[last].to = max(out[last].to, sp.to)
		default:
			out = append(out, sp)
		}
	}
	return out
}
