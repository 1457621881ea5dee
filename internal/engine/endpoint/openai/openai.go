// Package openai has the codecs of OpenAI's APIs, which many servers offer.
package openai

import (
	"github.com/valyala/fastjson"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/endpoint/answer"
)

// Grammar is the grammar of chat and completions. Both are decided by the fields
// that are there, since servers mix them up.
func Grammar() *answer.Grammar {
	return &answer.Grammar{Dialect: newDialect, Shapes: true, End: answer.EndMarker}
}

// Dialect reads chunks of a stream, or whole answers. Choices are identified
// by their index.
type Dialect struct{ *answer.Builder }

// NewDialect returns a dialect that adds to b.
func NewDialect(b *answer.Builder) Dialect { return Dialect{b} }

func newDialect(b *answer.Builder) answer.Dialect { return NewDialect(b) }

// Reset implements [answer.Dialect].
func (d Dialect) Reset() {}

// Document implements [answer.Dialect].
func (d Dialect) Document(doc *answer.Document) bool {
	var choices, usage, groq, err, kind, object *fastjson.Value
	doc.Value.GetObject().Visit(func(key []byte, v *fastjson.Value) {
		switch string(key) {
		case "id":
			answer.KeepFirst(&d.Answer.ResponseID, v)
		case "model":
			answer.KeepFirst(&d.Answer.Model, v)
		case "choices":
			choices = v
		case "usage":
			usage = v
		case "x_groq":
			groq = v
		case "error":
			err = v
		case "type":
			kind = v
		case "object":
			object = v
		case "metrics": // vLLM
			d.Times.Millis(v)
			d.Speculation(v)
		case "timings": // llama.cpp
			d.Times.Millis(v)
		case "sglext": // SGLang
			d.SGLangSpeculations(v)
		case "nvext": // Dynamo
			d.Times.Millis(v.Get("timing"))
		}
	})
	if groq != nil && (usage == nil || usage.Type() != fastjson.TypeObject) {
		usage = groq.Get("usage")
	}
	d.ChunkUsage(usage)
	d.Answered = d.Answered || choices != nil && choices.Type() == fastjson.TypeArray
	if choices != nil {
		for i, v := range choices.GetArray() {
			d.readChoice(v, i, doc.Data)
		}
	}
	if answer.Truthy(err) || string(answer.Str(object)) == "error" || string(answer.Str(kind)) == "error" {
		d.FailInObject(doc.Data)
	}
	return true
}

// readChoice reads one member of choices; position stands in for its index.
func (d Dialect) readChoice(v *fastjson.Value, position int, data []byte) {
	object := v.GetObject()
	if object == nil {
		return
	}
	var index, delta, message, text, finish, logprobs, tokenIDs, err, speculation *fastjson.Value
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
		case "speculative_decoding": // TensorRT-LLM
			speculation = v
		}
	})
	c := d.Choice(index, position)
	if c == nil {
		d.Malformed()
		return
	}
	if d.Streamed {
		c.Tokens += answer.TokenEvidence(tokenIDs, logprobs)
	}
	before := len(d.Answer.Chunks)
	switch {
	case delta != nil && delta.GetObject() != nil:
		d.readMessage(c, delta.GetObject())
	case message != nil && message.GetObject() != nil:
		d.readMessage(c, message.GetObject())
	}
	if len(d.Answer.Chunks) == before {
		d.Emit(c, bench.Text, answer.Str(text))
	}
	d.Credit.Event()
	d.ChoiceSpeculation(speculation, c.Position)
	d.Finish(c, finish, err, data)
}

// readMessage reads a delta or a message: reasoning, text, refusal, tool calls and
// audio, each as a separate chunk, in this order.
func (d Dialect) readMessage(c *answer.Choice, object *fastjson.Object) {
	var content, thoughts, reasoning, refusal, tools, function, audio *fastjson.Value
	object.Visit(func(key []byte, v *fastjson.Value) {
		switch string(key) {
		case "content":
			content = v
		case "reasoning_content":
			thoughts = v
		case "reasoning":
			reasoning = v
		case "refusal":
			refusal = v
		case "tool_calls":
			tools = v
		case "function_call":
			function = v
		case "audio":
			audio = v
		}
	})
	text, thinking := contentOf(content)
	switch { // several spellings of the same: the first that is not empty
	case len(answer.Str(thoughts)) > 0:
		thinking = answer.Str(thoughts)
	case len(answer.Str(reasoning)) > 0:
		thinking = answer.Str(reasoning)
	}
	d.Emit(c, bench.Reasoning, thinking)
	d.Emit(c, bench.Text, text)
	d.Emit(c, bench.Refusal, answer.Str(refusal))
	if tools != nil {
		for _, v := range tools.GetArray() {
			d.readTool(c, v)
		}
	}
	if function != nil && function.GetObject() != nil {
		d.Call(c, c.CallAt(0), nil, function)
	}
	if audio != nil {
		d.Emit(c, bench.Text, answer.Str(audio.Get("transcript")))
		d.EmitAudio(c, answer.Str(audio.Get("data")))
	}
}

// readTool reads one member of tool_calls: the start of a call, or more of one.
func (d Dialect) readTool(c *answer.Choice, v *fastjson.Value) {
	id := answer.Str(v.Get("id"))
	var call *answer.ToolCall
	if index, ok := answer.IndexOf(v); ok {
		call = c.CallAt(index)
	} else {
		call = c.CallByID(string(id), d.Streamed)
	}
	function := v.Get("function")
	if function == nil || function.GetObject() == nil {
		function = v.Get("custom") // a tool whose input is free text
	}
	d.Call(c, call, id, function)
}

// contentOf splits content into text and reasoning: a string, or a list of
// typed parts (Mistral).
func contentOf(v *fastjson.Value) (text, thinking []byte) {
	if v == nil {
		return nil, nil
	}
	if v.Type() != fastjson.TypeArray {
		return answer.Str(v), nil
	}
	for _, part := range v.GetArray() {
		if string(answer.Str(part.Get("type"))) != "thinking" {
			text = append(text, answer.Str(part.Get("text"))...)
			continue
		}
		inner := part.Get("thinking")
		thinking = append(thinking, answer.Str(inner)...)
		if inner != nil {
			for _, p := range inner.GetArray() {
				thinking = append(thinking, answer.Str(p.Get("text"))...)
			}
		}
	}
	return text, thinking
}
