package endpoint

import (
	"encoding/json"
	"math"

	"aiperfd/internal/engine/bench"

	"github.com/valyala/fastjson"
)

const nameTriton = "triton_generate"

// The dialects of [triton]: which backend serves the model.
const (
	dialectTRTLLM = "trtllm"
	dialectVLLM   = "vllm"
)

// triton is the generate extension of NVIDIA's Triton Inference Server, with the
// tensor names of its TensorRT-LLM or vLLM backend.
func triton() Kind {
	return Kind{
		Name: nameTriton, Aliases: []string{"trtllm_generate"},
		Path: "/v2/models/{model}/generate", RootPath: true, StreamPath: "/v2/models/{model}/generate_stream",
		Title:    "LLM Metrics",
		Dialects: []string{dialectTRTLLM, dialectVLLM},
		Caps:     bench.Caps{Streams: true, ProducesTokens: true, TokenizesInput: true, System: true},
		Encode:   encodeTriton,
		Decode:   decodeWith(&grammar{dialect: newTriton, end: endOfBody}),
		Settle:   dropPrompt,
	}
}

// encodeTriton writes a body for POST /v2/models/{model}/generate[_stream] (Triton
// Inference Server, "Generate extension", and the documentation of the backends).
// The model is in the path.
func encodeTriton(dst []byte, r *Request) ([]byte, error) {
	prompt, err := onePrompt(r, nameTriton)
	if err != nil {
		return dst, err
	}
	text := Field{"text_input", appendString(nil, prompt)}
	limit := Field{fieldMaxTokens, appendMax(r.Turn.MaxTokens)}
	stream := Field{fieldStream, jsonBool(r.Settings.Streaming)}
	if r.Settings.Dialect == dialectVLLM {
		n := nested{
			object: "parameters",
			top: []string{
				"sampling_parameters", "id", "image", "return_finish_reason", "return_cumulative_logprob",
				"return_logprobs", "return_num_input_tokens", "return_num_output_tokens",
			},
			outer: []Field{text, {"exclude_input_in_output", jsonBool(true)}},
			inner: []Field{limit, stream},
		}
		return n.finish(dst, r)
	}
	empty := json.RawMessage(`""`)
	return appendMerged(dst, []Field{text, limit, stream, {"bad_words", empty}, {"stop_words", empty}}, r)
}

// tritonDialect reads answers, or chunks of a stream. Chunks may have no text: some
// builds send a last one that holds flags only.
type tritonDialect struct {
	*builder

	texts cumulative
}

func newTriton(b *builder) dialect { return &tritonDialect{builder: b} }

func (d *tritonDialect) reset() { d.texts.reset() }

func (d *tritonDialect) document(doc *document) bool {
	v := doc.value
	if truthy(v.Get("error")) {
		d.failInObject(doc.data)
		return true
	}
	text := v.Get("text_output")
	if text == nil && v.Get("model_name") == nil {
		return true
	}
	keepFirst(&d.answer.Model, v.Get("model_name"))
	c := d.only()
	d.answered = true
	if n, ok := tokenCountOf(v.Get("num_input_tokens")); ok {
		d.usage.input, d.hasUsage = count{n, 1}, true
	}
	if n, ok := tokenCountOf(v.Get("num_output_tokens")); ok { // of this chunk alone
		d.usage.output, d.hasUsage = count{d.usage.output.n + n, 1}, true
		if d.streamed {
			c.tokens += int32(min(n, math.MaxInt32-int64(c.tokens)))
		}
	}
	d.texts.add(d.builder, c, textOf(text))
	if reason := v.Get("finish_reason"); string(str(reason)) != "null" { // not yet
		d.finish(c, reason, nil, doc.data)
	}
	return true
}

// textOf returns a string, or the strings of a list joined.
func textOf(v *fastjson.Value) []byte {
	if v == nil || v.Type() != fastjson.TypeArray {
		return str(v)
	}
	var all []byte
	for _, item := range v.GetArray() {
		all = append(all, textOf(item)...)
	}
	return all
}
