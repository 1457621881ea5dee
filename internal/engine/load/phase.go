package load

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/load/spec"
	"aiperfd/internal/engine/transport"
)

// Phase performs one phase of a plan. Stop, Stats and InFlight may be called from
// anywhere.
type Phase struct {
	work    *Work
	env     sessionEnv
	pump    *pump
	open    *openLoop    // nil = closed loop
	closed  *closedLoop  // nil = open loop
	returns <-chan freed // of earlier phases; has room for everything; nil = there is nothing

	startAt  time.Duration   // see StartAt; 0 = when it is ready
	first    int64           // see FirstSession
	yielded  sync.Once       // the dataset was left to the next phase
	timedOut bool            // the grace period ended before the requests
	warnings []bench.Warning // only after Run
}

// NewPhase returns a phase that has not begun.
func NewPhase(w *Work, p *spec.Phase, out Sink) *Phase {
	ph := &Phase{work: w, env: sessionEnv{
		work: &w.requests, course: newCourse(w.requests.Clock, newScheduler(p)), phase: p, sink: out,
	}}
	e := &ph.env
	switch {
	case p.Replay != nil:
		e.replay = newReplayTimes(p.Replay, &w.requests.Sessions)
	case p.Users != nil:
		e.users = &userTimes{users: p.Users}
	case p.Lanes != nil:
		e.lanes = &laneTimes{lanes: p.Lanes}
		e.idle = newIdleGuard(p.Lanes, e.clock)
	}
	if p.Prefill > 0 || p.Shape.CountFills {
		e.prefill = newPrefill(&e.course, w.requests.Encoder)
	}
	ph.pump = newPump(e, &w.stock, ph.endDataset)
	switch {
	case p.Open():
		ph.open = newOpenLoop(e, ph.pump)
		e.slots = ph.open
	case p.Lanes != nil && p.Lanes.Primers:
		e.primers = &primerLoop{env: e, pump: ph.pump, fail: ph.fail}
		e.slots = e.primers
	default:
		ph.closed = &closedLoop{env: e, pump: ph.pump}
		e.slots = ph.closed
	}
	return ph
}

// Begin prepares the first sessions and starts the clock of the phase. Earlier phases may
// still wait for answers if they have sent everything, see [Phase.Sent]: until an answer
// is there, its session keeps its slot, which is also one of this phase.
func (p *Phase) Begin(earlier ...*Phase) {
	var arbiters []*arbiter
	for _, e := range earlier {
		e.yieldDataset()
		arbiters = append(arbiters, &e.env.arbiter)
	}
	e := &p.env
	if err := p.work.stock.beginPhase(e.phase.Once); err != nil {
		p.pump.dryness = fmt.Errorf("read the dataset from its beginning: %w", err)
	} else if part := e.phase.Part; part != nil {
		if err := p.work.stock.advance(part.First, e.unread.done); err != nil {
			p.pump.dryness = fmt.Errorf("read the dataset: %w", err)
		}
	}
	if e.users != nil {
		e.users.beginHistory(p.pump.meanTurns())
	}
	if e.lanes != nil {
		first := p.pump.lookAhead(e.phase.Concurrency)
		e.lanes.enterAll(first)
		if err := e.lanes.checkApart(first); err != nil {
			p.pump.dryness = err
			p.pump.dry(err)
		}
	}
	p.first = p.work.stock.nextSession()
	p.pump.startFilling()
	p.returns = e.inheritFrom(arbiters)
	if left := p.startAt - e.clock.Now(); left > 0 {
		time.Sleep(left)
		e.start = p.startAt
		return
	}
	e.start = e.clock.Now()
}

// StartAt makes the phase start at an offset that is at most a second away, in place of when it is ready. It is called
// before Begin, which waits until then.
func (p *Phase) StartAt(at time.Duration) { p.startAt = at }

// FirstSession returns the number of the session that the phase starts first. It is called after Begin.
func (p *Phase) FirstSession() int64 { return p.first }

// Run performs the phase to its end. The end of ctx cuts requests in flight; Stop lets
// them finish. The sink has taken all requests when Run returns.
func (p *Phase) Run(ctx context.Context) {
	e := &p.env
	inflight, cut := context.WithCancelCause(ctx) // of every exchange
	defer cut(nil)
	unwatch := context.AfterFunc(ctx, func() { p.Stop(bench.PhaseCancelled) })
	duration := p.durationTimer()
	e.prefill.startRamp(&e.work.Options, e.phase, e.start)
	if p.returns != nil {
		e.group.Go(func() { p.takeOver(inflight) })
	}
	switch {
	case p.open != nil:
		p.open.takeArrivals(inflight)
	case e.primers != nil:
		e.primers.sendPrimers(inflight)
		e.idle.begun()
	default:
		p.closed.openSlots(inflight)
		e.idle.begun()
	}
	p.timedOut = p.awaitSessions(cut)
	e.prefill.endRamp()
	p.describeIdle()
	p.yieldDataset()
	unwatch()
	if duration != nil {
		duration.Stop()
	}
	e.count.requestsEnd.Store(int64(e.clock.Now()))
	e.markSent()
	e.ended.close()
}

