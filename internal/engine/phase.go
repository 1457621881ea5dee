package engine

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/plan"
	"aiperfd/internal/engine/transport"
)

// phase executes one Phase. Its supervisor calls run; everything it starts
// has ended when run returns.
type phase struct {
	plan   *plan.Phase
	run    *execution
	clock  bench.Clock
	start  time.Duration
	budget budget
	count  counts

	ahead *ahead
	open  *open // nil = closed loop

	dispatched   chan struct{} // closed when no arrival will come any more
	dispatchOnce sync.Once
	watched      chan struct{} // open loop: closed when nobody waits for arrivals any more
	stopped      chan struct{} // closed when no more may be sent
	stopOnce     sync.Once
	end          atomic.Pointer[bench.PhaseEnd] // why it was stopped early; nil = it was not
	inflight     context.Context                // of every exchange
	cut          context.CancelCauseFunc
	sessions     sync.WaitGroup // goroutines of sessions
	finish       chan finishing
}

// counts are the live counters of a phase that the budget does not keep.
type counts struct {
	completed, cancelled, failed     atomic.Int64
	sessionsDone, sessionsCut        atomic.Int64
	turns, skipped                   atomic.Int64
	pendingTurns                     atomic.Int64 // of started sessions, not sent yet
	successRecords, errorRecords     atomic.Int64
	backlog, backlogMax              atomic.Int64
	pauses                           atomic.Int64 // requests of a closed loop that waited after a lost connection
	sentEnd, requestsEnd, recordsEnd atomic.Int64 // offsets
	durationReached                  atomic.Bool
}

func newPhase(x *execution, plan *plan.Phase) *phase {
	p := &phase{
		plan: plan, run: x, clock: x.clock,
		budget:     budget{requests: plan.Requests, sessions: plan.Sessions},
		dispatched: make(chan struct{}),
		watched:    make(chan struct{}),
		stopped:    make(chan struct{}),
		finish:     make(chan finishing, finishRoom(plan)),
	}
	p.ahead = newAhead(p)
	if plan.Arrivals != nil {
		p.open = &open{phase: p, slots: plan.Concurrency, capped: plan.Concurrency > 0}
	}
	return p
}

// finishRoom is how many responses may wait for the finish pool: all that can be
// in flight may end at once, and their successors must not wait until the tokens
// of all of them are counted.
func finishRoom(plan *plan.Phase) int {
	const least, most = 256, 8192
	if plan.Concurrency == 0 {
		return most / 2
	}
	return min(max(2*plan.Concurrency, least), most)
}

// execute runs the phase to its end. ctx cuts requests in flight; the graceful
// way is stop.
func (p *phase) execute(ctx context.Context, rec *recorder) bench.PhaseEnd {
	p.inflight, p.cut = context.WithCancelCause(ctx)
	defer p.cut(nil)
	finishers := p.startFinishers(rec.in)
	p.ahead.start()
	p.start = p.clock.Now()
	rec.began()
	var recording sync.WaitGroup
	recording.Go(rec.loop)

	unwatch := context.AfterFunc(ctx, func() { p.stop(bench.PhaseCancelled) })
	duration := p.durationTimer()
	p.dispatch()
	cut := p.drain()
	p.ahead.close()
	unwatch()
	if duration != nil {
		duration.Stop()
	}
	p.count.requestsEnd.Store(int64(p.clock.Now()))
	p.markSent()

	close(p.finish)
	finishers.Wait()
	close(rec.in)
	recording.Wait()
	return p.result(cut)
}

// durationTimer ends sending when the phase's duration is over.
func (p *phase) durationTimer() *time.Timer {
	if p.plan.Duration <= 0 {
		return nil
	}
	return time.AfterFunc(p.plan.Duration, func() {
		p.count.durationReached.Store(true)
		p.stopSending()
	})
}

// stop ends sending early for a reason; the first reason stays. Requests in
// flight go on.
func (p *phase) stop(why bench.PhaseEnd) {
	if p.end.CompareAndSwap(nil, &why) {
		p.stopSending()
	}
}

