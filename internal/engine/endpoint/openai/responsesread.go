package openai

import (
	"slices"
	"strings"

	"github.com/valyala/fastjson"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/endpoint/answer"
)

// unplaced is the index of an item whose place in the output is not known.
const unplaced = -1

// outputItem is the state of one output item of a Responses stream. Items are
// identified by their place in the output and, if a server leaves that out, by
// their ids.
type outputItem struct {
	id       string
	index    int          // in the output; unplaced = not known
	call     int          // index of the tool call; noCall = none
	produced bool         // content
	thought  bool         // … by a reasoning event
	remote   bool         // it is a call of a tool that the server itself runs
	parts    []outputPart // that produced something
}

// outputPart is a part of an item of which text was received.
type outputPart struct {
	kind    partKind
	content int // its place in the item
}

type partKind uint8

const (
	partText partKind = iota
	partReasoning
	partSummary
	partRefusal
	partArguments
)

// ResponsesGrammar describes the responses of the Responses API.
func ResponsesGrammar() *answer.Grammar {
	return &answer.Grammar{Dialect: newResponses, Shapes: true, Role: responsesRole, End: answer.EndTerminal}
}

// responsesDialect reads events of a Responses stream, or whole responses (OpenAI
// API reference, "Responses" and "Streaming events").
type responsesDialect struct {
	*answer.Builder

	items []outputItem
}

func newResponses(b *answer.Builder) answer.Dialect { return &responsesDialect{Builder: b} }

func (d *responsesDialect) Reset() { d.items = d.items[:0] }

// responsesRole returns the meaning of the places that differ from one delta to
// the next.
func responsesRole(p answer.Place) answer.Role {
	switch {
	case len(p) != 1:
	case p[0] == "delta":
		return answer.RoleText
	case p[0] == "sequence_number", p[0] == "obfuscation":
		return answer.RoleNone
	}
	return answer.RoleOther
}

func (d *responsesDialect) Document(doc *answer.Document) bool {
	v := doc.Value
	kind := string(answer.Str(v.Get("type")))
	object, output := string(answer.Str(v.Get("object"))), v.Get("output")
	whole := kind == "" && (object == "response" || output != nil && output.Type() == fastjson.TypeArray)
	if kind == "" {
		kind = doc.Event // some servers name the event only there
	}
	switch {
	case d.Terminal: // nothing belongs to the answer any more
		return true
	case whole:
		d.wholeResponse(v, doc.Data)
		return true
	case kind == "error", kind == "response.error", object == "error", kind == "" && answer.Truthy(v.Get("error")):
		d.FailInObject(doc.Data)
		return true
	}
	response := v.Get("response")
	d.Identify(response)
	d.Answered = d.Answered || strings.HasPrefix(kind, "response.")
	switch kind {
	case "response.completed", "response.incomplete", "response.failed", "response.cancelled":
		d.endResponse(kind, response)
	case "response.output_item.added":
		d.itemAdded(d.itemOf(v, opensItem), v.Get("item"))
	case "response.output_item.done":
		d.itemDone(d.itemOf(v, inItem), v.Get("item"))
	case "response.output_audio.delta", "response.audio.delta":
		if it := d.itemOf(v, inItem); it != nil {
			it.produced = true
			d.EmitAudio(d.OnlyChoice(), answer.Str(v.Get("delta")))
		}
	default:
		d.partEvent(kind, v)
	}
	return true
}

