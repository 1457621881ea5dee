package endpoint

import (
	"aiperfd/internal/engine/bench"
)

// completions is OpenAI's older API for text without roles.
func completions() Kind {
	return Kind{
		Name: "completions", Aliases: []string{"openai", "vllm"},
		Path: "/v1/completions", Title: "LLM Metrics",
		Caps: bench.Caps{
			Streams: true, ProducesTokens: true, TokenizesInput: true,
			System: true, History: true, Hints: true,
		},
		Encode: encodeCompletions, Decode: decodeWith(openAI()),
	}
}

// encodeCompletions writes a body for POST /v1/completions (OpenAI API
// reference, "Create completion"). The dialect has no roles: system, context,
// earlier turns, their answers and this turn are joined with spaces.
func encodeCompletions(dst []byte, r *Request) ([]byte, error) {
	prompt := appendString(nil, joinPrompt(r))
	return newBody(r, Field{"prompt", prompt}, fieldMaxTokens).finish(dst, r, fieldMaxTokens)
}
