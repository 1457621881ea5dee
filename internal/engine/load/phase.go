package load

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/plan"
	"aiperfd/internal/engine/transport"
)

// Phase performs one phase of a plan. Stop, Stats and InFlight may be called from
// anywhere.
type Phase struct {
	plan  *plan.Phase
	work  *Work
	sink  Sink
	start time.Duration
	count counts

	mu        sync.Mutex
	scheduler scheduler // guarded by mu

	lookahead *lookahead
	starts    starts    // nil = sessions start with arrivals or free slots, whichever conversation they have
	replay    *schedule // starts, if they are those of the dataset
	users     *users    // starts, if they are those of users
	open      *openLoop // nil = closed loop
	closed    *closedLoop
	prefill   *prefill // nil = without limit

	signals
	end      atomic.Pointer[bench.PhaseEnd] // why it was stopped early; nil = it was not
	timedOut bool                           // the grace period ended before the requests
	handover handover
	warnings []bench.Warning // only after Run
	sessions sync.WaitGroup  // goroutines of sessions
}

// signals say how far a phase is.
type signals struct {
	stopped *latch // no more may be sent, except from the backlog
	halted  *latch // nothing may be sent
	sent    *latch // nothing is left to send
	ended   *latch // all requests have ended
}

// latch is closed once.
type latch struct {
	once sync.Once
	done chan struct{}
}

func newLatch() *latch { return &latch{done: make(chan struct{})} }

func (l *latch) close() { l.once.Do(func() { close(l.done) }) }

// counts are the live counters of a phase that the scheduler does not keep.
type counts struct {
	completed, cancelled      atomic.Int64
	cancelledByTest           atomic.Int64
	sessionsDone, sessionsCut atomic.Int64
	turns, skipped            atomic.Int64
	pendingTurns              atomic.Int64 // of started sessions, not sent yet
	pauses                    atomic.Int64 // requests of a closed loop that waited because the one before had failed
	failing                   atomic.Int64 // requests in a row that have failed
	sentEnd, requestsEnd      atomic.Int64 // offsets
	durationReached           atomic.Bool
}

// NewPhase returns a phase that has not begun.
func NewPhase(w *Work, p *plan.Phase, out Sink) *Phase {
	ph := &Phase{
		plan: p, work: w, sink: out,
		scheduler: scheduler{
			requests: p.Requests, sessions: p.Sessions, slots: p.Concurrency,
			full: p.Backlog, late: p.Kind == bench.Profiling && p.Grace != 0,
		},
		signals: signals{stopped: newLatch(), halted: newLatch(), sent: newLatch(), ended: newLatch()},
	}
	ph.handover.phase = ph
	ph.lookahead, ph.replay = newLookahead(ph), newSchedule(p, &w.Plan.Sessions)
	switch {
	case ph.replay != nil:
		ph.starts = ph.replay
	case p.Users != nil:
		ph.users = &users{plan: p.Users}
		ph.starts = ph.users
	}
	if p.Open() {
		ph.open = newOpenLoop(ph)
	} else {
		ph.closed = newClosedLoop(ph)
	}
	if p.Shape.Concurrency.Duration > 0 {
		ph.scheduler.slots = 1
	}
	ph.prefill, ph.scheduler.fill.limit = newPrefill(ph), p.Prefill
	if p.Shape.Prefill.Duration > 0 {
		ph.scheduler.fill.limit = min(1, p.Prefill)
	}
	return ph
}

// Begin prepares the first sessions and starts the clock of the phase. Earlier phases may
// still wait for answers if they have sent everything, see [Phase.Sent]: until an answer
// is there, its session keeps its slot, which is also one of this phase.
func (p *Phase) Begin(earlier ...*Phase) {
	for _, e := range earlier {
		e.yield()
	}
	if err := p.work.begin(p.plan); err != nil {
		p.lookahead.ended = fmt.Errorf("read the dataset from its beginning: %w", err)
	}
	if p.users != nil {
		p.users.begin(p.lookahead.turns())
	}
	p.lookahead.start()
	p.handover.inherit(earlier)
	p.start = p.work.Clock.Now()
}

