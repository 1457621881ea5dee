// Package native has the codecs of servers' own APIs for text.
package native

import (
	"encoding/json"
	"net/http"

	"github.com/valyala/fastjson"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/endpoint/answer"
	"aiperfd/internal/engine/endpoint/codec"
)

const nameTGI = "huggingface_generate"

// TGI is the native API of Hugging Face's Text Generation Inference.
func TGI() codec.Kind {
	return codec.Kind{
		Name: nameTGI, Aliases: []string{"tgi_generate"},
		Path: "/generate", RootPath: true, StreamPath: "/generate_stream", Title: "LLM Metrics",
		Caps:   bench.Caps{Streams: true, ProducesTokens: true, TokenizesInput: true, System: true},
		Encode: encodeTGI,
		Decode: answer.Decode(&answer.Grammar{Dialect: newTGI, Lists: true, End: answer.EndTerminal}),
	}
}

// encodeTGI writes a body for POST /generate and /generate_stream (TGI API
// reference). Details are requested because they are the only usage. On a path of
// the user's, which may be a compatible one, the body decides whether to stream.
func encodeTGI(dst []byte, r *codec.Request) ([]byte, error) {
	prompt, err := codec.OnePrompt(r, nameTGI)
	if err != nil {
		return dst, err
	}
	n := codec.Wrapped{
		Object: "parameters", Top: []string{"inputs", codec.FieldStream},
		Outer: []codec.Field{codec.TextField("inputs", prompt)},
		Inner: []codec.Field{codec.RawField("max_new_tokens", codec.AppendMax(r.Turn.MaxTokens)), codec.RawField("details", json.RawMessage("true"))},
	}
	if r.Settings.OwnPath && r.Settings.Streaming {
		n.Outer = append(n.Outer, codec.RawField(codec.FieldStream, codec.JSONBool(true)))
	}
	return n.Finish(dst, r)
}

// tgiDialect reads answers, lists of answers as the compatible route sends them, or
// tokens of a stream.
type tgiDialect struct{ *answer.Builder }

func newTGI(b *answer.Builder) answer.Dialect { return tgiDialect{b} }

func (d tgiDialect) Reset() {}

// Head reads the times that TGI puts into headers.
func (d tgiDialect) Head(h http.Header) {
	d.Times.Headers(h, "x-total-time", "x-validation-time", "x-queue-time", "x-inference-time", "x-time-per-token")
}

func (d tgiDialect) Document(doc *answer.Document) bool { return doc.EachObject(d.object) }

// object reads one object, which belongs to the choice at position.
func (d tgiDialect) object(v *fastjson.Value, position int, data []byte) {
	if err := v.Get("error"); answer.Truthy(err) {
		d.FailInObject(data)
		return
	}
	token, whole, details := v.Get("token"), v.Get("generated_text"), v.Get("details")
	ends := whole != nil && whole.Type() == fastjson.TypeString
	if token.GetObject() == nil && !ends {
		return
	}
	c := d.Choice(nil, position)
	if c == nil {
		return
	}
	d.Answered = true
	if token.GetObject() != nil {
		c.Tokens++ // a special token counts, although it is not part of the text
		if special := token.Get("special"); special == nil || special.Type() != fastjson.TypeTrue {
			d.Emit(c, bench.Text, answer.Str(token.Get("text")))
		}
	}
	if !ends {
		return
	}
	d.Terminal = true
	if len(c.Text) == 0 {
		d.Emit(c, bench.Text, answer.Str(whole))
	}
	if details.GetObject() != nil {
		d.details(c, details, data)
	}
}

// details reads the counts and the finish reason at the end of an answer.
func (d tgiDialect) details(c *answer.Choice, details *fastjson.Value, data []byte) {
	u := &d.Usage
	if n, ok := answer.TokenCountOf(details.Get("input_length")); ok {
		u.Input.Take(n, 1)
	} else if prefill := details.GetArray("prefill"); len(prefill) > 0 {
		u.Input.Take(int64(len(prefill)), 1)
	}
	if n, ok := answer.TokenCountOf(details.Get("generated_tokens")); ok {
		u.Output.Take(n, 1)
	}
	d.HasUsage = d.HasUsage || u.Input.Known() || u.Output.Known()
	d.Finish(c, details.Get("finish_reason"), nil, data)
}
