package openai

import (
	"strconv"

	"aiperfd/internal/mock/api"
	"aiperfd/internal/mock/apierror"
	"aiperfd/internal/mock/options"
)

// The events of a streamed response (OpenAI API reference, "Streaming events"):
// created and in_progress are sent with the head. Every item is added, then its part,
// then the deltas of the part; then both are done. Tool calls have no part
// (responsescall.go). As in vLLM the last event is always of type completed; the status
// of the response in it may differ.

// startEvent starts an event of the given kind, which the caller completes.
func startEvent(e *api.Events, kind string) {
	e.B = append(e.B, "event: "...)
	e.B = append(e.B, kind...)
	e.B = append(e.B, e.EOL...)
	e.B = append(e.B, `data: {"type":"`...)
	e.B = append(e.B, kind...)
	e.B = append(e.B, `","sequence_number":`...)
	e.B = strconv.AppendInt(e.B, int64(e.Number), 10)
	e.Number++
}

// endEvent completes an event.
func endEvent(e *api.Events, content bool) error {
	e.B = append(e.B, '}')
	return e.End(content)
}

// placePart appends the position of an event: the item and its only part.
func placePart(e *api.Events, c *api.Choice, of api.Side) {
	e.B = append(e.B, `,"item_id":`...)
	e.B = appendItemID(e.B, e.Answer, of)
	e.B = append(e.B, `,"output_index":`...)
	e.B = append(e.B, api.ItemIndex(c, of), ',')
	e.B = append(e.B, `"content_index":0`...)
}

func (p *responses) begin(e *api.Events) error {
	for _, kind := range []string{"response.created", "response.in_progress"} {
		startEvent(e, kind)
		e.B = append(e.B, `,"response":`...)
		e.B = appendResponse(e.B, e.Answer, &standing{})
		if err := endEvent(e, false); err != nil {
			return err
		}
	}
	return e.Flush()
}

func (p *responses) first(e *api.Events) error {
	c := &e.Answer.Choices[0]
	if c.Total == 0 || c.CallAt(0) >= 0 { // the item of a call starts with its name, which is content
		return nil
	}
	return p.openItem(e, c, c.SideOf(0))
}

func (p *responses) openItem(e *api.Events, c *api.Choice, of api.Side) error {
	startEvent(e, "response.output_item.added")
	e.B = append(e.B, `,"output_index":`...)
	e.B = append(e.B, api.ItemIndex(c, of))
	e.B = append(e.B, `,"item":`...)
	e.B = appendItem(e.B, e.Answer, c, of, begun)
	if err := endEvent(e, false); err != nil {
		return err
	}
	return p.part(e, c, of, begun)
}

// part adds the beginning or the end of the only part of an item.
func (p *responses) part(e *api.Events, c *api.Choice, of api.Side, part extent) error {
	kind := "response.content_part.added"
	if part == whole {
		kind = "response.content_part.done"
	}
	startEvent(e, kind)
	placePart(e, c, of)
	e.B = append(e.B, `,"part":`...)
	e.B = appendPart(e.B, c, of, part)
	return endEvent(e, false)
}

func (p *responses) content(e *api.Events, c *api.Choice, from, to int, _ bool) error {
	if n := c.CallAt(from); n >= 0 {
		return p.callContent(e, c, n, from, to)
	}
	if from == c.Reasoning && from > 0 {
		if err := p.closeItem(e, c, api.Reasoning); err != nil {
			return err
		}
		if err := p.openItem(e, c, api.Text); err != nil {
			return err
		}
	}
	of := c.SideOf(from)
	startEvent(e, textEvent(of)+".delta")
	placePart(e, c, of)
	e.B = append(e.B, `,"delta":"`...)
	e.B = c.AppendTokens(e.B, from, to)
	e.B = append(e.B, '"')
	if of == api.Text {
		e.B = append(e.B, `,"logprobs":[]`...)
	}
	return endEvent(e, true)
}

func textEvent(of api.Side) string {
	if of == api.Reasoning {
		return "response.reasoning_text"
	}
	return "response.output_text"
}

// closeItem adds the ends of the text, of its part and of its item, which all repeat
// the text.
func (p *responses) closeItem(e *api.Events, c *api.Choice, of api.Side) error {
	startEvent(e, textEvent(of)+".done")
	placePart(e, c, of)
	e.B = append(e.B, `,"text":"`...)
	e.B = append(api.AppendSide(e.B, c, of), '"')
	if of == api.Text {
		e.B = append(e.B, `,"logprobs":[]`...)
	}
	if err := endEvent(e, false); err != nil {
		return err
	}
	if err := p.part(e, c, of, whole); err != nil {
		return err
	}
	startEvent(e, "response.output_item.done")
	e.B = append(e.B, `,"output_index":`...)
	e.B = append(e.B, api.ItemIndex(c, of))
	e.B = append(e.B, `,"item":`...)
	e.B = appendItem(e.B, e.Answer, c, of, whole)
	return endEvent(e, false)
}

func (p *responses) finish(e *api.Events, c *api.Choice) error {
	if c.Total == 0 {
		return nil
	}
	return p.closeAt(e, c, c.Total-1)
}

func (p *responses) close(e *api.Events) error {
	object := appendResponse(nil, e.Answer, &standing{
		choice: &e.Answer.Choices[0], output: e.Answer.Truth.OutputTokens, reasoning: e.Answer.Truth.ReasoningTokens,
	})
	p.keep(e.Answer, e.Answer.Truth.OutputTokens, object)
	if e.Answer.Options.FinishChunk == options.FinishMissing {
		return nil
	}
	startEvent(e, "response.completed")
	e.B = append(e.B, `,"response":`...)
	e.B = append(e.B, object...)
	return endEvent(e, false)
}

func (p *responses) fail(e *api.Events, failure *apierror.Error) error {
	startEvent(e, "response.failed")
	e.B = append(e.B, `,"response":`...)
	e.B = appendResponse(e.B, e.Answer, &standing{failure: failure})
	return endEvent(e, false)
}
