package redact

import (
	"slices"
	"strings"
	"sync"
	"unsafe"
)

// minCut is the shortest text that may be the start of a longer one.
const minCut = 256

// finder finds spellings of secrets in texts. It is immutable once built.
type finder struct {
	heads    map[uint32][]string // by their first bytes
	marks    [1 << 10]uint64     // a bit for each hash of a key of heads
	searches sync.Pool           // of *search; their buffers are worth keeping
}

// newFinder returns the finder of spellings, nil for none.
func newFinder(needles []string) *finder {
	if len(needles) == 0 {
		return nil
	}
	f := &finder{heads: map[uint32][]string{}}
	table := foldTable()
	f.searches.New = func() any { return &search{layer{folds: table}, layer{folds: table}} }
	for _, text := range needles {
		key := keyAt(text, 0)
		f.heads[key] = append(f.heads[key], text)
		word, bit := markOf(key)
		f.marks[word] |= bit
	}
	return f
}

// keyLength is the number of bytes by which spellings are looked up.
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

// redactAll returns text without secrets, or text itself.
func (f *finder) redactAll(text string) string {
	for range maxRounds {
		clean := replaceSpans(text, f.all(text))
		if clean == text {
			break
		}
		text = clean
	}
	return text
}

// search is the memory of one search.
type search struct{ layer, next layer }

// all returns the places of secrets in a text and in what undoing its escapes makes of it, ordered
// and without overlap.
func (f *finder) all(text string) (found []span) {
	s := f.searches.Get().(*search) //nolint:forcetypeassert // the pool has nothing else
	defer f.searches.Put(s)
	s.layer.load(text)
	found = f.find(text, &s.layer, found)
	for level := 0; level < maxLevels && s.next.unescape(&s.layer); level++ {
		s.layer, s.next = s.next, s.layer
		found = f.find(text, &s.layer, found)
	}
	return union(found)
}

// find adds the places of secrets in one layer of a source.
func (f *finder) find(source string, l *layer, found []span) []span {
	text := unsafe.String(unsafe.SliceData(l.text), len(l.text)) // it shares l's memory, for this call
	marks := &f.marks
	for i := 0; i+keyLength <= len(text); i++ {
		key := keyAt(text, i)
		word, bit := markOf(key)
		if marks[word%uint32(len(marks))]&bit == 0 {
			continue
		}
		for _, needle := range f.heads[key] {
			end := i + samePrefix(text[i:], needle)
			if end < i+len(needle) && (len(source) < minCut || end < i+minSecret || !isCut(text[end:]) && !isCut(text[end-1:])) {
				continue
			}
			if sp := (span{int(l.at[i].from), int(l.at[end-1].to)}); !isNumber(source, sp, text[i:end]) {
				found = append(found, sp)
			}
		}
	}
	return found
}

// samePrefix returns how many bytes are equal at the start of two texts.
func samePrefix(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// isCut reports whether a text ends in front of rest: with what shows that it was cut there, or in
// an escape.
func isCut(rest string) bool {
	rest = strings.TrimRight(rest, ".\u2026")
	return rest == "" || len(rest) < longestEscape && isMark(rest[0])
}

// isNumber reports whether what was found at a place is a number, a part of one or several, and not
// a secret that happens to have digits only: replacing them would turn 1234567 into "<redacted>7"
// and break JSON.
func isNumber(source string, sp span, found string) bool {
	if !allDigits(found) {
		return false
	}
	before, after := source[:sp.from], source[sp.to:]
	if source[sp.from:sp.to] != found || strings.HasSuffix(before, Placeholder) || strings.HasPrefix(after, Placeholder) {
		return true // else redacting twice would differ from once
	}
	if before != "" && (isDigit(before[len(before)-1]) || before[len(before)-1] == '.') ||
		after != "" && isDigit(after[0]) || len(after) > 1 && after[0] == '.' && isDigit(after[1]) {
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

// union orders spans and joins those that overlap.
func union(spans []span) []span {
	slices.SortFunc(spans, func(a, b span) int { return a.from - b.from })
	out := spans[:0]
	for _, sp := range spans {
		if last := len(out) - 1; last >= 0 && sp.from < out[last].to {
			out[last].to = max(out[last].to, sp.to)
		} else {
			out = append(out, sp)
		}
	}
	return out
}
