package mock

import (
	"net/http"
	"strconv"
	"time"

	"aiperfd/internal/mock/apierror"
	"aiperfd/internal/mock/fault"
)

// document is the response of an exchange in one piece. It belongs to the goroutine of
// the exchange.
type document struct {
	x   *exchange
	buf *frame
}

func (x *exchange) newDocument() *document {
	return &document{x: x, buf: x.s.frames.Get().(*frame)}
}

func (d *document) release() { d.x.s.putFrame(d.buf) }

// run sends the document when its last token is due.
func (d *document) run() error {
	x := d.x
	longest := longestChoice(x.choices)
	if rule := x.fault.rule; rule != nil && rule.Pos == fault.PosAfterTokens && longest >= rule.Tokens {
		return d.runFault(longest)
	}
	if err := x.awaitTokens(longest); err != nil {
		return err
	}
	return d.sendNow()
}

// sendNow sends the whole document.
func (d *document) sendNow() error {
	d.render()
	return d.send(len(d.buf.b))
}

// render makes the document, and names its type in the head.
func (d *document) render() {
	var kind string
	d.buf.b, kind = d.x.api.document(d.buf.b[:0], &d.x.answer)
	d.x.header.Set("Content-Type", kind)
}

// runFault lets a rule act after its number of tokens: a cut or a stall comes
// in the middle of the body, a stream error becomes a 500.
func (d *document) runFault(longest int) error {
	x, rule := d.x, d.x.fault.rule
	n := rule.Tokens
	if rule.Action == fault.ActMalformed {
		n = longest
	}
	if n > 0 {
		if err := x.awaitTokens(n); err != nil {
			return err
		}
	}
	switch rule.Action {
	case fault.ActStreamError:
		x.acted = true
		x.refuse(apierror.New(http.StatusInternalServerError, rule.Message, ""))
		return errFaulted
	case fault.ActMalformed:
		x.acted = true
		d.render()
		d.buf.b = fault.Corrupt(d.buf.b, 0, rule.Kind)
		return d.send(len(d.buf.b))
	case fault.ActReset, fault.ActClose, fault.ActStall, fault.ActStatus, fault.ActSlowHeaders, fault.ActEmpty, fault.ActSlowBody,
		fault.ActJob, fault.ActBadChunk:
	}
	d.render()
	return d.send(len(d.buf.b) / 2)
}

// send writes the document. With upTo below its length it stops there for
// the rule to act, then writes the rest.
func (d *document) send(upTo int) error {
	x, body := d.x, d.buf.b
	f := &x.fault
	x.header.Set("Content-Length", strconv.Itoa(len(body)))
	x.head(http.StatusOK)
	x.w.WriteHeader(http.StatusOK)
	if f.rule != nil {
		if f.due(fault.PosAfterHeaders, 0) && x.flush() != nil {
			return errClientGone
		}
		if err := f.checkpoint(fault.PosAfterHeaders, 0); err != nil {
			return err
		}
	}
	x.truth.FirstWriteNs = x.now()
	if upTo < len(body) {
		if _, err := x.w.Write(body[:upTo]); err != nil || x.flush() != nil {
			return errClientGone
		}
		n := f.rule.Tokens
		if err := f.checkpoint(fault.PosAfterTokens, n); err != nil {
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
		return errClientGone
	}
	d.done()
	if err := f.checkpoint(fault.PosAfterFinish, 0); err != nil {
		return err
	}
	return f.checkpoint(fault.PosAfterDone, 0)
}

// write writes the rest of the document, slowly if a rule says so.
func (d *document) write(body []byte) error {
	if d.x.fault.slow() {
		return d.x.fault.drip(body)
	}
	if _, err := d.x.w.Write(body); err != nil {
		return errClientGone
	}
	return nil
}

// awaitRest waits for the tokens behind the first n.
func (d *document) awaitRest(n int) error {
	x := d.x
	longest := longestChoice(x.choices)
	if x.ticket != nil {
		return x.awaitTokens(longest)
	}
	return x.hold(x.itl.DrawSum(x.rng, longest-n))
}

// done stamps a document that was sent whole.
func (d *document) done() {
	x, t := d.x, &d.x.truth
	t.FirstWriteEndNs = x.now()
	t.LastWriteNs, t.LastWriteEndNs = t.FirstWriteNs, t.FirstWriteEndNs
	if x.opt.TruthChunks {
		t.ChunkNs = []int64{t.FirstWriteNs}
	}
	t.OutputTokens, t.ReasoningTokens = tokens(x.choices)
	t.FinishReason = x.choices[0].finish
	x.s.sent.Add(int64(t.OutputTokens))
	if x.metrics != nil {
		x.metrics.ttft.Observe(float64(t.FirstWriteNs-t.AcceptNs) / float64(time.Second))
	}
}
