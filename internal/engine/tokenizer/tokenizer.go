// Package tokenizer counts and makes tokens exactly as the tokenizers that
// inference servers use do.
//
// It reads tokenizer.json files (BPE, WordPiece, Unigram, WordLevel) and has
// the o200k_base vocabulary built in. It never touches the network, and it
// refuses a file that asks for something it does not know rather than count
// wrongly. Its Unicode classes are generated from the reference implementation
// (Python package tokenizers 0.23.3; see scripts/tokenizer), not taken from Go.
package tokenizer

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Tokenizer counts and makes tokens. It is immutable and safe for concurrent use.
//
// Text that is not valid UTF-8 is encoded as if every maximal invalid part
// were U+FFFD.
type Tokenizer interface {
	// Name is what the user asked for: "builtin" or a path.
	Name() string
	// Method says how tokens are counted, to be stated with the results:
	// "tokenizer.json bpe sha256:0123456789ab". It names the generic regular
	// expression engine if the file's pattern has no scanner of our own.
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
	// SpecialTokensToAdd is how many tokens (BOS, EOS, …) the post-processor
	// adds to a single sequence.
	SpecialTokensToAdd() int
}

// ErrNotLocal is returned by Load for names that only a model hub could resolve.
var ErrNotLocal = errors.New("tokenizer is not a local file: give the path of a tokenizer.json or its directory, use builtin, or use server token counts")

// Load returns the tokenizer of a name: "builtin" or "o200k_base" for the
// embedded vocabulary, or the path of a tokenizer.json or of a directory that
// holds one. Names that are neither, like "org/model", give an error that is
// ErrNotLocal; a file that needs something unsupported gives one that names it.
func Load(name string) (Tokenizer, error) {
	switch name {
	case builtinName:
		return Builtin(), nil
	case o200kName:
		return renamed{o200k(), name}, nil
	}
	path, err := localPath(name)
	if err != nil {
		return nil, err
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read tokenizer: %w", err)
	}
	t, err := parse(name, data)
	if err != nil {
		return nil, fmt.Errorf("load tokenizer %s: %w", path, err)
	}
	return t, nil
}

// IsBuiltin reports whether a name is that of an embedded vocabulary.
func IsBuiltin(name string) bool { return name == builtinName || name == o200kName }

// Read returns the tokenizer of a tokenizer.json's content. name is what the
// user asked for.
func Read(name string, content []byte) (Tokenizer, error) {
	t, err := parse(name, content)
	if err != nil {
		return nil, fmt.Errorf("load tokenizer %s: %w", name, err)
	}
	return t, nil
}

// renamed is a tokenizer under another of its names.
type renamed struct {
	*pipeline
	name string
}

func (t renamed) Name() string { return t.name }

// localPath resolves name to the path of a tokenizer.json.
func localPath(name string) (string, error) {
	info, err := os.Stat(name)
	switch {
	case err == nil && info.IsDir():
		return filepath.Join(name, "tokenizer.json"), nil
	case err == nil:
		return name, nil
	case isPath(name):
		return "", fmt.Errorf("open tokenizer: %w", err)
	}
	return "", fmt.Errorf("open tokenizer %q: %w", name, ErrNotLocal)
}

// isPath reports whether name can only mean a file.
func isPath(name string) bool {
	slashed := filepath.ToSlash(name)
	return filepath.IsAbs(name) || slashed == "." || slashed == ".." ||
		strings.HasPrefix(slashed, "./") || strings.HasPrefix(slashed, "../") || strings.HasSuffix(slashed, ".json")
}

// IsPlaceholder reports whether a model name obviously names no real model
// ("test-model", "mock"), so that its tokenizer is builtin (AIPerf 0.13 does
// the same, with a warning that is the caller's to give).
func IsPlaceholder(model string) bool {
	if model == "" || strings.ContainsAny(model, `/\`) || model[0] == '.' || model[0] == '~' {
		return false
	}
	name := strings.ReplaceAll(strings.ToLower(model), "_", "-")
	switch name {
	case "test", "mock", "fake", "dummy", "example", "sample", "placeholder":
		return true
	}
	for _, part := range []string{"mock-", "-mock", "fake-", "-fake", "test-model", "your-model", "my-model", "model-name", "model-id"} {
		if strings.Contains(name, part) {
			return true
		}
	}
	return false
}
