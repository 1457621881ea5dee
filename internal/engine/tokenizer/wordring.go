package tokenizer

import (
	"encoding/binary"
	"errors"
	"iter"
	"math"
	"slices"
	"sort"
	"strings"
	"sync"
)

// WordRing is a corpus as a ring of words, from which prompts of an exact length are
// cut without encoding them. It is safe for concurrent use.
//
// A word begins with a blank and a letter, after a character that is no blank, and ends
// where the next one begins: " light,". Tokenizers for which [NewWordRing] makes a ring
// divide a text there, so that the tokens of a text are those of its words, whatever
// stands before and after them.
type WordRing struct {
	text  string
	words []byte // of each word its bytes and its tokens, as unsigned varints
	count int    // words
	marks []mark // where every markWords-th word begins, and the end
	tails tails
	trim  bool // the tokenizer adds the blank before the first word
	// checked makes the prompts that words cannot be put together to: those shorter
	// than every word.
	checked func() *Ring
}

// mark is a place in a ring: so many bytes and tokens are before it, and so many bytes of
// the list of words.
type mark struct{ start, tokens, listed uint32 }

// markWords is the number of words from one mark to the next: few enough to count on
// from a mark, so many that a ring is opened in no time.
const markWords = 64

// The limits of the search for the last words of a prompt.
const (
	tailSample = 4096 // words of the corpus that are looked at
	tailWords  = 64   // words of the same length that take turns
	tailTokens = 64   // longest end of a prompt that is put together
)

// tails are the words that end prompts.
type tails struct {
	words [tailTokens][]string // by tokens
	// step is, by tokens of an end, how many its first word has; 0 = words cannot be put
	// together to it.
	step [tailTokens]int
}

// wordsBefore is a word that stands before those that are counted.
const wordsBefore = "a"

// NewWordRing returns the ring of a corpus whose lines are trimmed and joined by blanks.
// false = the tokens of a word depend on its neighbours, or it has no words.
func NewWordRing(t Tokenizer, corpus string) (*WordRing, bool) {
	r := &WordRing{text: joinLines(corpus)}
	if r.text == "" || !independentWords(t, r.text) {
		return nil, false
	}
	before := t.Count(wordsBefore)
	counts := map[string]int{}
	untrimmed, trimmed := true, true
	for start := 0; start < len(r.text); {
		end := nextWord(r.text, start+1)
		word := r.text[start:end]
		n, known := counts[word]
		if !known {
			n = t.Count(wordsBefore+word) - before
			counts[word] = n
			untrimmed = untrimmed && t.Count(word) == n
			trimmed = trimmed && t.Count(word[1:]) == n
		}
		if n < 0 {
			return nil, false
		}
		r.words = binary.AppendUvarint(binary.AppendUvarint(r.words, uint64(len(word))), uint64(n))
		start = end
	}
	r.trim = !untrimmed
	return r, r.prepare(t) && (untrimmed || trimmed) && r.probe(t)
}

// joinLines returns the lines of a corpus, trimmed and each with a blank before it, from the
// first word on.
func joinLines(corpus string) string {
	var text strings.Builder
	text.Grow(len(corpus) + 1)
	for line := range strings.Lines(corpus) {
		if line = strings.TrimSpace(line); line != "" {
			text.WriteByte(' ')
			text.WriteString(line)
		}
	}
	joined := text.String()
	return joined[nextWord(joined, 0):]
}

// prepare completes a ring that has its text and its words; false = they do not fit.
func (r *WordRing) prepare(t Tokenizer) bool {
	at, end := mark{}, uint32(len(r.words))
	for ; at.listed < end; r.count++ {
		if r.count%markWords == 0 {
			r.marks = append(r.marks, at)
		}
		at = r.after(at)
	}
	r.marks = append(r.marks, at)
	if at.listed != end || int(at.start) != len(r.text) || at.tokens == 0 {
		return false
	}
	r.checked = sync.OnceValue(func() *Ring { return NewRing(t, r.text) })
	r.collectTails()
	return true
}

// after returns the place after the word that begins at a place; the list of words has a
// whole one there, or the place is beyond it.
func (r *WordRing) after(at mark) mark {
	size, n := binary.Uvarint(r.words[at.listed:])
	tokens, m := binary.Uvarint(r.words[int(at.listed)+max(n, 0):])
	if n <= 0 || m <= 0 {
		return mark{listed: math.MaxUint32}
	}
	return mark{at.start + uint32(size), at.tokens + uint32(tokens), at.listed + uint32(n+m)}
}

// place returns where word i begins, 0 ≤ i ≤ Len.
func (r *WordRing) place(i int) mark {
	if i == r.Len() {
		return r.end()
	}
	at := r.marks[i/markWords]
	for range i % markWords {
		at = r.after(at)
	}
	return at
}

// end returns the end of the text.
func (r *WordRing) end() mark { return r.marks[len(r.marks)-1] }

// nextWord returns the first place at or after i where a word begins, or the length of
// the text.
func nextWord(text string, i int) int {
	for ; i+1 < len(text); i++ {
		if text[i] == ' ' && isLetter(text[i+1]) && (i == 0 || text[i-1] > ' ') {
			return i
		}
	}
	return len(text)
}

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

