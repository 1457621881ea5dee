package agentic

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math/rand/v2"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/dataset/text"
	"aiperfd/internal/engine/plainjson"
	"aiperfd/internal/engine/tokenizer"
)

// corpusName is the corpus that the texts of blocks are cut from, which is that of AIPerf.
const corpusName = "coding"

// headTokens is the length of the first part of a block. The two parts of a block come from
// different places of the corpus, because a long trace has more blocks than the corpus has places.
const headTokens = 16

// leastWindows is how many first parts of blocks a tokenizer has to allow: so many traces begin
// differently.
const leastWindows = 1024

// blockTexts gives blocks their texts. A block is two windows of the corpus, each of which begins
// and ends where a word begins, so that the tokens of a text are those of its blocks, whatever
// stands before and after them. The texts are kept as they stand inside a JSON string. It is
// immutable and safe for concurrent use.
type blockTexts struct {
	ring  *tokenizer.WordRing
	count func(text string) int
	json  []byte
	block int
	trims bool // a message begins without the blank of its first word
	heads windows
	rests windows // empty = a block is its first part
	key   [sha256.Size]byte
}

// window is a part of the corpus.
type window struct {
	start uint32 // in bytes of blockTexts.json
	size  uint16 // bytes
	word  uint32 // that it begins with
}

// windows are parts of the corpus of one length.
type windows []window

// at returns window i of the order. It visits all windows before it repeats one.
func (w windows) at(i uint64) *window { return &w[i%uint64(len(w))] }

// ordered returns the windows in an order that is drawn: number i is window (shift + i·step) modulo their number.
func (w windows) ordered(r *rand.Rand) windows {
	n := len(w)
	step, shift := 1, bench.Below(r, n)
	for try := n/4 + bench.Below(r, n/2+1); try > 1; try-- {
		if gcd(try, n) == 1 {
			step = try
			break
		}
	}
	out := make(windows, n)
	for i := range out {
		out[i] = w[shift]
		shift = (shift + step) % n
	}
	return out
}

func gcd(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// newBlockTexts returns the texts of blocks of so many tokens.
func newBlockTexts(tok tokenizer.Tokenizer, block int, seed bench.Seed) (*blockTexts, error) {
	corpus, err := text.FindCorpus(corpusName)
	if err != nil {
		return nil, err
	}
	opened, err := corpus.Open(tok)
	if err != nil {
		return nil, fmt.Errorf("open corpus %s: %w", corpus.Name, err)
	}
	ring, ok := opened.(*tokenizer.WordRing)
	if !ok {
		return nil, fmt.Errorf("the tokenizer joins words, so that no blocks of exactly %d tokens can be put together; "+
			"use another one (--tokenizer), for example builtin", block)
	}
	t := &blockTexts{ring: ring, count: tok.Count, block: block, trims: ring.Trims()}
	head := block
	if block >= 2*headTokens {
		head = headTokens
	}
	t.cut(head)
	if len(t.heads) < leastWindows {
		return nil, fmt.Errorf("the tokenizer divides the corpus at %d places into parts of %d tokens, and %d are needed; "+
			"use another one (--tokenizer), for example builtin", len(t.heads), head, leastWindows)
	}
	if _, ok := ring.Following(0, 1); !ok {
		return nil, fmt.Errorf("the tokenizer has no word of one token; use another one (--tokenizer), for example builtin")
	}
	r := seed.Rand(bench.StreamPromptCorpus)
	t.heads = t.heads.ordered(r)
	if len(t.rests) > 0 {
		t.rests = t.rests.ordered(r)
	}
	sum := sha256.New()
	fmt.Fprintf(sum, "%d %d ", seed, block) // never fails, nor do the others
	_, _ = sum.Write(t.json)
	sum.Sum(t.key[:0])
	return t, nil
}

// cut finds the windows.
func (t *blockTexts) cut(head int) {
	var tokens, starts []int // before each word, and the end
	alone := map[string]bool{}
	var first []bool // a message may begin with the word: without its blank it has as many tokens
	total := 0
	for word, n := range t.ring.All() {
		tokens, starts = append(tokens, total), append(starts, len(t.json))
		total += n
		same, known := alone[word]
		if !known {
			same = t.count(word[1:]) == n
			alone[word] = same
		}
		first = append(first, same)
		t.json = appendInside(t.json, word)
	}
	tokens, starts = append(tokens, total), append(starts, len(t.json))
	find := func(n int, wanted func(word int) bool) (list []window) {
		end := 0
		for i := range first {
			for end < len(first) && tokens[end]-tokens[i] < n {
				end++
			}
			if size := starts[end] - starts[i]; tokens[end]-tokens[i] == n && wanted(i) && size < 1<<16 {
				list = append(list, window{uint32(starts[i]), uint16(size), uint32(i)})
			}
		}
		return list
	}
	known := map[string]bool{} // the corpus has some texts several times
	for _, w := range find(head, func(word int) bool { return first[word] }) {
		if text := string(t.json[w.start : w.start+uint32(w.size)]); !known[text] {
			known[text] = true
			t.heads = append(t.heads, w)
		}
	}
	if rest := t.block - head; rest > 0 {
		t.rests = find(rest, func(int) bool { return true })
	}
}

// parts returns the text of a block in two parts: of the trace with a number, the block with a rank, which is the
// order in which the blocks of a trace appear. Different ranks of a trace are different texts, and the first blocks of
// different traces begin differently. The first part begins with a blank.
func (t *blockTexts) parts(trace uint64, rank uint32) (head, rest []byte) {
	at := t.heads.at(trace + uint64(rank)*traceStride)
	head = t.json[at.start : at.start+uint32(at.size)]
	if len(t.rests) > 0 {
		at = t.rests.at(trace*traceStride + uint64(rank))
		rest = t.json[at.start : at.start+uint32(at.size)]
	}
	return head, rest
}

// size returns how many bytes the texts of blocks are, see [blockTexts.parts].
func (t *blockTexts) size(trace uint64, ranks []uint32) (n int) {
	for _, rank := range ranks {
		n += int(t.heads.at(trace + uint64(rank)*traceStride).size)
		if len(t.rests) > 0 {
			n += int(t.rests.at(trace*traceStride + uint64(rank)).size)
		}
	}
	return n
}

// traceStride separates the blocks of a trace, and the traces. It is a prime above the number of
// windows that any corpus has.
const traceStride = 2_147_483_647

// appendTail appends a text of n tokens that no block has, as it stands inside a JSON string. The
// same name gives the same text.
func (t *blockTexts) appendTail(dst []byte, name string, n int, bare bool) []byte {
	sum := sha256.Sum256([]byte(name))
	at := binary.BigEndian.Uint64(sum[:8])
	for i := range uint64(len(t.heads)) {
		text, ok := t.ring.Following(int(t.heads.at(at+i).word), n)
		if !ok {
			continue // a long word stands where the text would have to end
		}
		if bare {
			text = text[1:]
		}
		return appendInside(dst, text)
	}
	return dst
}

// appendInside appends a text as it stands inside a JSON string.
func appendInside(dst []byte, text string) []byte {
	at := len(dst)
	dst = plainjson.AppendString(dst, text)
	copy(dst[at:], dst[at+1:len(dst)-1])
	return dst[:len(dst)-2]
}
