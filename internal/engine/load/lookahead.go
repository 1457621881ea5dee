package load

import "sync"

// lookaheadSessions is how many sessions are drawn and encoded before they are due: the
// arrivals of 30 ms at 2,000 sessions per second.
const lookaheadSessions = 64

// lookahead is the pool of sessions that wait to be started, in the order in which
// they were drawn. take may be called from anywhere.
type lookahead struct {
	phase    *Phase
	prepared chan *session // a queue with room for lookaheadSessions; only a holder of drawing sends
	low      chan struct{} // buffered 1: the pool is half empty
	quit     chan struct{} // closed by close

	drawing sync.Mutex // held across drawing and encoding, so that the order stays
	left    int64      // guarded by drawing; sessions that the bounds leave room for; <0 = without bound
	filler  sync.WaitGroup
}

func newLookahead(p *Phase) *lookahead {
	a := &lookahead{
		phase: p, prepared: make(chan *session, lookaheadSessions), low: make(chan struct{}, 1),
		quit: make(chan struct{}), left: -1,
	}
	for _, bound := range []int64{p.plan.Requests, p.plan.Sessions} {
		if bound > 0 && (a.left < 0 || bound < a.left) {
			a.left = bound // a session sends one request at least
		}
	}
	return a
}

// start fills the pool and keeps it filled until close.
func (a *lookahead) start() {
	a.fill()
	a.filler.Go(func() {
		for {
			select {
			case <-a.low:
				a.fill()
			case <-a.quit:
				return
			}
		}
	})
}

// close ends the filling and returns the unused sessions to the run. take must not be
// called any more.
func (a *lookahead) close() {
	close(a.quit)
	a.filler.Wait()
	close(a.prepared)
	var unused []*session
	for s := range a.prepared {
		unused = append(unused, s)
	}
	a.phase.work.unused = append(unused, a.phase.work.unused...)
}

// fill makes sessions until the pool is full or the bound is reached.
func (a *lookahead) fill() {
	for a.add() {
		continue
	}
}

// add makes one session; false = no more are needed.
func (a *lookahead) add() bool {
	a.drawing.Lock()
	defer a.drawing.Unlock()
	if len(a.prepared) == cap(a.prepared) || a.left == 0 {
		return false
	}
	a.prepared <- a.draw()
	return true
}

// take returns the next session. If the pool is empty, it waits for the one that is
// being made, or makes one itself.
func (a *lookahead) take() *session {
	if s := a.pop(); s != nil {
		return s
	}
	a.drawing.Lock()
	defer a.drawing.Unlock()
	if s := a.pop(); s != nil {
		return s
	}
	return a.draw()
}

// pop removes a session from the pool; nil = it is empty.
func (a *lookahead) pop() *session {
	select {
	case s := <-a.prepared:
		if len(a.prepared) <= lookaheadSessions/2 {
			select {
			case a.low <- struct{}{}:
			default:
			}
		}
		return s
	default:
		return nil
	}
}

// draw makes the next session. Call with drawing held.
func (a *lookahead) draw() *session {
	a.left--
	return newSession(a.phase)
}
