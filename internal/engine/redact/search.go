package redact

import (
	"slices"
	"strings"
)

const (
	// maxSteps is how many encodings, one around the other, are undone.
	maxSteps = 4
	// maxBase64 is how many of these may be base64.
	maxBase64 = 2
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
	found []span
	steps [maxSteps]buffer // of the layer made by each step
}

// redact returns text without the patterns, or text itself.
func (a *automaton) redact(text string) string {
	s := a.searches.Get().(*search) //nolint:forcetypeassert // the pool has nothing else
	defer a.searches.Put(s)
	s.found, s.cut = s.found[:0], false
	s.read(layer{text: text}, 0, 0)
	if len(text) >= minCut {
		s.end(text)
	}
	if len(s.found) == 0 {
		return text
	}
	return replaceSpans(text, union(s.found))
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

// read searches a layer, made in so many steps, and all that can be made of it.
func (s *search) read(l layer, step, base64 int) {
	if !s.cut {
		s.found = s.a.find(l, s.found)
	} else if n := s.a.begun(l.text); l.tail && n >= minStart {
		s.found = append(s.found, span{from: l.start(len(l.text) - n)})
	}
	if step == maxSteps {
		return
	}
	if base64 < maxBase64 {
		s.base64(l, step, base64)
	}
	if next, ok := s.steps[step].unescape(l); ok {
		s.read(next, step+1, base64)
	}
}

// base64 reads every run of base64 digits. Where in it an encoded text begins
// cannot be known, because the run may go on from a word or a path, so it is
// decoded from each of the first four digits.
func (s *search) base64(l layer, step, base64 int) {
	least := (s.a.shortest*8 + 5) / 6
	if s.cut {
		least = (minStart*8 + 5) / 6
	}
	digits := &s.a.digits
	// A run that is long enough has a digit at one of these places.
	for i := least - 1; i < len(l.text); i += least {
		if digits[l.text[i]] < 0 {
			continue
		}
		from := i
		for from > 0 && digits[l.text[from-1]] >= 0 {
			from--
		}
		for i < len(l.text) && digits[l.text[i]] >= 0 {
			i++
		}
		if i-from < least || l.isOld(from, i) || s.cut && i < len(l.text) {
			continue
		}
		for first := from; first < from+4; first++ {
			s.read(s.steps[step].base64(l, span{first, i}, digits), step+1, base64+1)
		}
	}
}

// isOld reports whether an unescaped layer has in [from, to) what was there
// before, and was searched then.
func (l layer) isOld(from, to int) bool {
	return l.at != nil && !l.decoded && l.start(to)-l.start(from) == to-from
}

// base64 decodes the digits at a place of a layer.
func (b *buffer) base64(l layer, run span, digits *[256]int8) layer {
	b.reset()
	var bits uint32
	for i := run.from; i < run.to; i++ {
		bits = bits<<6 | uint32(digits[l.text[i]])
		if n := i - run.from; n%4 != 0 {
			// The digit that a byte shares with the one before it is a part of both.
			b.text = append(b.text, byte(bits>>(6-n%4*2)))
			b.at = append(b.at, int32(l.start(i-1)))
		}
	}
	end := run.to
	for end < len(l.text) && end < run.to+2 && l.text[end] == '=' {
		end++
	}
	out := b.layer(l.start(end), l.tail && end == len(l.text))
	out.decoded = true
	return out
}

// base64Digits returns the values of the digits in both alphabets of RFC 4648;
// -1 is no digit.
func base64Digits() (digits [256]int8) {
	for c := range digits {
		digits[c] = -1
	}
	for _, last := range [...]string{"+/", "-_"} {
		for value, c := range []byte("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789" + last) {
			digits[c] = int8(value)
		}
	}
	return digits
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