func (p *phase) stopSending() {
	p.stopOnce.Do(func() {
		p.budget.stop()
		close(p.stopped)
		p.endDispatch()
	})
}

// drain waits for the sessions to end: without limit, or, once sending was
// stopped, as long as the grace period allows. Then it closes the connections of
// those that are left and reports true.
func (p *phase) drain() (cut bool) {
	done := make(chan struct{})
	var waiter sync.WaitGroup
	waiter.Go(func() {
		p.sessions.Wait()
		close(done)
	})
	defer waiter.Wait()
	stopped, cancelled := p.stopped, p.run.cancelAsked
	grace := time.NewTimer(0)
	grace.Stop()
	silent := time.NewTimer(0)
	silent.Stop()
	var heard uint64
	for {
		select {
		case <-done:
			return cut
		case <-silent.C:
			if now := p.run.heard(); now != heard {
				heard = now
				silent.Reset(p.run.patience())
				continue
			}
			cut = true
			p.cut(transport.CancelWith(&bench.Failure{
				Class: bench.Cancelled, Code: "silent", Message: "the run was cancelled and the server sent nothing any more",
			}))
			continue
		case <-grace.C:
			cut = true
			p.cut(transport.CancelWith(&bench.Failure{
				Class: bench.Cancelled, Code: "grace_timeout", Message: "still running when the grace period ended",
			}))
			continue
		case <-stopped:
			stopped = nil
		case <-cancelled:
			cancelled = nil
			if patience := p.run.patience(); patience > 0 {
				heard = p.run.heard()
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
func (p *phase) graceLeft() time.Duration {
	if g, ok := p.run.cancelGrace(); ok {
		return g
	}
	if p.plan.Grace < 0 {
		return -1
	}
	if p.count.durationReached.Load() {
		return max(0, p.start+p.plan.Duration+p.plan.Grace-p.clock.Now())
	}
	return p.plan.Grace
}

// result names the end of the phase.
func (p *phase) result(timedOut bool) bench.PhaseEnd {
	switch why := p.end.Load(); {
	case why != nil:
		return *why
	case timedOut:
		return bench.PhaseGraceTimeout
	}
	return bench.PhaseCompleted
}

// markSent notes the instant at which nothing was left to send.
func (p *phase) markSent() {
	p.count.sentEnd.CompareAndSwap(0, int64(p.clock.Now()))
}

func (p *phase) noteBacklog(n int64) {
	p.count.backlog.Store(n)
	if n > p.count.backlogMax.Load() {
		p.count.backlogMax.Store(n) // only who holds open.mu writes it
	}
}

// stats returns the counters as they are now.
func (p *phase) stats(now time.Duration) bench.PhaseStats {
	sent, started := p.budget.counts()
	c := &p.count
	return bench.PhaseStats{
		Index: p.plan.Index, ProfilingIndex: p.plan.ProfilingIndex, Name: p.plan.Name, Kind: p.plan.Kind,
		Start:   p.start,
		SentEnd: time.Duration(c.sentEnd.Load()), RequestsEnd: time.Duration(c.requestsEnd.Load()),
		RecordsEnd: time.Duration(c.recordsEnd.Load()), LastUpdate: now,
		ExpectedRequests: p.plan.Requests, ExpectedSessions: p.plan.Sessions, ExpectedDuration: p.plan.Duration,
		Grace: p.plan.Grace,
		Sent:  sent, Completed: c.completed.Load(), Cancelled: c.cancelled.Load(), Errors: c.failed.Load(),
		Pauses:       c.pauses.Load(),
		SentSessions: started, CompletedSessions: c.sessionsDone.Load(), CancelledSessions: c.sessionsCut.Load(),
		SessionTurns: c.turns.Load(), SkippedTurns: c.skipped.Load(),
		SuccessRecords: c.successRecords.Load(), ErrorRecords: c.errorRecords.Load(),
		Backlog: c.backlog.Load(), BacklogMax: c.backlogMax.Load(), Arrivals: p.open.arrivals(),
		DurationReached: c.durationReached.Load(),
	}
}
