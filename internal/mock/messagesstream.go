package mock

import "aiperfd/internal/mock/apierror"

// signature stands for what Anthropic signs thoughts with.
const signature = "c2lnbmF0dXJl"

// start starts an event of the given kind, which the caller completes.
func (*messagesAPI) start(e *events, kind string) {
	e.b = append(e.b, "event: "...)
	e.b = append(e.b, kind...)
	e.b = append(e.b, e.eol...)
	e.b = append(e.b, `data: {"type":"`...)
	e.b = append(e.b, kind...)
	e.b = append(e.b, '"')
}

// stop completes an event.
func (*messagesAPI) stop(e *events, content bool) error {
	e.b = append(e.b, '}')
	return e.end(content)
}

func (p *messagesAPI) begin(e *events) error {
	p.start(e, "message_start")
	e.b = append(e.b, `,"message":`...)
	e.b = appendMessageHead(e.b, e.x)
	e.b = append(e.b, `"content":[],"stop_reason":null,"stop_sequence":null,`...)
	e.b = append(appendMessageUsage(e.b, e.x, 0, 0), '}')
	if err := p.stop(e, false); err != nil {
		return err
	}
	p.start(e, "ping")
	if err := p.stop(e, false); err != nil {
		return err
	}
	return e.flush()
}

func (p *messagesAPI) first(e *events) error {
	c := &e.x.choices[0]
	if c.total == 0 || c.callAt(0) >= 0 { // a call is opened by its name, which is content
		return nil
	}
	return p.openBlock(e, c, c.sideOf(0))
}

// openBlock adds the start of the block of thoughts or of text.
func (p *messagesAPI) openBlock(e *events, c *choice, of side) error {
	p.block(e, c, "content_block_start", of)
	if of == thoughts {
		e.b = append(e.b, `,"content_block":{"type":"thinking","thinking":"","signature":""}`...)
	} else {
		e.b = append(e.b, `,"content_block":{"type":"text","text":""}`...)
	}
	return p.stop(e, false)
}

// block starts an event about a block.
func (p *messagesAPI) block(e *events, c *choice, kind string, of side) {
	p.start(e, kind)
	e.b = append(e.b, `,"index":`...)
	e.b = append(e.b, itemIndex(c, of))
}

func (p *messagesAPI) content(e *events, c *choice, from, to int, _ bool) error {
	if n := c.callAt(from); n >= 0 {
		return p.callContent(e, c, n, from, to)
	}
	if from == c.reasoning && from > 0 {
		if err := p.closeBlock(e, c, thoughts); err != nil {
			return err
		}
		if err := p.openBlock(e, c, spoken); err != nil {
			return err
		}
	}
	of := c.sideOf(from)
	p.block(e, c, "content_block_delta", of)
	if of == thoughts {
		e.b = append(e.b, `,"delta":{"type":"thinking_delta","thinking":"`...)
	} else {
		e.b = append(e.b, `,"delta":{"type":"text_delta","text":"`...)
	}
	e.b = append(c.appendTokens(e.b, from, to), '"', '}')
	return p.stop(e, true)
}

// closeBlock adds the end of a block; thoughts are signed.
func (p *messagesAPI) closeBlock(e *events, c *choice, of side) error {
	if of == thoughts {
		p.block(e, c, "content_block_delta", thoughts)
		e.b = append(e.b, `,"delta":{"type":"signature_delta","signature":"`+signature+`"}`...)
		if err := p.stop(e, false); err != nil {
			return err
		}
	}
	p.block(e, c, "content_block_stop", of)
	return p.stop(e, false)
}

func (p *messagesAPI) finish(e *events, c *choice) error {
	if c.total == 0 {
		return nil
	}
	return p.closeAt(e, c, c.total-1)
}

func (p *messagesAPI) close(e *events) error {
	p.start(e, "message_delta")
	e.b = append(e.b, `,"delta":{"stop_reason":`...)
	e.b = appendStopReason(e.b, e.x, &e.x.choices[0])
	e.b = append(e.b, `,"stop_sequence":null},`...)
	e.b = appendMessageUsage(e.b, e.x, e.x.truth.OutputTokens, e.x.truth.ReasoningTokens)
	if err := p.stop(e, false); err != nil {
		return err
	}
	p.start(e, "message_stop")
	return p.stop(e, false)
}

func (p *messagesAPI) fail(e *events, apology *apierror.Error) error {
	e.b = append(e.b, "event: error"...)
	e.b = append(e.b, e.eol...)
	e.b = append(e.b, "data: "...)
	e.b = appendAnthropicError(e.b, apology)
	return e.end(false)
}
