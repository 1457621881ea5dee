package load

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/endpoint"
	"aiperfd/internal/engine/plan"
	"aiperfd/internal/engine/transport"
)

// session is one execution of a conversation. After launch it belongs to one
// goroutine.
type session struct {
	phase        *Phase
	num          int64               // running number in the run; that of the root for its descendants
	entry        *bench.Conversation // of the dataset
	whole        *bench.Conversation // of the dataset, if entry is its beginning
	conversation *bench.Conversation // entry with the marker
	marker       string              // in the conversation; empty = none
	model        string
	target       int
	correlation  string
	history      []bench.Exchange
	next         turn               // built ahead
	due, permit  time.Duration      // of the next turn
	queued       time.Duration      // when the next turn began to wait for the limit of prefills; 0 = there is none
	permits      chan time.Duration // open loop: due times of further turns; closed = no more
	offset, zero time.Duration      // replay: when the session is due since the start of the phase, and the dataset's time at that start
	unsent       int64              // requests of the conversation and of descendants that have not been started
	retries      int                // of the turn
	family
}

// turn is a request that needs only to be sent, and its record.
type turn struct {
	rec     *bench.Record
	request transport.Request
	items   int   // in the answer; 0 = unknown
	err     error // it could not be encoded
}

// prepare builds the first turn of a session, so that this is done before it is due.
func (s *session) prepare(p *Phase) {
	s.phase = p
	// A prepared turn may be of a warm-up that has ended.
	if (s.next.rec == nil || p.work.Plan.CacheBust.Warmup) && !silent(s.conversation) {
		s.build(0)
	}
}

// silent reports whether a conversation sends no request itself.
func silent(c *bench.Conversation) bool { return len(c.Turns) == 0 }

