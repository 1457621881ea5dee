package engine

import (
	"time"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/endpoint"
	"aiperfd/internal/engine/transport"
)

// session is one execution of a conversation. After launch it belongs to one
// goroutine.
type session struct {
	phase       *phase
	num         int64 // running number in the run
	talk        *bench.Conversation
	model       string
	target      int
	correlation string
	history     []bench.Exchange
	next        turn               // built ahead
	due, permit time.Duration      // of the next turn
	permits     chan time.Duration // open loop: due times of further turns; closed = no more
}

// turn is a request that needs only to be sent, and its record.
type turn struct {
	rec     *bench.Record
	request transport.Request
	items   int   // in the answer; 0 = unknown
	err     error // it could not be encoded
}

// prepare draws the next conversation and builds its first turn, so that this is
// done before the session is due.
func (p *phase) prepare() *session {
	s := p.run.nextSession()
	s.phase = p
	if s.next.rec == nil {
		s.build(0)
	}
	return s
}

// admit accounts for a session that the budget has allowed to start.
func (s *session) admit(due time.Duration) {
	p := s.phase
	turns := int64(len(s.talk.Turns))
	p.count.turns.Add(turns)
	p.count.pendingTurns.Add(turns)
	s.due, s.permit = due, p.clock.Now()
}

// launch performs a session in a goroutine of its own.
func (p *phase) launch(s *session) { p.sessions.Go(s.perform) }

// perform performs a session, and those that follow it in its slot.
func (s *session) perform() {
	var slot outage
	for s != nil {
		s = s.run(&slot)
	}
}

// run performs the turns one after the other. The slot is given back as soon as
// the last byte is in; decoding and counting the last answer come after that. run
// returns the session that got the slot, if any.
func (s *session) run(slot *outage) (successor *session) {
	for n := 0; ; n++ {
		s.settle(1)
		f := s.exchange()
		if slot.met(f.exchange.Response) {
			s.phase.finish <- f
			slot.pause(s.phase)
			return s.leave(n+1, s.phase.clock.Now())
		}
		ended := f.rec.Stamps.End + f.rec.Conn.Held
		if n == len(s.talk.Turns)-1 {
			successor = s.leave(n+1, ended)
			s.phase.finish <- f
			return successor
		}
		f.decode(s.phase.run.plan) // the next turn needs the answer
		ok := s.remember(n, &f.rec.Answer)
		s.phase.finish <- f // the record is not ours any more
		if !ok {
			return s.leave(n+1, ended)
		}
		if !s.proceed(n+1, ended) {
			return s.leave(n+1, s.phase.clock.Now())
		}
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
	s.build(turn + 1)
	return true
}

// leave gives the slot back after so many requests and settles the counters. The
// slot was free when the session ended, at the last byte, so that a client that
// reads it late sends the next request late. leave returns the session that gets
// the slot, if any.
func (s *session) leave(sent int, ended time.Duration) (successor *session) {
	p := s.phase
	if missing := int64(len(s.talk.Turns) - sent); missing > 0 {
		p.count.skipped.Add(missing)
		p.count.sessionsCut.Add(1)
		s.settle(missing)
	} else {
		p.count.sessionsDone.Add(1)
	}
	p.run.client.EndSession(s.correlation)
	if p.plan.Arrivals == nil {
		return p.successor(ended)
	}
	return p.open.ended()
}

// settle takes turns off those that are still to be sent, and notes when none
// is left in the whole phase.
func (s *session) settle(turns int64) {
	p := s.phase
	if p.count.pendingTurns.Add(-turns) == 0 && p.budget.closed() {
		p.markSent()
	}
}

// proceed waits out the think time of a turn and then for permission to send it.
func (s *session) proceed(turn int, answered time.Duration) (ok bool) {
	p := s.phase
	s.due = answered + s.talk.Turns[turn].Delay
	if wait := s.due - p.clock.Now(); wait > 0 {
		timer := time.NewTimer(wait)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-p.stopped:
			return false
		}
	}
	if p.plan.Arrivals == nil {
		ok = p.budget.takeTurn()
	} else {
		ok = s.awaitArrival()
	}
	s.permit = p.clock.Now()
	return ok
}

// awaitArrival takes the due time from the next arrival that nobody before it
// waits for.
func (s *session) awaitArrival() (ok bool) {
	p := s.phase
	p.open.await(s)
	select {
	case s.due, ok = <-s.permits:
		return ok
	case <-p.dispatched:
		s.due, ok = p.open.withdraw(s)
		return ok
	}
}

// build makes everything of a turn that can be made before it is due: body,
// headers and record.
func (s *session) build(n int) {
	x := s.phase.run
	t := s.talk.Turns[n]
	model := s.model
	if t.Model != "" {
		model = t.Model
	}
	rec := &bench.Record{
		SessionNum: s.num, Turn: n, Turns: len(s.talk.Turns),
		RequestID: x.ids.next(), CorrelationID: s.correlation, ConversationID: s.talk.ID,
		Model: model, RequestedTokens: t.MaxTokens,
	}
	asked := endpoint.Request{
		Model: model, System: s.talk.System, Context: s.talk.Context, History: s.history,
		Turn: t, TokenIDs: x.tokenIDs(&t, model), Settings: &x.plan.Settings,
	}
	rec.Images, rec.AudioLength = asked.Contents()
	body, err := x.plan.Kind.Body(nil, &asked)
	items := 0
	if x.plan.Kind.Items != nil {
		items = x.plan.Kind.Items(&asked)
	}
	s.next = turn{rec: rec, err: err, items: items, request: transport.Request{
		Header: x.headers(rec), Body: body, Streaming: x.plan.Settings.Streaming, Session: s.correlation,
	}}
	if !x.plan.Spread.Request {
		x.aim(rec, &s.next.request, s.target)
	}
}

// tokenIDs returns the tokens of a turn's texts where the API takes them.
func (x *execution) tokenIDs(t *bench.Turn, model string) []int {
	encoder := x.encoders.of(model)
	if encoder == nil {
		return nil
	}
	var ids []int
	for _, named := range t.Named {
		for _, text := range named.Texts {
			ids = append(ids, encoder.Encode(text)...)
		}
	}
	for _, text := range t.Texts {
		ids = append(ids, encoder.Encode(text)...)
	}
	return ids
}

// exchange sends the turn that was built and takes its response, undecoded.
func (s *session) exchange() finishing {
	p, next := s.phase, &s.next
	rec := next.rec
	rec.Phase = p.plan.Index
	if p.run.plan.Spread.Request { // what is sent counts, in the order in which it is sent
		p.run.aim(rec, &next.request, p.run.plan.Spread.Pick(p.run.sent.Add(1)-1))
	}
	f := finishing{rec: rec, items: next.items, talk: s.talk, history: s.history}
	if next.err != nil {
		now := p.clock.Now()
		rec.Stamps.Start, rec.Stamps.End = now, now
		f.exchange.Response = &bench.Response{EndAt: now, Failure: &bench.Failure{
			Class: bench.ClientError, Step: bench.StepBuild, Message: next.err.Error(),
		}}
	} else {
		f.sent, f.body = next.request.Header, next.request.Body
		f.exchange = p.perform(&next.request)
		rec.Stamps, rec.Conn, rec.Status = f.exchange.Stamps, f.exchange.Conn, f.exchange.Response.Status
	}
	rec.Stamps.Due, rec.Stamps.Permit = s.due, s.permit
	if failure := f.exchange.Response.Failure; failure != nil && failure.Class == bench.Cancelled {
		p.count.cancelled.Add(1)
	} else {
		p.count.completed.Add(1)
	}
	return f
}
