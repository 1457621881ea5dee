package tokenizer

import (
	_ "embed"
	"encoding/binary"
	"fmt"
	"sync"

	"aiperfd/internal/engine/tokenizer/pattern"
)

// The o200k_base vocabulary as it is looked things up in: nothing is built when
// the program starts, and only the pages that are used are read. tables_test.go
// writes both files from testdata/o200k_base.pairs.zst.
var (
	//go:embed data/o200k_base.text
	o200kText string // the tokens, one after the other
	//go:embed data/o200k_base.tables
	o200kTables []byte
)

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

// Builtin returns the embedded o200k_base tokenizer. Every call returns the same
// value.
func Builtin() Tokenizer { return o200k() }

// o200k is the built-in tokenizer.
var o200k = sync.OnceValue(func() *pipeline {
	return &pipeline{
		name:    builtinName,
		method:  "built-in " + o200kName,
		pre:     splitter{matcher: pattern.NewScanner(pattern.ScanO200k), behavior: behaviorIsolated},
		model:   o200kModel(),
		size:    endOfPrompt + 1,
		byAdded: map[uint32]string{endOfText: "<|endoftext|>", endOfPrompt: "<|endofprompt|>"},
		special: map[uint32]bool{endOfText: true, endOfPrompt: true},
		// The strings of special tokens are characters that stand for themselves.
		alphabet: newByteAlphabet(),
		direct:   true,
	}
})

// o200kModel opens the embedded vocabulary once, for all encodings that have it.
var o200kModel = sync.OnceValue(func() *bpe {
	return openTables(o200kText, o200kTables)
})

// tablesHead begins the tables of a vocabulary. All numbers are little endian.
type tablesHead struct {
	Origin  [6]byte // first bytes of the SHA-256 of the file they were made from
	_       [2]byte
	Tokens  uint32
	Present uint32 // tokens that are not empty
	Longest uint32 // bytes
	Index   uint32 // slots
	Merges  uint32 // slots
	Bytes   [256]uint32
}

// openTables returns the model of a vocabulary. Its tables are the head, then the starts of the tokens in text, the index and the merges. The
// files are part of the program and made by a test; that they cannot be read is
// a fault of the build.
func openTables(text string, tables []byte) *bpe {
	var h tablesHead
	n, err := binary.Decode(tables, binary.LittleEndian, &h)
	if err != nil {
		panic(fmt.Sprintf("embedded tokenizer: %v", err))
	}
	next := func(size uint32) []byte {
		part := tables[n:][:size:size]
		n += len(part)
		return part
	}
	m := &bpe{byteMode: true, takeWhole: true, unk: noValue, byteIDs: h.Bytes}
	m.vocab = &vocab{blob: text, maxLen: int(h.Longest), count: int(h.Present)}
	m.vocab.starts = next(numberBytes * (h.Tokens + 1))
	m.vocab.index = next(numberBytes * h.Index)
	m.merges = pairTable{next(slotBytes * h.Merges), mergeBits, mergeBits}
	return m
}
