package mock

import (
	"net/http"
	"strconv"

	"aiperfd/internal/mock/api"
	"aiperfd/internal/mock/options"
)

// document is the response of an exchange in one piece. It belongs to the goroutine of
// the exchange.
type document struct {
	x   *exchange
	buf *api.Buffer
}

func newDocument(x *exchange) *document {
	return &document{x: x, buf: x.s.frame()}
}

func (d *document) release() { d.x.s.putFrame(d.buf) }

// run sends the document when its last token is due.
func (d *document) run() error {
	x := d.x
	longest := api.LongestChoice(x.Choices)
	if rule := x.fault.rule; rule != nil && rule.Pos == options.PosAfterTokens && longest >= rule.Tokens {
		return d.runFault(longest)
	}
	if err := x.awaitTokens(longest); err != nil {
		return err
	}
	return d.sendNow()
}

// sendNow sends the whole document at once.
func (d *document) sendNow() error {
	d.render()
	return d.send(len(d.buf.B))
}

// render renders the document and sets its type in the head.
func (d *document) render() {
	var kind string
	d.buf.B, kind = d.x.api.Document(d.buf.B[:0], &d.x.Answer)
	d.x.Header.Set("Content-Type", kind)
}

// runFault applies a rule after its number of tokens: a cut or a stall in the middle of
// the body; a stream error becomes a 500.
func (d *document) runFault(longest int) error {
	x, rule := d.x, d.x.fault.rule
	n := rule.Tokens
	if rule.Action == options.ActMalformed {
		n = longest
	}
	if n > 0 {
		if err := x.awaitTokens(n); err != nil {
			return err
		}
	}
	switch rule.Action {
	case options.ActStreamError:
		x.Acted = true
		x.refuse(api.NewError(http.StatusInternalServerError, rule.Message, ""))
		return errFaulted
	case options.ActMalformed:
		x.Acted = true
		d.render()
		d.buf.B = api.Corrupt(d.buf.B, 0, rule.Kind)
		return d.send(len(d.buf.B))
	case options.ActReset, options.ActClose, options.ActStall, options.ActStatus, options.ActSlowHeaders, options.ActEmpty,
		options.ActSlowBody, options.ActJob, options.ActBadChunk:
	}
	d.render()
	return d.send(len(d.buf.B) / 2)
}

// send writes the document. If upTo is below its length, it applies the rule after upTo
// bytes, then writes the rest.
func (d *document) send(upTo int) error {
	x, body := d.x, d.buf.B
	f := &x.fault
	x.Header.Set("Content-Length", strconv.Itoa(len(body)))
	x.head(http.StatusOK)
	x.w.WriteHeader(http.StatusOK)
	if f.rule != nil {
		if f.due(options.PosAfterHeaders, 0) && x.flush() != nil {
			return api.ErrClientGone
		}
		if err := f.checkpoint(options.PosAfterHeaders, 0); err != nil {
			return err
		}
	}
	x.Truth.FirstWriteNs = x.Now()
	if upTo < len(body) {
		if _, err := x.w.Write(body[:upTo]); err != nil || x.flush() != nil {
			return api.ErrClientGone
		}
		n := f.rule.Tokens
		if err := f.checkpoint(options.PosAfterTokens, n); err != nil {
			return err
		}
		if err := d.awaitRest(n); err != nil {
			return err
		}
		body = body[upTo:]
	}
	if err := d.write(body); err != nil {
		return err
	}
	if x.flush() != nil {
		return api.ErrClientGone
	}
	d.done()
	if err := f.checkpoint(options.PosAfterFinish, 0); err != nil {
		return err
	}
	return f.checkpoint(options.PosAfterDone, 0)
}

// write writes the rest of the document, slowly if a rule says so.
func (d *document) write(body []byte) error {
	if d.x.fault.slow() {
		return d.x.fault.drip(body)
	}
	if _, err := d.x.w.Write(body); err != nil {
		return api.ErrClientGone
	}
	return nil
}

// awaitRest waits for the tokens after the first n.
func (d *document) awaitRest(n int) error {
	x := d.x
	longest := api.LongestChoice(x.Choices)
	if x.ticket != nil {
		return x.awaitTokens(longest)
	}
	return x.hold(x.ITL.DrawSum(x.Rand, stepsTo(x.Choices, longest)-stepsTo(x.Choices, n)))
}

// done records that the whole document was sent.
func (d *document) done() {
	x, t := d.x, &d.x.Truth
	t.FirstWriteEndNs = x.Now()
	t.LastWriteNs, t.LastWriteEndNs = t.FirstWriteNs, t.FirstWriteEndNs
	if x.Options.TruthChunks {
		t.ChunkNs = []int64{t.FirstWriteNs}
	}
	t.OutputTokens, t.ReasoningTokens = api.Tokens(x.Choices)
	t.FinishReason = x.Choices[0].Finish
	x.s.sent.Add(int64(t.OutputTokens))
	if x.ticket == nil {
		for i := range x.Choices {
			x.s.metrics().verified(x.Choices[i].Drafts...)
		}
	}
	if x.metrics != nil {
		x.metrics.span(firstToken, t.AcceptNs, t.FirstWriteNs)
	}
}
