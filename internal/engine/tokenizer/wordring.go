package tokenizer

import (
	"encoding/binary"
	"errors"
	"slices"
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
	text   string
	starts []uint32 // of the words in text, and its length
	tokens []uint32 // before each word, and in all of text
	tails  tails
	trim   bool // the tokenizer adds the blank before the first word
	// checked makes the prompts that words cannot be put together to: those shorter
	// than every word.
	checked func() *Ring
}

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
	r := newWordRing(t, corpus)
	if r.Len() == 0 || !independentWords(t, r.text) {
		return nil, false
	}
	before := t.Count(wordsBefore)
	counts := map[string]int{}
	untrimmed, trimmed := true, true
	r.tokens = append(r.tokens, 0)
	for i := range r.Len() {
		word := r.Word(i)
		n, known := counts[word]
		if !known {
			n = t.Count(wordsBefore+word) - before
			counts[word] = n
			untrimmed = untrimmed && t.Count(word) == n
			trimmed = trimmed && t.Count(word[1:]) == n
		}
		r.tokens = append(r.tokens, r.tokens[i]+uint32(n))
	}
	r.trim = !untrimmed
	r.collectTails()
	return r, (untrimmed || trimmed) && r.probe(t)
}

// newWordRing finds the words of a corpus.
func newWordRing(t Tokenizer, corpus string) *WordRing {
	var text strings.Builder
	text.Grow(len(corpus) + 1)
	for line := range strings.Lines(corpus) {
		if line = strings.TrimSpace(line); line != "" {
			text.WriteByte(' ')
			text.WriteString(line)
		}
	}
	r := &WordRing{text: text.String()}
	for i := nextWord(r.text, 0); i < len(r.text); i = nextWord(r.text, i+1) {
		r.starts = append(r.starts, uint32(i))
	}
	r.starts = append(r.starts, uint32(len(r.text)))
	r.checked = sync.OnceValue(func() *Ring { return NewRing(t, corpus) })
	return r
}

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
	for i := range min(r.Len(), tailSample) {
		word, n := r.Word(i), int(r.tokens[i+1]-r.tokens[i])
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
func (r *WordRing) Len() int { return len(r.starts) - 1 }

// Word returns a word of the ring, 0 ≤ i < Len.
func (r *WordRing) Word(i int) string { return r.text[r.starts[i]:r.starts[i+1]] }

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
	all := int(r.tokens[r.Len()])
	left := int(r.tokens[start]) + n // from the beginning of the text
	var whole []string
	from := start
	for left > all {
		whole = append(whole, r.text[r.starts[from]:])
		left -= all
		from = 0
	}
	end := r.wordAt(from, left)
	for end > from && !r.tails.reach(left-int(r.tokens[end])) {
		end--
	}
	tail := left - int(r.tokens[end])
	if !r.tails.reach(tail) {
		return "", false
	}
	text := r.text[r.starts[from]:r.starts[end]]
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

// wordAt returns the last word at or after from that begins with at most so many tokens
// before it.
func (r *WordRing) wordAt(from, tokens int) int {
	// Words have about the same number of tokens, so the first guess is near.
	guess := from + int(uint64(tokens-int(r.tokens[from]))*uint64(r.Len())/uint64(r.tokens[r.Len()]))
	i := min(guess, r.Len())
	for i < r.Len() && int(r.tokens[i+1]) <= tokens {
		i++
	}
	for i > from && int(r.tokens[i]) > tokens {
		i--
	}
	return i
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

// Append appends the ring to b, for [OpenWordRing]: for each word its bytes and its tokens.
// Words are shorter than 256 of both.
func (r *WordRing) Append(b []byte) []byte {
	for i := range r.Len() {
		b = append(b, byte(r.starts[i+1]-r.starts[i]), byte(r.tokens[i+1]-r.tokens[i]))
	}
	return b
}

// Text is the corpus as the words of the ring have it.
func (r *WordRing) Text() string { return r.text }

var errRing = errors.New("the ring is cut off, or is another text's")

// OpenWordRing returns the ring of a text for which Append has written data, with the same
// tokenizer.
func OpenWordRing(t Tokenizer, text string, data []byte) (*WordRing, error) {
	n := len(data) / 2
	r := &WordRing{text: text, starts: make([]uint32, n+1), tokens: make([]uint32, n+1)}
	r.checked = sync.OnceValue(func() *Ring { return NewRing(t, text) })
	start, tokens := uint32(0), uint32(0)
	for i := range n {
		pair := binary.LittleEndian.Uint16(data[2*i:])
		start += uint32(pair & 0xff)
		tokens += uint32(pair >> 8)
		r.starts[i+1], r.tokens[i+1] = start, tokens
	}
	if n == 0 || len(data)%2 != 0 || int(start) != len(text) {
		return nil, errRing
	}
	r.collectTails()
	return r, nil
}
