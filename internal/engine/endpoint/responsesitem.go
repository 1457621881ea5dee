package endpoint

import (
	"slices"

	"github.com/valyala/fastjson"

	"aiperfd/internal/engine/bench"
)

// itemAdded takes the start of an item: a call of a tool says its name.
func (d *responsesDialect) itemAdded(it *outputItem, item *fastjson.Value) {
	if it == nil || !isToolCall(item) {
		return
	}
	c := d.only()
	if size := d.nameCall(c, it, item); size > 0 {
		it.produced = true
		d.emitSize(c, bench.Tool, size)
	}
}

// isToolCall reports whether an item is a call that the client has to answer.
func isToolCall(item *fastjson.Value) bool {
	switch kind := str(item.Get("type")); string(kind) {
	case "function_call", "custom_tool_call":
		return true
	}
	return false
}

// nameCall gives the call of an item its id and its name, and returns the length
// of a name that is new.
func (d *responsesDialect) nameCall(c *choice, it *outputItem, item *fastjson.Value) int {
	call := d.callOf(c, it)
	if call == nil {
		return 0
	}
	keepFirst(&call.id, item.Get("call_id"))
	keepFirst(&call.id, item.Get("id"))
	if call.name != "" {
		return 0
	}
	call.name = string(str(item.Get("name")))
	return len(call.name)
}

// itemDone takes an item that is complete: what its events have not said.
func (d *responsesDialect) itemDone(it *outputItem, item *fastjson.Value) {
	if it == nil || item == nil {
		return
	}
	switch string(str(item.Get("type"))) {
	case "message":
		if !it.produced {
			d.messageItem(it, item)
		}
	case "reasoning":
		if !it.produced {
			d.reasoningItem(it, item)
		}
	case "function_call":
		d.callItem(it, item, item.Get("arguments"))
	case "custom_tool_call":
		d.callItem(it, item, item.Get("input"))
	}
}

func (d *responsesDialect) messageItem(it *outputItem, item *fastjson.Value) {
	content := item.Get("content")
	if text := str(content); len(text) > 0 { // as in requests
		d.produce(it, outputPart{partText, 0}, text)
	}
	for i, part := range item.GetArray("content") {
		d.produce(it, outputPart{partText, i}, str(part.Get("text")))
		d.produce(it, outputPart{partRefusal, i}, str(part.Get("refusal")))
	}
}

// reasoningItem takes the thoughts themselves, or else their summary.
func (d *responsesDialect) reasoningItem(it *outputItem, item *fastjson.Value) {
	for i, part := range item.GetArray("content") {
		d.produce(it, outputPart{partReasoning, i}, str(part.Get("text")))
	}
	if it.produced {
		return
	}
	for i, part := range item.GetArray("summary") {
		d.produce(it, outputPart{partSummary, i}, str(part.Get("text")))
	}
}

// callItem takes a whole call. Its name and arguments are one event, unless the
// stream has sent them already.
func (d *responsesDialect) callItem(it *outputItem, item, arguments *fastjson.Value) {
	streamed := slices.ContainsFunc(it.parts, func(p outputPart) bool { return p.kind == partArguments })
	c := d.only()
	size := d.nameCall(c, it, item)
	if streamed {
		return // a name that comes after the arguments is no more output
	}
	if call := d.callOf(c, it); call != nil && arguments != nil {
		before := len(call.args)
		call.args = appendTextOrJSON(call.args, arguments)
		size += len(call.args) - before
	}
	if size > 0 {
		it.produced = true
		d.emitSize(c, bench.Tool, size)
	}
}

// wholeResponse takes a response in one piece: an answer, or what some servers send
// in the place of the events about its state.
func (d *responsesDialect) wholeResponse(v *fastjson.Value, data []byte) {
	d.answered = true
	d.identify(v)
	d.takeUsage(v.Get("usage"))
	if len(d.answer.Chunks) == 0 {
		d.takeOutput(v)
	}
	switch status := string(str(v.Get("status"))); {
	case status == "failed":
		d.failResponse(v)
	case truthy(v.Get("error")):
		d.failInObject(data)
	case d.streamed && (status == "queued" || status == "in_progress"):
	case status == "queued", status == "in_progress":
		d.failAs(bench.EmptyOutput, "the response is "+status+": responses in the background are not polled")
	default:
		d.finishResponse(status, v)
	}
}

// takeOutput takes all items of a response.
func (d *responsesDialect) takeOutput(v *fastjson.Value) {
	d.items = d.items[:0]
	for i, item := range v.GetArray("output") {
		if i >= maxItems {
			break
		}
		d.items = append(d.items, outputItem{index: i, call: noCall})
		d.itemDone(&d.items[i], item)
	}
}

// endResponse takes the event that ends a stream.
func (d *responsesDialect) endResponse(kind string, response *fastjson.Value) {
	d.terminal = true
	status := kind[len("response."):]
	if response == nil || response.Type() != fastjson.TypeObject {
		response = nil
	} else {
		d.takeUsage(response.Get("usage"))
		if len(d.answer.Chunks) == 0 {
			d.takeOutput(response)
		}
		// vLLM calls every end completed, and says in the response how it was.
		switch s := string(str(response.Get("status"))); s {
		case "incomplete", "failed", "cancelled":
			status = s
		}
	}
	if status == "failed" || truthy(response.Get("error")) {
		d.failResponse(response)
		return
	}
	d.finishResponse(status, response)
}

// failResponse records what a response that failed says of it.
func (d *responsesDialect) failResponse(response *fastjson.Value) {
	reason := response.Get("error")
	if !truthy(reason) {
		d.failAs(bench.StreamError, "the server says that the response has failed, and not why")
		return
	}
	data := reason.MarshalTo(nil)
	if d.streamed {
		d.fail(errorInStream(describe(data, d.status), d.status))
	} else {
		d.fail(errorInBody(data, d.status))
	}
}

// finishResponse records why the answer ended.
func (d *responsesDialect) finishResponse(status string, response *fastjson.Value) {
	if status == "cancelled" {
		d.failAs(bench.StreamError, "the server has cancelled the response")
		return
	}
	c := d.only()
	switch reason := str(response.Get("incomplete_details", "reason")); {
	case status == "incomplete" && len(reason) > 0:
		c.finish = finishReason(string(reason))
	case status == "incomplete":
		c.finish = bench.FinishOther
	case d.endsWithCall(response):
		c.finish = bench.FinishToolCalls
	default:
		c.finish = bench.FinishStop
	}
}

// endsWithCall reports whether the last item of an answer is a call of a tool.
func (d *responsesDialect) endsWithCall(response *fastjson.Value) bool {
	if output := response.GetArray("output"); len(output) > 0 {
		return isToolCall(output[len(output)-1])
	}
	n := len(d.items)
	return n > 0 && d.items[n-1].call != noCall
}
