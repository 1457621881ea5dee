package load

import (
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

// lookaheadRecorded is the same of recorded sessions, which take minutes, and some hundred kilobytes of memory.
const lookaheadRecorded = 8

// pump prepares sessions before they are due, and holds those that wait to be started, in
// the order in which they were drawn. takeSession may be called from anywhere.
type pump struct {
	stock   *stock
	table   timetable          // gives sessions their places; nil = they have none
	prepare func(s *session)   // makes the first turn of a session ready to be sent
	owns    func(n int64) bool // whether a session is performed here
	bound   int64              // sessions that all load generators start at most; <0 = without bound
	unread  *latch             // no session is needed any more
	dry     func(why error)    // tells the phase that no session can be drawn any more

	prepared chan *session // a queue with room for those that are drawn ahead; only a holder of drawing sends
	low      chan struct{} // buffered 1: the pool is half empty

	using   sync.RWMutex // held while sessions are taken that may be put back
	drawing sync.Mutex   // held across drawing and encoding, so that the order stays
	left    int64        // guarded by drawing; sessions that the bounds leave room for; <0 = without bound
	dryness error        // guarded by drawing; why no session can be drawn any more; io.EOF = the dataset has ended
	filler  sync.WaitGroup
}

func newPump(e *sessionEnv, k *stock, dry func(why error)) *pump {
	ahead := lookaheadSessions
	if e.lanes != nil {
		ahead = lookaheadRecorded
	}
	return &pump{
		stock: k, table: e.timetable(), prepare: func(s *session) { s.prepareFirst(e) }, unread: e.unread, dry: dry,
		prepared: make(chan *session, ahead), low: make(chan struct{}, 1),
		owns: e.phase.Owns, left: e.phase.SessionBound(), bound: e.phase.Undivided().SessionBound(),
	}
}

// fillTime bounds how long a phase waits before it begins until the pool is full: a
// dataset may come slowly.
const fillTime = 25 * time.Millisecond

// startFilling fills the pool and keeps it filled until no session is needed.
func (a *pump) startFilling() {
	full := make(chan struct{})
	a.filler.Go(func() {
		a.fillPool()
		close(full)
		for {
			select {
			case <-a.low:
				a.fillPool()
			case <-a.unread.done:
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

// errClosed is why no session can be drawn after closePump.
var errClosed = errors.New("the phase has sent everything")

// closePump ends the filling and returns the unused sessions to the stock. takeSession
// returns nil from then on.
func (a *pump) closePump() {
	a.unread.close()
	a.filler.Wait()
	a.using.Lock()
	defer a.using.Unlock()
	a.drawing.Lock()
	defer a.drawing.Unlock()
	close(a.prepared)
	a.dryness = errClosed
	for s := range a.prepared {
		a.stock.unused = append(a.stock.unused, s)
	}
}

// fillPool makes sessions until the pool is full or the bound is reached.
func (a *pump) fillPool() {
	for a.addSession() {
		continue
	}
}

// addSession makes one session; false = no more are needed.
func (a *pump) addSession() bool {
	a.drawing.Lock()
	defer a.drawing.Unlock()
	if len(a.prepared) == cap(a.prepared) || a.left == 0 {
		return false
	}
	s := a.drawSession()
	if s == nil {
		return false
	}
	a.prepared <- s
	return true
}

// takeSession returns the next session. If the pool is empty, it waits for the one that is
// being made, or makes one itself. nil = there is none; the phase knows it then.
func (a *pump) takeSession() *session {
	if s := a.popPrepared(); s != nil {
		return s
	}
	a.drawing.Lock()
	defer a.drawing.Unlock()
	if s := a.popPrepared(); s != nil {
		return s
	}
	s := a.drawSession()
	if s == nil && a.dryness != nil && a.dryness != errClosed { //nolint:errorlint // closePump sets it
		a.dry(a.dryness)
	}
	return s
}

// putBack returns sessions that were taken and not started, for the next phase.
func (a *pump) putBack(unused ...*session) {
	a.drawing.Lock()
	defer a.drawing.Unlock()
	a.stock.unused = append(a.stock.unused, unused...)
}

// hasMore reports whether there is another session, or could be if the dataset could be
// read. The session is lost.
func (a *pump) hasMore() bool {
	a.drawing.Lock()
	defer a.drawing.Unlock()
	if a.popPrepared() != nil || a.drawSession() != nil {
		return true
	}
	return a.dryness != io.EOF //nolint:errorlint // drawSession sets it
}

// popPrepared removes a session from the pool; nil = it is empty.
func (a *pump) popPrepared() *session {
	select {
	case s := <-a.prepared:
		if len(a.prepared) <= cap(a.prepared)/2 {
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

// drawSession makes the next session; nil = there is none. Call with drawing held.
func (a *pump) drawSession() *session {
	owns := a.owns
	if a.table != nil {
		owns = all // every session moves the schedule on
	}
	for a.dryness == nil {
		s, err := a.stock.drawSession(a.unread.done, owns)
		inside := true
		if err == nil && a.table != nil {
			var p placement
			if p, inside, err = a.table.place(s.Conversation); inside {
				s.placeAt(p)
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			a.dryness = io.EOF
		case err != nil && a.unread.closed():
			return nil // no session is needed any more
		case err != nil:
			a.dryness = fmt.Errorf("read the dataset: %w", err)
		case inside && a.owns(s.Session):
			a.left--
			a.prepare(s)
			return s
		}
	}
	return nil
}

// lookAhead returns the next sessions, fewer than n if the bounds leave room for fewer or the
// dataset ends. It is called before startFilling.
func (a *pump) lookAhead(n int) (next []*session) {
	if a.bound >= 0 {
		n = int(min(int64(n), a.bound))
	}
	for len(next) < n {
		s, err := a.stock.drawSession(a.unread.done, all)
		if err != nil {
			break // the first draw meets it again
		}
		next = append(next, s)
	}
	a.stock.unused = slices.Concat(next, a.stock.unused)
	return next
}

// sampled is how many conversations the mean number of turns is taken from.
const sampled = 256

// meanTurns returns the mean number of turns of the next conversations. It ends the start
// of sessions if none has a second turn. It is called before startFilling.
func (a *pump) meanTurns() (mean float64) {
	next := a.lookAhead(sampled)
	sum := 0
	for _, s := range next {
		sum += len(s.Conversation.Turns)
	}
	if sum <= len(next) && len(next) > 0 {
		a.dryness = errors.New("no conversation has a second turn: a phase of type user_centric needs conversations")
	}
	return float64(sum) / float64(max(1, len(next)))
}
