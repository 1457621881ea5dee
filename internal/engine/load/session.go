package load

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/load/spec"
	"aiperfd/internal/engine/transport"
)

// slots is the loop that gives the sessions of a phase their slots.
type slots interface {
	// slotFreed frees a slot, and returns the session that gets it, if any.
	slotFreed(at time.Duration) (successor *session)
	// familyEnded does the same when the last session of a family has ended.
	familyEnded(ctx context.Context, root *session, at time.Duration) (successor *session)
	// allowTurn waits until a further turn of a session may be sent; false = it is not sent.
	allowTurn(s *session) bool
}

// sessionEnv is what the sessions of a phase have in common.
type sessionEnv struct {
	work *requests // of the run
	course
	phase   *spec.Phase
	sink    Sink
	start   time.Duration // of the phase; set before its first session starts
	slots   slots
	prefill *prefill       // nil = without limit
	replay  *replayTimes   // nil = the dataset does not say when turns are sent
	users   *userTimes     // nil = there are none
	lanes   *laneTimes     // nil = sessions are played from their beginning
	primers *primerLoop    // nil = the phase sends none
	idle    *idleGuard     // nil = without limit
	group   sync.WaitGroup // goroutines of sessions
}

// timetable returns what gives sessions their places; nil = they start with arrivals or
// free slots, whichever conversation they have.
func (e *sessionEnv) timetable() timetable {
	switch {
	case e.replay != nil:
		return e.replay
	case e.users != nil:
		return e.users
	case e.lanes != nil:
		return e.lanes
	}
	return nil
}

// waitUntilDue waits until a session of a tree is due and returns when that was in the end, which the
// limit of idle time may have made earlier; false = the phase was stopped before.
func (e *sessionEnv) waitUntilDue(tree *idleTree, due time.Duration) (at time.Duration, ok bool) {
	if e.idle == nil {
		return due, e.waitFor(due - e.clock.Now())
	}
	return e.idle.waitUntil(tree, due, e.stopped.done)
}

// scheduled reports whether sessions have places in a schedule.
func (e *sessionEnv) scheduled() bool { return e.replay != nil || e.users != nil }

// session is one execution of a conversation. After it has started it belongs to one
// goroutine. A root and its descendants share one slot, which is free when the last of
// them has ended.
type session struct {
	Dialogue
	env          *sessionEnv
	whole        *bench.Conversation // of the dataset, if Entry is its beginning
	model        string
	target       int
	correlation  string
	next         preparedTurn       // built ahead
	due, permit  time.Duration      // of the next turn
	queued       time.Duration      // when the next turn began to wait for the limit of prefills; 0 = there is none
	permits      chan time.Duration // open loop: due times of further turns; nil before the second turn; closed = no more
	offset, zero time.Duration      // as in placement
	lane         int                // slot of a closed loop that plays the family, from 1; 0 = there is none
	entered      time.Duration      // of a primer: where its session is entered
	unsent       int64              // requests of the conversation and of descendants that have not been started
	retries      int                // of the turn
	midway       *midway            // where the family is entered; nil = at its beginning
	resumed      *midway            // of a root: where an earlier phase has left the family; nil = none has begun it
	reached      int                // the turn after the last one that was sent; 0 = none was
	primer       bool               // the session only sends a primer
	// streamIDs are the ids of streams that primers have used; nil = there were none.
	streamIDs map[*bench.Conversation]string

	root   *session
	tree   *idleTree // of a root; nil = idle time has no limit
	depth  int       // 0 = a root
	parent *session  // nil = a root
	awaits *group    // that the session belongs to; nil = nothing waits for it
	joins  []join    // what later turns wait for

	live   atomic.Int64 // of a root: sessions of the family that have not ended
	cut    atomic.Bool  // of a root: a request of the family was not sent
	broken atomic.Bool  // a child has failed, and the plan wants its parent to end
}

// preparedTurn is a request that needs only to be sent, and its record.
type preparedTurn struct {
	rec     *bench.Record
	request transport.Request
	items   int    // in the answer; 0 = unknown
	err     error  // it could not be encoded
	endFill func() // ends its prefill; nil = it was not sent
}

// isSilent reports whether a session sends no request itself.
func (s *session) isSilent() bool { return len(s.Conversation.Turns) == 0 }

