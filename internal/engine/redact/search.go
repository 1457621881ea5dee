package redact

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"
	"unsafe"

	"aiperfd/internal/view"
)

const (
	// maxLevels is how many escapings, one around the other, are undone in a text: for example
	// JSON in JSON in a query.
	maxLevels = 4
	// minCut is the shortest text that may be the start of a longer one.
	minCut = 256
	// minStart is the shortest start of a secret that is taken for one, in bytes.
	minStart = 6
	// maxGrowth is how many times longer than a secret its escapes are taken to be where the
	// start of one is searched for.
	maxGrowth = 16
	// wall stands for a placeholder in a squeezed text; no character begins with it.
	wall = 0xff
)

// finder finds needles in texts. It is immutable once built.
type finder struct {
	heads    map[uint32][]needle // by their first bytes
	tails    map[uint32][]needle // tokens, by the first bytes of the last minPart
	marks    [1 << 10]uint64     // a bit for each hash of a key of heads and tails
	longest  int                 // needle, in bytes
	fold     [256]byte           // see [folds]
	verbatim []string            // secrets of which squeezing leaves too little
	searches sync.Pool           // of *search; their buffers are worth keeping
}

// newFinder returns the finder of needles, nil for none.
func newFinder(needles map[string]needle, verbatim []string) *finder {
	if len(needles)+len(verbatim) == 0 {
		return nil
	}
	f := &finder{heads: map[uint32][]needle{}, tails: map[uint32][]needle{}, fold: folds(), verbatim: verbatim}
	f.searches.New = func() any { return &search{finder: f} }
	for _, text := range slices.Sorted(maps.Keys(needles)) {
		n := needles[text]
		f.longest = max(f.longest, len(n.text))
		f.enter(f.heads, n.text, n)
		// What a reader of URLs makes of a token may be shorter than a part of one: "+" is a blank there.
		if tail := len(n.text) - minPart; n.token && tail > 0 && !allDigits(n.text[tail:]) {
			f.enter(f.tails, n.text[tail:], n)
		}
	}
	return f
}

func (f *finder) enter(index map[uint32][]needle, text string, n needle) {
	key := keyAt(text, 0)
	index[key] = append(index[key], n)
	word, bit := markOf(key)
	f.marks[word] |= bit
}

// keyLength is the number of bytes by which needles are looked up.
const keyLength = 4

func keyAt(text string, i int) uint32 {
	return uint32(text[i]) | uint32(text[i+1])<<8 | uint32(text[i+2])<<16 | uint32(text[i+3])<<24
}

// markOf returns the place of a key in the marks of a finder.
func markOf(key uint32) (word uint32, bit uint64) {
	const spread = 0x9e3779b1 // 2^32 divided by the golden ratio
	hash := key * spread >> 16
	return hash >> 6, 1 << (hash & 63)
}

// search finds the needles of a finder in a text and in what undoing escapes makes of it. A search
// is used by one goroutine at a time.
type search struct {
	*finder
	cut    bool // search for the start of a needle at the end of the text
	parts  bool // search for parts of tokens
	seen   bool // there are parts of tokens
	found  []span
	levels [maxLevels]buffer
	flat   []byte  // the text of a layer, squeezed
	at     []int32 // where its bytes stand in the layer
}

