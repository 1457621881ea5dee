package native

import (
	"encoding/json"
	"math"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/endpoint/answer"
	"aiperfd/internal/engine/endpoint/codec"
)

const nameTriton = "triton_generate"

// The dialects of [triton]: which backend serves the model.
const (
	dialectTRTLLM = "trtllm"
	dialectVLLM   = "vllm"
)

// Triton is the generate extension of NVIDIA's Triton Inference Server, with the
// tensor names of its TensorRT-LLM or vLLM backend.
func Triton() codec.Kind {
	return codec.Kind{
		Name: nameTriton, Aliases: []string{"trtllm_generate"},
		Path: "/v2/models/{model}/generate", RootPath: true, StreamPath: "/v2/models/{model}/generate_stream",
		Title:    "LLM Metrics",
		Dialects: []string{dialectTRTLLM, dialectVLLM},
		Caps:     bench.Caps{Streams: true, ProducesTokens: true, TokenizesInput: true, System: true},
		Encode:   encodeTriton,
		Decode:   answer.Decode(&answer.Grammar{Dialect: newTriton, End: answer.EndOfBody}),
		Settle:   dropPrompt,
	}
}

// encodeTriton writes a body for POST /v2/models/{model}/generate[_stream] (Triton
// Inference Server, "Generate extension", and the documentation of the backends).
// The model is in the path.
func encodeTriton(dst []byte, r *codec.Request) ([]byte, error) {
	prompt, err := codec.OnePrompt(r, nameTriton)
	if err != nil {
		return dst, err
	}
	text := codec.TextField("text_input", prompt)
	limit := codec.RawField(codec.FieldMaxTokens, codec.AppendMax(r.Turn.MaxTokens))
	stream := codec.RawField(codec.FieldStream, codec.JSONBool(r.Settings.Streaming))
	if r.Settings.Dialect == dialectVLLM {
		n := codec.Wrapped{
			Object: "parameters",
			Top: []string{
				"sampling_parameters", "id", "image", "return_finish_reason", "return_cumulative_logprob",
				"return_logprobs", "return_num_input_tokens", "return_num_output_tokens",
			},
			Outer: []codec.Field{text, codec.RawField("exclude_input_in_output", codec.JSONBool(true))},
			Inner: []codec.Field{limit, stream},
		}
		return n.Finish(dst, r)
	}
	empty := json.RawMessage(`""`)
	return codec.AppendMerged(dst, []codec.Field{text, limit, stream, codec.RawField("bad_words", empty), codec.RawField("stop_words", empty)}, r)
}

// tritonDialect reads answers, or chunks of a stream. Chunks may have no text: some
// builds send a last one that holds flags only.
type tritonDialect struct {
	*answer.Builder

	texts cumulative
}

func newTriton(b *answer.Builder) answer.Dialect { return &tritonDialect{Builder: b} }

func (d *tritonDialect) Reset() { d.texts.reset() }

func (d *tritonDialect) Document(doc *answer.Document) bool {
	v := doc.Value
	if answer.Truthy(v.Get("error")) {
		d.FailInObject(doc.Data)
		return true
	}
	text := v.Get("text_output")
	if text == nil && v.Get("model_name") == nil {
		return true
	}
	answer.KeepFirst(&d.Answer.Model, v.Get("model_name"))
	c := d.OnlyChoice()
	d.Answered = true
	if n, ok := answer.TokenCountOf(v.Get("num_input_tokens")); ok {
		d.Usage.Input, d.HasUsage = answer.Count{N: n, Rank: 1}, true
	}
	if n, ok := answer.TokenCountOf(v.Get("num_output_tokens")); ok { // of this chunk alone
		d.Usage.Output, d.HasUsage = answer.Count{N: d.Usage.Output.N + n, Rank: 1}, true
		if d.Streamed {
			c.Tokens += int32(min(n, math.MaxInt32-int64(c.Tokens)))
		}
	}
	d.texts.add(d.Builder, c, answer.Joined(text))
	if reason := v.Get("finish_reason"); string(answer.Str(reason)) != "null" { // not yet
		d.Finish(c, reason, nil, doc.Data)
	}
	return true
}