// placeAt gives the session a place in a schedule.
func (s *session) placeAt(p placement) {
	s.offset, s.zero, s.midway = p.offset, p.zero, p.midway
	s.First = p.midway.turn(s.Entry)
	if p.id != "" {
		s.correlation = p.id
	}
	if p.turns > 0 {
		cut := *s.Entry
		cut.Turns = cut.Turns[:p.turns]
		s.whole, s.Entry, s.Conversation = s.Entry, &cut, &cut
	}
}

// restoreWhole gives an unused session of a user back the turns that the user would not
// have sent, and one of a lane those before the turn at which the lane enters it.
func (s *session) restoreWhole() {
	s.midway, s.First = nil, 0
	if s.whole != nil {
		s.Entry, s.Conversation, s.whole, s.next = s.whole, s.whole, nil, preparedTurn{}
	}
}

// prepareFirst builds the first turn of a session, so that this is done before it is due.
func (s *session) prepareFirst(env *sessionEnv) {
	s.env, s.Phase = env, env.phase.Kind
	if (s.next.rec == nil || env.work.PerPhase) && !s.isSilent() && s.midway == nil {
		s.buildTurn(s.First)
	}
}

// admitAt accounts for a session that was allowed to start.
func (s *session) admitAt(due time.Duration) {
	c := &s.env.course
	s.unsent = s.midway.requests(s.Entry)
	c.count.turns.Add(s.unsent)
	c.count.pendingTurns.Add(s.unsent)
	s.live.Store(1)
	s.tree = s.env.idle.newTree()
	s.env.idle.enter(s.tree)
	s.due, s.permit = due, c.clock.Now()
}

// buildTurn prepares a turn before it is due: body, headers and record. Messages that are written when they are sent
// are not written yet: they may be megabytes, and the turn may be due in minutes.
func (s *session) buildTurn(n int) {
	s.OneToken = s.primer || s.env.isCacheWarmup()
	turns := s.Conversation.Turns
	rec := &bench.Record{
		SessionNum: s.Session, Turn: n, Turns: len(turns),
		RequestID: s.env.work.ids.next(), CorrelationID: s.correlation, ConversationID: s.Conversation.ID, Model: s.model,
		Category: s.Conversation.Category,
	}
	if own := turns[n].Model; own != "" {
		rec.Model = own
	}
	if s.depth > 0 {
		rec.Lineage = &bench.Lineage{Depth: s.depth, Root: s.root.correlation}
	}
	s.next = preparedTurn{rec: rec, request: transport.Request{Session: s.correlation}}
	if turns[n].Script == nil {
		s.encodeNext()
	}
}

// encodeNext writes body and headers of the turn that is prepared.
func (s *session) encodeNext() {
	e, next := s.env, &s.next
	next.items, next.err = e.work.encodeTurn(&s.Dialogue, next.rec, &next.request)
	if !e.work.Spread.Late() {
		e.work.addressTo(s.target, next.rec, &next.request)
	}
}

// completeTurn completes the prepared turn with what is known when it is sent.
func (s *session) completeTurn() {
	s.countUnsent(1)
	e, next := s.env, &s.next
	s.reached = next.rec.Turn + 1
	next.rec.Phase = e.phase.Index
	if s.Conversation.Turns[next.rec.Turn].Script != nil {
		s.encodeNext()
	}
	if e.work.Spread.Late() {
		e.work.addressTo(e.work.chooseTarget(&s.target), next.rec, &next.request)
	}
	next.endFill = e.prefill.watchFill(&next.request)
	next.request.Cancel = e.phase.Cancellation.Of(next.rec, s.retries)
}

// startTurn sends the completed turn. It returns the exchange, or false if that is not over:
// the slot then goes on in another goroutine, by resumeSlot.
func (s *session) startTurn(ctx context.Context, losses *outage) (x transport.Exchange, done bool) {
	e, next := s.env, &s.next
	if next.err != nil {
		return transport.Exchange{Response: unsentResponse(next.err, e.clock.Now())}, true
	}
	e.group.Add(1)
	x, done = e.work.startExchange(ctx, &next.request, func(x transport.Exchange) { s.resumeSlot(ctx, losses, x) })
	if done {
		e.group.Done()
	}
	return x, done
}

