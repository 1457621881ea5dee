package load

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"
)

// lookaheadSessions is how many sessions are drawn and encoded before they are due: the
// arrivals of 30 ms at 2,000 sessions per second.
const lookaheadSessions = 64

// lookahead is the pool of sessions that wait to be started, in the order in which
// they were drawn. take may be called from anywhere.
type lookahead struct {
	phase    *Phase
	prepared chan *session // a queue with room for lookaheadSessions; only a holder of drawing sends
	low      chan struct{} // buffered 1: the pool is half empty
	quit     chan struct{} // closed by end
	ending   sync.Once

	drawing sync.Mutex   // held across drawing and encoding, so that the order stays
	using   sync.RWMutex // held while sessions are taken that may be put back
	left    int64        // guarded by drawing; sessions that the bounds leave room for; <0 = without bound
	ended   error        // guarded by drawing; why no session can be drawn any more; io.EOF = the dataset has ended
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

// fillTime bounds how long a phase waits before it begins until the pool is full: a
// dataset may come slowly.
const fillTime = 25 * time.Millisecond

// start fills the pool and keeps it filled until the end.
func (a *lookahead) start() {
	full := make(chan struct{})
	a.filler.Go(func() {
		a.fill()
		close(full)
		for {
			select {
			case <-a.low:
				a.fill()
			case <-a.quit:
				return
			}
		}
	})
	timer := time.NewTimer(fillTime)
	defer timer.Stop()
	select {
	case <-full:
	case <-timer.C:
	}
}

// end ends the filling, and the wait of take for a dataset that comes slowly.
func (a *lookahead) end() { a.ending.Do(func() { close(a.quit) }) }

// errClosed is why no session can be drawn after close.
var errClosed = errors.New("the phase has sent everything")

// close ends the filling and returns the unused sessions to the run. take returns nil
// from then on.
func (a *lookahead) close() {
	a.end()
	a.filler.Wait()
	a.using.Lock()
	defer a.using.Unlock()
	w, o := a.phase.work, a.phase.open
	if o != nil {
		o.mu.Lock()
		defer o.mu.Unlock()
	}
	a.drawing.Lock()
	defer a.drawing.Unlock()
	close(a.prepared)
	a.ended = errClosed
	if o != nil {
		w.unused = append(w.unused, o.drawn...)
		o.drawn = nil
	}
	for s := range a.prepared {
		w.unused = append(w.unused, s)
	}
	for _, s := range w.unused {
		restore(s)
	}
	slices.SortFunc(w.unused, func(s, t *session) int { return cmp.Compare(s.num, t.num) })
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
	s := a.draw()
	if s == nil {
		return false
	}
	a.prepared <- s
	return true
}

// take returns the next session. If the pool is empty, it waits for the one that is
// being made, or makes one itself. nil = there is none; the phase knows it then.
func (a *lookahead) take() *session {
	if s := a.pop(); s != nil {
		return s
	}
	a.drawing.Lock()
	defer a.drawing.Unlock()
	if s := a.pop(); s != nil {
		return s
	}
	s := a.draw()
	if s == nil && a.ended != nil && a.ended != errClosed { //nolint:errorlint // close sets it
		a.phase.dry(a.ended)
	}
	return s
}

// putBack returns a session that was taken and not started, for the next phase.
func (a *lookahead) putBack(s *session) {
	a.drawing.Lock()
	defer a.drawing.Unlock()
	a.phase.work.unused = append(a.phase.work.unused, s)
}

// more reports whether there is another session, or could be if the dataset could be
// read. The session is lost.
func (a *lookahead) more() bool {
	a.drawing.Lock()
	defer a.drawing.Unlock()
	return a.pop() != nil || a.draw() != nil || a.ended != io.EOF //nolint:errorlint // draw sets it
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

// draw makes the next session; nil = there is none. Call with drawing held.
func (a *lookahead) draw() *session {
	for a.ended == nil {
		s, err := a.phase.work.session(a.quit)
		inside := true
		if err == nil && a.phase.starts != nil {
			inside, err = a.phase.starts.place(s)
		}
		switch {
		case errors.Is(err, io.EOF):
			a.ended = io.EOF
		case err != nil && a.over():
			return nil // no session is needed any more
		case err != nil:
			a.ended = fmt.Errorf("read the dataset: %w", err)
		case inside:
			a.left--
			s.prepare(a.phase)
			return s
		}
	}
	return nil
}

// over reports whether the filling was ended.
func (a *lookahead) over() bool {
	select {
	case <-a.quit:
		return true
	default:
		return false
	}
}
