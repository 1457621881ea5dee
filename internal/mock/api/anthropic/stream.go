package anthropic

import (
	"aiperfd/internal/mock/api"
	"aiperfd/internal/mock/apierror"
)

// Signature is a placeholder for Anthropic's signature of thinking blocks.
const Signature = "c2lnbmF0dXJl"

// start starts an event of the given kind, which the caller completes.
func (*messages) start(e *api.Events, kind string) {
	e.B = append(e.B, "event: "...)
	e.B = append(e.B, kind...)
	e.B = append(e.B, e.EOL...)
	e.B = append(e.B, `data: {"type":"`...)
	e.B = append(e.B, kind...)
	e.B = append(e.B, '"')
}

// stop completes an event.
func (*messages) stop(e *api.Events, content bool) error {
	e.B = append(e.B, '}')
	return e.End(content)
}

func (p *messages) begin(e *api.Events) error {
	p.start(e, "message_start")
	e.B = append(e.B, `,"message":`...)
	e.B = appendMessageHead(e.B, e.Answer)
	e.B = append(e.B, `"content":[],"stop_reason":null,"stop_sequence":null,`...)
	e.B = append(appendMessageUsage(e.B, e.Answer, 0, 0), '}')
	if err := p.stop(e, false); err != nil {
		return err
	}
	p.start(e, "ping")
	if err := p.stop(e, false); err != nil {
		return err
	}
	return e.Flush()
}

func (p *messages) first(e *api.Events) error {
	c := &e.Answer.Choices[0]
	if c.Total == 0 || c.CallAt(0) >= 0 { // the block of a call starts with its name, which is content
		return nil
	}
	return p.openBlock(e, c, c.SideOf(0))
}

// openBlock adds the start of the thinking block or of the text block.
func (p *messages) openBlock(e *api.Events, c *api.Choice, of api.Side) error {
	p.block(e, c, "content_block_start", of)
	if of == api.Reasoning {
		e.B = append(e.B, `,"content_block":{"type":"thinking","thinking":"","signature":""}`...)
	} else {
		e.B = append(e.B, `,"content_block":{"type":"text","text":""}`...)
	}
	return p.stop(e, false)
}

// block starts an event of a block.
func (p *messages) block(e *api.Events, c *api.Choice, kind string, of api.Side) {
	p.start(e, kind)
	e.B = append(e.B, `,"index":`...)
	e.B = append(e.B, api.ItemIndex(c, of))
}

func (p *messages) content(e *api.Events, c *api.Choice, from, to int, _ bool) error {
	if n := c.CallAt(from); n >= 0 {
		return p.callContent(e, c, n, from, to)
	}
	if from == c.Reasoning && from > 0 {
		if err := p.closeBlock(e, c, api.Reasoning); err != nil {
			return err
		}
		if err := p.openBlock(e, c, api.Text); err != nil {
			return err
		}
	}
	of := c.SideOf(from)
	p.block(e, c, "content_block_delta", of)
	if of == api.Reasoning {
		e.B = append(e.B, `,"delta":{"type":"thinking_delta","thinking":"`...)
	} else {
		e.B = append(e.B, `,"delta":{"type":"text_delta","text":"`...)
	}
	e.B = append(c.AppendTokens(e.B, from, to), '"', '}')
	return p.stop(e, true)
}

// closeBlock adds the end of a block; thinking blocks are signed.
func (p *messages) closeBlock(e *api.Events, c *api.Choice, of api.Side) error {
	if of == api.Reasoning {
		p.block(e, c, "content_block_delta", api.Reasoning)
		e.B = append(e.B, `,"delta":{"type":"signature_delta","signature":"`+Signature+`"}`...)
		if err := p.stop(e, false); err != nil {
			return err
		}
	}
	p.block(e, c, "content_block_stop", of)
	return p.stop(e, false)
}

func (p *messages) finish(e *api.Events, c *api.Choice) error {
	if c.Total == 0 {
		return nil
	}
	return p.closeAt(e, c, c.Total-1)
}

func (p *messages) close(e *api.Events) error {
	p.start(e, "message_delta")
	e.B = append(e.B, `,"delta":{"stop_reason":`...)
	e.B = appendStopReason(e.B, e.Answer, &e.Answer.Choices[0])
	e.B = append(e.B, `,"stop_sequence":null},`...)
	e.B = appendMessageUsage(e.B, e.Answer, e.Answer.Truth.OutputTokens, e.Answer.Truth.ReasoningTokens)
	if err := p.stop(e, false); err != nil {
		return err
	}
	p.start(e, "message_stop")
	return p.stop(e, false)
}

func (p *messages) fail(e *api.Events, failure *apierror.Error) error {
	e.B = append(e.B, "event: error"...)
	e.B = append(e.B, e.EOL...)
	e.B = append(e.B, "data: "...)
	e.B = AppendError(e.B, failure)
	return e.End(false)
}
