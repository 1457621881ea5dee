package anthropic

import (
	"github.com/valyala/fastjson"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/endpoint/answer"
)

// contentBlock is the state of one content block of a Messages stream.
type contentBlock struct {
	index int // in the content
	kind  blockKind
	call  int    // index of the tool call
	input []byte // of a call that had it from the start; nil = none
	fed   bool   // arguments were received
}

type blockKind uint8

const (
	blockText    blockKind = iota // or thoughts, by the type of its deltas
	blockTool                     // a call that the client has to answer
	blockIgnored                  // what else there is, such as calls that the server answers itself
)

// Grammar describes the responses of the Messages API.
func Grammar() *answer.Grammar {
	return &answer.Grammar{Dialect: newMessages, Shapes: true, Role: messagesRole, End: answer.EndTerminal}
}

// messagesDialect reads events of a Messages stream, or whole messages (Anthropic
// API reference, "Messages" and "Streaming messages").
type messagesDialect struct {
	*answer.Builder

	blocks []contentBlock
	merged answer.UsageCounts // of the events so far, before they are settled
}

func newMessages(b *answer.Builder) answer.Dialect { return &messagesDialect{Builder: b} }

func (d *messagesDialect) Reset() { d.blocks, d.merged = d.blocks[:0], answer.UsageCounts{} }

// messagesRole returns the meaning of the places that differ from one delta to the
// next.
func messagesRole(p answer.Place) answer.Role {
	if len(p) == 2 && p[0] == "delta" && (p[1] == "text" || p[1] == "thinking") {
		return answer.RoleText
	}
	return answer.RoleOther
}

func (d *messagesDialect) Document(doc *answer.Document) bool {
	if d.Terminal {
		return true
	}
	v := doc.Value
	switch doc.Kind() {
	case "message_start":
		d.Answered = true
		message := v.Get("message")
		d.Identify(message)
		if message != nil {
			d.mergeUsage(message.Get("usage"))
		}
	case "content_block_start":
		d.blockStart(v)
	case "content_block_delta":
		d.blockDelta(v)
	case "content_block_stop":
		d.blockStop(v)
	case "message_delta":
		d.mergeUsage(v.Get("usage"))
		d.Finish(d.OnlyChoice(), v.Get("delta", "stop_reason"), nil, doc.Data)
	case "message_stop":
		d.Terminal = true
	case "error":
		d.FailInObject(doc.Data)
	case "message", "":
		d.wholeMessage(v, doc.Data)
	}
	return true
}

// mergeUsage lays a usage over those of the events before it.
func (d *messagesDialect) mergeUsage(v *fastjson.Value) {
	if v == nil || v.GetObject() == nil {
		return
	}
	var u answer.UsageCounts
	v.GetObject().Visit(u.Field)
	if u == (answer.UsageCounts{}) {
		return
	}
	d.merged.Merge(u)
	d.SetUsage(d.merged.Settled())
}

// blockOf returns the block with an index, made when it is new; nil when there are
// too many.
func (d *messagesDialect) blockOf(v *fastjson.Value) *contentBlock {
	index, ok := answer.SmallInt(v.Get("index"))
	if !ok {
		index = max(0, len(d.blocks)-1) // the last one
	}
	for i := len(d.blocks) - 1; i >= 0; i-- {
		if d.blocks[i].index == index {
			return &d.blocks[i]
		}
	}
	if len(d.blocks) >= answer.MaxItems {
		d.Malformed()
		return nil
	}
	d.blocks = append(d.blocks, contentBlock{index: index, call: answer.NoCall})
	return &d.blocks[len(d.blocks)-1]
}

func (d *messagesDialect) blockStart(v *fastjson.Value) {
	content := v.Get("content_block")
	b := d.blockOf(v)
	if b == nil || content == nil {
		return
	}
	c := d.OnlyChoice()
	switch string(answer.Str(content.Get("type"))) {
	case "tool_use":
		b.kind = blockTool
		if input := content.Get("input"); answer.Truthy(input) {
			b.input = answer.AppendTextOrJSON(nil, input)
		}
		if size := d.nameBlock(c, b, content); size > 0 {
			d.EmitSize(c, bench.Tool, size)
		}
	case "text", "thinking":
		d.Emit(c, bench.Reasoning, answer.Str(content.Get("thinking")))
		d.Emit(c, bench.Text, answer.Str(content.Get("text")))
	default:
		b.kind = blockIgnored
	}
}

