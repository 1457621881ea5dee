package tokenizer

import (
	"encoding/binary"
	"math/bits"
	"slices"
	"strings"

	"github.com/cespare/xxhash/v2"
)

// numbers is a list of 32-bit numbers, little endian, as they lie in a file.
type numbers []byte

const numberBytes = 4

func newNumbers(n int) numbers { return make(numbers, n*numberBytes) }

func (w numbers) len() int { return len(w) / numberBytes }

func (w numbers) at(i int) uint32 { return binary.LittleEndian.Uint32(w[i*numberBytes:]) }

func (w numbers) set(i int, v uint32) { binary.LittleEndian.PutUint32(w[i*numberBytes:], v) }

// vocab holds the token strings of a model in one block of memory, with a hash
// index from string to id. It is immutable after newVocab.
type vocab struct {
	blob   string
	starts numbers // by id, one more than ids; equal neighbours: no such token
	index  numbers // open addressing by xxHash; id+1, 0 marks a free slot
	maxLen int     // bytes of the longest token
	count  int     // tokens present
}

// newVocab builds a vocabulary from its tokens by id; empty strings are holes.
// Tokens for which skip returns true have an id and a string but are not found
// by lookup; skip may be nil.
func newVocab(tokens []string, skip func(id int) bool) *vocab {
	total := 0
	for _, t := range tokens {
		total += len(t)
	}
	var blob strings.Builder
	blob.Grow(total)
	v := &vocab{starts: newNumbers(len(tokens) + 1)}
	for id, t := range tokens {
		blob.WriteString(t)
		v.starts.set(id+1, uint32(blob.Len()))
	}
	v.blob = blob.String()
	v.buildIndex(skip)
	return v
}

func (v *vocab) buildIndex(skip func(id int) bool) {
	v.index = newNumbers(v.size()*3/2 + 8)
	for id := range v.size() {
		t := v.text(uint32(id))
		if t == "" {
			continue
		}
		v.count++
		if skip != nil && skip(id) {
			continue
		}
		v.maxLen = max(v.maxLen, len(t))
		i := v.slot(t)
		for v.index.at(i) != 0 {
			if i++; i == v.index.len() {
				i = 0
			}
		}
		v.index.set(i, uint32(id)+1)
	}
}

func (v *vocab) slot(s string) int {
	hi, _ := bits.Mul64(xxhash.Sum64String(s), uint64(v.index.len()))
	return int(hi)
}

// size is the largest id plus one.
func (v *vocab) size() int { return v.starts.len() - 1 }

// text returns the token of id, "" if there is none.
func (v *vocab) text(id uint32) string {
	if int64(id) >= int64(v.size()) {
		return ""
	}
	return v.blob[v.starts.at(int(id)):v.starts.at(int(id)+1)]
}

// lookup returns the id of s.
func (v *vocab) lookup(s string) (uint32, bool) {
	if len(s) > v.maxLen {
		return 0, false
	}
	for i := v.slot(s); ; {
		id := v.index.at(i)
		if id == 0 {
			return 0, false
		}
		if v.text(id-1) == s {
			return id - 1, true
		}
		if i++; i == v.index.len() {
			i = 0
		}
	}
}

// trie finds the tokens that are prefixes of a text. It is immutable.
type trie struct {
	edges pairTable // (node, byte) to node; node 0 is the root
	ids   []uint32  // by node: id of the token that ends here, or noValue
	heads [256]bool // bytes that begin a token
}

// newTrie builds a trie of the texts; the value of texts[i] is ids[i]. Of two
// equal texts the later one wins.
func newTrie(texts []string, ids []uint32) *trie {
	order := make([]int, len(texts))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return strings.Compare(texts[a], texts[b]) })
	nodes, prev := 1, ""
	for _, i := range order {
		nodes += len(texts[i]) - commonPrefix(prev, texts[i])
		prev = texts[i]
	}
	t := &trie{edges: newEdges(nodes), ids: make([]uint32, 1, nodes)}
	t.ids[0] = noValue
	path := []uint32{0} // nodes of prev, root first
	prev = ""
	for _, i := range order {
		s := texts[i]
		if s == "" {
			continue
		}
		keep := commonPrefix(prev, s)
		path = path[:keep+1]
		for j := keep; j < len(s); j++ {
			node := uint32(len(t.ids))
			t.ids = append(t.ids, noValue)
			t.edges.put(path[j], uint32(s[j]), node)
			path = append(path, node)
		}
		t.ids[path[len(s)]] = ids[i]
		t.heads[s[0]] = true
		prev = s
	}
	return t
}

func commonPrefix(a, b string) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}

// next returns the child of node along b, or noValue.
func (t *trie) next(node uint32, b byte) uint32 { return t.edges.get(node, uint32(b)) }

// longest returns the id and length of the longest token that begins s when
// reading starts at node; length 0 means none.
func (t *trie) longest(node uint32, s string) (id uint32, length int) {
	for i := 0; i < len(s); i++ {
		node = t.next(node, s[i])
		if node == noValue {
			break
		}
		if t.ids[node] != noValue {
			id, length = t.ids[node], i+1
		}
	}
	return id, length
}