// Run performs the phase to its end. The end of ctx cuts requests in flight; Stop lets
// them finish. The sink has taken all requests when Run returns.
func (p *Phase) Run(ctx context.Context) {
	inflight, cut := context.WithCancelCause(ctx) // of every exchange
	defer cut(nil)
	unwatch := context.AfterFunc(ctx, func() { p.Stop(bench.PhaseCancelled) })
	duration := p.durationTimer()
	p.prefill.begin()
	if p.handover.earlier != nil {
		p.sessions.Go(func() { p.handover.takeOver(inflight) })
	}
	p.dispatch(inflight)
	p.timedOut = p.drain(cut)
	p.prefill.end()
	p.yield()
	unwatch()
	if duration != nil {
		duration.Stop()
	}
	p.count.requestsEnd.Store(int64(p.work.Clock.Now()))
	p.markSent()
	p.ended.close()
}

// durationTimer ends sending when the phase's duration is over.
func (p *Phase) durationTimer() *time.Timer {
	if p.plan.Duration <= 0 {
		return nil
	}
	return time.AfterFunc(p.plan.Duration, func() {
		p.count.durationReached.Store(true)
		p.endSending((*scheduler).expire)
	})
}

// Stop ends sending early for a reason; the first reason stays. Requests in
// flight go on.
func (p *Phase) Stop(why bench.PhaseEnd) {
	if p.end.CompareAndSwap(nil, &why) {
		p.stopSending()
	}
}

// stopSending ends sending for good.
func (p *Phase) stopSending() { p.endSending((*scheduler).stop) }

// endSending ends sending, except for what the scheduler still allows.
func (p *Phase) endSending(how func(*scheduler)) {
	over := decide(p, func(s *scheduler) bool { how(s); return s.exhausted() })
	if over {
		p.lookahead.end()
		p.halted.close()
		p.markSent()
	}
	p.stopped.once.Do(func() {
		close(p.stopped.done)
		if p.open != nil {
			p.open.end()
		} else {
			p.closed.end()
		}
	})
}

