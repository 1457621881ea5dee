package endpoint

import (
	"github.com/valyala/fastjson"

	"aiperfd/internal/engine/bench"
)

// contentBlock is what is known of one content block of a Messages stream.
type contentBlock struct {
	index int // in the content
	kind  blockKind
	call  int    // index of the tool call
	input []byte // of a call that had it from the start; nil = none
	fed   bool   // arguments were received
}

type blockKind uint8

const (
	blockText    blockKind = iota // or thoughts: its deltas say which
	blockTool                     // a call that the client has to answer
	blockIgnored                  // what else there is, such as calls that the server answers itself
)

func messagesGrammar() *grammar {
	return &grammar{dialect: newMessages, shapes: true, role: messagesRole, end: endTerminal}
}

// messagesDialect reads events of a Messages stream, or whole messages (Anthropic
// API reference, "Messages" and "Streaming messages").
type messagesDialect struct {
	*builder

	blocks []contentBlock
	merged usageCounts // of the events so far, before they are settled
}

func newMessages(b *builder) dialect { return &messagesDialect{builder: b} }

func (d *messagesDialect) reset() { d.blocks, d.merged = d.blocks[:0], usageCounts{} }

// messagesRole says what the places of an event mean that differ from one delta to
// the next.
func messagesRole(p place) role {
	if len(p) == 2 && p[0] == "delta" && (p[1] == "text" || p[1] == "thinking") {
		return roleText
	}
	return roleOther
}

func (d *messagesDialect) document(doc *document) bool {
	if d.terminal {
		return true
	}
	v := doc.value
	switch doc.kind() {
	case "message_start":
		d.answered = true
		message := v.Get("message")
		d.identify(message)
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
		d.finish(d.only(), v.Get("delta", "stop_reason"), nil, doc.data)
	case "message_stop":
		d.terminal = true
	case "error":
		d.failInObject(doc.data)
	case "message", "":
		d.wholeMessage(v, doc.data)
	}
	return true
}

// mergeUsage lays a usage over those of the events before it.
func (d *messagesDialect) mergeUsage(v *fastjson.Value) {
	if v == nil || v.GetObject() == nil {
		return
	}
	var u usageCounts
	v.GetObject().Visit(u.field)
	if u == (usageCounts{}) {
		return
	}
	d.merged.merge(u)
	d.setUsage(d.merged.settled())
}

// blockOf returns the block with an index, made when it is new; nil when there are
// too many.
func (d *messagesDialect) blockOf(v *fastjson.Value) *contentBlock {
	index, ok := smallInt(v.Get("index"))
	if !ok {
		index = max(0, len(d.blocks)-1) // the last one
	}
	for i := len(d.blocks) - 1; i >= 0; i-- {
		if d.blocks[i].index == index {
			return &d.blocks[i]
		}
	}
	if len(d.blocks) >= maxItems {
		d.malformed()
		return nil
	}
	d.blocks = append(d.blocks, contentBlock{index: index, call: noCall})
	return &d.blocks[len(d.blocks)-1]
}

func (d *messagesDialect) blockStart(v *fastjson.Value) {
	content := v.Get("content_block")
	b := d.blockOf(v)
	if b == nil || content == nil {
		return
	}
	c := d.only()
	switch string(str(content.Get("type"))) {
	case "tool_use":
		b.kind = blockTool
		if input := content.Get("input"); truthy(input) {
			b.input = appendTextOrJSON(nil, input)
		}
		if size := d.nameBlock(c, b, content); size > 0 {
			d.emitSize(c, bench.Tool, size)
		}
	case "text", "thinking":
		d.emit(c, bench.Reasoning, str(content.Get("thinking")))
		d.emit(c, bench.Text, str(content.Get("text")))
	default:
		b.kind = blockIgnored
	}
}

// nameBlock opens the call of a block and returns the length of its name.
func (d *messagesDialect) nameBlock(c *choice, b *contentBlock, content *fastjson.Value) int {
	call := d.blockCall(c, b)
	if call == nil {
		return 0
	}
	keepFirst(&call.id, content.Get("id"))
	before := len(call.name)
	keepFirst(&call.name, content.Get("name"))
	return len(call.name) - before
}

// blockCall returns the call of a block, made when it is new; nil when there are
// too many.
func (d *messagesDialect) blockCall(c *choice, b *contentBlock) *toolCall {
	if b.call == noCall {
		b.call = len(c.calls)
	}
	return c.callAt(b.call)
}

func (d *messagesDialect) blockDelta(v *fastjson.Value) {
	delta := v.Get("delta")
	b := d.blockOf(v)
	if b == nil || delta == nil {
		return
	}
	c := d.only()
	switch string(str(delta.Get("type"))) {
	case "text_delta":
		d.emit(c, bench.Text, str(delta.Get("text")))
	case "thinking_delta":
		d.emit(c, bench.Reasoning, str(delta.Get("thinking")))
	case "input_json_delta":
		if b.kind != blockIgnored {
			b.kind = blockTool // if its start did not say so
			d.feed(c, b, str(delta.Get("partial_json")))
		}
	}
}

// feed adds to the arguments of a block's call.
func (d *messagesDialect) feed(c *choice, b *contentBlock, arguments []byte) {
	if len(arguments) == 0 {
		return
	}
	if call := d.blockCall(c, b); call != nil {
		b.fed = true
		call.args = append(call.args, arguments...)
		d.emitSize(c, bench.Tool, len(arguments))
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
	d.feed(d.only(), b, b.input)
}

// wholeMessage takes a message in one piece, or an error without a type.
func (d *messagesDialect) wholeMessage(v *fastjson.Value, data []byte) {
	content := v.Get("content")
	if content == nil || content.Type() != fastjson.TypeArray {
		if truthy(v.Get("error")) || string(str(v.Get("object"))) == "error" {
			d.failInObject(data)
		}
		return
	}
	d.answered = true
	d.identify(v)
	d.mergeUsage(v.Get("usage"))
	c := d.only()
	for _, part := range content.GetArray() {
		switch string(str(part.Get("type"))) {
		case "text":
			d.emit(c, bench.Text, str(part.Get("text")))
		case "thinking":
			d.emit(c, bench.Reasoning, str(part.Get("thinking")))
		case "tool_use":
			d.wholeCall(c, part)
		}
	}
	d.finish(c, v.Get("stop_reason"), nil, data)
	if truthy(v.Get("error")) {
		d.failInObject(data)
	}
}

// wholeCall takes a call in one piece: one event of its name and its arguments.
func (d *messagesDialect) wholeCall(c *choice, part *fastjson.Value) {
	call := c.callAt(len(c.calls))
	if call == nil {
		return
	}
	call.id, call.name = string(str(part.Get("id"))), string(str(part.Get("name")))
	if input := part.Get("input"); input != nil {
		call.args = appendTextOrJSON(call.args, input)
	}
	if size := len(call.name) + len(call.args); size > 0 {
		d.emitSize(c, bench.Tool, size)
	}
}