// durationTimer ends sending when the phase's duration is over.
func (p *Phase) durationTimer() *time.Timer {
	e := &p.env
	if e.phase.Duration <= 0 {
		return nil
	}
	return time.AfterFunc(e.phase.Duration, func() {
		e.count.durationReached.Store(true)
		e.endSending((*scheduler).expire)
	})
}

// Stop ends sending early for a reason; the first reason stays. Requests in
// flight go on.
func (p *Phase) Stop(why bench.PhaseEnd) { p.env.stopEarly(why) }

// endDataset ends the start of sessions, because none can be drawn any more.
func (p *Phase) endDataset(why error) {
	e := &p.env
	closed := decide(&e.arbiter, func(s *scheduler) bool { s.runDry(e.scheduled()); return s.closed() })
	if closed && e.count.pendingTurns.Load() == 0 {
		e.markSent()
	}
	if !errors.Is(why, io.EOF) {
		p.fail(why)
	}
}

// fail ends the phase, and with it the run.
func (p *Phase) fail(why error) {
	p.work.failed.CompareAndSwap(nil, &why)
	p.Stop(bench.PhaseFailed)
}

// awaitSessions waits for the sessions to end: without limit, or, once sending was
// stopped, as long as the grace period allows. Then it closes the connections of
// those that are left and reports true.
func (p *Phase) awaitSessions(cut context.CancelCauseFunc) (timedOut bool) {
	e := &p.env
	done := make(chan struct{})
	var waiter sync.WaitGroup
	waiter.Go(func() {
		e.group.Wait()
		close(done)
	})
	defer waiter.Wait()
	stopped, cancelled := e.stopped.done, e.work.Stop.Requested()
	grace := time.NewTimer(0)
	grace.Stop()
	silent := time.NewTimer(0)
	silent.Stop()
	var received uint64
	for {
		select {
		case <-done:
			return timedOut
		case <-silent.C:
			if now := e.work.Received(); now != received {
				received = now
				silent.Reset(e.work.Stop.Patience())
				continue
			}
			timedOut = true
			cut(transport.CancelWith(&bench.Failure{
				Class: bench.Cancelled, Code: "silent", Message: "the run was cancelled and the server sent nothing any more",
			}))
			continue
		case <-grace.C:
			timedOut = true
			e.stopSending()
			cut(transport.CancelWith(&bench.Failure{
				Class: bench.Cancelled, Code: bench.CutByGrace, Message: "still running when the grace period ended",
			}))
			continue
		case <-stopped:
			stopped = nil
		case <-cancelled:
			cancelled = nil
			if patience := e.work.Stop.Patience(); patience > 0 {
				received = e.work.Received()
				silent.Reset(patience)
			}
		}
		if left := p.graceLeft(); left >= 0 {
			grace.Reset(left)
		}
	}
}

// graceLeft returns how long requests in flight may still take; <0 = without
// limit.
func (p *Phase) graceLeft() time.Duration {
	e := &p.env
	if g, ok := e.work.Stop.Grace(e.phase); ok {
		return g
	}
	if e.phase.Grace < 0 {
		return -1
	}
	if e.count.durationReached.Load() {
		return max(0, e.start+e.phase.Duration+e.phase.Grace-e.clock.Now())
	}
	return e.phase.Grace
}

// End returns why the phase has ended. It is called after Run; [Phase.Stop] may still
// change it, since records are judged after their requests.
func (p *Phase) End() bench.PhaseEnd {
	switch why := p.env.stopReason.Load(); {
	case why != nil:
		return *why
	case p.timedOut:
		return bench.PhaseGraceTimeout
	}
	return bench.PhaseCompleted
}

