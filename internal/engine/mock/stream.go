package mock

import (
	"net/http"
	"time"
)

// stream answers with server-sent events.
func (x *exchange) stream() error {
	e := x.newEvents()
	defer e.release()
	h := x.w.Header()
	h.Set("Content-Type", "text/event-stream; charset=utf-8")
	h.Set("Cache-Control", "no-cache")
	x.head(http.StatusOK)
	x.w.WriteHeader(http.StatusOK)
	if x.flush() != nil {
		return errClientGone
	}
	e.lastNs = x.s.now()
	if err := x.checkpoint(posAfterHeaders, 0); err != nil {
		return err
	}
	if x.s.opt.RoleChunk == RoleEarly {
		if err := e.roles(); err != nil {
			return err
		}
		if err := e.flush(); err != nil {
			return err
		}
	}
	if err := x.streamTokens(e); err != nil {
		return err
	}
	return x.streamEnd(e)
}

// streamTokens sends every choice up to its finish event.
func (x *exchange) streamTokens(e *events) error {
	longest := longestChoice(x.choices)
	offset := int64(0) // from the first token's due time
	for sent := 0; ; {
		if err := x.tokenFault(e, sent); err != nil {
			return err
		}
		if sent > 0 && sent == longest {
			return nil
		}
		k := x.chunkSize(sent, longest)
		gaps := k
		if sent == 0 {
			gaps = max(k-1, 0)
		}
		offset += int64(x.itl.drawSum(x.rng, gaps))
		if err := e.waitUntil(x.firstNs + offset); err != nil {
			return err
		}
		if sent == 0 && x.s.opt.RoleChunk == RoleSeparate {
			if err := e.roles(); err != nil {
				return err
			}
		}
		if err := e.step(sent, sent+k); err != nil {
			return err
		}
		if sent += k; longest == 0 {
			return x.tokenFault(e, 0)
		}
	}
}

// chunkSize draws how many tokens the next events carry; an event never mixes
// reasoning and answer.
func (x *exchange) chunkSize(sent, longest int) int {
	k := min(x.s.opt.TokensPerChunk.draw(x.rng), longest-sent)
	for i := range x.choices {
		if r := x.choices[i].reasoning; sent < r {
			k = min(k, r-sent)
		}
	}
	return k
}

// tokenFault lets a rule with after_tokens act. What is still gathered goes out
// first, so that the client has been sent what the rule says.
func (x *exchange) tokenFault(e *events, sent int) error {
	if !x.due(posAfterTokens, sent) {
		return nil
	}
	if err := e.flush(); err != nil {
		return err
	}
	switch x.rule.action {
	case actStreamError:
		x.acted = true
		return e.streamError(x.rule.message)
	case actMalformed:
		// The next event is broken; without one there is nothing to break.
		e.breakNext = true
		return nil
	case actReset, actClose, actStall, actStatus, actSlowHeaders, actEmpty:
	}
	return x.checkpoint(posAfterTokens, sent)
}

// streamEnd sends usage and [DONE].
func (x *exchange) streamEnd(e *events) error {
	if x.due(posAfterFinish, 0) {
		if err := e.flush(); err != nil {
			return err
		}
		if err := x.checkpoint(posAfterFinish, 0); err != nil {
			return err
		}
	}
	if e.finalUsage {
		if err := e.usage(); err != nil {
			return err
		}
	}
	if !x.s.opt.NoDone {
		if err := e.done(); err != nil {
			return err
		}
	}
	if err := e.flush(); err != nil {
		return err
	}
	return x.checkpoint(posAfterDone, 0)
}

// waitUntil waits for a due time, sending comments into long silences.
func (e *events) waitUntil(dueNs int64) error {
	pause := int64(e.x.s.opt.Comments)
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
