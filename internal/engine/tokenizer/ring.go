package tokenizer

import (
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"unicode/utf8"
)

// Ring is a corpus as a ring of token ids, from which prompts of an exact
// length are cut. It is immutable and safe for concurrent use. It is made for
// tokenizers for which there is no [WordRing].
//
// A prompt is a decoded section of the ring. If its tokens do not survive
// decoding and encoding (words cut in two, blanks at the ends, normalization)
// its length is corrected, see Prompt.
type Ring struct {
	tok     Tokenizer
	ids     []int
	fillers []string // short words of the corpus, the most frequent first
}

const (
	ringChunk   = 10_000 // bytes of corpus that are encoded together, at least
	ringFillers = 64     // short words kept for topping up
	ringNear    = 16     // neighbouring starts that Prompt tries
	ringFar     = 32     // starts elsewhere that it tries then
	ringStride  = 1009   // distance between those, a prime
	ringTrims   = 10     // corrections of the length a start
)

// NewRing encodes a corpus: its lines are trimmed, joined by blanks to chunks of at
// least 10,000 bytes, and encoded chunk by chunk. Tokens that stand for no
// text (special and unknown ones) are left out, so that a prompt never holds
// their names. The ring is empty if the corpus has no words.
func NewRing(t Tokenizer, corpus string) *Ring {
	r := &Ring{tok: t}
	corpus = strings.ReplaceAll(ValidUTF8(corpus), "\uFFFD", "")
	chunks := chunksOf(corpus)
	parts := make([][]int, len(chunks))
	var next atomic.Int64
	encode := func() {
		for i := next.Add(1) - 1; i < int64(len(chunks)); i = next.Add(1) - 1 {
			parts[i] = t.Encode(chunks[i])
		}
	}
	var others sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(chunks)) - 1 {
		others.Go(encode)
	}
	encode()
	others.Wait()
	r.ids = slices.Concat(parts...)
	if s, ok := t.(interface{ isSpecial(id int) bool }); ok {
		r.ids = slices.DeleteFunc(r.ids, s.isSpecial)
	}
	r.fillers = fillers(t, corpus)
	return r
}

// chunksOf returns the trimmed lines of a corpus, joined by blanks to chunks of
// at least ringChunk bytes, which end at a blank; only the last one may be shorter.
func chunksOf(corpus string) []string {
	var chunks []string
	var chunk strings.Builder
	for line := range strings.Lines(corpus) {
		for line = strings.TrimSpace(line); line != ""; {
			if chunk.Len() > 0 {
				chunk.WriteByte(' ')
			}
			part := line
			if least := max(0, ringChunk-chunk.Len()); least < len(line) {
				if n := strings.IndexByte(line[least:], ' '); n >= 0 {
					part = line[:least+n]
				}
			}
			chunk.WriteString(part)
			line = strings.TrimSpace(line[len(part):])
			if chunk.Len() >= ringChunk {
				chunks = append(chunks, chunk.String())
				chunk.Reset()
			}
		}
	}
	if chunk.Len() > 0 {
		chunks = append(chunks, chunk.String())
	}
	return chunks
}

// fillers returns short ways to make a text longer: blank and word, the most
// frequent words first, then words without blank. The length of each depends on
// the tokenizer and on the text before it, so Prompt measures it.
func fillers(t Tokenizer, corpus string) []string {
	counts := make(map[string]int)
	i := 0
	for w := range strings.FieldsSeq(corpus) {
		if i++; i > 20_000 {
			break
		}
		w = strings.ToLower(strings.Trim(w, ".,;:!?\"'()"))
		if n := len(w); n > 0 && n <= 8 {
			counts[w]++
		}
	}
	words := make([]string, 0, len(counts))
	for w := range counts {
		if t.Count(" "+w) <= 2 {
			words = append(words, w)
		}
	}
	slices.SortFunc(words, func(a, b string) int {
		if counts[a] != counts[b] {
			return counts[b] - counts[a]
		}
		return strings.Compare(a, b)
	})
	words = words[:min(len(words), ringFillers)]
	out := make([]string, 0, 2*len(words)+4)
	for _, w := range words {
		out = append(out, " "+w)
	}
	out = append(out, ".", ",", " a", "\n")
	return append(out, words...)
}

// Len is the number of tokens of the ring.
func (r *Ring) Len() int { return len(r.ids) }

// Prompt returns a text that Encode turns into exactly n tokens, n ≥ 1. It
// begins at ring position start, taken modulo Len; negative positions count
// from the end. The text is valid UTF-8 without U+FFFD, and the same arguments
// give the same text. A prompt longer than the ring goes round it.
//
// It cuts n tokens, decodes and encodes them, and corrects the cut by the
// difference, up to 10 times. If that does not settle it takes the longest cut
// that is too short and tops it up with short words of the corpus. If no word
// fits it starts again one token further on, 16 times in all, then at 32 places
// elsewhere (a corpus may be unfit around start, as a run of emoji of four
// tokens each is for a prompt of one); then it makes the prompt of short words
// alone. If that fails too, or the ring is empty, or n < 1, ok is false.
func (r *Ring) Prompt(start, n int) (text string, ok bool) {
	if len(r.ids) == 0 || n < 1 {
		return "", false
	}
	start %= len(r.ids)
	if start < 0 {
		start += len(r.ids)
	}
	for try := range ringNear + ringFar {
		if text, ok := r.cut(start, n); ok {
			return text, true
		}
		start++
		if try >= ringNear {
			start += ringStride
		}
	}
	return r.topUp("", 0, n)
}

// cut makes a prompt that begins at start, modulo Len.
func (r *Ring) cut(start, n int) (string, bool) {
	short, shortCount := "", 0 // the best text with fewer than n tokens
	take := n
	for range ringTrims {
		text, ok := r.text(start, take)
		if !ok {
			return "", false
		}
		count := r.tok.Count(text)
		if count == n {
			return text, true
		}
		if count < n && count > shortCount {
			short, shortCount = text, count
		}
		next := take + n - count
		if next < 1 || next == take {
			break
		}
		take = next
	}
	for take = min(take, n) - 1; take > 0 && shortCount == 0; take /= 2 {
		text, ok := r.text(start, take)
		if !ok {
			return "", false
		}
		if count := r.tok.Count(text); count < n {
			short, shortCount = text, count
		}
	}
	return r.topUp(short, shortCount, n)
}

// text decodes take tokens from start. Characters cut in two at either end are
// dropped; ok is false if the text has a broken one inside or nothing is left.
func (r *Ring) text(start, take int) (string, bool) {
	ids := make([]int, 0, take)
	for at := start % len(r.ids); len(ids) < take; at = 0 {
		ids = append(ids, r.ids[at:min(len(r.ids), at+take-len(ids))]...)
	}
	text := strings.Trim(r.tok.Decode(ids), "\uFFFD")
	return text, text != "" && !strings.ContainsRune(text, utf8.RuneError)
}

// topUp appends fillers until text has n tokens.
func (r *Ring) topUp(text string, count, n int) (string, bool) {
	for len(r.fillers) > 0 && count < n {
		best, bestCount := "", count
		for i := range r.fillers {
			// Begin elsewhere each time, so that not one word is repeated.
			f := r.fillers[(count+i)%len(r.fillers)]
			if text == "" {
				f = strings.TrimSpace(f)
			}
			if got := r.tok.Count(text + f); got > bestCount && got <= n {
				best, bestCount = f, got
				break
			}
		}
		if best == "" {
			return "", false
		}
		text, count = text+best, bestCount
	}
	return text, count == n
}