// describeReplay adds the warnings about how the dataset was read. Sessions are still
// drawn, to see whether there are more.
func (p *Phase) describeReplay() {
	e := &p.env
	if e.replay == nil {
		return
	}
	if n := e.replay.early.Load(); n > 0 {
		p.warnings = append(p.warnings, bench.Warning{Code: "replay-order", Detail: fmt.Sprintf(
			"phase %s: %d conversations have a timestamp before that of the conversation in front of them; "+
				"they were sent with it", e.phase.Name, n)})
	}
	bounded := e.phase.Requests > 0 || e.phase.Sessions > 0
	if e.stopReason.Load() != nil || e.count.durationReached.Load() || !bounded {
		return
	}
	if e.count.skipped.Load() > 0 || p.open.hasUnstarted() {
		p.warnings = append(p.warnings, bench.Warning{Code: "replay-cut", Detail: fmt.Sprintf(
			"phase %s: the dataset was cut in the order of its timestamps after %d requests, which is the bound of the phase",
			e.phase.Name, decide(&e.arbiter, (*scheduler).progress).sent)})
	}
}

// describeIdle adds the warnings about time that was left out.
func (p *Phase) describeIdle() {
	g := p.env.idle
	if g == nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	warn := func(left leftOut, of string, limit time.Duration) {
		if left.times > 0 {
			p.warnings = append(p.warnings, bench.Warning{Code: "idle-skipped", Detail: fmt.Sprintf(
				"phase %s: idle time%s beyond %v was left out; times: %d, sum: %v",
				p.env.phase.Name, of, limit, left.times, left.sum.Round(time.Millisecond))})
		}
	}
	warn(g.all, "", g.limit)
	warn(g.trees, " of single sessions", g.treeLimit)
}

// Warnings returns what the user should know about how the phase read its dataset. It
// is called after Run.
func (p *Phase) Warnings() []bench.Warning { return p.warnings }

// Start returns when the phase began.
func (p *Phase) Start() time.Duration { return p.env.start }

// Overdue returns for how long the phase has not taken an arrival that is due. It is 0 in a
// closed loop. It takes no lock.
func (p *Phase) Overdue() time.Duration {
	if p.open == nil {
		return 0
	}
	return p.open.overdue()
}

// InFlight returns how many requests are in flight.
func (p *Phase) InFlight() int64 { return p.env.inFlight() }

// Sent returns a channel that is closed when nothing is left to send: the next phase may
// begin, while this one waits for answers. If turns that fail are sent again, this is
// known when all answers are there.
func (p *Phase) Sent() <-chan struct{} {
	if p.env.work.Sessions.OnTurnError == spec.RetryTurn {
		return p.env.ended.done
	}
	return p.env.sent.done
}

// Drained returns a channel that is closed when no further arrival starts a session.
func (p *Phase) Drained() <-chan struct{} { return p.env.drained.done }

// Settled tells the phase how a request has ended.
func (p *Phase) Settled(ok bool) {
	if ok {
		p.env.count.failing.Store(0)
	} else {
		p.env.count.failing.Add(1)
	}
}

// yieldDataset leaves the dataset to the next phase. Nothing is left to send.
func (p *Phase) yieldDataset() {
	p.yielded.Do(func() {
		e := &p.env
		if e.replay == nil {
			e.unread.close() // else describeReplay reads on
		}
		if p.open != nil {
			e.drained.close()
			<-p.open.watched
		}
		p.describeReplay()
		p.pump.closePump()
		if p.open != nil {
			p.pump.putBack(p.open.releaseDrawn()...)
		}
		if e.primers != nil {
			p.pump.putBack(e.primers.taken...)
		}
		p.work.stock.orderUnused()
	})
}

// Stats returns the counters as they are now, without those of records.
func (p *Phase) Stats(now time.Duration) bench.PhaseStats {
	e := &p.env
	made, c := decide(&e.arbiter, (*scheduler).progress), &e.count
	return bench.PhaseStats{
		Index: e.phase.Index, ProfilingIndex: e.phase.ProfilingIndex, Name: e.phase.Name, Kind: e.phase.Kind,
		Start:   e.start,
		SentEnd: time.Duration(c.sentEnd.Load()), RequestsEnd: time.Duration(c.requestsEnd.Load()),
		LastUpdate:       now,
		ExpectedRequests: e.phase.Requests, ExpectedSessions: e.phase.Sessions, ExpectedDuration: e.phase.Duration,
		Grace: e.phase.Grace,
		Sent:  made.sent, Completed: c.completed.Load(), Cancelled: c.cancelled.Load(),
		Interruptions: bench.Interruptions{Pauses: c.pauses.Load(), CancelledByTest: c.cancelledByTest.Load()},
		SentSessions:  made.started, CompletedSessions: c.sessionsDone.Load(), CancelledSessions: c.sessionsCut.Load(),
		SessionTurns: c.turns.Load(), SkippedTurns: c.skipped.Load(),
		Backlog: made.backlog, BacklogMax: made.backlogMax, Arrivals: p.open.arrivals(),
		DurationReached: c.durationReached.Load(),
	}
}
