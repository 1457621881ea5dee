package endpoint

import (
	"bytes"
	"encoding/base64"

	"github.com/valyala/fastjson"

	"aiperfd/internal/engine/bench"
)

// part reads a delta or a message: reasoning, text, refusal, tool calls, audio,
// each an event of its own, in this order.
func (d *decoder) part(c *choiceState, object *fastjson.Object) {
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
	switch { // several spellings of one thing: the first that says something
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
			d.tool(c, v)
		}
	}
	if function != nil && function.GetObject() != nil {
		d.call(c, c.callAt(0), nil, function)
	}
	if audio != nil {
		d.emit(c, bench.Text, str(audio.Get("transcript")))
		d.audio(c, str(audio.Get("data")))
	}
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

// emit records a content event, if there is content.
func (d *decoder) emit(c *choiceState, kind bench.ChunkKind, content []byte) {
	if len(content) == 0 {
		return
	}
	switch kind {
	case bench.Text:
		c.text = append(c.text, content...)
	case bench.Reasoning:
		c.reasoning = append(c.reasoning, content...)
	case bench.Refusal:
		c.refusal = append(c.refusal, content...)
	case bench.Tool, bench.Audio,
		bench.Image, bench.ImagePartial, bench.Video, bench.Embedding, bench.Ranking, bench.Binary: // assembled elsewhere, or not at all
	}
	d.emitSize(c, kind, len(content))
}

func (d *decoder) emitSize(c *choiceState, kind bench.ChunkKind, size int) {
	e := bench.Chunk{At: d.at, Kind: kind, Choice: uint16(c.index), Bytes: int32(size), Read: d.read}
	if d.streamed {
		e.Tokens = d.credit.take(c)
	}
	d.a.Chunks = append(d.a.Chunks, e)
}

// audio records base64 audio by its decoded size.
func (d *decoder) audio(c *choiceState, data []byte) {
	plain := bytes.TrimRight(data, "=")
	if size := base64.RawStdEncoding.DecodedLen(len(plain)); size > 0 {
		d.emitSize(c, bench.Audio, size)
	}
}
