package endpoint

import (
	"fmt"
	"math"

	"github.com/valyala/fastjson"

	"aiperfd/internal/engine/bench"
)

// maxChoices bounds the choices of one answer; servers allow far fewer.
const maxChoices = 4096

// maxIndex bounds the index of a choice.
const maxIndex = math.MaxUint16

// chunk is one chunk of a stream, or a whole answer, as its parts.
type chunk struct {
	choices, usage, groq, err, kind, object *fastjson.Value
}

// openAI is the grammar of chat and completions. Both are decided by the fields
// that are there, since servers mix them up.
func openAI() *grammar { return &grammar{read: readOpenAI, shapes: true, end: endMarker} }

// readOpenAI takes a chunk of a stream, or a whole answer.
func readOpenAI(d *decoder, doc *document) bool {
	var c chunk
	doc.value.GetObject().Visit(func(key []byte, v *fastjson.Value) {
		switch string(key) {
		case "id":
			keepFirst(&d.a.ResponseID, v)
		case "model":
			keepFirst(&d.a.Model, v)
		case "choices":
			c.choices = v
		case "usage":
			c.usage = v
		case "x_groq":
			c.groq = v
		case "error":
			c.err = v
		case "type":
			c.kind = v
		case "object":
			c.object = v
		case "metrics", "timings": // vLLM, llama.cpp
			d.tookMillis(v)
		case "nvext": // Dynamo
			d.tookMillis(v.Get("timing"))
		}
	})
	d.readUsage(&c)
	d.answers = d.answers || c.choices != nil && c.choices.Type() == fastjson.TypeArray
	if c.choices != nil {
		for i, v := range c.choices.GetArray() {
			d.choice(v, i, doc.data)
		}
	}
	if truthy(c.err) || string(str(c.object)) == "error" || string(str(c.kind)) == "error" {
		d.failInObject(doc.data)
	}
	return true
}

// keepFirst keeps the first string that says something.
func keepFirst(dst *string, v *fastjson.Value) {
	if *dst == "" {
		*dst = string(str(v))
	}
}

// failInObject handles an error object: it ends a stream, and makes a failure
// of a document that holds nothing else.
func (d *decoder) failInObject(data []byte) {
	switch {
	case d.streamed:
		d.fail(errorInStream(describe(data, d.status), d.status))
	case len(d.a.Chunks) == 0:
		d.fail(errorInBody(data, d.status))
	}
}

func (d *decoder) readUsage(c *chunk) {
	v := c.usage
	if c.groq != nil && (v == nil || v.Type() != fastjson.TypeObject) {
		v = c.groq.Get("usage")
	}
	d.credit.onChunk = false
	if v == nil {
		return
	}
	if u, ok := readUsage(v); ok {
		d.usage, d.hasUsage = u, true
		d.credit.usage(u.output)
	}
}

// choice reads one member of choices; position stands in for its index.
func (d *decoder) choice(v *fastjson.Value, position int, data []byte) {
	object := v.GetObject()
	if object == nil {
		return
	}
	var index, delta, message, text, finish, logprobs, tokenIDs, err *fastjson.Value
	object.Visit(func(key []byte, v *fastjson.Value) {
		switch string(key) {
		case "index":
			index = v
		case "delta":
			delta = v
		case "message":
			message = v
		case "text":
			text = v
		case "finish_reason":
			finish = v
		case "logprobs":
			logprobs = v
		case "token_ids":
			tokenIDs = v
		case "error":
			err = v
		}
	})
	c := d.state(index, position)
	if c == nil {
		d.bad++
		d.warn(warnMalformedEvent)
		return
	}
	if d.streamed {
		c.tokens += tokenEvidence(tokenIDs, logprobs)
	}
	before := len(d.a.Chunks)
	switch {
	case delta != nil && delta.GetObject() != nil:
		d.part(c, delta.GetObject())
	case message != nil && message.GetObject() != nil:
		d.part(c, message.GetObject())
	}
	if len(d.a.Chunks) == before {
		d.emit(c, bench.Text, str(text))
	}
	d.credit.note()
	d.finish(c, finish, err, data)
}

// finish records why a choice ended. A server that ends it with an error or an
// abort has failed, although the stream itself looks well.
func (d *decoder) finish(c *choiceState, v, err *fastjson.Value, data []byte) {
	if v != nil && v.Type() == fastjson.TypeObject { // SGLang: {"type": …}
		v = v.Get("type")
	}
	reason := str(v)
	if len(reason) == 0 {
		return
	}
	c.finish = finishReason(string(reason))
	if c.finish != bench.FinishError && c.finish != bench.FinishAbort {
		return
	}
	why := detail{}
	if truthy(err) {
		why = describe(err.MarshalTo(nil), d.status)
	} else if whole, ok := looseJSON(data); ok {
		why = find(whole, maxNesting)
	}
	if why.message == "" {
		why.message = fmt.Sprintf("the server ended the answer with finish reason %q", clip(string(reason)))
	}
	d.fail(errorInStream(why, d.status))
}

// state returns the choice with the given index, made when it is new; nil when
// it cannot be an index, or there are too many.
func (d *decoder) state(v *fastjson.Value, position int) *choiceState {
	index := position
	if v != nil && v.Type() == fastjson.TypeNumber {
		n, ok := tokenCount(v)
		if !ok || n > maxIndex {
			return nil
		}
		index = int(n)
	}
	for i := range d.choices {
		if d.choices[i].index == index {
			return &d.choices[i]
		}
	}
	n := len(d.choices)
	if n >= maxChoices {
		return nil
	}
	if n < cap(d.choices) { // take over the buffers of an earlier response
		d.choices = d.choices[:n+1]
	} else {
		d.choices = append(d.choices, choiceState{})
	}
	c := &d.choices[n]
	*c = choiceState{
		index: index, text: c.text[:0], reasoning: c.reasoning[:0],
		refusal: c.refusal[:0], calls: c.calls[:0],
		growth: growth{tries: c.growth.tries[:0]},
	}
	return c
}
