package endpoint

import (
	"encoding/json"
	"net/http"

	"github.com/valyala/fastjson"

	"aiperfd/internal/engine/bench"
)

const nameTGI = "huggingface_generate"

// tgi is the native API of Hugging Face's Text Generation Inference.
func tgi() Kind {
	return Kind{
		Name: nameTGI, Aliases: []string{"tgi_generate"},
		Path: "/generate", RootPath: true, StreamPath: "/generate_stream", Title: "LLM Metrics",
		Caps:   bench.Caps{Streams: true, ProducesTokens: true, TokenizesInput: true, System: true},
		Encode: encodeTGI,
		Decode: decodeWith(&grammar{dialect: newTGI, lists: true, end: endTerminal}),
	}
}

// encodeTGI writes a body for POST /generate and /generate_stream (TGI API
// reference). Details are asked for because they are the only usage. On a path of
// the user's, which may be a compatible one, the body says whether to stream.
func encodeTGI(dst []byte, r *Request) ([]byte, error) {
	prompt, err := onePrompt(r, nameTGI)
	if err != nil {
		return dst, err
	}
	n := nested{
		object: "parameters", top: []string{"inputs", fieldStream},
		outer: []Field{{"inputs", appendString(nil, prompt)}},
		inner: []Field{{"max_new_tokens", appendMax(r.Turn.MaxTokens)}, {"details", json.RawMessage("true")}},
	}
	if r.Settings.OwnPath && r.Settings.Streaming {
		n.outer = append(n.outer, Field{fieldStream, jsonBool(true)})
	}
	return n.finish(dst, r)
}

// tgiDialect reads answers, lists of answers as the compatible route sends them, or
// tokens of a stream.
type tgiDialect struct{ *builder }

func newTGI(b *builder) dialect { return tgiDialect{b} }

func (d tgiDialect) reset() {}

// head reads the times that TGI puts into headers.
func (d tgiDialect) head(h http.Header) {
	d.times.headers(h, "x-total-time", "x-validation-time", "x-queue-time", "x-inference-time", "x-time-per-token")
}

func (d tgiDialect) document(doc *document) bool { return doc.eachObject(d.object) }

// object reads one object, which belongs to the choice at position.
func (d tgiDialect) object(v *fastjson.Value, position int, data []byte) {
	if err := v.Get("error"); truthy(err) {
		d.failInObject(data)
		return
	}
	token, whole, details := v.Get("token"), v.Get("generated_text"), v.Get("details")
	ends := whole != nil && whole.Type() == fastjson.TypeString
	if token.GetObject() == nil && !ends {
		return
	}
	c := d.choice(nil, position)
	if c == nil {
		return
	}
	d.answered = true
	if token.GetObject() != nil {
		c.tokens++ // a special token counts, although nobody sees it
		if special := token.Get("special"); special == nil || special.Type() != fastjson.TypeTrue {
			d.emit(c, bench.Text, str(token.Get("text")))
		}
	}
	if !ends {
		return
	}
	d.terminal = true
	if len(c.text) == 0 {
		d.emit(c, bench.Text, str(whole))
	}
	if details.GetObject() != nil {
		d.details(c, details, data)
	}
}

// details reads the counts and the finish reason at the end of an answer.
func (d tgiDialect) details(c *choice, details *fastjson.Value, data []byte) {
	u := &d.usage
	if n, ok := tokenCountOf(details.Get("input_length")); ok {
		u.input.take(n, 1)
	} else if prefill := details.GetArray("prefill"); len(prefill) > 0 {
		u.input.take(int64(len(prefill)), 1)
	}
	if n, ok := tokenCountOf(details.Get("generated_tokens")); ok {
		u.output.take(n, 1)
	}
	d.hasUsage = d.hasUsage || u.input.known() || u.output.known()
	d.finish(c, details.Get("finish_reason"), nil, data)
}
