package load

import (
	"context"
	"time"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/load/spec"
	"aiperfd/internal/engine/transport"
)

// performSlot performs a session, and those that follow it in its slot. While a response is
// awaited, the slot may have no goroutine; performSlot returns then.
func (s *session) performSlot(ctx context.Context) { s.performSessions(ctx, new(outage)) }

// launch begins what performSlot does as far as nothing has to be waited for. If that is not
// until a response is awaited, it returns the rest, which may wait.
func (s *session) launch(ctx context.Context) (rest func()) {
	if s.isSilent() || s.env.prefill != nil {
		return func() { s.performSlot(ctx) }
	}
	e, losses := s.env, new(outage)
	s.startChildren(ctx, s.Conversation.Before, s.due, nil)
	s.completeTurn()
	e.group.Add(1)
	resume := func(x transport.Exchange) { s.resumeSlot(ctx, losses, x) }
	if s.next.err == nil && e.work.startIdle(ctx, &s.next.request, resume) {
		return nil
	}
	e.group.Done()
	return func() { s.sendTurns(ctx, losses).performSessions(ctx, losses) }
}

// performSessions is performSlot for a slot that may have lost connections before.
func (s *session) performSessions(ctx context.Context, losses *outage) {
	for s != nil {
		if s.midway.has(s.Entry) {
			s = s.performMidway(ctx, losses)
			continue
		}
		s.startChildren(ctx, s.Conversation.Before, s.due, nil)
		if s.isSilent() {
			s = s.performRounds(ctx)
			continue
		}
		s = s.performTurns(ctx, losses)
	}
}

// performTurns performs the prepared turn and those that follow. It returns the session that
// got the slot; nil = none, or the slot goes on in another goroutine.
func (s *session) performTurns(ctx context.Context, losses *outage) (successor *session) {
	if !s.awaitFill(ctx) {
		return s.endSession(ctx, s.env.clock.Now(), false)
	}
	s.completeTurn()
	return s.sendTurns(ctx, losses)
}

// sendTurns is performTurns for a turn that is complete.
func (s *session) sendTurns(ctx context.Context, losses *outage) (successor *session) {
	for {
		x, done := s.startTurn(ctx, losses)
		if !done {
			return nil
		}
		successor, more := s.finishTurn(ctx, losses, x)
		if !more {
			return successor
		}
		if !s.awaitFill(ctx) {
			return s.endSession(ctx, s.env.clock.Now(), false)
		}
		s.completeTurn()
	}
}

// resumeSlot goes on with the slot of a session that had no goroutine until its response had
// arrived.
func (s *session) resumeSlot(ctx context.Context, losses *outage, x transport.Exchange) {
	defer s.env.group.Done()
	next, more := s.finishTurn(ctx, losses, x)
	if more {
		next = s.performTurns(ctx, losses)
	}
	next.performSessions(ctx, losses)
}

// finishTurn processes the response to a turn. The slot becomes free as soon as the last byte
// has arrived, unless something depends on the answer; the last answer is decoded and counted
// after that. more = another turn is prepared and may be sent; otherwise the session has
// ended, and successor is the one that got its slot, if any.
func (s *session) finishTurn(
	ctx context.Context, losses *outage, x transport.Exchange,
) (successor *session, more bool) {
	f := s.returnTurn(x)
	n, ended := f.Record.Turn, f.Record.Stamps.End+f.Record.Conn.Held
	waits := losses.countLoss(f.Exchange.Response) || s.hopeless()
	if !waits && !s.answerDecides(n) {
		successor = s.endSession(ctx, ended, false)
		s.env.sink.Finished(f)
		return successor, false
	}
	f.Decode(s.env.work.Encoder) // what follows needs the answer
	failed := f.Record.Answer.Failure != nil
	if failed && s.primer {
		s.env.primers.primerFailed(s, f.Record.Answer.Failure)
	}
	next := s.settleTurn(n, &f.Record.Answer)
	started, overflows := f.Record.Stamps.Start, s.overflows(n, &f.Record.Answer)
	s.env.sink.Finished(f) // which owns the record now
	if waits && failed {
		s.pauseSlot(losses, started)
		ended = s.env.clock.Now()
	}
	if next > n || next == noTurn && s.goesOn(failed) && !overflows {
		s.startBranches(ctx, n, ended)
	}
	switch {
	case next == noTurn && overflows:
		return s.endSession(ctx, s.sitOut(n, ended), failed), false
	case next == noTurn:
		return s.endSession(ctx, ended, failed), false
	case !s.awaitTurn(next, ended):
		return s.endSession(ctx, s.env.clock.Now(), false), false
	}
	return nil, true
}

// overflows reports whether a turn of a recorded session was too long for the server. Later ones of its stream would
// be, too, so that the stream ends.
func (s *session) overflows(turn int, a *bench.Answer) bool {
	return a.Failure != nil && a.Failure.Class == bench.ContextOverflow && s.Conversation.Turns[turn].Recorded != nil
}

