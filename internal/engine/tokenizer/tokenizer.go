// Package tokenizer counts and makes tokens exactly as the tokenizers that
// inference servers use do.
//
// It reads tokenizer.json files (BPE, WordPiece, Unigram, WordLevel) and has
// tiktoken's encodings built in. It never touches the network, and it
// refuses a file with unsupported components rather than count
// wrongly. Its Unicode classes are generated from the reference implementation
// (Python package tokenizers 0.23.3; see scripts/tokenizer), not taken from Go.
package tokenizer

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// Tokenizer counts and makes tokens. It is immutable and safe for concurrent use.
//
// Text that is not valid UTF-8 is encoded as if every maximal invalid part
// were U+FFFD.
type Tokenizer interface {
	// Name is the name that the user gave: "builtin", an encoding, a model or a path.
	Name() string
	// Method describes how tokens are counted, to be stated with the results:
	// "tokenizer.json bpe sha256:0123456789ab". It names the generic regular
	// expression engine if the file's pattern has no hand-written scanner.
	Method() string
	// Encode returns the ids of text without the special tokens that a
	// post-processor would add. It is empty, not nil, for "".
	Encode(text string) []int
	// Count is len(Encode(text)) without making the slice.
	Count(text string) int
	// Decode returns the text of ids, special tokens included. Ids outside the
	// vocabulary are left out; bytes that are not valid UTF-8 become U+FFFD.
	Decode(ids []int) string
	// VocabSize is the largest id plus one.
	VocabSize() int
	// Base returns the size of the vocabulary without added tokens (of tiktoken's
	// encodings, with them) and the ids below it that are special or no token,
	// ascending. Callers do not change them.
	Base() (size int, reserved []int)
	// SpecialTokensToAdd is how many tokens (BOS, EOS, …) the post-processor
	// adds to a single sequence.
	SpecialTokensToAdd() int
}

// FileName is the file that holds a tokenizer.
const FileName = "tokenizer.json"

// Load returns the tokenizer of a name: "builtin", an encoding of tiktoken, or the
// path of a tokenizer.json or of a folder that holds one.
func Load(name string) (Tokenizer, error) {
	if t, ok := Encoding(name); ok {
		return t, nil
	}
	return ReadFile(name, name)
}

// ReadFile returns the tokenizer of a tokenizer.json, or of the one in a folder.
// name is the name that the user gave.
func ReadFile(name, path string) (Tokenizer, error) {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		path = filepath.Join(path, FileName)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	content, err := io.ReadAll(io.LimitReader(f, MaxFile+1))
	if err != nil {
		return nil, err
	}
	return Read(name, content)
}

// IsEmbedded reports whether a tokenizer is the built-in one, by any of its names.
func IsEmbedded(t Tokenizer) bool {
	p, ok := pipelineOf(t)
	return ok && p == o200k()
}

// A Wrapper is a tokenizer that encodes and decodes as another one does.
type Wrapper interface{ Unwrap() Tokenizer }

// pipelineOf returns the pipeline that encodes for a tokenizer; false = it is not of this
// package.
func pipelineOf(t Tokenizer) (*pipeline, bool) {
	switch t := t.(type) {
	case *pipeline:
		return t, true
	case renamed:
		return t.pipeline, true
	case Wrapper:
		return pipelineOf(t.Unwrap())
	}
	return nil, false
}

// Read returns the tokenizer of a tokenizer.json's content. name is the name
// that the user gave.
func Read(name string, content []byte) (Tokenizer, error) {
	t, err := parse(name, content)
	if err != nil {
		return nil, fmt.Errorf("read tokenizer %s: %w", name, err)
	}
	return t, nil
}

// renamed is a tokenizer under another of its names.
type renamed struct {
	*pipeline
	name string
}

func (t renamed) Name() string { return t.name }

// IsPath reports whether name can only mean a file: it is absolute, starts with
// "." or "~", or ends in .json.
func IsPath(name string) bool {
	slashed := filepath.ToSlash(name)
	return filepath.IsAbs(name) || slashed == "." || slashed == ".." || strings.HasPrefix(slashed, "~/") ||
		strings.HasPrefix(slashed, "./") || strings.HasPrefix(slashed, "../") || strings.HasSuffix(slashed, ".json")
}