// partEvent takes a delta of a part, or its end, which repeats the part.
func (d *responsesDialect) partEvent(kind string, v *fastjson.Value) {
	name, end := strings.CutSuffix(kind, ".done")
	if !end {
		var delta bool
		if name, delta = strings.CutSuffix(kind, ".delta"); !delta {
			return
		}
	}
	part, member := partText, "text"
	switch name {
	case "response.output_text":
		if !end {
			d.creditLogprobs(v)
		}
	case "response.reasoning_text":
		part = partReasoning
	case "response.reasoning_summary_text", "response.reasoning", "response.reasoning_summary":
		part = partSummary
	case "response.refusal":
		part, member = partRefusal, "refusal"
	case "response.function_call_arguments", "response.mcp_call_arguments":
		part, member = partArguments, "arguments"
	case "response.custom_tool_call_input":
		part, member = partArguments, "input"
	case "response.output_audio_transcript", "response.audio_transcript", "response.audio.transcript":
		member = "transcript"
	default:
		return
	}
	it := d.itemOf(v, inItem)
	if it == nil {
		return
	}
	it.remote = it.remote || name == "response.mcp_call_arguments"
	p := outputPart{part, contentIndex(v, part)}
	thought := part == partReasoning || part == partSummary
	switch {
	case !end:
		d.produce(it, p, answer.Str(v.Get("delta")))
		it.thought = it.thought || thought
	case slices.Contains(it.parts, p), part == partSummary && it.thought:
	default:
		d.produce(it, p, answer.Str(v.Get(member)))
		it.thought = it.thought || part == partReasoning
	}
}

// creditLogprobs counts the tokens of the event by their log-probabilities.
func (d *responsesDialect) creditLogprobs(v *fastjson.Value) {
	if n := len(v.GetArray("logprobs")); n > 0 && d.Streamed {
		if c := d.OnlyChoice(); c != nil {
			c.Tokens += int32(n)
		}
	}
}

// contentIndex returns the place of a part in its item.
func contentIndex(v *fastjson.Value, part partKind) int {
	name := "content_index"
	if part == partSummary {
		name = "summary_index"
	}
	if n, ok := answer.SmallInt(v.Get(name)); ok {
		return n
	}
	return 0
}

// produce records content of a part.
func (d *responsesDialect) produce(it *outputItem, p outputPart, content []byte) {
	if len(content) == 0 {
		return
	}
	c := d.OnlyChoice()
	it.produced = true
	if !slices.Contains(it.parts, p) && len(it.parts) < answer.MaxItems {
		it.parts = append(it.parts, p)
	}
	switch p.kind {
	case partText:
		d.Emit(c, bench.Text, content)
	case partReasoning, partSummary:
		d.Emit(c, bench.Reasoning, content)
	case partRefusal:
		d.Emit(c, bench.Refusal, content)
	case partArguments:
		if !it.remote {
			call := d.callOf(c, it)
			if call == nil {
				return
			}
			call.Args = append(call.Args, content...)
		}
		d.EmitSize(c, bench.Tool, len(content))
	}
}

// callOf returns the tool call of an item, made when it is new; nil when there are
// too many.
func (d *responsesDialect) callOf(c *answer.Choice, it *outputItem) *answer.ToolCall {
	if it.call == answer.NoCall {
		it.call = len(c.Calls)
	}
	return c.CallAt(it.call)
}

// itemEvent is the relation of an event to its item.
type itemEvent uint8

const (
	inItem    itemEvent = iota // it continues the item
	opensItem                  // it is the first event of the item
)

// itemOf returns the item that an event is about, made when it is new; nil when
// there are too many. An event without an id or an index belongs to the last item, or
// opens one.
func (d *responsesDialect) itemOf(v *fastjson.Value, what itemEvent) *outputItem {
	id := string(answer.Str(v.Get("item_id")))
	if id == "" {
		id = string(answer.Str(v.Get("item", "id")))
	}
	index, known := answer.SmallInt(v.Get("output_index"))
	if !known {
		index = unplaced
	}
	for i := len(d.items) - 1; i >= 0; i-- { // the last one is the usual one
		it := &d.items[i]
		switch {
		case known && it.index == index:
		case id != "" && it.id == id && (!known || it.index == unplaced):
		case !known && id == "" && what == inItem:
		default:
			continue
		}
		if it.index == unplaced {
			it.index = index
		}
		if it.id == "" {
			it.id = id
		}
		return it
	}
	if len(d.items) >= answer.MaxItems {
		d.Malformed()
		return nil
	}
	d.items = append(d.items, outputItem{id: id, index: index, call: answer.NoCall})
	return &d.items[len(d.items)-1]
}
