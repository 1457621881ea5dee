package load

import "context"

// handover brings what earlier phases give back to a phase that has begun while they wait
// for their last answers.
type handover struct {
	env     *sessionEnv
	returns <-chan freed // has room for everything; nil = there is nothing
}

// takeOver starts sessions and requests for what earlier phases give back, until nothing
// is left to send.
func (h *handover) takeOver(ctx context.Context) {
	for range cap(h.returns) {
		select {
		case what := <-h.returns:
			h.useFreed(ctx, what)
		case <-h.env.sent.done:
			return
		}
	}
}

// useFreed makes a slot or a prefill of an earlier phase one of this phase, if it needs it.
func (h *handover) useFreed(ctx context.Context, what freed) {
	e := h.env
	switch what {
	case freedPrefill:
		if decide(&e.arbiter, func(s *scheduler) bool { return s.fill.endInherited(e.prefill != nil) }) {
			e.endFill()
		}
	case freedSlot:
		now := e.clock.Now()
		if !decide(&e.arbiter, (*scheduler).endInherited) {
			return
		}
		if s := e.slots.slotFreed(now); s != nil {
			e.group.Go(func() { s.performSlot(ctx) })
		}
	}
}
