package tokenizer

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/klauspost/compress/zstd"
)

const (
	noLimit  = -1
	pairHole = 1<<24 - 1 // the right half of a rank without a token
)

// unpackPairs reads the first limit tokens of a vocabulary in which every token
// is a byte or the merge of two earlier tokens; the format is described in
// scripts/tokenizer/pairs.py.
//
// That a token has only one pair of halves in the merge table, while tiktoken
// merges any two neighbours whose concatenation is a token, makes no
// difference: two neighbours were merged from exactly the bytes they span, in
// the same order as these bytes would be on their own.
func unpackPairs(packed []byte, limit int) (*bpe, error) {
	reader, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1))
	if err != nil {
		return nil, err
	}
	defer reader.Close()
	data, err := reader.DecodeAll(packed, nil)
	if err != nil {
		return nil, err
	}
	if len(data) < 4 {
		return nil, errors.New("no data")
	}
	stored := int(binary.LittleEndian.Uint32(data))
	if len(data)-4 != 6*stored {
		return nil, fmt.Errorf("%d bytes for %d tokens", len(data)-4, stored)
	}
	n := stored
	if limit != noLimit {
		n = min(n, limit)
	}
	return joinPairs(rankPairs{data[4:], stored}, n)
}

// rankPairs are the halves of tokens, in six planes of one byte per token.
type rankPairs struct {
	planes []byte
	tokens int
}

// At returns the halves of token i.
func (p rankPairs) at(i int) (left, right uint32) {
	byteOf := func(plane int) uint32 { return uint32(p.planes[plane*p.tokens+i]) }
	return byteOf(0) | byteOf(1)<<8 | byteOf(2)<<16, byteOf(3) | byteOf(4)<<8 | byteOf(5)<<16
}

// joinPairs builds a model of the first n tokens.
func joinPairs(pairs rankPairs, n int) (*bpe, error) {
	m := &bpe{byteMode: true, takeWhole: true, unk: noValue, merges: newMerges(n)}
	blob, starts := make([]byte, 0, 8*n), newNumbers(n+1)
	for i := range n {
		left, right := pairs.at(i)
		own := left == uint32(i)
		switch {
		case own && right == pairHole:
		case own && right < 256:
			blob = append(blob, byte(right))
			m.byteIDs[right] = left
		case left < uint32(i) && right < uint32(i):
			blob = append(blob, blob[starts.at(int(left)):starts.at(int(left)+1)]...)
			blob = append(blob, blob[starts.at(int(right)):starts.at(int(right)+1)]...)
			m.merges.put(left, right, uint32(i))
		default:
			return nil, fmt.Errorf("token %d is made of later tokens", i)
		}
		starts.set(i+1, uint32(len(blob)))
	}
	m.vocab = &vocab{blob: string(blob), starts: starts}
	m.vocab.buildIndex(nil)
	return m, nil
}
