package tokenizer

import (
	"crypto/sha256"
	_ "embed"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/maphash"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// o200kPairs is the o200k_base vocabulary (scripts/tokenizer/o200k.py).
//
//go:embed data/o200k_base.pairs.zst
var o200kPairs []byte

const (
	builtinName = "builtin"
	o200kName   = "o200k_base"
)

// Special tokens of o200k_base, as tiktoken numbers them. Only Decode knows
// them: in text they are ordinary characters.
const (
	endOfText   = 199999
	endOfPrompt = 200018
)

// Builtin returns the embedded o200k_base tokenizer. The first call takes
// about 50 ms and every call returns the same value.
func Builtin() Tokenizer { return o200k() }

// o200k unpacks the embedded vocabulary once. The data is part of the program,
// so that it cannot be read is a fault of the build, found by every test.
var o200k = sync.OnceValue(func() *pipeline {
	t, err := newO200k(o200kPairs)
	if err != nil {
		panic(fmt.Sprintf("embedded o200k_base: %v", err))
	}
	return t
})

func newO200k(packed []byte) (*pipeline, error) {
	m, err := unpackPairs(packed)
	if err != nil {
		return nil, err
	}
	return &pipeline{
		name:    builtinName,
		method:  fmt.Sprintf("tiktoken %s embedded sha256:%.6x", o200kName, sha256.Sum256(packed)),
		pre:     splitter{matcher: scanner{classes(), casedWords{3, true}.scan}, behavior: behaviorIsolated},
		model:   m,
		size:    endOfPrompt + 1,
		byAdded: map[uint32]string{endOfText: "<|endoftext|>", endOfPrompt: "<|endofprompt|>"},
		special: map[uint32]bool{endOfText: true, endOfPrompt: true},
		// The strings of special tokens are characters that stand for themselves.
		alphabet: newByteAlphabet(),
		direct:   true,
	}, nil
}

// unpackPairs reads a vocabulary in which every token is a byte or the merge
// of two earlier tokens; the format is described in scripts/tokenizer/o200k.py.
//
// That a token has only one pair of halves in the merge table, while tiktoken
// merges any two neighbours whose concatenation is a token, makes no
// difference: two neighbours were merged from exactly the bytes they span, in
// the same order as these bytes would be on their own.
func unpackPairs(packed []byte) (*bpe, error) {
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
	n := int(binary.LittleEndian.Uint32(data))
	planes := data[4:]
	if len(planes) != 6*n {
		return nil, fmt.Errorf("%d bytes for %d tokens", len(planes), n)
	}
	at := func(plane, i int) uint32 { return uint32(planes[plane*n+i]) }
	m := &bpe{byteMode: true, takeWhole: true, unk: noValue, merges: newPairTable(n)}
	lefts, rights := make([]uint32, n), make([]uint32, n)
	// The strings go straight into the block of the vocabulary: 200,000 strings of
	// their own would take longer than everything else.
	blob, starts := make([]byte, 0, 8*n), make([]uint32, n+1)
	for i := range n {
		left := at(0, i) | at(1, i)<<8 | at(2, i)<<16
		right := at(3, i) | at(4, i)<<8 | at(5, i)<<16
		lefts[i], rights[i] = left, right
		switch {
		case left == uint32(i) && right < 256:
			blob = append(blob, byte(right))
			m.byteIDs[right] = left
		case left < uint32(i) && right < uint32(i):
			blob = append(blob, blob[starts[left]:starts[left+1]]...)
			blob = append(blob, blob[starts[right]:starts[right+1]]...)
		default:
			return nil, fmt.Errorf("token %d is made of later tokens", i)
		}
		starts[i+1] = uint32(len(blob))
	}
	m.vocab = &vocab{blob: string(blob), starts: starts, seed: maphash.MakeSeed()}
	// The two tables are most of the work, and do not need each other.
	var index sync.WaitGroup
	index.Go(func() { m.vocab.buildIndex(nil) })
	for i := range n {
		if lefts[i] != uint32(i) {
			m.merges.put(lefts[i], rights[i], uint32(i))
		}
	}
	index.Wait()
	return m, nil
}