// collectTails finds words that consist of letters, by their tokens, and what can be put
// together of them.
func (r *WordRing) collectTails() {
	at := mark{}
	for range min(r.Len(), tailSample) {
		next := r.after(at)
		word, n := r.text[at.start:next.start], int(next.tokens-at.tokens)
		at = next
		if 0 < n && n < tailTokens && len(r.tails.words[n]) < tailWords && onlyLetters(word[1:]) &&
			!slices.Contains(r.tails.words[n], word) {
			r.tails.words[n] = append(r.tails.words[n], word)
		}
	}
	for n := 1; n < tailTokens; n++ {
		for first := n; first > 0 && r.tails.step[n] == 0; first-- {
			if len(r.tails.words[first]) > 0 && (first == n || r.tails.step[n-first] > 0) {
				r.tails.step[n] = first
			}
		}
	}
}

func onlyLetters(s string) bool {
	for i := range len(s) {
		if !isLetter(s[i]) {
			return false
		}
	}
	return true
}

// probe reports whether prompts have their lengths. They have by construction; probe
// guards the construction.
func (r *WordRing) probe(t Tokenizer) bool {
	const prompts = 32
	for i := range prompts {
		n := 1 + i*i
		if text, ok := r.Prompt(i*(r.Len()/prompts+1), n); ok && t.Count(text) != n {
			return false
		}
	}
	return true
}

// Len is the number of words of the ring.
func (r *WordRing) Len() int { return r.count }

// Word returns a word of the ring, 0 ≤ i < Len.
func (r *WordRing) Word(i int) string {
	at := r.place(i)
	return r.text[at.start:r.after(at).start]
}

// Prompt returns a text that Encode turns into exactly n tokens, n ≥ 1, and that begins
// with word start, taken modulo Len. The same arguments give the same text. A prompt longer
// than the ring goes round it. false = there is none.
func (r *WordRing) Prompt(start, n int) (string, bool) {
	text, ok := r.Following(start, n)
	switch {
	case !ok:
		return r.checked().Prompt(start, n)
	case r.trim:
		return text[1:], true
	}
	return text, true
}

// Following returns a text that adds exactly n tokens to any text that ends with a word;
// it begins with word start, taken modulo Len. What follows it in the same way adds its
// own tokens. false = words cannot be put together to n tokens.
func (r *WordRing) Following(start, n int) (string, bool) {
	if n < 1 {
		return "", false
	}
	if start %= r.Len(); start < 0 {
		start += r.Len()
	}
	from, all := r.place(start), r.end().tokens
	left := from.tokens + uint32(n) // from the beginning of the text
	var whole []string
	for left > all {
		whole = append(whole, r.text[from.start:])
		left -= all
		from = mark{}
	}
	end, ok := r.lastWord(from, left)
	if !ok {
		return "", false
	}
	text := r.text[from.start:end.start]
	tail := int(left - end.tokens)
	if tail == 0 && whole == nil {
		return text, true
	}
	var b strings.Builder
	size := len(text) + 16*tail
	for _, part := range whole {
		size += len(part)
	}
	b.Grow(size)
	for _, part := range whole {
		b.WriteString(part)
	}
	b.WriteString(text)
	r.tails.write(&b, tail, start+n)
	return b.String(), true
}

// lastWord returns the last place of a word at or after from from which words can be put
// together to reach so many tokens; false = there is none.
func (r *WordRing) lastWord(from mark, tokens uint32) (mark, bool) {
	// The mark before the nearest one: the end may begin before that.
	near := max(0, sort.Search(len(r.marks)-2, func(i int) bool { return r.marks[i+1].tokens > tokens })-1)
	at, last, found := r.marks[near], mark{}, false
	for i := near * markWords; at.tokens <= tokens; i++ {
		if at.start >= from.start && r.tails.reach(int(tokens-at.tokens)) {
			last, found = at, true
		}
		if i == r.Len() {
			break
		}
		at = r.after(at)
	}
	return last, found
}

// reach reports whether words can be put together to n tokens.
func (t *tails) reach(n int) bool { return n == 0 || n < tailTokens && t.step[n] > 0 }

// write appends words of n tokens; which, turn decides.
func (t *tails) write(b *strings.Builder, n, turn int) {
	for n > 0 {
		step := t.step[n]
		words := t.words[step]
		b.WriteString(words[turn%len(words)])
		n -= step
		turn += 7 // not one word again and again
	}
}

// All yields the words of the ring, from the first one on, with their tokens.
func (r *WordRing) All() iter.Seq2[string, int] {
	return func(yield func(string, int) bool) {
		for at := (mark{}); int(at.start) < len(r.text); {
			next := r.after(at)
			if !yield(r.text[at.start:next.start], int(next.tokens-at.tokens)) {
				return
			}
			at = next
		}
	}
}

// Trims reports whether the blank before the first word of a text is left out, because the
// tokenizer adds one.
func (r *WordRing) Trims() bool { return r.trim }

// Words are the words of the ring, for [OpenWordRing].
func (r *WordRing) Words() []byte { return r.words }

// Text is the corpus as the words of the ring have it.
func (r *WordRing) Text() string { return r.text }

var errRing = errors.New("the words are not those of the text")

// OpenWordRing returns the ring of a text and its words, which [NewWordRing] has found for
// the same tokenizer. Neither is copied.
func OpenWordRing(t Tokenizer, text string, words []byte) (*WordRing, error) {
	r := &WordRing{text: text, words: words}
	if !r.prepare(t) {
		return nil, errRing
	}
	return r, nil
}