// admit accounts for a session that was allowed to start.
func (s *session) admit(due time.Duration) {
	p := s.phase
	s.unsent = s.conversation.Requests()
	p.count.turns.Add(s.unsent)
	p.count.pendingTurns.Add(s.unsent)
	s.live.Store(1)
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
// byte has arrived, unless something depends on the answer; the last answer is decoded
// and counted after that. run returns the session that got the slot, if any.
func (s *session) run(ctx context.Context, slot *outage) (successor *session) {
	s.launch(ctx, s.conversation.Before, s.due, nil)
	if silent(s.conversation) {
		return s.orchestrate(ctx)
	}
	for n := 0; ; {
		if !s.phase.prefill.await(ctx, s) {
			return s.leave(ctx, s.phase.work.Clock.Now(), false)
		}
		s.countSent(1)
		f := s.exchange(ctx)
		ended := f.Record.Stamps.End + f.Record.Conn.Held
		waits := slot.met(f.Exchange.Response) || s.phase.fails()
		if !waits && !s.decides(n) {
			successor = s.leave(ctx, ended, false)
			s.phase.sink.Finished(f)
			return successor
		}
		f.Decode(s.phase.work.Plan) // what follows needs the answer
		failed := f.Record.Answer.Failure != nil
		next := s.settle(n, &f.Record.Answer)
		started := f.Record.Stamps.Start
		s.phase.sink.Finished(f) // which owns the record now
		if waits && failed {
			slot.pause(s.phase, started)
			ended = s.phase.work.Clock.Now()
		}
		if next > n || next == over && s.goesOn(failed) {
			s.branch(ctx, n, ended)
		}
		switch {
		case next == over:
			return s.leave(ctx, ended, failed)
		case !s.proceed(next, ended):
			return s.leave(ctx, s.phase.work.Clock.Now(), false)
		}
		n = next
	}
}

// decides reports whether the answer to a turn decides what is sent next.
func (s *session) decides(turn int) bool {
	t, policy := &s.conversation.Turns[turn], &s.phase.work.Plan.Sessions
	return turn < len(s.conversation.Turns)-1 || len(t.Forks)+len(t.Spawns) > 0 ||
		s.parent != nil && policy.FailFast || policy.OnTurnError == plan.RetryTurn
}

// over is the turn after the last one.
const over = -1

// maxRetries is how often a turn that failed is sent again in a row.
const maxRetries = 3

// goesOn reports whether a turn leads to what comes after it.
func (s *session) goesOn(failed bool) bool {
	return !failed || s.phase.work.Plan.Sessions.OnTurnError == plan.Continue
}

// settle adds an answer to the history and encodes the turn to be sent next, whose
// number it returns; over = there is none.
func (s *session) settle(turn int, a *bench.Answer) (next int) {
	failed := a.Failure != nil
	next = turn + 1
	switch {
	case s.goesOn(failed):
		s.retries = 0
		s.remember(turn, a)
		if next == len(s.conversation.Turns) || s.ends(turn) {
			return over
		}
	case s.phase.work.Plan.Sessions.OnTurnError == plan.RetryTurn && s.retries < maxRetries:
		s.retries++
		s.unsent++
		s.phase.count.pendingTurns.Add(1)
		next = turn
	default:
		return over
	}
	s.build(next)
	return next
}

// remember adds a turn and its answer to the history, as the conversation wants it. An
// answer that failed is kept as far as it was received.
func (s *session) remember(turn int, a *bench.Answer) {
	e := bench.Exchange{Turn: s.conversation.Turns[turn]}
	switch s.conversation.Mode {
	case bench.MessageArrayWithResponses:
		return
	case bench.DeltasWithResponses:
		e.Unanswered = true
	case bench.DeltasWithoutResponses:
		if len(a.Choices) > 0 {
			e.Answer = a.Choices[0]
		}
		e.Unanswered = a.Failure != nil && e.Answer.Text == "" && len(e.Answer.ToolCalls) == 0
	}
	s.history = append(s.history, e)
}

// leave ends the session and, with the last session of its family, frees the slot. The
// slot counts as free since the last byte, so that the lag of a client that reads it
// late shows in the next request. leave returns the session that gets the slot, if any.
func (s *session) leave(ctx context.Context, ended time.Duration, failed bool) (successor *session) {
	p := s.phase
	if missing := s.unsent; missing > 0 {
		p.count.skipped.Add(missing)
		s.root.cut.Store(true)
		s.countSent(missing)
	}
	p.work.Client.EndSession(s.correlation)
	s.tell(ended, failed)
	if s.root.live.Add(-1) > 0 {
		return nil
	}
	if s.root.cut.Load() {
		p.count.sessionsCut.Add(1)
	} else {
		p.count.sessionsDone.Add(1)
	}
	if p.open == nil {
		return p.closed.ended(ended)
	}
	p.open.replace(ctx, s.root, ended)
	return p.open.ended()
}

// countSent counts turns that are not to be sent any more, and marks the time when none
// is left in the phase.
func (s *session) countSent(turns int64) {
	p := s.phase
	s.unsent -= turns
	left := p.count.pendingTurns.Add(-turns)
	if decide(p, func(s *scheduler) bool { return s.fill.queued == 0 && s.exhausted() || left == 0 && s.closed() }) {
		p.markSent()
	}
}

// proceed waits for the children that a turn needs, for its think time or its time in
// the schedule, and then for permission to send it.
func (s *session) proceed(turn int, answered time.Duration) (ok bool) {
	p := s.phase
	if answered, ok = s.join(turn, answered); !ok {
		return false
	}
	s.due = p.dueAfter(s, turn, answered)
	if !p.wait(s.due - p.work.Clock.Now()) {
		return false
	}
	switch {
	case p.open == nil:
		ok = decide(p, (*scheduler).continueSession)
	case p.starts == nil && !p.plan.PerSession:
		ok = s.awaitArrival()
	default:
		if ok = decide(p, (*scheduler).continueSession); decide(p, (*scheduler).exhausted) {
			p.open.end()
		}
	}
	s.permit = p.work.Clock.Now()
	return ok
}

// dueAfter returns when a turn is due whose predecessor was answered: at its time in the
// dataset; a user's gap after the predecessor was due; or after its think time.
func (p *Phase) dueAfter(s *session, turn int, answered time.Duration) time.Duration {
	if at, timed := s.scheduled(turn); timed {
		return max(at, answered)
	}
	switch {
	case s.retries > 0:
		return answered
	case p.users != nil && s.parent == nil:
		return max(answered, s.due+p.users.plan.Gap)
	}
	return answered + p.work.Plan.Sessions.Scaled(s.conversation.Turns[turn].Delay)
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
	id := w.ids.next()
	s.mark(n, id)
	t := s.conversation.Turns[n]
	model := s.model
	if t.Model != "" {
		model = t.Model
	}
	rec := &bench.Record{
		SessionNum: s.num, Turn: n, Turns: len(s.conversation.Turns),
		RequestID: id, CorrelationID: s.correlation, ConversationID: s.conversation.ID,
		Model: model, Content: bench.Content{RequestedTokens: t.MaxTokens, Blocks: t.BlockIDs, Marker: s.marker},
	}
	request := endpoint.Request{
		Model: model, System: s.conversation.System, Context: s.conversation.Context, History: s.history,
		Turn: t, TokenIDs: w.tokenIDs(&t, model), Settings: &w.Plan.Settings,
	}
	rec.Content.Prompt = w.fingerprint(&request)
	if s.depth > 0 {
		rec.Lineage = &bench.Lineage{Depth: s.depth, Root: s.root.correlation}
	}
	rec.Content.Images, rec.Content.AudioLength = request.Contents()
	body, items, err := w.encode(&request)
	s.next = turn{rec: rec, err: err, items: items, request: transport.Request{
		Header: w.headers(rec), Body: body, Streaming: w.Plan.Settings.Streaming, Session: s.correlation,
	}}
	if !w.Plan.Spread.Late() {
		w.aim(rec, &s.next.request, s.target)
	}
}

// encode returns the body of a request, and the number of items that its answer has; 0 =
// unknown. A panic is an error: the history of a request is what servers have answered.
func (w *Work) encode(r *endpoint.Request) (body []byte, items int, err error) {
	defer func() {
		if value := recover(); value != nil {
			err = &encodePanic{bench.Panic{Value: value, Stack: debug.Stack()}}
		}
	}()
	if body, err = w.Plan.Kind.Body(nil, r); err == nil && w.Plan.Kind.Items != nil {
		items = w.Plan.Kind.Items(r)
	}
	return body, items, err
}

// encodePanic is the error of a request that could not be encoded because that panicked.
type encodePanic struct{ bench.Panic }

func (p *encodePanic) Error() string {
	return fmt.Sprintf("aiperfd crashed when it tried to encode the request, which is an error of aiperfd: %v", p.Value)
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
	if p.work.Plan.Spread.Late() {
		p.work.aim(rec, &next.request, p.work.flights.depart(s))
		defer p.work.flights.end(rec.Target)
	}
	prefilled := p.prefill.watch(&next.request)
	f := Finished{Record: rec, items: next.items, Conversation: s.conversation, History: s.history}
	if next.err != nil {
		now := p.work.Clock.Now()
		rec.Stamps.Start, rec.Stamps.End = now, now
		f.Exchange.Response = &bench.Response{EndAt: now, Failure: &bench.Failure{
			Class: bench.ClientError, Step: bench.StepBuild, Message: next.err.Error(),
		}}
		if p, ok := errors.AsType[*encodePanic](next.err); ok {
			f.Exchange.Response.Failure.Code, f.Exchange.Response.Panic = bench.CodePanic, &p.Panic
		}
	} else {
		next.request.Cancel = p.plan.Cancellation.Of(rec, s.retries)
		f.Header, f.Body = next.request.Header, next.request.Body
		f.Exchange = p.work.perform(ctx, &next.request)
		rec.Stamps, rec.Conn, rec.Status = f.Exchange.Stamps, f.Exchange.Conn, f.Exchange.Response.Status
	}
	prefilled()
	rec.Stamps.Due, rec.Stamps.Queued, rec.Stamps.Permit = s.due, s.queued, s.permit
	rec.Ramp = rec.Stamps.Start-p.start < p.plan.Shape.Ramp()
	rec.Stamps.Scheduled, _ = s.scheduled(rec.Turn)
	p.count.add(f.Exchange.Response.Failure)
	return f
}

// add counts a request that has ended; nil = without a failure so far.
func (c *counts) add(failure *bench.Failure) {
	switch {
	case failure != nil && failure.Class == bench.Cancelled:
		c.cancelled.Add(1)
	case failure != nil && failure.Class == bench.CancelledByTest:
		c.cancelledByTest.Add(1)
	default:
		c.completed.Add(1)
	}
}
