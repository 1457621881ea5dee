package mock

import (
	"net/http"
	"strconv"
	"time"

	"aiperfd/internal/mock/apierror"
	"aiperfd/internal/mock/fault"
)

// plain answers with one JSON document when the last token is due.
func (x *exchange) plain() error {
	longest := longestChoice(x.choices)
	buf := x.s.frames.Get().(*frame)
	defer x.s.putFrame(buf)
	if x.rule != nil && x.rule.Pos == fault.PosAfterTokens && longest >= x.rule.Tokens {
		return x.plainFault(buf, longest)
	}
	if err := x.awaitTokens(longest); err != nil {
		return err
	}
	return x.plainNow(buf)
}

// plainNow sends the whole document.
func (x *exchange) plainNow(buf *frame) error {
	x.render(buf)
	return x.sendPlain(buf.b, len(buf.b))
}

// render makes the document, and names its type in the head.
func (x *exchange) render(buf *frame) {
	var kind string
	buf.b, kind = x.api.document(buf.b[:0], x)
	x.w.Header().Set("Content-Type", kind)
}

// tokenDue draws the time at which n tokens are there.
func (x *exchange) tokenDue(n int) int64 {
	return x.firstNs + int64(x.itl.DrawSum(x.rng, max(n-1, 0)))
}

// plainFault lets a rule act after its number of tokens: a cut or a stall comes
// in the middle of the body, a stream error becomes a 500.
func (x *exchange) plainFault(buf *frame, longest int) error {
	n := x.rule.Tokens
	if x.rule.Action == fault.ActMalformed {
		n = longest
	}
	if n > 0 {
		if err := x.awaitTokens(n); err != nil {
			return err
		}
	}
	switch x.rule.Action {
	case fault.ActStreamError:
		x.acted = true
		status := http.StatusInternalServerError
		x.refuse(apierror.New(status, x.rule.Message, ""))
		return errFaulted
	case fault.ActMalformed:
		x.acted = true
		x.render(buf)
		buf.b = fault.Corrupt(buf.b, 0, x.rule.Kind)
		return x.sendPlain(buf.b, len(buf.b))
	case fault.ActReset, fault.ActClose, fault.ActStall, fault.ActStatus, fault.ActSlowHeaders, fault.ActEmpty, fault.ActSlowBody, fault.ActJob, fault.ActBadChunk:
	}
	x.render(buf)
	return x.sendPlain(buf.b, len(buf.b)/2)
}

// sendPlain writes the document. With upTo below its length it stops there for
// the rule to act, then writes the rest.
func (x *exchange) sendPlain(body []byte, upTo int) error {
	x.w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	x.head(http.StatusOK)
	x.w.WriteHeader(http.StatusOK)
	if x.rule != nil {
		if x.due(fault.PosAfterHeaders, 0) && x.flush() != nil {
			return errClientGone
		}
		if err := x.checkpoint(fault.PosAfterHeaders, 0); err != nil {
			return err
		}
	}
	x.truth.FirstWriteNs = x.s.now()
	if upTo < len(body) {
		if _, err := x.w.Write(body[:upTo]); err != nil || x.flush() != nil {
			return errClientGone
		}
		n := x.rule.Tokens
		if err := x.checkpoint(fault.PosAfterTokens, n); err != nil {
			return err
		}
		if err := x.awaitRest(n); err != nil {
			return err
		}
		body = body[upTo:]
	}
	if err := x.writePlain(body); err != nil {
		return err
	}
	if x.flush() != nil {
		return errClientGone
	}
	x.plainDone()
	if err := x.checkpoint(fault.PosAfterFinish, 0); err != nil {
		return err
	}
	return x.checkpoint(fault.PosAfterDone, 0)
}

// writePlain writes the rest of a document, slowly if a rule says so.
func (x *exchange) writePlain(body []byte) error {
	if x.slow() {
		return x.drip(body)
	}
	if _, err := x.w.Write(body); err != nil {
		return errClientGone
	}
	return nil
}

// awaitRest waits for the tokens behind the first n.
func (x *exchange) awaitRest(n int) error {
	longest := longestChoice(x.choices)
	if x.ticket != nil {
		return x.awaitTokens(longest)
	}
	return x.hold(x.itl.DrawSum(x.rng, longest-n))
}

// plainDone stamps a document that was sent whole.
func (x *exchange) plainDone() {
	t := &x.truth
	t.FirstWriteEndNs = x.s.now()
	t.LastWriteNs, t.LastWriteEndNs = t.FirstWriteNs, t.FirstWriteEndNs
	if x.s.opt.TruthChunks {
		t.ChunkNs = []int64{t.FirstWriteNs}
	}
	t.OutputTokens, t.ReasoningTokens = tokens(x.choices)
	t.FinishReason = x.choices[0].finish
	x.s.sent.Add(int64(t.OutputTokens))
	if x.metrics != nil {
		x.metrics.ttft.Observe(float64(t.FirstWriteNs-t.AcceptNs) / float64(time.Second))
	}
}

func (x *exchange) flush() error { return http.NewResponseController(x.w).Flush() }
