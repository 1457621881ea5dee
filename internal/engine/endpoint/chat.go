package endpoint

import (
	"aiperfd/internal/engine/bench"
)

// chat is OpenAI's chat API, as vLLM, SGLang and most others serve it.
func chat() Kind {
	return Kind{
		Name: "chat", Aliases: []string{"openai-chat"},
		Path: "/v1/chat/completions", Title: "LLM Metrics",
		Caps: bench.Caps{
			Streams: true, ProducesTokens: true, TokenizesInput: true, Reasoning: true,
			System: true, History: true, Images: true, Audio: true, Video: true, Hints: true,
		},
		Encode: encodeChat, Decode: decodeWith(openAI()),
	}
}

// encodeChat writes a body for POST /v1/chat/completions (OpenAI API reference,
// "Create chat completion").
func encodeChat(dst []byte, r *Request) ([]byte, error) {
	maxField := fieldMaxCompletion
	if r.Settings.LegacyMaxTokens {
		maxField = fieldMaxTokens
	}
	messages := appendMessages(make([]byte, 0, messagesSize(r)), r)
	return newBody(r, Field{"messages", messages}, maxField).finish(dst, r, maxField)
}
