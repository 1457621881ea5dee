package mock

import (
	"strconv"
	"strings"

	"aiperfd/internal/mock/jsonappend"
)

// A call of a tool in a response is an item of its own (OpenAI API reference,
// "Function calling" and "Streaming events"): it is added with its name and without
// arguments, gets the pieces of them, and is done. Like the name event of a chat, the
// event that adds it is content: the name is its first token.

// callContent adds the tokens from … to−1, which are of call n: its name, or a part of
// its arguments.
func (p *responsesAPI) callContent(e *events, c *choice, n, from, to int) error {
	if start, _ := c.span(n); from > start {
		p.start(e, "response.function_call_arguments.delta")
		placeCall(e, c, n)
		e.b = append(e.b, `,"delta":"`...)
		e.b = append(c.appendTokens(e.b, from, to), '"')
		return p.stop(e, true)
	}
	if from > 0 {
		if err := p.closeAt(e, c, from-1); err != nil {
			return err
		}
	}
	return p.callItem(e, c, n, begun)
}

// closeAt adds the end of the item that token i belongs to.
func (p *responsesAPI) closeAt(e *events, c *choice, i int) error {
	if n := c.callAt(i); n >= 0 {
		return p.closeCall(e, c, n)
	}
	return p.closeItem(e, c, c.sideOf(i))
}

// closeCall adds the ends of the arguments and of the call: each repeats all of them.
func (p *responsesAPI) closeCall(e *events, c *choice, n int) error {
	p.start(e, "response.function_call_arguments.done")
	placeCall(e, c, n)
	e.b = append(e.b, ',')
	e.b = appendFunction(e.b, c, n, whole)
	if err := p.stop(e, false); err != nil {
		return err
	}
	return p.callItem(e, c, n, whole)
}

// callItem adds the event with which the item of call n begins or ends.
func (p *responsesAPI) callItem(e *events, c *choice, n int, part extent) error {
	kind := "response.output_item.added"
	if part == whole {
		kind = "response.output_item.done"
	}
	p.start(e, kind)
	e.b = append(e.b, `,"output_index":`...)
	e.b = appendCallIndex(e.b, c, n)
	e.b = append(e.b, `,"item":`...)
	e.b = p.appendCall(e.b, c, n, part)
	return p.stop(e, part == begun)
}

// placeCall appends where an event about the arguments of call n belongs.
func placeCall(e *events, c *choice, n int) {
	e.b = append(e.b, `,"item_id":`...)
	e.b = appendCallID(e.b, c, n)
	e.b = append(e.b, `,"output_index":`...)
	e.b = appendCallIndex(e.b, c, n)
}

// appendCallIndex appends the place of call n in the output.
func appendCallIndex(dst []byte, c *choice, n int) []byte {
	if c.reasoning > 0 {
		n++
	}
	return strconv.AppendInt(dst, int64(n), 10)
}

// appendCallID appends the id of the item of call n, which is not that of the call.
func appendCallID(dst []byte, c *choice, n int) []byte {
	return jsonappend.String(dst, "fc_"+strings.TrimPrefix(c.calls[n].id, "call_"))
}

// appendCall appends the item of call n; without its arguments it has just begun.
func (*responsesAPI) appendCall(dst []byte, c *choice, n int, part extent) []byte {
	dst = append(dst, `{"id":`...)
	dst = appendCallID(dst, c, n)
	dst = append(dst, `,"type":"function_call","call_id":`...)
	dst = jsonappend.String(dst, c.calls[n].id)
	dst = append(dst, ',')
	dst = appendFunction(dst, c, n, part)
	status := "in_progress"
	if part == whole {
		if status = "completed"; c.reasoning+c.calls[n].to > c.total {
			status = "incomplete"
		}
	}
	return append(append(append(dst, `,"status":"`...), status...), '"', '}')
}

// appendFunction appends the members name and arguments of call n.
func appendFunction(dst []byte, c *choice, n int, part extent) []byte {
	from, to := c.span(n)
	dst = append(dst, `"name":"`...)
	dst = c.appendTokens(dst, from, from+1)
	dst = append(dst, `","arguments":"`...)
	if part == whole {
		dst = c.appendTokens(dst, from+1, to)
	}
	return append(dst, '"')
}
