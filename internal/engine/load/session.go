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
	num          int64               // running number in the run
	entry        *bench.Conversation // of the dataset
	conversation *bench.Conversation // entry with the marker
	marker       string              // in the conversation; empty = none
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

// newSession draws the next conversation and builds its first turn, so that this is
// done before the session is due.
func newSession(p *Phase) *session {
	s := p.work.session()
	s.phase = p
	if s.next.rec == nil || p.work.Plan.CacheBust.Warmup { // it may be of a warm-up that has ended
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

// run performs the turns one after the other. The slot becomes free as soon as the last
// byte has arrived; the last answer is decoded and counted after that. run returns the
// session that got the slot, if any.
func (s *session) run(ctx context.Context, slot *outage) (successor *session) {
	for n := 0; ; n++ {
		s.countSent(1)
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
		s.phase.sink.Finished(f) // which owns the record now
		if !ok {
			return s.leave(n+1, ended)
		}
		if !s.proceed(n+1, ended) {
			return s.leave(n+1, s.phase.work.Clock.Now())
		}
	}
}

// remember adds an answer to the history and encodes the next turn. It returns false if
// the turn failed, which ends the session.
func (s *session) remember(turn int, a *bench.Answer) bool {
	if a.Failure != nil {
		return false
	}
	if s.conversation.Mode != bench.MessageArrayWithResponses {
		var answer bench.Choice
		if len(a.Choices) > 0 {
			answer = a.Choices[0]
		}
		s.history = append(s.history, bench.Exchange{Turn: s.conversation.Turns[turn], Answer: answer})
	}
	s.build(turn + 1)
	return true
}

// leave ends the session after so many requests and frees its slot. The slot counts as
// free since the last byte, so that the lag of a client that reads it late shows in the
// next request. leave returns the session that gets the slot, if any.
func (s *session) leave(sent int, ended time.Duration) (successor *session) {
	p := s.phase
	if missing := int64(len(s.conversation.Turns) - sent); missing > 0 {
		p.count.skipped.Add(missing)
		p.count.sessionsCut.Add(1)
		s.countSent(missing)
	} else {
		p.count.sessionsDone.Add(1)
	}
	p.work.Client.EndSession(s.correlation)
	if p.open == nil {
		return p.successor(ended)
	}
	return p.open.ended()
}

// countSent counts turns that are not to be sent any more, and marks the time when none
// is left in the phase.
func (s *session) countSent(turns int64) {
	p := s.phase
	if p.count.pendingTurns.Add(-turns) == 0 && decide(p, (*scheduler).closed) {
		p.markSent()
	}
}

// proceed waits for the think time of a turn and then for permission to send it.
func (s *session) proceed(turn int, answered time.Duration) (ok bool) {
	p := s.phase
	s.due = answered + s.conversation.Turns[turn].Delay
	if !p.wait(s.due - p.work.Clock.Now()) {
		return false
	}
	if p.open == nil {
		ok = decide(p, (*scheduler).continueSession)
	} else {
		ok = s.awaitArrival()
	}
	s.permit = p.work.Clock.Now()
	return ok
}

// awaitArrival takes the due time from the next arrival that no earlier continuation
// takes.
func (s *session) awaitArrival() (ok bool) {
	p := s.phase
	p.open.await(s)
	select {
	case s.due, ok = <-s.permits:
		return ok
	case <-p.open.over:
		s.due, ok = p.open.withdraw(s)
		return ok
	}
}

// build prepares a turn before it is due: body, headers and record.
func (s *session) build(n int) {
	w := s.phase.work
	s.mark(n)
	t := s.conversation.Turns[n]
	model := s.model
	if t.Model != "" {
		model = t.Model
	}
	rec := &bench.Record{
		SessionNum: s.num, Turn: n, Turns: len(s.conversation.Turns),
		RequestID: w.ids.next(), CorrelationID: s.correlation, ConversationID: s.conversation.ID,
		Model: model, Content: bench.Content{RequestedTokens: t.MaxTokens, Blocks: t.BlockIDs, Marker: s.marker},
	}
	request := endpoint.Request{
		Model: model, System: s.conversation.System, Context: s.conversation.Context, History: s.history,
		Turn: t, TokenIDs: w.tokenIDs(&t, model), Settings: &w.Plan.Settings,
	}
	rec.Content.Prompt = w.fingerprint(&request)
	rec.Images, rec.AudioLength = request.Contents()
	body, err := w.Plan.Kind.Body(nil, &request)
	items := 0
	if w.Plan.Kind.Items != nil {
		items = w.Plan.Kind.Items(&request)
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

// exchange sends the prepared turn and returns its response, undecoded.
func (s *session) exchange(ctx context.Context) Finished {
	p, next := s.phase, &s.next
	rec := next.rec
	rec.Phase = p.plan.Index
	if p.work.Plan.Spread.Request { // by the order in which requests are sent
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
		f.Exchange = p.work.perform(ctx, &next.request)
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