// drain waits for the sessions to end: without limit, or, once sending was
// stopped, as long as the grace period allows. Then it closes the connections of
// those that are left and reports true.
func (p *Phase) drain(cut context.CancelCauseFunc) (timedOut bool) {
	done := make(chan struct{})
	var waiter sync.WaitGroup
	waiter.Go(func() {
		p.sessions.Wait()
		close(done)
	})
	defer waiter.Wait()
	stopped, cancelled := p.stopped.done, p.work.Stop.Requested()
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
			if now := p.work.Received(); now != received {
				received = now
				silent.Reset(p.work.Stop.Patience())
				continue
			}
			timedOut = true
			cut(transport.CancelWith(&bench.Failure{
				Class: bench.Cancelled, Code: "silent", Message: "the run was cancelled and the server sent nothing any more",
			}))
			continue
		case <-grace.C:
			timedOut = true
			p.stopSending()
			cut(transport.CancelWith(&bench.Failure{
				Class: bench.Cancelled, Code: bench.CutByGrace, Message: "still running when the grace period ended",
			}))
			continue
		case <-stopped:
			stopped = nil
		case <-cancelled:
			cancelled = nil
			if patience := p.work.Stop.Patience(); patience > 0 {
				received = p.work.Received()
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
	if g, ok := p.work.Stop.Grace(p.plan); ok {
		return g
	}
	if p.plan.Grace < 0 {
		return -1
	}
	if p.count.durationReached.Load() {
		return max(0, p.start+p.plan.Duration+p.plan.Grace-p.work.Clock.Now())
	}
	return p.plan.Grace
}

// End returns why the phase has ended. It is called after Run; [Phase.Stop] may still
// change it, since records are judged after their requests.
func (p *Phase) End() bench.PhaseEnd {
	switch why := p.end.Load(); {
	case why != nil:
		return *why
	case p.timedOut:
		return bench.PhaseGraceTimeout
	}
	return bench.PhaseCompleted
}

// describe adds the warnings about how the dataset was read. Sessions are still drawn,
// to see whether there are more.
func (p *Phase) describe() {
	if p.replay == nil {
		return
	}
	if n := p.replay.early.Load(); n > 0 {
		p.warnings = append(p.warnings, bench.Warning{Code: "replay-order", Detail: fmt.Sprintf(
			"phase %s: %d conversations have a timestamp before that of the conversation in front of them; they were sent with it", p.plan.Name, n)})
	}
	bounded := p.plan.Requests > 0 || p.plan.Sessions > 0
	if p.end.Load() != nil || p.count.durationReached.Load() || !bounded {
		return
	}
	if p.count.skipped.Load() > 0 || p.open.left() {
		p.warnings = append(p.warnings, bench.Warning{Code: "replay-cut", Detail: fmt.Sprintf(
			"phase %s: the dataset was cut in the order of its timestamps after %d requests, which is the bound of the phase",
			p.plan.Name, decide(p, (*scheduler).progress).sent)})
	}
}

// Warnings returns what the user should know about how the phase read its dataset. It
// is called after Run.
func (p *Phase) Warnings() []bench.Warning { return p.warnings }

// Start returns when the phase began.
func (p *Phase) Start() time.Duration { return p.start }

// Overdue returns for how long the phase has not taken an arrival that is due. It is 0 in a
// closed loop. It takes no lock.
func (p *Phase) Overdue() time.Duration {
	if p.open == nil {
		return 0
	}
	return p.open.overdue()
}

// InFlight returns how many requests are in flight.
func (p *Phase) InFlight() int64 {
	return decide(p, (*scheduler).progress).sent - p.count.returned()
}

// returned returns how many requests have ended.
func (c *counts) returned() int64 {
	return c.completed.Load() + c.cancelled.Load() + c.cancelledByTest.Load()
}

// inSystem returns how many requests are in flight or wait in the backlog.
func (p *Phase) inSystem() int64 {
	now := decide(p, (*scheduler).progress)
	return now.sent + now.queued + now.backlog - p.count.returned()
}

// Sent returns a channel that is closed when nothing is left to send: the next phase may
// begin, while this one waits for answers. If turns that fail are sent again, this is
// known when all answers are there.
func (p *Phase) Sent() <-chan struct{} {
	if p.work.Plan.Sessions.OnTurnError == plan.RetryTurn {
		return p.ended.done
	}
	return p.sent.done
}

// yield leaves the dataset to the next phase. Nothing is left to send.
func (p *Phase) yield() {
	p.handover.yielded.Do(func() {
		if p.replay == nil {
			p.lookahead.end() // else [Phase.describe] reads on
		}
		if p.open != nil {
			p.open.end()
			<-p.open.watched
		}
		p.describe()
		p.lookahead.close()
	})
}

// markSent stores the time at which nothing was left to send, once.
func (p *Phase) markSent() {
	p.count.sentEnd.CompareAndSwap(0, int64(p.work.Clock.Now()))
	p.sent.close()
}

// Stats returns the counters as they are now, without those of records.
func (p *Phase) Stats(now time.Duration) bench.PhaseStats {
	made, c := decide(p, (*scheduler).progress), &p.count
	return bench.PhaseStats{
		Index: p.plan.Index, ProfilingIndex: p.plan.ProfilingIndex, Name: p.plan.Name, Kind: p.plan.Kind,
		Start:   p.start,
		SentEnd: time.Duration(c.sentEnd.Load()), RequestsEnd: time.Duration(c.requestsEnd.Load()),
		LastUpdate:       now,
		ExpectedRequests: p.plan.Requests, ExpectedSessions: p.plan.Sessions, ExpectedDuration: p.plan.Duration,
		Grace: p.plan.Grace,
		Sent:  made.sent, Completed: c.completed.Load(), Cancelled: c.cancelled.Load(),
		Interruptions: bench.Interruptions{Pauses: c.pauses.Load(), CancelledByTest: c.cancelledByTest.Load()},
		SentSessions:  made.started, CompletedSessions: c.sessionsDone.Load(), CancelledSessions: c.sessionsCut.Load(),
		SessionTurns: c.turns.Load(), SkippedTurns: c.skipped.Load(),
		Backlog: made.backlog, BacklogMax: made.backlogMax, Arrivals: p.open.arrivals(),
		DurationReached: c.durationReached.Load(),
	}
}
