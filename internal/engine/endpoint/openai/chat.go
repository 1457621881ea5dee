package openai

import (
	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/endpoint/answer"
	"aiperfd/internal/engine/endpoint/codec"
)

// Chat is OpenAI's chat API, as vLLM, SGLang and most others serve it.
func Chat() codec.Kind {
	return codec.Kind{
		Name: "chat", Aliases: []string{"openai-chat"},
		Path: "/v1/chat/completions", Title: "LLM Metrics",
		Caps: bench.Caps{
			Streams: true, ProducesTokens: true, TokenizesInput: true, Reasoning: true,
			System: true, History: true, Images: true, Audio: true, Video: true, Hints: true,
		},
		Optional: codec.Optional{Messages: true, Verbatim: true, ExactLength: true},
		Encode:   EncodeChat, Decode: answer.Decode(Grammar()),
	}
}

// EncodeChat writes a body for POST /v1/chat/completions (OpenAI API reference,
// "Create chat completion").
func EncodeChat(dst []byte, r *codec.Request) ([]byte, error) {
	maxField := codec.FieldMaxCompletion
	if r.Settings.LegacyMaxTokens {
		maxField = codec.FieldMaxTokens
	}
	messages := codec.AppendMessages(make([]byte, 0, codec.MessagesSize(r)), r)
	b := codec.NewBody(r, codec.RawField("messages", messages), maxField)
	if r.Turn.Tools != nil {
		b.Set("tools", r.Turn.Tools)
	}
	return b.Finish(dst, r, maxField)
}
