package mock

import (
	"net/http"
	"time"

	"aiperfd/internal/mock/fault"
)

// stream answers with server-sent events.
func (x *exchange) stream() error {
	e, err := x.openStream()
	defer e.release()
	if err != nil {
		return err
	}
	if err := x.checkpoint(fault.PosAfterHeaders, 0); err != nil {
		return err
	}
	if err := e.run(e.script.begin); err != nil {
		return err
	}
	if x.ticket != nil {
		if err := x.streamTokens(e); err != nil {
			return err
		}
		return x.streamEnd(e)
	}
	c := x.newCadence(e)
	for {
		if err := x.tokenFault(e, c.sent); err != nil {
			return err
		}
		if c.over() {
			return x.streamEnd(e)
		}
		if err := e.waitUntil(c.next()); err != nil {
			return err
		}
		if err := c.emit(); err != nil {
			return err
		}
	}
}

// openStream sends the response head. The caller releases the events, after an
// error too.
func (x *exchange) openStream() (*events, error) {
	e := x.newEvents()
	h := x.w.Header()
	if kind, named := x.s.opt.streamType(e.script.contentType); named {
		h.Set("Content-Type", kind)
	} else {
		h["Content-Type"] = nil // which keeps net/http from guessing
	}
	h.Set("Cache-Control", "no-cache")
	x.head(http.StatusOK)
	x.w.WriteHeader(http.StatusOK)
	if e.flusher.Flush() != nil {
		return e, errClientGone
	}
	e.lastNs = x.s.now()
	return e, nil
}

// cadence says when the next tokens of a stream are due, and sends them. Calls
// of next and emit alternate until over.
type cadence struct {
	x       *exchange
	e       *events
	longest int   // Tokens of the longest choice
	sent    int   // Tokens of every choice so far
	size    int   // Tokens that are due next
	offset  int64 // of their due time, from the first token's
	begun   bool  // emit was called
}

func (x *exchange) newCadence(e *events) cadence {
	return cadence{x: x, e: e, longest: longestChoice(x.choices)}
}

// Over says that all tokens were sent; an answer without any takes one emit too.
func (c *cadence) over() bool { return c.begun && c.sent == c.longest }

// next draws what comes next and returns when it is due.
func (c *cadence) next() int64 {
	c.size = c.x.chunkSize(c.sent, c.longest)
	gaps := c.size
	if c.sent == 0 {
		gaps = max(c.size-1, 0)
	}
	c.offset += int64(c.x.itl.DrawSum(c.x.rng, gaps))
	return c.x.firstNs + c.offset
}

// emit sends what next has drawn.
func (c *cadence) emit() error {
	c.begun = true
	if c.sent == 0 {
		if err := c.e.run(c.e.script.first); err != nil {
			return err
		}
	}
	if err := c.e.step(c.sent, c.sent+c.size); err != nil {
		return err
	}
	c.sent += c.size
	return nil
}

// chunkSize draws how many tokens the next events carry; an event never mixes
// parts of an answer.
func (x *exchange) chunkSize(sent, longest int) int {
	k := min(x.s.opt.TokensPerChunk.Draw(x.rng), longest-sent)
	for i := range x.choices {
		if c := &x.choices[i]; sent < c.reasoning || len(c.calls) > 0 {
			k = c.bound(sent, k)
		}
	}
	return k
}

// tokenFault lets a rule with after_tokens act. What is still gathered goes out
// first, so that the client has been sent what the rule says.
func (x *exchange) tokenFault(e *events, sent int) error {
	if !x.due(fault.PosAfterTokens, sent) {
		return nil
	}
	if err := e.flush(); err != nil {
		return err
	}
	switch x.rule.Action {
	case fault.ActStreamError:
		x.acted = true
		return e.streamError(x.rule.Message)
	case fault.ActMalformed:
		// The next event is broken; without one there is nothing to break.
		e.breakNext = true
		return nil
	case fault.ActReset, fault.ActClose, fault.ActStall, fault.ActStatus, fault.ActSlowHeaders, fault.ActEmpty, fault.ActSlowBody, fault.ActJob, fault.ActBadChunk:
	}
	return x.checkpoint(fault.PosAfterTokens, sent)
}

// streamEnd sends what comes after the last token.
func (x *exchange) streamEnd(e *events) error {
	if x.due(fault.PosAfterFinish, 0) {
		if err := e.flush(); err != nil {
			return err
		}
		if err := x.checkpoint(fault.PosAfterFinish, 0); err != nil {
			return err
		}
	}
	if err := e.run(e.script.close); err != nil {
		return err
	}
	if trailing := x.s.opt.Trailing; trailing != "" {
		e.b = append(e.b, trailing...)
		e.gathered++
	}
	if err := e.flush(); err != nil {
		return err
	}
	return x.checkpoint(fault.PosAfterDone, 0)
}

// waitUntil waits for a due time, sending comments into long silences.
func (e *events) waitUntil(dueNs int64) error {
	pause := int64(e.x.s.opt.Comments)
	if e.script.unframed {
		pause = 0
	}
	for pause > 0 && e.lastNs+pause < dueNs {
		if err := e.x.waitUntil(e.lastNs + pause); err != nil {
			return err
		}
		if err := e.comment(); err != nil {
			return err
		}
	}
	return e.x.waitUntil(dueNs)
}

// observe adds the content writes of a step to the histograms.
func (e *events) observe(before int64, tokens int) {
	e.x.s.sent.Add(int64(tokens))
	t := &e.x.truth
	m := e.x.metrics
	switch {
	case t.LastWriteNs == before: // still gathered
		e.unseen += tokens
		return
	case before == 0:
		m.ttft.Observe(float64(t.FirstWriteNs-t.AcceptNs) / float64(time.Second))
	default:
		m.itl.Observe(float64(t.LastWriteNs-before) / float64(time.Second) / float64(e.unseen+tokens))
	}
	e.unseen = 0
}
