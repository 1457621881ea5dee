package endpoint

import (
	"github.com/valyala/fastjson"

	"aiperfd/internal/engine/bench"
)

// openAI is the grammar of chat and completions. Both are decided by the fields
// that are there, since servers mix them up.
func openAI() *grammar {
	return &grammar{dialect: newOpenAI, shapes: true, end: endMarker}
}

// openAIDialect reads chunks of a stream, or whole answers. Choices are told apart
// by their index.
type openAIDialect struct{ *builder }

func newOpenAI(b *builder) dialect { return openAIDialect{b} }

func (d openAIDialect) reset() {}

func (d openAIDialect) document(doc *document) bool {
	var choices, usage, groq, err, kind, object *fastjson.Value
	doc.value.GetObject().Visit(func(key []byte, v *fastjson.Value) {
		switch string(key) {
		case "id":
			keepFirst(&d.answer.ResponseID, v)
		case "model":
			keepFirst(&d.answer.Model, v)
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
		case "metrics", "timings": // vLLM, llama.cpp
			d.times.millis(v)
		case "nvext": // Dynamo
			d.times.millis(v.Get("timing"))
		}
	})
	if groq != nil && (usage == nil || usage.Type() != fastjson.TypeObject) {
		usage = groq.Get("usage")
	}
	d.chunkUsage(usage)
	d.answered = d.answered || choices != nil && choices.Type() == fastjson.TypeArray
	if choices != nil {
		for i, v := range choices.GetArray() {
			d.readChoice(v, i, doc.data)
		}
	}
	if truthy(err) || string(str(object)) == "error" || string(str(kind)) == "error" {
		d.failInObject(doc.data)
	}
	return true
}

// readChoice reads one member of choices; position stands in for its index.
func (d openAIDialect) readChoice(v *fastjson.Value, position int, data []byte) {
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
	c := d.choice(index, position)
	if c == nil {
		d.malformed()
		return
	}
	if d.streamed {
		c.tokens += tokenEvidence(tokenIDs, logprobs)
	}
	before := len(d.answer.Chunks)
	switch {
	case delta != nil && delta.GetObject() != nil:
		d.readMessage(c, delta.GetObject())
	case message != nil && message.GetObject() != nil:
		d.readMessage(c, message.GetObject())
	}
	if len(d.answer.Chunks) == before {
		d.emit(c, bench.Text, str(text))
	}
	d.credit.note()
	d.finish(c, finish, err, data)
}

// readMessage reads a delta or a message: reasoning, text, refusal, tool calls and
// audio, each as a chunk of its own, in this order.
func (d openAIDialect) readMessage(c *choice, object *fastjson.Object) {
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
	case len(str(thoughts)) > 0:
		thinking = str(thoughts)
	case len(str(reasoning)) > 0:
		thinking = str(reasoning)
	}
	d.emit(c, bench.Reasoning, thinking)
	d.emit(c, bench.Text, text)
	d.emit(c, bench.Refusal, str(refusal))
	if tools != nil {
		for _, v := range tools.GetArray() {
			d.readTool(c, v)
		}
	}
	if function != nil && function.GetObject() != nil {
		d.call(c, c.callAt(0), nil, function)
	}
	if audio != nil {
		d.emit(c, bench.Text, str(audio.Get("transcript")))
		d.emitAudio(c, str(audio.Get("data")))
	}
}

// readTool reads one member of tool_calls: the start of a call, or more of one.
func (d openAIDialect) readTool(c *choice, v *fastjson.Value) {
	id := str(v.Get("id"))
	var call *toolCall
	if index, ok := indexOf(v); ok {
		call = c.callAt(index)
	} else {
		call = c.callByID(string(id), d.streamed)
	}
	function := v.Get("function")
	if function == nil || function.GetObject() == nil {
		function = v.Get("custom") // a tool whose input is free text
	}
	d.call(c, call, id, function)
}

// contentOf splits content into text and reasoning: a string, or a list of
// typed parts (Mistral).
func contentOf(v *fastjson.Value) (text, thinking []byte) {
	if v == nil {
		return nil, nil
	}
	if v.Type() != fastjson.TypeArray {
		return str(v), nil
	}
	for _, part := range v.GetArray() {
		if string(str(part.Get("type"))) != "thinking" {
			text = append(text, str(part.Get("text"))...)
			continue
		}
		inner := part.Get("thinking")
		thinking = append(thinking, str(inner)...)
		if inner != nil {
			for _, p := range inner.GetArray() {
				thinking = append(thinking, str(p.Get("text"))...)
			}
		}
	}
	return text, thinking
}
