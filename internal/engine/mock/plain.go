package mock

import (
	"net/http"
	"strconv"
	"time"
)

// plain answers with one JSON document when the last token is due.
func (x *exchange) plain() error {
	longest := longestChoice(x.choices)
	buf := x.s.frames.Get().(*frame)
	defer x.s.putFrame(buf)
	if x.rule != nil && x.rule.pos == posAfterTokens && longest >= x.rule.tokens {
		return x.plainFault(buf, longest)
	}
	if err := x.waitUntil(x.tokenDue(longest)); err != nil {
		return err
	}
	return x.plainNow(buf)
}

// plainNow sends the whole document.
func (x *exchange) plainNow(buf *frame) error {
	buf.b = x.appendBody(buf.b[:0])
	return x.sendPlain(buf.b, len(buf.b))
}

// tokenDue draws the time at which n tokens are there.
func (x *exchange) tokenDue(n int) int64 {
	return x.firstNs + int64(x.itl.drawSum(x.rng, max(n-1, 0)))
}

// plainFault lets a rule act after its number of tokens: a cut or a stall comes
// in the middle of the body, a stream error becomes a 500.
func (x *exchange) plainFault(buf *frame, longest int) error {
	n := x.rule.tokens
	if x.rule.action == actMalformed {
		n = longest
	}
	if n > 0 {
		if err := x.waitUntil(x.tokenDue(n)); err != nil {
			return err
		}
	}
	switch x.rule.action {
	case actStreamError:
		x.acted = true
		status := http.StatusInternalServerError
		x.refuse(&apiError{status, x.rule.message, kindOf(status), ""})
		return errFaulted
	case actMalformed:
		x.acted = true
		buf.b = corrupt(x.appendBody(buf.b[:0]), 0, x.rule.kind)
		return x.sendPlain(buf.b, len(buf.b))
	case actReset, actClose, actStall, actStatus, actSlowHeaders, actEmpty:
	}
	buf.b = x.appendBody(buf.b[:0])
	return x.sendPlain(buf.b, len(buf.b)/2)
}

// sendPlain writes the document. With upTo below its length it stops there for
// the rule to act, then writes the rest.
func (x *exchange) sendPlain(body []byte, upTo int) error {
	h := x.w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", strconv.Itoa(len(body)))
	x.head(http.StatusOK)
	x.w.WriteHeader(http.StatusOK)
	if x.rule != nil {
		if x.due(posAfterHeaders, 0) && x.flush() != nil {
			return errClientGone
		}
		if err := x.checkpoint(posAfterHeaders, 0); err != nil {
			return err
		}
	}
	x.truth.FirstWriteNs = x.s.now()
	if upTo < len(body) {
		if _, err := x.w.Write(body[:upTo]); err != nil || x.flush() != nil {
			return errClientGone
		}
		n := x.rule.tokens
		if err := x.checkpoint(posAfterTokens, n); err != nil {
			return err
		}
		if err := x.hold(x.itl.drawSum(x.rng, longestChoice(x.choices)-n)); err != nil {
			return err
		}
		body = body[upTo:]
	}
	if _, err := x.w.Write(body); err != nil {
		return errClientGone
	}
	if x.flush() != nil {
		return errClientGone
	}
	x.plainDone()
	if err := x.checkpoint(posAfterFinish, 0); err != nil {
		return err
	}
	return x.checkpoint(posAfterDone, 0)
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
	x.metrics.ttft.Observe(float64(t.FirstWriteNs-t.AcceptNs) / float64(time.Second))
}

func (x *exchange) flush() error { return http.NewResponseController(x.w).Flush() }

// appendBody renders the document.
func (x *exchange) appendBody(dst []byte) []byte {
	prefix, object, _ := x.dialect.names()
	dst = x.appendHead(dst, prefix, object)
	for i := range x.choices {
		c := &x.choices[i]
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, `{"index":`...)
		dst = strconv.AppendInt(dst, int64(c.index), 10)
		dst = x.dialect.appendMessage(dst, c, x.s.opt.ReasoningField)
		dst = append(dst, `,"logprobs":null,"finish_reason":`...)
		dst = x.appendFinish(dst, c)
		dst = append(dst, `,"stop_reason":null}`...)
	}
	dst = append(dst, ']')
	if x.s.opt.Usage != UsageNever {
		output, reasoning := tokens(x.choices)
		dst = x.appendUsage(append(dst, ','), output, reasoning)
	}
	return append(dst, '}')
}

// appendHead opens the object that documents and events have in common, up to
// and including the bracket of choices.
func (x *exchange) appendHead(dst []byte, prefix, object string) []byte {
	dst = append(dst, `{"id":`...)
	dst = appendJSONString(dst, prefix+x.requestID())
	dst = append(dst, `,"object":"`...)
	dst = append(dst, object...)
	dst = append(dst, `","created":`...)
	dst = strconv.AppendInt(dst, x.truth.AcceptNs/int64(time.Second), 10)
	dst = append(dst, `,"model":`...)
	dst = appendJSONString(dst, x.q.model)
	return append(dst, `,"choices":[`...)
}

func (x *exchange) appendFinish(dst []byte, c *choice) []byte {
	if x.s.opt.FinishChunk == FinishMissing {
		return append(dst, "null"...)
	}
	return appendJSONString(dst, c.finish)
}

// appendUsage appends the member "usage" for the tokens sent so far.
func (x *exchange) appendUsage(dst []byte, output, reasoning int) []byte {
	dst = append(dst, `"usage":{"prompt_tokens":`...)
	dst = strconv.AppendInt(dst, int64(x.truth.PromptTokens), 10)
	dst = append(dst, `,"total_tokens":`...)
	dst = strconv.AppendInt(dst, int64(x.truth.PromptTokens+output), 10)
	dst = append(dst, `,"completion_tokens":`...)
	dst = strconv.AppendInt(dst, int64(output), 10)
	if x.dialect.hasReasoning() && x.s.opt.ReasoningTokens > 0 {
		dst = append(dst, `,"completion_tokens_details":{"reasoning_tokens":`...)
		dst = strconv.AppendInt(dst, int64(reasoning), 10)
		dst = append(dst, '}')
	}
	return append(dst, '}')
}
