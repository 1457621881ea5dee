package engine

import (
	"time"

	"github.com/google/uuid"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/endpoint"
	"aiperfd/internal/engine/transport"
)

// session is one execution of a conversation. After launch it belongs to its
// own goroutine.
type session struct {
	phase       *phase
	num         int64 // running number in the run
	talk        *bench.Conversation
	model       string
	target      int
	correlation string
	history     []bench.Exchange
	body        []byte // of the next turn, encoded ahead
	encodeErr   error
	permit      chan time.Duration // due time of the next turn; closed = no more
}

// prepare draws the next conversation and encodes its first body, so that this
// is done before the session is due. Only the dispatcher calls it.
func (p *phase) prepare() *session {
	s := p.run.nextSession(p)
	if s.body == nil && s.encodeErr == nil {
		s.encode(0)
	}
	return s
}

// launch starts a session whose first request the budget has allowed.
func (p *phase) launch(s *session, due time.Duration) {
	turns := int64(len(s.talk.Turns))
	p.count.turns.Add(turns)
	p.count.pendingTurns.Add(turns)
	permit := p.clock.Now()
	p.sessions.Go(func() { s.run(due, permit) })
}

// run performs the turns one after the other. The slot is given back as soon as
// the last byte is in; decoding and counting the last answer come after that.
func (s *session) run(due, permit time.Duration) {
	for turn := 0; ; turn++ {
		rec := s.record(turn, due, permit)
		s.settle(1)
		f := s.exchange(rec)
		if turn == len(s.talk.Turns)-1 {
			s.leave(turn + 1)
			s.phase.finish <- f
			return
		}
		f.decode(s.phase.run.plan) // the next turn needs the answer
		answered, ok := rec.Stamps.End, s.remember(turn, &rec.Answer)
		s.phase.finish <- f // rec is not ours any more
		if ok {
			due, ok = s.next(turn+1, answered)
		}
		if !ok {
			s.leave(turn + 1)
			return
		}
		permit = s.phase.clock.Now()
	}
}

// remember takes an answer into the history and encodes the next turn. A failed
// turn ends the session: it reports false.
func (s *session) remember(turn int, a *bench.Answer) bool {
	if a.Failure != nil {
		return false
	}
	if !s.talk.Independent {
		var answer bench.Choice
		if len(a.Choices) > 0 {
			answer = a.Choices[0]
		}
		s.history = append(s.history, bench.Exchange{Turn: s.talk.Turns[turn], Answer: answer})
	}
	s.encode(turn + 1)
	return true
}

// leave gives the slot back after so many requests and settles the counters.
func (s *session) leave(sent int) {
	p := s.phase
	if missing := int64(len(s.talk.Turns) - sent); missing > 0 {
		p.count.skipped.Add(missing)
		p.count.sessionsCut.Add(1)
		s.settle(missing)
	} else {
		p.count.sessionsDone.Add(1)
	}
	p.run.client.EndSession(s.correlation)
	select {
	case p.freed <- p.clock.Now():
	case <-p.dispatched:
	}
}

// settle takes turns off those that are still to be sent, and notes when none
// is left in the whole phase.
func (s *session) settle(turns int64) {
	p := s.phase
	if p.count.pendingTurns.Add(-turns) == 0 && p.budget.closed() {
		p.markSent()
	}
}

// next waits out the think time and then for permission to send the next turn.
func (s *session) next(turn int, answered time.Duration) (due time.Duration, ok bool) {
	p := s.phase
	due = answered + s.talk.Turns[turn].Delay
	if wait := due - p.clock.Now(); wait > 0 {
		timer := time.NewTimer(wait)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-p.stopped:
			return 0, false
		}
	}
	if p.plan.Arrivals == nil {
		return due, p.budget.takeTurn()
	}
	select {
	case p.ready <- s:
	case <-p.dispatched:
		return 0, false
	}
	select {
	case due, ok = <-s.permit:
		return due, ok
	case <-p.dispatched:
		return 0, false
	}
}

// encode builds the body of a turn.
func (s *session) encode(turn int) {
	t := s.talk.Turns[turn]
	model := s.model
	if t.Model != "" {
		model = t.Model
	}
	s.body, s.encodeErr = s.phase.run.plan.Kind.Encode(nil, &endpoint.Request{
		Model: model, System: s.talk.System, Context: s.talk.Context, History: s.history,
		Turn: t, Settings: &s.phase.run.plan.Settings,
	})
}

// record starts the record of a turn.
func (s *session) record(turn int, due, permit time.Duration) *bench.Record {
	t := s.talk.Turns[turn]
	model := s.model
	if t.Model != "" {
		model = t.Model
	}
	return &bench.Record{
		Phase: s.phase.plan.Index, SessionNum: s.num, Turn: turn, Turns: len(s.talk.Turns),
		RequestID: uuid.NewString(), CorrelationID: s.correlation, ConversationID: s.talk.ID,
		Model: model, Target: s.target, RequestedTokens: t.MaxTokens,
		Stamps: bench.Stamps{Due: due, Permit: permit},
	}
}

// exchange sends one turn and takes its response, undecoded.
func (s *session) exchange(rec *bench.Record) finishing {
	p := s.phase
	f := finishing{rec: rec, talk: s.talk, history: s.history}
	if s.encodeErr != nil {
		now := p.clock.Now()
		rec.Stamps.Start, rec.Stamps.End = now, now
		f.exchange.Response = &bench.Response{EndAt: now, Failure: &bench.Failure{
			Class: bench.ClientError, Step: bench.StepBuild, Message: s.encodeErr.Error(),
		}}
	} else {
		f.sent, f.body = p.run.headers(rec), s.body
		f.exchange = p.run.client.Do(p.inflight, &transport.Request{
			URL: p.run.plan.Targets[s.target].URL, Header: f.sent, Body: f.body,
			Streaming: p.run.plan.Settings.Streaming, Session: s.correlation,
		})
		due, permit := rec.Stamps.Due, rec.Stamps.Permit
		rec.Stamps, rec.Conn, rec.Status = f.exchange.Stamps, f.exchange.Conn, f.exchange.Response.Status
		rec.Stamps.Due, rec.Stamps.Permit = due, permit
	}
	if failure := f.exchange.Response.Failure; failure != nil && failure.Class == bench.Cancelled {
		p.count.cancelled.Add(1)
	} else {
		p.count.completed.Add(1)
	}
	return f
}