// nameBlock opens the call of a block and returns the length of its name.
func (d *messagesDialect) nameBlock(c *answer.Choice, b *contentBlock, content *fastjson.Value) int {
	call := d.blockCall(c, b)
	if call == nil {
		return 0
	}
	answer.KeepFirst(&call.ID, content.Get("id"))
	before := len(call.Name)
	answer.KeepFirst(&call.Name, content.Get("name"))
	return len(call.Name) - before
}

// blockCall returns the call of a block, made when it is new; nil when there are
// too many.
func (d *messagesDialect) blockCall(c *answer.Choice, b *contentBlock) *answer.ToolCall {
	if b.call == answer.NoCall {
		b.call = len(c.Calls)
	}
	return c.CallAt(b.call)
}

func (d *messagesDialect) blockDelta(v *fastjson.Value) {
	delta := v.Get("delta")
	b := d.blockOf(v)
	if b == nil || delta == nil {
		return
	}
	c := d.OnlyChoice()
	switch string(answer.Str(delta.Get("type"))) {
	case "text_delta":
		d.Emit(c, bench.Text, answer.Str(delta.Get("text")))
	case "thinking_delta":
		d.Emit(c, bench.Reasoning, answer.Str(delta.Get("thinking")))
	case "input_json_delta":
		if b.kind != blockIgnored {
			b.kind = blockTool // if its start had no type
			d.feed(c, b, answer.Str(delta.Get("partial_json")))
		}
	}
}

// feed adds to the arguments of a block's call.
func (d *messagesDialect) feed(c *answer.Choice, b *contentBlock, arguments []byte) {
	if len(arguments) == 0 {
		return
	}
	if call := d.blockCall(c, b); call != nil {
		b.fed = true
		call.Args = append(call.Args, arguments...)
		d.EmitSize(c, bench.Tool, len(arguments))
	}
}

// blockStop ends a block. A call that had no deltas has the arguments that it
// began with, or none.
func (d *messagesDialect) blockStop(v *fastjson.Value) {
	b := d.blockOf(v)
	if b == nil || b.kind != blockTool || b.fed {
		return
	}
	if b.input == nil {
		b.input = []byte("{}")
	}
	d.feed(d.OnlyChoice(), b, b.input)
}

// wholeMessage takes a message in one piece, or an error without a type.
func (d *messagesDialect) wholeMessage(v *fastjson.Value, data []byte) {
	content := v.Get("content")
	if content == nil || content.Type() != fastjson.TypeArray {
		if answer.Truthy(v.Get("error")) || string(answer.Str(v.Get("object"))) == "error" {
			d.FailInObject(data)
		}
		return
	}
	d.Answered = true
	d.Identify(v)
	d.mergeUsage(v.Get("usage"))
	c := d.OnlyChoice()
	for _, part := range content.GetArray() {
		switch string(answer.Str(part.Get("type"))) {
		case "text":
			d.Emit(c, bench.Text, answer.Str(part.Get("text")))
		case "thinking":
			d.Emit(c, bench.Reasoning, answer.Str(part.Get("thinking")))
		case "tool_use":
			d.wholeCall(c, part)
		}
	}
	d.Finish(c, v.Get("stop_reason"), nil, data)
	if answer.Truthy(v.Get("error")) {
		d.FailInObject(data)
	}
}

// wholeCall takes a call in one piece: one event of its name and its arguments.
func (d *messagesDialect) wholeCall(c *answer.Choice, part *fastjson.Value) {
	call := c.CallAt(len(c.Calls))
	if call == nil {
		return
	}
	call.ID, call.Name = string(answer.Str(part.Get("id"))), string(answer.Str(part.Get("name")))
	if input := part.Get("input"); input != nil {
		call.Args = answer.AppendTextOrJSON(call.Args, input)
	}
	if size := len(call.Name) + len(call.Args); size > 0 {
		d.EmitSize(c, bench.Tool, size)
	}
}
