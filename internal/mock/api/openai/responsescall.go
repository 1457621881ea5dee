package openai

import (
	"strings"

	"aiperfd/internal/mock/api"
	"aiperfd/internal/mock/jsonappend"
)

// A tool call in a response is a separate item (OpenAI API reference, "Function calling"
// and "Streaming events"): it is added with its name and without arguments, receives them
// in pieces, and is done. Like the name event of a chat, the event that adds it is
// content: the name is its first token.

// callContent adds the tokens from … to−1, which belong to call n: its name, or a part
// of its arguments.
func (p *responses) callContent(e *api.Events, c *api.Choice, n, from, to int) error {
	if start, _ := c.Span(n); from > start {
		startEvent(e, "response.function_call_arguments.delta")
		placeCall(e, c, n)
		e.B = append(e.B, `,"delta":"`...)
		e.B = append(c.AppendTokens(e.B, from, to), '"')
		return endEvent(e, true)
	}
	if from > 0 {
		if err := p.closeAt(e, c, from-1); err != nil {
			return err
		}
	}
	return p.callItem(e, c, n, begun)
}

// closeAt adds the end of the item of token i.
func (p *responses) closeAt(e *api.Events, c *api.Choice, i int) error {
	if n := c.CallAt(i); n >= 0 {
		return p.closeCall(e, c, n)
	}
	return p.closeItem(e, c, c.SideOf(i))
}

// closeCall adds the ends of the arguments and of the call; both repeat all arguments.
func (p *responses) closeCall(e *api.Events, c *api.Choice, n int) error {
	startEvent(e, "response.function_call_arguments.done")
	placeCall(e, c, n)
	e.B = append(e.B, ',')
	e.B = appendFunction(e.B, c, n, whole)
	if err := endEvent(e, false); err != nil {
		return err
	}
	return p.callItem(e, c, n, whole)
}

// callItem adds the first or the last event of the item of call n.
func (p *responses) callItem(e *api.Events, c *api.Choice, n int, part extent) error {
	kind := "response.output_item.added"
	if part == whole {
		kind = "response.output_item.done"
	}
	startEvent(e, kind)
	e.B = append(e.B, `,"output_index":`...)
	e.B = api.AppendCallIndex(e.B, c, n)
	e.B = append(e.B, `,"item":`...)
	e.B = appendCall(e.B, c, n, part)
	return endEvent(e, part == begun)
}

// placeCall appends the position of an event of the arguments of call n.
func placeCall(e *api.Events, c *api.Choice, n int) {
	e.B = append(e.B, `,"item_id":`...)
	e.B = appendCallID(e.B, c, n)
	e.B = append(e.B, `,"output_index":`...)
	e.B = api.AppendCallIndex(e.B, c, n)
}

// appendCallID appends the id of the item of call n, which differs from that of the call.
func appendCallID(dst []byte, c *api.Choice, n int) []byte {
	return jsonappend.String(dst, "fc_"+strings.TrimPrefix(c.Calls[n].ID, "call_"))
}

// appendCall appends the item of call n, without arguments if it has just begun.
func appendCall(dst []byte, c *api.Choice, n int, part extent) []byte {
	dst = append(dst, `{"id":`...)
	dst = appendCallID(dst, c, n)
	dst = append(dst, `,"type":"function_call","call_id":`...)
	dst = jsonappend.String(dst, c.Calls[n].ID)
	dst = append(dst, ',')
	dst = appendFunction(dst, c, n, part)
	status := "in_progress"
	if part == whole {
		if status = "completed"; c.Reasoning+c.Calls[n].To > c.Total {
			status = "incomplete"
		}
	}
	return append(append(append(dst, `,"status":"`...), status...), '"', '}')
}

// appendFunction appends the members name and arguments of call n.
func appendFunction(dst []byte, c *api.Choice, n int, part extent) []byte {
	from, to := c.Span(n)
	dst = append(dst, `"name":"`...)
	dst = c.AppendTokens(dst, from, from+1)
	dst = append(dst, `","arguments":"`...)
	if part == whole {
		dst = c.AppendTokens(dst, from+1, to)
	}
	return append(dst, '"')
}
