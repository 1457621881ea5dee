package mock

import (
	"strconv"

	"aiperfd/internal/mock/apierror"
)

// The life of a streamed response (OpenAI API reference, "Streaming events"):
// created and in_progress come with the head; every item is added, gets its part,
// the pieces of it, and is done; calls of tools have no part (responsescall.go). As
// with vLLM the last event is always called completed, and the response in it says
// whether that is so.

// start starts an event of the given kind, which the caller completes.
func (*responsesAPI) start(e *events, kind string) {
	e.b = append(e.b, "event: "...)
	e.b = append(e.b, kind...)
	e.b = append(e.b, e.eol...)
	e.b = append(e.b, `data: {"type":"`...)
	e.b = append(e.b, kind...)
	e.b = append(e.b, `","sequence_number":`...)
	e.b = strconv.AppendInt(e.b, int64(e.number), 10)
	e.number++
}

// stop completes an event.
func (*responsesAPI) stop(e *events, content bool) error {
	e.b = append(e.b, '}')
	return e.end(content)
}

// place appends where an event belongs: the item, and its one part.
func (*responsesAPI) place(e *events, c *choice, of side) {
	e.b = append(e.b, `,"item_id":`...)
	e.b = appendItemID(e.b, e.x, of)
	e.b = append(e.b, `,"output_index":`...)
	e.b = append(e.b, itemIndex(c, of), ',')
	e.b = append(e.b, `"content_index":0`...)
}

// itemIndex returns the digit of an item's place in the output.
func itemIndex(c *choice, of side) byte {
	if of == spoken && c.reasoning > 0 {
		return '1'
	}
	return '0'
}

func (p *responsesAPI) begin(e *events) error {
	for _, kind := range []string{"response.created", "response.in_progress"} {
		p.start(e, kind)
		e.b = append(e.b, `,"response":`...)
		e.b = p.appendResponse(e.b, e.x, &standing{})
		if err := p.stop(e, false); err != nil {
			return err
		}
	}
	return e.flush()
}

func (p *responsesAPI) first(e *events) error {
	c := &e.x.choices[0]
	if c.total == 0 || c.callAt(0) >= 0 { // a call is opened by its name, which is content
		return nil
	}
	return p.openItem(e, c, c.sideOf(0))
}

func (p *responsesAPI) openItem(e *events, c *choice, of side) error {
	p.start(e, "response.output_item.added")
	e.b = append(e.b, `,"output_index":`...)
	e.b = append(e.b, itemIndex(c, of))
	e.b = append(e.b, `,"item":`...)
	e.b = p.appendItem(e.b, e.x, c, of, begun)
	if err := p.stop(e, false); err != nil {
		return err
	}
	return p.part(e, c, of, begun)
}

// part adds the beginning or the end of the one part of an item.
func (p *responsesAPI) part(e *events, c *choice, of side, part extent) error {
	kind := "response.content_part.added"
	if part == whole {
		kind = "response.content_part.done"
	}
	p.start(e, kind)
	p.place(e, c, of)
	e.b = append(e.b, `,"part":`...)
	e.b = p.appendPart(e.b, c, of, part)
	return p.stop(e, false)
}

func (p *responsesAPI) content(e *events, c *choice, from, to int, _ bool) error {
	if n := c.callAt(from); n >= 0 {
		return p.callContent(e, c, n, from, to)
	}
	if from == c.reasoning && from > 0 {
		if err := p.closeItem(e, c, thoughts); err != nil {
			return err
		}
		if err := p.openItem(e, c, spoken); err != nil {
			return err
		}
	}
	of := c.sideOf(from)
	p.start(e, textEvent(of)+".delta")
	p.place(e, c, of)
	e.b = append(e.b, `,"delta":"`...)
	e.b = c.appendTokens(e.b, from, to)
	e.b = append(e.b, '"')
	if of == spoken {
		e.b = append(e.b, `,"logprobs":[]`...)
	}
	return p.stop(e, true)
}

func textEvent(of side) string {
	if of == thoughts {
		return "response.reasoning_text"
	}
	return "response.output_text"
}

// closeItem adds the ends of the text, of its part and of its item: each repeats
// all of it.
func (p *responsesAPI) closeItem(e *events, c *choice, of side) error {
	p.start(e, textEvent(of)+".done")
	p.place(e, c, of)
	e.b = append(e.b, `,"text":"`...)
	e.b = append(appendSide(e.b, c, of), '"')
	if of == spoken {
		e.b = append(e.b, `,"logprobs":[]`...)
	}
	if err := p.stop(e, false); err != nil {
		return err
	}
	if err := p.part(e, c, of, whole); err != nil {
		return err
	}
	p.start(e, "response.output_item.done")
	e.b = append(e.b, `,"output_index":`...)
	e.b = append(e.b, itemIndex(c, of))
	e.b = append(e.b, `,"item":`...)
	e.b = p.appendItem(e.b, e.x, c, of, whole)
	return p.stop(e, false)
}

func (p *responsesAPI) finish(e *events, c *choice) error {
	if c.total == 0 {
		return nil
	}
	return p.closeAt(e, c, c.total-1)
}

func (p *responsesAPI) close(e *events) error {
	object := p.appendResponse(nil, e.x, &standing{
		said: &e.x.choices[0], output: e.x.truth.OutputTokens, reasoning: e.x.truth.ReasoningTokens,
	})
	p.keep(e.x, e.x.truth.OutputTokens, object)
	if e.x.opt.FinishChunk == FinishMissing {
		return nil
	}
	p.start(e, "response.completed")
	e.b = append(e.b, `,"response":`...)
	e.b = append(e.b, object...)
	return p.stop(e, false)
}

func (p *responsesAPI) fail(e *events, apology *apierror.Error) error {
	p.start(e, "response.failed")
	e.b = append(e.b, `,"response":`...)
	e.b = p.appendResponse(e.b, e.x, &standing{failure: apology})
	return p.stop(e, false)
}
