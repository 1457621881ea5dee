package openai

import (
	"slices"

	"github.com/valyala/fastjson"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/endpoint/answer"
)

// itemAdded takes the start of an item: a tool call has its name.
func (d *responsesDialect) itemAdded(it *outputItem, item *fastjson.Value) {
	if it == nil || !isToolCall(item) {
		return
	}
	c := d.OnlyChoice()
	if size := d.nameCall(c, it, item); size > 0 {
		it.produced = true
		d.EmitSize(c, bench.Tool, size)
	}
}

// isToolCall reports whether an item is a call that the client has to answer.
func isToolCall(item *fastjson.Value) bool {
	switch kind := answer.Str(item.Get("type")); string(kind) {
	case "function_call", "custom_tool_call":
		return true
	}
	return false
}

// nameCall gives the call of an item its id and its name, and returns the length
// of a name that is new.
func (d *responsesDialect) nameCall(c *answer.Choice, it *outputItem, item *fastjson.Value) int {
	call := d.callOf(c, it)
	if call == nil {
		return 0
	}
	answer.KeepFirst(&call.ID, item.Get("call_id"))
	answer.KeepFirst(&call.ID, item.Get("id"))
	if call.Name != "" {
		return 0
	}
	call.Name = string(answer.Str(item.Get("name")))
	return len(call.Name)
}

// itemDone takes an item that is complete: what its events did not contain.
func (d *responsesDialect) itemDone(it *outputItem, item *fastjson.Value) {
	if it == nil || item == nil {
		return
	}
	switch string(answer.Str(item.Get("type"))) {
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
	if text := answer.Str(content); len(text) > 0 { // as in requests
		d.produce(it, outputPart{partText, 0}, text)
	}
	for i, part := range item.GetArray("content") {
		d.produce(it, outputPart{partText, i}, answer.Str(part.Get("text")))
		d.produce(it, outputPart{partRefusal, i}, answer.Str(part.Get("refusal")))
	}
}

// reasoningItem takes the thoughts themselves, or else their summary.
func (d *responsesDialect) reasoningItem(it *outputItem, item *fastjson.Value) {
	for i, part := range item.GetArray("content") {
		d.produce(it, outputPart{partReasoning, i}, answer.Str(part.Get("text")))
	}
	if it.produced {
		return
	}
	for i, part := range item.GetArray("summary") {
		d.produce(it, outputPart{partSummary, i}, answer.Str(part.Get("text")))
	}
}

// callItem takes a whole call. Its name and arguments are one event, unless the
// stream has sent them already.
func (d *responsesDialect) callItem(it *outputItem, item, arguments *fastjson.Value) {
	streamed := slices.ContainsFunc(it.parts, func(p outputPart) bool { return p.kind == partArguments })
	c := d.OnlyChoice()
	size := d.nameCall(c, it, item)
	if streamed {
		return // a name that comes after the arguments is no more output
	}
	if call := d.callOf(c, it); call != nil && arguments != nil {
		before := len(call.Args)
		call.Args = answer.AppendTextOrJSON(call.Args, arguments)
		size += len(call.Args) - before
	}
	if size > 0 {
		it.produced = true
		d.EmitSize(c, bench.Tool, size)
	}
}

// wholeResponse takes a response in one piece: an answer, or what some servers send
// in the place of the events about its state.
func (d *responsesDialect) wholeResponse(v *fastjson.Value, data []byte) {
	d.Answered = true
	d.Identify(v)
	d.TakeUsage(v.Get("usage"))
	if len(d.Answer.Chunks) == 0 {
		d.takeOutput(v)
	}
	switch status := string(answer.Str(v.Get("status"))); {
	case status == "failed":
		d.failResponse(v)
	case answer.Truthy(v.Get("error")):
		d.FailInObject(data)
	case d.Streamed && (status == "queued" || status == "in_progress"):
	case status == "queued", status == "in_progress":
		d.FailAs(bench.EmptyOutput, "the response is "+status+": responses in the background are not polled")
	default:
		d.finishResponse(status, v)
	}
}

// takeOutput takes all items of a response.
func (d *responsesDialect) takeOutput(v *fastjson.Value) {
	d.items = d.items[:0]
	for i, item := range v.GetArray("output") {
		if i >= answer.MaxItems {
			break
		}
		d.items = append(d.items, outputItem{index: i, call: answer.NoCall})
		d.itemDone(&d.items[i], item)
	}
}

// endResponse takes the event that ends a stream.
func (d *responsesDialect) endResponse(kind string, response *fastjson.Value) {
	d.Terminal = true
	status := kind[len("response."):]
	if response == nil || response.Type() != fastjson.TypeObject {
		response = nil
	} else {
		d.TakeUsage(response.Get("usage"))
		if len(d.Answer.Chunks) == 0 {
			d.takeOutput(response)
		}
		// vLLM names every last event completed; the response has the real status.
		switch s := string(answer.Str(response.Get("status"))); s {
		case "incomplete", "failed", "cancelled":
			status = s
		}
	}
	if status == "failed" || answer.Truthy(response.Get("error")) {
		d.failResponse(response)
		return
	}
	d.finishResponse(status, response)
}

// failResponse records the error of a response that failed.
func (d *responsesDialect) failResponse(response *fastjson.Value) {
	reason := response.Get("error")
	if !answer.Truthy(reason) {
		d.FailAs(bench.StreamError, "the server says that the response has failed, and not why")
		return
	}
	data := reason.MarshalTo(nil)
	if d.Streamed {
		d.Fail(answer.ErrorInStream(answer.Describe(data, d.Status), d.Status))
	} else {
		d.Fail(answer.ErrorInBody(data, d.Status))
	}
}

// finishResponse records why the answer ended.
func (d *responsesDialect) finishResponse(status string, response *fastjson.Value) {
	if status == "cancelled" {
		d.FailAs(bench.StreamError, "the server has cancelled the response")
		return
	}
	c := d.OnlyChoice()
	switch reason := answer.Str(response.Get("incomplete_details", "reason")); {
	case status == "incomplete" && len(reason) > 0:
		c.Finish = answer.FinishReason(string(reason))
	case status == "incomplete":
		c.Finish = bench.FinishOther
	case d.endsWithCall(response):
		c.Finish = bench.FinishToolCalls
	default:
		c.Finish = bench.FinishStop
	}
}

// endsWithCall reports whether the last item of an answer is a call of a tool.
func (d *responsesDialect) endsWithCall(response *fastjson.Value) bool {
	if output := response.GetArray("output"); len(output) > 0 {
		return isToolCall(output[len(output)-1])
	}
	n := len(d.items)
	return n > 0 && d.items[n-1].call != answer.NoCall
}
