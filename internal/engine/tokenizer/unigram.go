package tokenizer

import (
	"strings"
	"unicode/utf8"
)

// unigram picks the segmentation of highest total log probability (Viterbi).
type unigram struct {
	vocab        *vocab
	scores       []float64 // by id
	trie         *trie
	unkScore     float64 // lowest score minus 10
	unk          uint32  // noValue: none
	byteFallback bool
	fallback     [256]uint32
}

var _ model = (*unigram)(nil)

func (m *unigram) kind() string       { return "unigram" }
func (m *unigram) vocabulary() *vocab { return m.vocab }

// latticeNode is the best path that ends at one byte offset.
type latticeNode struct {
	score float64
	start int32 // where its last token starts; -1: not reached
	id    uint32
}

const unkPenalty = 10

func (m *unigram) encode(sc *scratch, dst []uint32, piece string) []uint32 {
	nodes := sc.lattice(len(piece) + 1)
	for at := 0; at < len(piece); {
		_, width := utf8.DecodeRuneInString(piece[at:])
		base, single := nodes[at].score, false
		node := uint32(0)
		for i := at; i < len(piece); i++ {
			if node = m.trie.next(node, piece[i]); node == noValue {
				break
			}
			id := m.trie.ids[node]
			if id == noValue {
				continue
			}
			nodes[i+1].offer(base+m.scores[id], at, id)
			single = single || i+1-at == width
		}
		if !single {
			nodes[at+width].offer(base+m.unkScore, at, m.unk)
		}
		at += width
	}
	return m.backtrack(dst, nodes, piece)
}

func (n *latticeNode) offer(score float64, start int, id uint32) {
	if n.start < 0 || score > n.score {
		*n = latticeNode{score: score, start: int32(start), id: id}
	}
}

// backtrack appends the best path. Neighbouring unknown characters are one token.
func (m *unigram) backtrack(dst []uint32, nodes []latticeNode, piece string) []uint32 {
	from := len(dst)
	for end := len(piece); end > 0; {
		n := nodes[end]
		start := int(n.start)
		if n.id != m.unk {
			dst = append(dst, n.id)
			end = start
			continue
		}
		for start > 0 && nodes[start].id == m.unk {
			start = int(nodes[start].start)
		}
		dst = m.unknown(dst, piece[start:end])
		end = start
	}
	for i, j := from, len(dst)-1; i < j; i, j = i+1, j-1 {
		dst[i], dst[j] = dst[j], dst[i]
	}
	return dst
}

// unknown appends, last token first, what stands for text outside the vocabulary.
func (m *unigram) unknown(dst []uint32, text string) []uint32 {
	if id, ok := m.vocab.lookup(text); ok {
		return append(dst, id)
	}
	if m.byteFallback {
		whole := true
		for i := range len(text) {
			whole = whole && m.fallback[text[i]] != noValue
		}
		if whole {
			for i := len(text) - 1; i >= 0; i-- {
				dst = append(dst, m.fallback[text[i]])
			}
			return dst
		}
	}
	if m.unk == noValue {
		return dst
	}
	return append(dst, m.unk)
}

// wordPiece takes the longest token at each place; a word that cannot be
// covered is one unknown token.
type wordPiece struct {
	vocab    *vocab
	trie     *trie
	inside   uint32 // node of the trie after the continuation prefix
	unk      uint32
	maxChars int // longer words are unknown
}

var _ model = (*wordPiece)(nil)

func newWordPiece(v *vocab, prefix string, unk uint32, maxChars int) *wordPiece {
	texts, ids := vocabTexts(v)
	m := &wordPiece{vocab: v, trie: newTrie(texts, ids), unk: unk, maxChars: maxChars}
	for i := range len(prefix) {
		if m.inside = m.trie.next(m.inside, prefix[i]); m.inside == noValue {
			break
		}
	}
	return m
}

func vocabTexts(v *vocab) (texts []string, ids []uint32) {
	for id := range uint32(v.size()) {
		if t := v.text(id); t != "" {
			texts, ids = append(texts, t), append(ids, id)
		}
	}
	return texts, ids
}

func (m *wordPiece) kind() string       { return "wordpiece" }
func (m *wordPiece) vocabulary() *vocab { return m.vocab }

func (m *wordPiece) encode(_ *scratch, dst []uint32, piece string) []uint32 {
	if utf8.RuneCountInString(piece) > m.maxChars {
		return append(dst, m.unk)
	}
	from, node := len(dst), uint32(0)
	for rest := piece; rest != ""; node = m.inside {
		if node == noValue {
			return append(dst[:from], m.unk)
		}
		id, n := m.trie.longest(node, rest)
		if n == 0 {
			return append(dst[:from], m.unk)
		}
		dst = append(dst, id)
		rest = rest[n:]
	}
	return dst
}

// wordLevel has only whole words.
type wordLevel struct {
	vocab *vocab
	unk   uint32
}

var _ model = (*wordLevel)(nil)

func (m *wordLevel) kind() string       { return "wordlevel" }
func (m *wordLevel) vocabulary() *vocab { return m.vocab }

func (m *wordLevel) encode(_ *scratch, dst []uint32, piece string) []uint32 {
	if id, ok := m.vocab.lookup(piece); ok {
		return append(dst, id)
	}
	return append(dst, m.unk)
}

// byteAlphabet maps a byte to the printable character that stands for it in
// byte-level vocabularies (GPT-2's table), and back.
type byteAlphabet struct {
	chars [256]rune
	bytes map[rune]byte
}

func newByteAlphabet() *byteAlphabet {
	a := &byteAlphabet{bytes: make(map[rune]byte, 256)}
	extra := rune(0x100)
	for b := range a.chars {
		c := rune(b)
		printable := c >= '!' && c <= '~' || c >= 0xA1 && c <= 0xAC || c >= 0xAE
		if !printable {
			c = extra
			extra++
		}
		a.chars[b] = c
		a.bytes[c] = byte(b)
	}
	return a
}

// toChars writes every byte of s as its character.
func (a *byteAlphabet) toChars(s string) string {
	var b strings.Builder
	b.Grow(2 * len(s))
	for i := range len(s) {
		b.WriteRune(a.chars[s[i]])
	}
	return b.String()
}

// toBytes undoes toChars; ok is false if a character is not of the alphabet.
func (a *byteAlphabet) toBytes(s string) (raw string, ok bool) {
	buf := make([]byte, 0, len(s))
	for _, r := range s {
		b, ok := a.bytes[r]
		if !ok {
			return "", false
		}
		buf = append(buf, b)
	}
	return string(buf), true
}