// returnTurn completes the record of the turn whose exchange is over, except for the answer.
func (s *session) returnTurn(x transport.Exchange) Finished {
	e, next := s.env, &s.next
	rec := next.rec
	f := Finished{Record: rec, Exchange: x, Items: next.items, Conversation: s.Conversation, History: s.History}
	if next.err != nil {
		rec.Stamps.Start, rec.Stamps.End = x.Response.EndAt, x.Response.EndAt
	} else {
		f.Header, f.Body, f.Content = next.request.Header, next.request.Body, next.request.Content
		rec.Stamps, rec.Conn, rec.Status = x.Stamps, x.Conn, x.Response.Status
	}
	if e.work.Spread.Late() {
		e.work.flights.endFlight(rec.Target)
	}
	next.endFill()
	rec.Lane, rec.Entered = s.lane, s.entered
	if s.midway != nil {
		rec.Entered = s.midway.instant
	}
	rec.Stamps.Due, rec.Stamps.Queued, rec.Stamps.Permit = s.due, s.queued, s.permit
	rec.Stamps.Skipped = e.idle.left(s.root.tree)
	rec.Ramp = rec.Stamps.Start-e.start < e.phase.Shape.Ramp()
	rec.Stamps.Scheduled, _ = s.timeInDataset(rec.Turn)
	e.count.countReturned(f.Exchange.Response.Failure)
	return f
}

// unsentResponse is what a request leads to that could not be encoded.
func unsentResponse(err error, now time.Duration) *bench.Response {
	r := &bench.Response{EndAt: now, Failure: &bench.Failure{
		Class: bench.ClientError, Step: bench.StepBuild, Message: err.Error(),
	}}
	if p, ok := errors.AsType[*encodePanic](err); ok {
		r.Failure.Code, r.Panic = bench.CodePanic, &p.Panic
	}
	return r
}

// timeInDataset returns when the dataset says that a turn is sent; false = it does not, or
// the phase is no replay.
func (s *session) timeInDataset(turn int) (time.Duration, bool) {
	offset, timed := s.env.replay.turnOffset(&s.Conversation.Turns[turn], s.zero)
	if !timed {
		return 0, false
	}
	return s.env.start + offset, true
}

// maxRetries is how often a turn that failed is sent again in a row.
const maxRetries = 3

// goesOn reports whether a turn leads to what comes after it.
func (s *session) goesOn(failed bool) bool {
	return !failed || s.env.work.Sessions.OnTurnError == spec.Continue
}

// settleTurn adds an answer to the history and encodes the turn to be sent next, whose
// number it returns; noTurn = there is none.
func (s *session) settleTurn(turn int, a *bench.Answer) (next int) {
	failed := a.Failure != nil
	next = turn + 1
	switch {
	case s.overflows(turn, a):
		return noTurn
	case s.goesOn(failed):
		s.retries = 0
		s.rememberTurn(turn, a)
		if next == len(s.Conversation.Turns) || s.endsInFork(turn) {
			return noTurn
		}
	case s.env.work.Sessions.OnTurnError == spec.RetryTurn && s.retries < maxRetries:
		s.retries++
		s.unsent++
		s.env.count.pendingTurns.Add(1)
		next = turn
	default:
		return noTurn
	}
	s.buildTurn(next)
	return next
}

// noTurn is the turn after the last one.
const noTurn = -1

// rememberTurn adds a turn and its answer to the history, as the conversation wants it. An
// answer that failed is kept as far as it was received.
func (s *session) rememberTurn(turn int, a *bench.Answer) {
	e := bench.Exchange{Turn: s.Conversation.Turns[turn]}
	switch s.Conversation.Mode {
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
	s.History = append(s.History, e)
}

// endsInFork reports whether the conversation ends with a turn because it goes on in a fork.
func (s *session) endsInFork(turn int) bool {
	for _, fork := range s.Conversation.Turns[turn].Forks {
		if !fork.Background {
			return true
		}
	}
	return false
}

// countUnsent counts turns that are not to be sent any more, and marks the time when none
// is left in the phase.
func (s *session) countUnsent(turns int64) {
	c := &s.env.course
	s.unsent -= turns
	left := c.count.pendingTurns.Add(-turns)
	over := decide(&c.arbiter, func(s *scheduler) bool {
		return s.fill.queued == 0 && s.exhausted() || left == 0 && s.closed()
	})
	if over {
		c.markSent()
	}
}

// dueAfter returns when a turn is due whose predecessor was answered: at its time in the
// dataset; a user's gap after the predecessor was due; or after its think time.
func (s *session) dueAfter(turn int, answered time.Duration) time.Duration {
	if at, timed := s.timeInDataset(turn); timed {
		return max(at, answered)
	}
	e := s.env
	switch {
	case s.retries > 0 || e.isCacheWarmup():
		return answered
	case e.users != nil && s.parent == nil:
		return max(answered, s.due+e.users.users.Gap)
	}
	return answered + e.work.Sessions.Scaled(s.Conversation.Turns[turn].Delay)
}
