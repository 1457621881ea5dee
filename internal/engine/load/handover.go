package load

import "context"

// takeOver starts sessions and requests for what earlier phases give back, which still wait
// for their last answers, until nothing is left to send.
func (p *Phase) takeOver(ctx context.Context) {
	for range cap(p.returns) {
		select {
		case what := <-p.returns:
			p.useFreed(ctx, what)
		case <-p.env.sent.done:
			return
		}
	}
}

// useFreed makes a slot or a prefill of an earlier phase one of this phase, if it needs it.
func (p *Phase) useFreed(ctx context.Context, what freed) {
	e := &p.env
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
