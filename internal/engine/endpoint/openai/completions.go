package openai

import (
	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/endpoint/answer"
	"aiperfd/internal/engine/endpoint/codec"
)

// Completions is OpenAI's older API for text without roles.
func Completions() codec.Kind {
	return codec.Kind{
		Name: "completions", Aliases: []string{"openai", "vllm"},
		Path: "/v1/completions", Title: "LLM Metrics",
		Caps: bench.Caps{
			Streams: true, ProducesTokens: true, TokenizesInput: true,
			System: true, History: true, Hints: true,
		},
		Optional: codec.Optional{ExactLength: true},
		Encode:   EncodeCompletions, Decode: answer.Decode(Grammar()),
	}
}

// EncodeCompletions writes a body for POST /v1/completions (OpenAI API
// reference, "Create completion"). The dialect has no roles: system, context,
// earlier turns, their answers and this turn are joined with spaces.
func EncodeCompletions(dst []byte, r *codec.Request) ([]byte, error) {
	prompt := codec.AppendString(nil, codec.JoinPrompt(r))
	return codec.NewBody(r, codec.RawField("prompt", prompt), codec.FieldMaxTokens).Finish(dst, r, codec.FieldMaxTokens)
}
