package native

import (
	"fmt"
	"strings"

	"github.com/valyala/fastjson"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/endpoint/answer"
	"aiperfd/internal/engine/endpoint/codec"
)

const nameKServe = "kserve_infer"

// KServe is the Open Inference Protocol, version 2, over HTTP, for models that
// take and give text.
func KServe() codec.Kind {
	return codec.Kind{
		Name: nameKServe, Path: "/v2/models/{model}/infer", RootPath: true, Title: "LLM Metrics",
		Caps:   bench.Caps{ProducesTokens: true, TokenizesInput: true, System: true},
		Encode: encodeKServe,
		Decode: answer.Decode(&answer.Grammar{Dialect: answer.Stateless(readKServe), End: answer.EndOfBody}),
		Settle: dropPrompt,
	}
}

// encodeKServe writes a body for POST /v2/models/{model}/infer (Open Inference
// Protocol, "Inference request JSON object") with the tensors text_input,
// max_tokens and text_output.
func encodeKServe(dst []byte, r *codec.Request) ([]byte, error) {
	prompt, err := codec.OnePrompt(r, nameKServe)
	if err != nil {
		return dst, err
	}
	tensor := func(name, datatype string, value []byte) string {
		return fmt.Sprintf(`{"name":"%s","shape":[1,1],"datatype":"%s","data":[%s]}`, name, datatype, value)
	}
	inputs := "[" + tensor("text_input", "BYTES", codec.AppendString(nil, prompt))
	if limit := codec.AppendMax(r.Turn.MaxTokens); limit != nil {
		inputs += "," + tensor("max_tokens", "INT32", limit)
	}
	return codec.AppendMerged(dst, []codec.Field{
		codec.RawField("inputs", []byte(inputs+"]")), codec.RawField("outputs", []byte(`[{"name":"text_output"}]`)),
	}, r)
}

// readKServe takes an answer: text, or else its numbers.
func readKServe(d *answer.Builder, doc *answer.Document) bool {
	v := doc.Value
	if answer.Truthy(v.Get("error")) {
		d.FailInObject(doc.Data)
		return true
	}
	outputs := v.Get("outputs")
	if outputs == nil || outputs.Type() != fastjson.TypeArray {
		return true
	}
	d.Answered = true
	answer.KeepFirst(&d.Answer.Model, v.Get("model_name"))
	answer.KeepFirst(&d.Answer.ResponseID, v.Get("id"))
	list := outputs.GetArray()
	if text := textTensor(list); text != nil {
		d.Emit(d.OnlyChoice(), bench.Text, answer.Joined(text.Get("data")))
		return true
	}
	for i, tensor := range list {
		if t, ok := tensorOf(tensor); ok {
			d.Answer.Vectors = append(d.Answer.Vectors, bench.Vector{Index: i, Dim: t.dim, Rows: t.rows})
			d.Item(bench.Embedding, t.size)
		}
	}
	return true
}

// textTensor returns the output text_output, or else the first that holds text.
func textTensor(outputs []*fastjson.Value) *fastjson.Value {
	var first *fastjson.Value
	for _, tensor := range outputs {
		if string(answer.Str(tensor.Get("datatype"))) != "BYTES" {
			continue
		}
		if string(answer.Str(tensor.Get("name"))) == "text_output" {
			return tensor
		}
		if first == nil {
			first = tensor
		}
	}
	return first
}

// tensor describes a tensor of numbers.
type tensor struct {
	dim, rows int // Length of the last axis, and product of the others
	size      int // bytes
}

// tensorOf measures a tensor by its data, which may be nested, and its shape. ok = false when it holds no number.
func tensorOf(v *fastjson.Value) (t tensor, ok bool) {
	n := numbersIn(v.Get("data"))
	if n == 0 {
		return t, false
	}
	t = tensor{dim: n, rows: 1, size: n * widthOf(string(answer.Str(v.Get("datatype"))))}
	if shape := v.GetArray("shape"); len(shape) > 0 {
		if last := shape[len(shape)-1].GetInt(); last > 0 && n%last == 0 {
			t.dim, t.rows = last, n/last
		}
	}
	return t, true
}

func numbersIn(v *fastjson.Value) int {
	if v == nil {
		return 0
	}
	switch v.Type() {
	case fastjson.TypeNumber, fastjson.TypeTrue, fastjson.TypeFalse:
		return 1
	case fastjson.TypeArray:
		n := 0
		for _, item := range v.GetArray() {
			n += numbersIn(item)
		}
		return n
	case fastjson.TypeNull, fastjson.TypeObject, fastjson.TypeString:
	}
	return 0
}

// widthOf returns the bytes of one element by the digits in the name of its type:
// FP32, INT64, UINT8; BOOL has none and takes one.
func widthOf(datatype string) int {
	switch {
	case strings.HasSuffix(datatype, "64"):
		return 8
	case strings.HasSuffix(datatype, "32"):
		return 4
	case strings.HasSuffix(datatype, "16"):
		return 2
	}
	return 1
}
