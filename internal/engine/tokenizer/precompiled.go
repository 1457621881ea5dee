package tokenizer

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"strings"
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/graphemes"
)

// precompiled is SentencePiece's compiled normalization map: a double-array
// trie (Darts) from strings to offsets into a table of replacements.
type precompiled struct {
	units []uint32
	table string // replacements, each ended by a zero byte
}

// newPrecompiled decodes the base64 form that tokenizer.json carries.
func newPrecompiled(charsMap string) (*precompiled, error) {
	raw, err := base64.StdEncoding.DecodeString(charsMap)
	if err != nil {
		return nil, err
	}
	if len(raw) < 4 {
		return nil, errors.New("character map is too short")
	}
	size := int(binary.LittleEndian.Uint32(raw))
	raw = raw[4:]
	if size%4 != 0 || size > len(raw) {
		return nil, errors.New("character map has a wrong trie size")
	}
	p := &precompiled{units: make([]uint32, size/4), table: string(raw[size:])}
	for i := range p.units {
		p.units[i] = binary.LittleEndian.Uint32(raw[4*i:])
	}
	return p, nil
}

// shortest returns the replacement of the shortest prefix of key in the trie.
func (n *precompiled) shortest(key string) (string, bool) {
	if len(n.units) == 0 {
		return "", false
	}
	node := offsetOf(n.units[0])
	for i := range len(key) {
		c := key[i]
		if c == 0 {
			break
		}
		node ^= uint32(c)
		if int64(node) >= int64(len(n.units)) {
			break
		}
		unit := n.units[node]
		if unit&(1<<31|0xFF) != uint32(c) {
			break
		}
		node ^= offsetOf(unit)
		if unit>>8&1 == 1 && int64(node) < int64(len(n.units)) {
			return n.replacement(n.units[node] & (1<<31 - 1))
		}
	}
	return "", false
}

// offsetOf decodes the offset of a Darts unit.
func offsetOf(unit uint32) uint32 { return unit >> 10 << (unit >> 9 & 1 << 3) }

func (n *precompiled) replacement(at uint32) (string, bool) {
	if int64(at) > int64(len(n.table)) {
		return "", false
	}
	out, _, _ := strings.Cut(n.table[at:], "\x00")
	return out, true
}

// normalize replaces whole grapheme clusters of less than six bytes, and
// otherwise character by character, as the reference does.
func (n *precompiled) normalize(s string) (string, bool) {
	var b strings.Builder
	b.Grow(len(s))
	write := func(part string) bool {
		out, ok := n.shortest(part)
		if ok {
			b.WriteString(out)
		}
		return ok
	}
	clusters := graphemes.FromString(s)
	for clusters.Next() {
		cluster := clusters.Value()
		if len(cluster) < 6 && write(cluster) {
			continue
		}
		for i := 0; i < len(cluster); {
			_, w := utf8.DecodeRuneInString(cluster[i:])
			if !write(cluster[i : i+w]) {
				b.WriteString(cluster[i : i+w])
			}
			i += w
		}
	}
	return b.String(), false
}
