package tokenizer

import (
	_ "embed"
	"fmt"
	"maps"
	"slices"
	"strings"

	"aiperfd/internal/engine/tokenizer/pattern"
)

// The vocabularies of older encodings, packed: they are unpacked when one is
// asked for, which takes some 10 ms.
var (
	//go:embed data/cl100k_base.pairs.zst
	cl100kPairs []byte
	//go:embed data/p50k_base.pairs.zst
	p50kPairs []byte
)

// encoding is one of tiktoken's.
type encoding struct {
	name    string
	model   func() (*bpe, error)
	scan    pattern.Func
	special map[uint32]string
	size    int // largest id plus one
}

// r50kTokens is the size of r50k_base; p50k_base continues from there.
const r50kTokens = 50256

// encodings lists tiktoken's encodings but the built-in one, as tiktoken 0.14
// has them. None needs a file or the network.
func encodings() []encoding {
	packed := func(pairs []byte, limit int) func() (*bpe, error) {
		return func() (*bpe, error) { return unpackPairs(pairs, limit) }
	}
	const text, prefix, middle, suffix = "<|endoftext|>", "<|fim_prefix|>", "<|fim_middle|>", "<|fim_suffix|>"
	r50k := map[uint32]string{50256: text}
	gpt2 := encoding{"r50k_base", packed(p50kPairs, r50kTokens), pattern.ScanGPT2, r50k, 50257}
	all := []encoding{
		{"o200k_harmony", func() (*bpe, error) { return o200kModel(), nil }, pattern.ScanO200k, harmony(), 201088},
		{"cl100k_base", packed(cl100kPairs, noLimit), pattern.ScanCL100k, map[uint32]string{
			100257: text, 100258: prefix, 100259: middle, 100260: suffix, 100276: "<|endofprompt|>"}, 100277},
		{"p50k_base", packed(p50kPairs, noLimit), pattern.ScanGPT2, r50k, 50281},
		{"p50k_edit", packed(p50kPairs, noLimit), pattern.ScanGPT2, map[uint32]string{
			50256: text, 50281: prefix, 50282: middle, 50283: suffix}, 50284},
		gpt2,
	}
	gpt2.name = "gpt2"
	return append(all, gpt2)
}

// harmony lists the tokens that o200k_harmony adds to o200k_base.
func harmony() map[uint32]string {
	const first, last = 200000, 201087
	special := map[uint32]string{
		199998: "<|startoftext|>", endOfText: "<|endoftext|>", 200002: "<|return|>", 200003: "<|constrain|>",
		200005: "<|channel|>", 200006: "<|start|>", 200007: "<|end|>", 200008: "<|message|>", 200012: "<|call|>",
	}
	for id := uint32(first); id <= last; id++ {
		if special[id] == "" {
			special[id] = fmt.Sprintf("<|reserved_%d|>", id)
		}
	}
	return special
}

// Encoding returns one of tiktoken's encodings by its name; ok is false if there
// is none of that name.
func Encoding(name string) (t Tokenizer, ok bool) {
	if name == builtinName || name == o200kName {
		return renamed{o200k(), name}, true
	}
	all := encodings()
	i := slices.IndexFunc(all, func(e encoding) bool { return e.name == name })
	if i < 0 {
		return nil, false
	}
	e := &all[i]
	m, err := e.model()
	if err != nil {
		panic(fmt.Sprintf("embedded encoding %s: %v", name, err)) // a fault of the build; a test unpacks all
	}
	p := &pipeline{
		name: name, method: "built-in " + name, model: m, size: e.size,
		pre:     splitter{matcher: pattern.NewScanner(e.scan), behavior: behaviorIsolated},
		byAdded: e.special, special: map[uint32]bool{}, alphabet: newByteAlphabet(), direct: true,
	}
	for id := range maps.Keys(e.special) {
		p.special[id] = true
	}
	return p, true
}

// EncodingOf returns the name of the encoding that tiktoken uses for a model of
// OpenAI, with or without the prefix "openai/"; empty = tiktoken does not support it.
func EncodingOf(model string) string {
	model = strings.TrimPrefix(model, "openai/")
	for _, e := range modelEncodings() {
		for known := range strings.FieldsSeq(e.models) {
			prefix, open := strings.CutSuffix(known, "*")
			if model == prefix && !open || open && strings.HasPrefix(model, prefix) {
				return e.encoding
			}
		}
	}
	return ""
}

// modelEncodings are tiktoken's tables of models (0.14), in the order in which
// they are searched; an asterisk stands for any rest.
func modelEncodings() []struct{ encoding, models string } {
	return []struct{ encoding, models string }{
		{"o200k_harmony", "gpt-oss-*"},
		{"o200k_base", "o1 o3 o4-mini o1-* o3-* o4-mini-* gpt-5* gpt-4.5-* gpt-4.1 gpt-4.1-* gpt-4o gpt-4o-* chatgpt-4o-* ft:gpt-4o*"},
		{"cl100k_base", "gpt-4 gpt-4-* gpt-3.5 gpt-3.5-turbo gpt-3.5-turbo-* gpt-35-turbo gpt-35-turbo-* davinci-002 babbage-002 " +
			"ft:gpt-4* ft:gpt-3.5-turbo* ft:davinci-002* ft:babbage-002* " +
			"text-embedding-ada-002 text-embedding-3-small text-embedding-3-large"},
		{"p50k_base", "text-davinci-003 text-davinci-002 code-davinci-002 code-davinci-001 code-cushman-002 code-cushman-001 davinci-codex cushman-codex"},
		{"p50k_edit", "text-davinci-edit-001 code-davinci-edit-001"},
		{"r50k_base", "text-davinci-001 text-curie-001 text-babbage-001 text-ada-001 davinci curie babbage ada"},
		{"gpt2", "gpt2 gpt-2"},
	}
}
