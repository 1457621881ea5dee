package tokenizer

import (
	"strings"
	"unicode/utf8"

	"aiperfd/internal/engine/tokenizer/pattern"
)

// piece is a part of a text on its way to the model.
type piece struct {
	text string
	head bool // it starts where the raw text starts
}

// A preTokenizer cuts a piece into smaller ones and may rewrite them. It is
// immutable, so it is safe for concurrent use.
type preTokenizer interface {
	split(sc *scratch, dst []piece, p piece) []piece
}

// behavior is how the matches of a split are treated.
type behavior int

const (
	behaviorRemoved behavior = iota
	behaviorIsolated
	behaviorMergedWithPrevious
	behaviorMergedWithNext
	behaviorContiguous
)

// splitter cuts at the matches of a pattern.
type splitter struct {
	matcher  pattern.Matcher
	behavior behavior
	invert   bool // text between matches counts as match
}

func (t splitter) split(sc *scratch, dst []piece, p piece) []piece {
	sc.spans = t.matcher.Find(sc.spans[:0], p.text)
	if t.behavior == behaviorIsolated {
		return isolate(dst, p, sc.spans)
	}
	return t.join(dst, p, sc.spans)
}

func appendPiece(dst []piece, p piece, start, end int) []piece {
	if start >= end {
		return dst
	}
	return append(dst, piece{p.text[start:end], p.head && start == 0})
}

func isolate(dst []piece, p piece, spans []pattern.Span) []piece {
	at := 0
	for _, m := range spans {
		dst = appendPiece(dst, p, at, m.Start)
		dst = appendPiece(dst, p, m.Start, m.End)
		at = m.End
	}
	return appendPiece(dst, p, at, len(p.text))
}

// part is a match or a gap between matches.
type part struct {
	pattern.Span
	match bool
}

// join applies every behavior but isolated.
func (t splitter) join(dst []piece, p piece, spans []pattern.Span) []piece {
	parts := make([]part, 0, 2*len(spans)+1)
	at := 0
	for _, m := range spans {
		if m.Start > at {
			parts = append(parts, part{pattern.Span{Start: at, End: m.Start}, t.invert})
		}
		parts = append(parts, part{m, !t.invert})
		at = m.End
	}
	if at < len(p.text) {
		parts = append(parts, part{pattern.Span{Start: at, End: len(p.text)}, t.invert})
	}
	start := -1 // Of the piece being joined
	for i, cur := range parts {
		if t.behavior == behaviorRemoved {
			if !cur.match {
				dst = appendPiece(dst, p, cur.Start, cur.End)
			}
			continue
		}
		if start < 0 {
			start = cur.Start
		}
		if i+1 < len(parts) && t.together(cur.match, parts[i+1].match) {
			continue
		}
		dst = appendPiece(dst, p, start, cur.End)
		start = -1
	}
	return dst
}

// together reports whether two neighbours stay in one piece. Of several
// matches in a row only the one that touches other text is merged with it.
func (t splitter) together(left, right bool) bool {
	switch t.behavior {
	case behaviorMergedWithPrevious:
		return !left && right
	case behaviorMergedWithNext:
		return left && !right
	case behaviorContiguous:
		return left == right
	case behaviorRemoved, behaviorIsolated:
	}
	return false
}

// sequencePre applies pre-tokenizers one after the other.
type sequencePre []preTokenizer

func (t sequencePre) split(sc *scratch, dst []piece, p piece) []piece {
	if len(t) == 1 {
		return t[0].split(sc, dst, p)
	}
	from := len(dst)
	dst = append(dst, p)
	for _, step := range t {
		// The pieces so far are copied aside: steps append to dst.
		todo := append([]piece(nil), dst[from:]...)
		dst = dst[:from]
		for _, q := range todo {
			dst = step.split(sc, dst, q)
		}
	}
	return dst
}

// metaspace writes blanks as a visible character, may put one in front, and
// cuts before each.
type metaspace struct {
	replacement string
	prepend     prependScheme
	cut         bool
}

type prependScheme int

const (
	prependAlways prependScheme = iota
	prependFirst                // only at the start of the raw text
	prependNever
)

func (t metaspace) split(sc *scratch, dst []piece, p piece) []piece {
	text := strings.ReplaceAll(p.text, " ", t.replacement)
	want := t.prepend == prependAlways || t.prepend == prependFirst && p.head
	if want && !strings.HasPrefix(text, t.replacement) {
		text = t.replacement + text
	}
	q := piece{text, p.head}
	if !t.cut {
		return append(dst, q)
	}
	return splitter{pattern.Literal(t.replacement), behaviorMergedWithNext, false}.split(sc, dst, q)
}

// byteLevelPre is GPT-2's pre-tokenizer. Written as characters of the byte
// alphabet only if the model works on characters.
type byteLevelPre struct {
	addPrefixSpace bool
	splitter       *splitter     // nil: use_regex is off
	alphabet       *byteAlphabet // nil: the model takes raw bytes
}

func (t byteLevelPre) split(sc *scratch, dst []piece, p piece) []piece {
	if t.addPrefixSpace && !strings.HasPrefix(p.text, " ") {
		p.text = " " + p.text
	}
	from := len(dst)
	if t.splitter != nil {
		dst = t.splitter.split(sc, dst, p)
	} else {
		dst = appendPiece(dst, p, 0, len(p.text))
	}
	if t.alphabet != nil {
		for i := range dst[from:] {
			dst[from+i].text = t.alphabet.toChars(dst[from+i].text)
		}
	}
	return dst
}

// fixedLength cuts after every n characters.
type fixedLength int

func (t fixedLength) split(_ *scratch, dst []piece, p piece) []piece {
	start, n := 0, 0
	for i := 0; i < len(p.text); {
		_, w := utf8.DecodeRuneInString(p.text[i:])
		i += w
		if n++; n == int(t) {
			dst = appendPiece(dst, p, start, i)
			start, n = i, 0
		}
	}
	return appendPiece(dst, p, start, len(p.text))
}
