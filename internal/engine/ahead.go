package engine

import "sync"

// lookahead is how many sessions are drawn and encoded before they are due: the
// arrivals of 30 ms at 2,000 sessions per second.
const lookahead = 64

// ahead is the stock of sessions that wait to be started, in the order in which
// they were drawn. take may be called from anywhere.
type ahead struct {
	phase *phase
	stock chan *session // a queue with room for lookahead; only a holder of making sends
	low   chan struct{} // buffered 1: the stock is half empty
	quit  chan struct{} // closed by close

	making sync.Mutex // held across drawing and encoding, so that the order stays
	left   int64      // guarded by making; sessions that the budget has room for; <0 = without bound
	filler sync.WaitGroup
}

func newAhead(p *phase) *ahead {
	a := &ahead{
		phase: p, stock: make(chan *session, lookahead), low: make(chan struct{}, 1),
		quit: make(chan struct{}), left: -1,
	}
	for _, bound := range []int64{p.plan.Requests, p.plan.Sessions} {
		if bound > 0 && (a.left < 0 || bound < a.left) {
			a.left = bound // a session sends one request at least
		}
	}
	return a
}

// start fills the stock and keeps it filled until close.
func (a *ahead) start() {
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

// close ends the filling and gives what is left back to the run. Nobody may call
// take any more.
func (a *ahead) close() {
	close(a.quit)
	a.filler.Wait()
	close(a.stock)
	var unused []*session
	for s := range a.stock {
		unused = append(unused, s)
	}
	a.phase.run.spares = append(unused, a.phase.run.spares...)
}

// fill makes sessions until the stock is full or the bound is reached.
func (a *ahead) fill() {
	for a.add() {
		continue
	}
}

// add makes one session; false = no more are needed.
func (a *ahead) add() bool {
	a.making.Lock()
	defer a.making.Unlock()
	if len(a.stock) == cap(a.stock) || a.left == 0 {
		return false
	}
	a.stock <- a.draw()
	return true
}

// take returns the next session. Where the stock is used up it waits for the one
// that is being made, or makes one itself.
func (a *ahead) take() *session {
	if s := a.pop(); s != nil {
		return s
	}
	a.making.Lock()
	defer a.making.Unlock()
	if s := a.pop(); s != nil {
		return s
	}
	return a.draw()
}

// pop takes a session off the stock; nil = there is none.
func (a *ahead) pop() *session {
	select {
	case s := <-a.stock:
		if len(a.stock) <= lookahead/2 {
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

// draw makes the next session. Call with making held.
func (a *ahead) draw() *session {
	a.left--
	return a.phase.prepare()
}
