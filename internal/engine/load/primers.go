package load

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"aiperfd/internal/engine/bench"
)

// primerLoop performs a phase of primers: it sends, of each stream of the first sessions that
// had begun where the session is entered, the last request before, so that a server has in its
// caches what it would have. The sessions are left to the next phase.
type primerLoop struct {
	env   *sessionEnv
	pump  *pump
	fail  func(why error) // ends the phase
	taken []*session      // the sessions, in order
	cold  atomic.Int64
}

var _ slots = (*primerLoop)(nil)

// sendPrimers starts the primers. It returns when all have been started; each waits for its
// time.
func (l *primerLoop) sendPrimers(ctx context.Context) {
	e := l.env
	defer e.drained.close()
	var longest time.Duration
	for _, m := range e.lanes.first {
		for c := range m.next {
			if lead, primed := m.lead(c); primed {
				longest = max(longest, lead)
			}
		}
	}
	for range e.lanes.first {
		s := l.pump.takeSession()
		if s == nil {
			return
		}
		l.taken = append(l.taken, s)
		if !decide(&e.arbiter, func(d *scheduler) bool { d.silent = true; return d.startSession() }) {
			return
		}
		l.prime(ctx, s, longest)
	}
}

// lead returns how long before the instant of a session the last request of a stream was; false = there was none.
func (m *midway) lead(c *bench.Conversation) (time.Duration, bool) {
	if m.next[c] == 0 {
		return 0, false
	}
	return m.instant - c.Turns[m.next[c]-1].Recorded.Start, true
}

// prime starts the primers of a session, so that its instant is the end of the longest lead.
func (l *primerLoop) prime(ctx context.Context, s *session, longest time.Duration) {
	e := l.env
	root := &session{
		Dialogue: s.Dialogue, env: e, model: s.model, target: s.target, correlation: s.correlation, lane: s.midway.lane + 1,
	}
	root.root = root
	root.live.Store(1)
	root.tree = e.idle.newTree()
	e.idle.enter(root.tree)
	s.streamIDs = map[*bench.Conversation]string{}
	var primers []*session
	for c := range streamsOf(s.Entry) {
		lead, primed := s.midway.lead(c)
		if !primed {
			continue
		}
		p := root.newPrimer(c, s.midway.next[c]-1)
		p.entered = s.midway.instant
		if c != s.Entry {
			p.correlation = e.work.ids.next()
			s.streamIDs[c] = p.correlation
		}
		p.due = e.start
		if !e.lanes.lanes.Burst {
			p.due += e.work.Sessions.Scaled(longest - lead)
		}
		primers = append(primers, p)
	}
	root.live.Add(int64(len(primers)))
	e.count.turns.Add(int64(len(primers)))
	e.count.pendingTurns.Add(int64(len(primers)))
	for _, p := range primers {
		e.idle.enter(root.tree)
		e.group.Go(func() {
			p.buildTurn(p.First)
			var ok bool
			if p.due, ok = e.waitUntilDue(root.tree, p.due); ok && l.allowTurn(p) {
				p.permit = e.clock.Now()
				p.performTurns(ctx, new(outage))
				return
			}
			p.endSession(ctx, e.clock.Now(), false)
		})
	}
	root.endSession(ctx, e.clock.Now(), false)
}

// newPrimer returns a session that sends one turn of a stream, for an answer of one token.
func (s *session) newPrimer(c *bench.Conversation, turn int) *session {
	alone := *c
	alone.Turns = c.Turns[: turn+1 : turn+1]
	p := &session{
		Dialogue: s.Dialogue, env: s.env, model: s.model, target: s.target, correlation: s.correlation,
		root: s, unsent: 1, primer: true, lane: s.lane,
	}
	p.Entry, p.Conversation, p.First = &alone, &alone, turn
	if c.ID != s.Entry.ID {
		p.depth = 1
	}
	if c.Model != "" {
		p.model = c.Model
	}
	return p
}

// primerFailed notes that a primer has failed: without that of its main stream a session cannot
// be played, other streams are cold.
func (l *primerLoop) primerFailed(s *session, why *bench.Failure) {
	if s.depth > 0 {
		l.cold.Add(1)
		return
	}
	l.fail(fmt.Errorf("session %s cannot be played: the request that brings it into the caches of the server has failed: %s",
		s.Root, why.Message))
}

// slotFreed implements slots.
func (l *primerLoop) slotFreed(time.Duration) (successor *session) { return nil }

// familyEnded implements slots.
func (l *primerLoop) familyEnded(context.Context, *session, time.Duration) (successor *session) {
	return nil
}

// allowTurn implements slots.
func (l *primerLoop) allowTurn(*session) bool {
	return decide(&l.env.arbiter, (*scheduler).continueSession)
}