// sitOut keeps the lane of a session whose main stream has ended early, because a turn was too long, for the rest of
// its recording: short sessions in place of long ones would make a server look fast. It returns when that has passed.
// With the rule of AIPerf, the lane goes on at once.
func (s *session) sitOut(turn int, ended time.Duration) time.Duration {
	e := s.env
	if s.depth > 0 || e.lanes == nil || e.work.Sessions.JoinAtOnce {
		return ended
	}
	at := s.Conversation.Turns[turn].Recorded
	last := at.End
	for c := range streamsOf(s.Entry) {
		for i := range c.Turns {
			if r := c.Turns[i].Recorded; r != nil {
				last = max(last, r.End)
			}
		}
	}
	until, _ := e.waitUntilDue(s.root.tree, ended+e.work.Sessions.Scaled(last-at.End))
	return max(ended, min(until, e.clock.Now()))
}

// answerDecides reports whether the answer to a turn decides what is sent next.
func (s *session) answerDecides(turn int) bool {
	t, policy := &s.Conversation.Turns[turn], &s.env.work.Sessions
	return turn < len(s.Conversation.Turns)-1 || len(t.Forks)+len(t.Spawns) > 0 ||
		s.parent != nil && policy.FailFast || s.primer || policy.OnTurnError == spec.RetryTurn
}

// awaitFill waits until the limit of prefills lets the next turn be sent; false = it is not
// sent.
func (s *session) awaitFill(ctx context.Context) bool {
	limit := s.env.prefill
	if limit == nil {
		return true
	}
	s.queued = s.env.clock.Now()
	if !limit.awaitFill(ctx) {
		return false
	}
	s.permit = s.env.clock.Now()
	return true
}

// awaitTurn waits for the children that a turn needs, for its think time or its time in
// the schedule, and then for permission to send it.
func (s *session) awaitTurn(turn int, answered time.Duration) (ok bool) {
	before := s.env.idle.left(s.root.tree)
	joined, ok := s.awaitChildren(turn, answered)
	if !ok {
		return false
	}
	if joined == answered {
		joined -= s.env.idle.left(s.root.tree) - before // it waited as long as the others
	}
	s.due = s.dueAfter(turn, joined)
	if joined > answered && s.env.work.Sessions.JoinAtOnce {
		s.due = joined
	}
	if s.due, ok = s.env.waitUntilDue(s.root.tree, s.due); !ok {
		return false
	}
	ok = s.env.slots.allowTurn(s)
	s.permit = s.env.clock.Now()
	return ok
}

// endSession ends the session and, with the last session of its family, frees the slot. The
// slot counts as free since the last byte, so that the lag of a client that reads it
// late shows in the next request. It returns the session that gets the slot, if any.
func (s *session) endSession(ctx context.Context, ended time.Duration, failed bool) (successor *session) {
	e := s.env
	if missing := s.unsent; missing > 0 {
		e.count.skipped.Add(missing)
		s.root.cut.Store(true)
		s.countUnsent(missing)
	}
	if e.isCacheWarmup() {
		e.lanes.noteStream(s, failed)
	}
	e.work.Sender.EndSession(s.correlation)
	s.tellParent(ended, failed)
	defer e.idle.leave(s.root.tree)
	if s.root.live.Add(-1) > 0 {
		return nil
	}
	if s.root.cut.Load() {
		e.count.sessionsCut.Add(1)
	} else {
		e.count.sessionsDone.Add(1)
	}
	return e.slots.familyEnded(ctx, s.root, ended)
}

// tellParent reports the end of the session to its parent.
func (s *session) tellParent(ended time.Duration, failed bool) {
	if s.parent != nil && s.env.work.Sessions.FailFast && (failed || s.broken.Load()) {
		s.parent.broken.Store(true)
	}
	if s.awaits != nil {
		s.awaits.countChildEnd(ended, s.env.idle)
	}
}

// hopeless reports whether nothing has succeeded for so long that errors only flood the
// server and the disk.
func (s *session) hopeless() bool {
	return !s.env.phase.Open() && s.env.count.failing.Load() >= hopelessAfter(s.env.phase.Concurrency)
}

// pauseSlot waits before a slot of a closed loop sends its next request, because the one
// that was sent at an offset has failed. Arrivals of an open loop do not wait.
func (s *session) pauseSlot(losses *outage, sent time.Duration) {
	e := s.env
	if e.phase.Open() || decide(&e.arbiter, (*scheduler).exhausted) {
		return
	}
	if wait := losses.pauseAfter(e.clock.Now()-sent, e.phase.Concurrency); wait > 0 {
		e.count.pauses.Add(1)
		e.waitFor(wait)
	}
}
