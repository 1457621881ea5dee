package load

import (
	"context"
	"time"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/endpoint"
	"aiperfd/internal/engine/transport"
)

// session is one execution of a conversation. After launch it belongs to one
// goroutine.
type session struct {
	phase        *Phase
	num          int64 // running number in the run
	conversation *bench.Conversation
	model        string
	target       int
	correlation  string
	history      []bench.Exchange
	next         turn               // built ahead
	due, permit  time.Duration      // of the next turn
	permits      chan time.Duration // open loop: due times of further turns; closed = no more
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
func (p *Phase) prepare() *session {
	s := p.work.session()
	s.phase = p
	if s.next.rec == nil {
		s.build(0)
	}
	return s
}

// admit accounts for a session that was allowed to start.
func (s *session) admit(due time.Duration) {
	p := s.phase
	turns := int64(len(s.conversation.Turns))
	p.count.turns.Add(turns)
	p.count.pendingTurns.Add(turns)
	s.due, s.permit = due, p.work.Clock.Now()
}

// perform performs a session, and those that follow it in its slot.
func (s *session) perform(ctx context.Context) {
	var slot outage
	for s != nil {
		s = s.run(ctx, &slot)
	}
}

// run performs the turns one after the other. The slot is given back as soon as
// the last byte is in; decoding and counting the last answer come after that. run
// returns the session that got the slot, if any.
func (s *session) run(ctx context.Context, slot *outage) (successor *session) {
	for n := 0; ; n++ {
		s.settle(1)
		f := s.exchange(ctx)
		if slot.met(f.Exchange.Response) {
			s.phase.sink.Finished(f)
			slot.pause(s.phase)
			return s.leave(n+1, s.phase.work.Clock.Now())
		}
		ended := f.Record.Stamps.End + f.Record.Conn.Held
		if n == len(s.conversation.Turns)-1 {
			successor = s.leave(n+1, ended)
			s.phase.sink.Finished(f)
			return successor
		}
		f.Decode(s.phase.work.Plan) // the next turn needs the answer
		ok := s.remember(n, &f.Record.Answer)
		s.phase.sink.Finished(f) // the record is not ours any more
		if !ok {
			return s.leave(n+1, ended)
		}
		if !s.proceed(n+1, ended) {
			return s.leave(n+1, s.phase.work.Clock.Now())
		}
	}
}

// remember takes an answer into the history and encodes the next turn. A failed
// turn ends the session: it reports false.
func (s *session) remember(turn int, a *bench.Answer) bool {
	if a.Failure != nil {
		return false
	}
	if !s.conversation.Independent {
		var answer bench.Choice
		if len(a.Choices) > 0 {
			answer = a.Choices[0]
		}
		s.history = append(s.history, bench.Exchange{Turn: s.conversation.Turns[turn], Answer: answer})
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
	if missing := int64(len(s.conversation.Turns) - sent); missing > 0 {
		p.count.skipped.Add(missing)
		p.count.sessionsCut.Add(1)
		s.settle(missing)
	} else {
		p.count.sessionsDone.Add(1)
	}
	p.work.Client.EndSession(s.correlation)
	if p.plan.Arrivals == nil {
		return p.successor(ended)
	}
	return p.open.ended()
}

// settle takes turns off those that are still to be sent, and notes when none
// is left in the whole phase.
func (s *session) settle(turns int64) {
	p := s.phase
	if p.count.pendingTurns.Add(-turns) == 0 && decide(p, (*scheduler).closed) {
		p.markSent()
	}
}

// proceed waits out the think time of a turn and then for permission to send it.
func (s *session) proceed(turn int, answered time.Duration) (ok bool) {
	p := s.phase
	s.due = answered + s.conversation.Turns[turn].Delay
	if !p.wait(s.due - p.work.Clock.Now()) {
		return false
	}
	if p.plan.Arrivals == nil {
		ok = decide(p, (*scheduler).continueSession)
	} else {
		ok = s.awaitArrival()
	}
	s.permit = p.work.Clock.Now()
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
	w := s.phase.work
	t := s.conversation.Turns[n]
	model := s.model
	if t.Model != "" {
		model = t.Model
	}
	rec := &bench.Record{
		SessionNum: s.num, Turn: n, Turns: len(s.conversation.Turns),
		RequestID: w.ids.next(), CorrelationID: s.correlation, ConversationID: s.conversation.ID,
		Model: model, RequestedTokens: t.MaxTokens,
	}
	asked := endpoint.Request{
		Model: model, System: s.conversation.System, Context: s.conversation.Context, History: s.history,
		Turn: t, TokenIDs: w.tokenIDs(&t, model), Settings: &w.Plan.Settings,
	}
	rec.Images, rec.AudioLength = asked.Contents()
	body, err := w.Plan.Kind.Body(nil, &asked)
	items := 0
	if w.Plan.Kind.Items != nil {
		items = w.Plan.Kind.Items(&asked)
	}
	s.next = turn{rec: rec, err: err, items: items, request: transport.Request{
		Header: w.headers(rec), Body: body, Streaming: w.Plan.Settings.Streaming, Session: s.correlation,
	}}
	if !w.Plan.Spread.Request {
		w.aim(rec, &s.next.request, s.target)
	}
}

// tokenIDs returns the tokens of a turn's texts if the API takes them.
func (w *Work) tokenIDs(t *bench.Turn, model string) []int {
	if w.TokenIDs == nil {
		return nil
	}
	return w.TokenIDs(t, model)
}

// exchange sends the turn that was built and takes its response, undecoded.
func (s *session) exchange(ctx context.Context) Finished {
	p, next := s.phase, &s.next
	rec := next.rec
	rec.Phase = p.plan.Index
	if p.work.Plan.Spread.Request { // what is sent counts, in the order in which it is sent
		p.work.aim(rec, &next.request, p.work.Plan.Spread.Pick(p.work.sent.Add(1)-1))
	}
	f := Finished{Record: rec, items: next.items, Conversation: s.conversation, History: s.history}
	if next.err != nil {
		now := p.work.Clock.Now()
		rec.Stamps.Start, rec.Stamps.End = now, now
		f.Exchange.Response = &bench.Response{EndAt: now, Failure: &bench.Failure{
			Class: bench.ClientError, Step: bench.StepBuild, Message: next.err.Error(),
		}}
	} else {
		f.Header, f.Body = next.request.Header, next.request.Body
		f.Exchange = p.perform(ctx, &next.request)
		rec.Stamps, rec.Conn, rec.Status = f.Exchange.Stamps, f.Exchange.Conn, f.Exchange.Response.Status
	}
	rec.Stamps.Due, rec.Stamps.Permit = s.due, s.permit
	if failure := f.Exchange.Response.Failure; failure != nil && failure.Class == bench.Cancelled {
		p.count.cancelled.Add(1)
	} else {
		p.count.completed.Add(1)
	}
	return f
}