// redactAll returns text without the needles, or without parts of tokens too, or text itself. left
// reports whether it has parts of tokens.
func (f *finder) redactAll(text string, parts bool) (clean string, left bool) {
	s := f.acquire()
	defer f.searches.Put(s)
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
func (f *finder) acquire() *search {
	return f.searches.Get().(*search) //nolint:forcetypeassert // the pool has nothing else
}

// all returns the places of needles in a text, ordered and without overlap. They are valid until
// the next use of s.
func (s *search) all(text string) []span {
	s.found, s.cut, s.seen = s.found[:0], false, false
	for _, secret := range s.verbatim {
		for from := 0; ; from += len(secret) {
			i := strings.Index(text[from:], secret)
			if i < 0 {
				break
			}
			from += i
			s.found = append(s.found, span{from, from + len(secret)})
		}
	}
	s.read(layer{text: text})
	if len(text) >= minCut {
		s.end(text)
	}
	return union(s.found)
}

// end searches for the start of a needle at the end of text, or in front of what shows that it was
// cut there.
func (s *search) end(text string) {
	whole := strings.TrimRight(text, ".\u2026\ufffd")
	from := max(0, len(whole)-maxGrowth*s.longest)
	known := len(s.found)
	s.cut = true
	s.read(layer{text: whole[from:]})
	for i := known; i < len(s.found); i++ {
		s.found[i].from += from
		s.found[i].to = len(whole)
	}
}

// read searches a layer, and those that undoing its escapes makes.
func (s *search) read(l layer) {
	for level := 0; ; level++ {
		s.find(l)
		if level == maxLevels {
			return
		}
		next, ok := s.levels[level].unescape(l)
		if !ok {
			return
		}
		l = next
	}
}

// find searches one layer.
func (s *search) find(l layer) {
	s.squeeze(l.text)
	flat := unsafe.String(unsafe.SliceData(s.flat), len(s.flat))
	marks := &s.marks
	for i := 0; i+keyLength <= len(flat); i++ {
		key := keyAt(flat, i)
		word, bit := markOf(key)
		if marks[word%uint32(len(marks))]&bit == 0 {
			continue
		}
		for _, n := range s.heads[key] {
			s.match(l, flat, i, &n)
		}
		if s.cut {
			continue
		}
		for _, n := range s.tails[key] {
			s.matchTail(l, flat, i, &n)
		}
	}
}

// match adds the needle that stands at i, or as much of it as counts.
func (s *search) match(l layer, flat string, i int, n *needle) {
	end := i
	for end < len(flat) && end-i < len(n.text) && flat[end] == n.text[end-i] {
		end++
	}
	same := end - i
	switch {
	case s.cut:
		if n.starts && end == len(flat) && same >= minStart && s.atEnd(l.text, n) {
			s.add(l, i, end, n)
		}
	case same == len(n.text):
		s.add(l, i, end, n)
	case n.token && same >= minPart && !allDigits(n.text[:same]):
		s.addPart(l, i, end, n)
	}
}

// matchTail adds the end of a token of which the last minPart bytes stand at i.
func (s *search) matchTail(l layer, flat string, i int, n *needle) {
	tail := len(n.text) - minPart
	if !strings.HasPrefix(flat[i:], n.text[tail:]) {
		return
	}
	before := 0
	for before < min(i, tail) && flat[i-1-before] == n.text[tail-1-before] {
		before++
	}
	if before < tail {
		s.addPart(l, i-before, i+minPart, n)
	}
}

// atEnd reports whether the last byte of the squeezed text is the last one of the layer, too. A
// line may have ended behind it, and digits may be in lines that blanks separate.
func (s *search) atEnd(text string, n *needle) bool {
	rest := text[s.at[len(s.flat)-1]+1:]
	return n.encoded || rest == "" || rest[0] == '\n' || rest[0] == '\r' || rest[0] >= utf8.RuneSelf
}

func (s *search) addPart(l layer, from, to int, n *needle) {
	s.seen = true
	if s.parts {
		s.add(l, from, to, n)
	}
}

// add adds the place of a part of the squeezed text. A number must stand together, because two
// numbers may make it, and must not be part of another one.
func (s *search) add(l layer, from, to int, n *needle) {
	if n.encoded {
		from = max(0, from-n.before)
		for spare := n.after; spare > 0 && to < len(s.flat) && isAlnum(s.flat[to]); spare-- {
			to++
		}
		for spare := 2; spare > 0 && to < len(s.flat) && s.flat[to] == '='; spare-- {
			to++
		}
	}
	sp := span{int(s.at[from]), int(s.at[to-1]) + 1}
	if allDigits(l.text[sp.from:sp.to]) && isNumber(l.text, sp) || n.number && sp.to-sp.from != to-from {
		return
	}
	s.found = append(s.found, span{l.start(sp.from), l.start(sp.to)})
}

// squeeze squeezes the text of a layer.
func (s *search) squeeze(text string) {
	flat, at := slices.Grow(s.flat[:0], len(text))[:len(text)], slices.Grow(s.at[:0], len(text))[:len(text)]
	n, fold := 0, &s.fold
	for i := 0; i < len(text); i++ {
		c := fold[text[i]]
		if c != unclear {
			flat[n], at[n] = c, int32(i)
			n += int(min(c, 1))
			continue
		}
		if rest := text[i:]; rest[0] == '<' {
			flat[n], at[n] = '<', int32(i)
			if strings.HasPrefix(rest, Placeholder) {
				flat[n] = wall
				i += len(Placeholder) - 1
			}
			n++
			continue
		}
		r, size := utf8.DecodeRuneInString(text[i:])
		if !view.Invisible(r) {
			for k := range size {
				flat[n], at[n] = text[i+k], int32(i+k)
				n++
			}
		}
		i += size - 1
	}
	s.flat, s.at = flat[:n], at[:n]
}

// unclear marks the bytes of which the next ones decide what becomes of them.
const unclear = 0xfe

// folds returns what squeezing makes of each byte; 0 = nothing.
func folds() (out [256]byte) {
	for c := range out {
		switch {
		case c == '<' || c >= utf8.RuneSelf:
			out[c] = unclear
		case c > ' ' && c != 0x7f:
			out[c] = lower(byte(c))
		}
	}
	return out
}

// squeezed returns a text without blanks, line breaks and invisible characters, and with small
// letters of ASCII: servers break lines, and readers remove what cannot be seen.
func squeezed(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ' || r == '\n' || r == '\t' || r == '\r' || view.Invisible(r):
			return -1
		case r < utf8.RuneSelf:
			return rune(lower(byte(r)))
		}
		return r
	}, text)
}

// isNumber reports whether the digits at sp are a number, or part of one, and not a secret that
// happens to have digits only: replacing them would turn 1234567 into "<redacted>7" and break JSON.
func isNumber(text string, sp span) bool {
	before, after := text[:sp.from], text[sp.to:]
	if strings.HasSuffix(before, Placeholder) || strings.HasPrefix(after, Placeholder) {
		return true // else redacting twice would differ from once
	}
	if before != "" && partOfNumber(before[len(before)-1]) || after != "" && partOfNumber(after[0]) {
		return true
	}
	before = strings.TrimRight(before, " ")
	for _, end := range [...]string{"[", ",", `":`, Placeholder} {
		if strings.HasSuffix(before, end) {
			return true
		}
	}
	return false
}

func partOfNumber(c byte) bool { return isDigit(c) || c == '.' }

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
