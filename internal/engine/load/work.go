package load

import (
	"cmp"
	"context"
	"hash/maphash"
	"maps"
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/pace"
	"aiperfd/internal/engine/plan"
	"aiperfd/internal/engine/transport"
)

// Sender performs exchanges. It is safe for concurrent use. It returns no errors: an
// exchange that failed has a Response.Failure.
type Sender interface {
	Do(ctx context.Context, r *transport.Request) transport.Exchange
	// EndSession releases what is kept for the requests of a session.
	EndSession(id string)
}

// Sink takes requests whose last byte has arrived. It is safe for concurrent use. It may
// block, but the next requests of the sessions that wait are late then.
type Sink interface {
	Finished(f Finished)
}

// Stop stops a run from outside. It is safe for concurrent use.
type Stop interface {
	// Requested returns a channel that is closed when a stop was requested; nil = never.
	Requested() <-chan struct{}
	// Grace returns how long requests in flight may still take because of the request;
	// false = the grace period of the phase applies.
	Grace(p *plan.Phase) (time.Duration, bool)
	// Patience returns how long servers may send nothing before the requests in flight
	// are cut; 0 = they may take as long as the grace period.
	Patience() time.Duration
}

// Options configure a [Work]. All fields are required unless noted otherwise.
type Options struct {
	Plan   *plan.Plan
	RunID  string // part of the markers of sessions; not needed without them
	Clock  bench.Clock
	Client Sender
	// Received returns how many reads from servers there were so far.
	Received func() uint64
	// Pacer returns what an open loop uses to wait for due times.
	Pacer func() pace.Waiter
	// Draw returns the next conversation for a model. It is called by one goroutine at
	// a time. io.EOF means that the dataset has ended and is not repeated; another error
	// ends the phase. It returns an error as well if quit is closed while it waits.
	Draw func(model string, quit <-chan struct{}) (*bench.Conversation, error)
	// Restart makes Draw begin again with the first conversation. once = Draw returns
	// io.EOF after the last one; otherwise the dataset is repeated. It is not called
	// while Draw is. nil = no phase of the plan reads the dataset once.
	Restart func(once bool) error
	// TokenIDs returns the tokens of a turn's texts; nil = the API takes none.
	TokenIDs func(t *bench.Turn, model string) []int
	Stop     Stop
}

// Work is what the phases of one run share: the requests and their targets.
type Work struct {
	Options
	ids     identities
	hash    maphash.Seed          // of fingerprints
	choose  *rand.Rand            // of models; guarded by lookahead.drawing
	sent    atomic.Int64          // requests, if each chooses its target
	flights flights               // by target; empty unless the one with the fewest is chosen
	drawn   int64                 // sessions; guarded by lookahead.drawing
	unused  []*session            // prepared for an earlier phase but not started, in order; guarded by lookahead.drawing
	once    *bool                 // the dataset is not repeated; nil = no phase has begun; only used between phases
	failed  atomic.Pointer[error] // of the dataset; nil = none
	cancel  sync.WaitGroup        // requests that cancel jobs at the server
}

// NewWork returns the work of a run.
func NewWork(o Options) *Work {
	w := &Work{Options: o, ids: newIdentities(), hash: maphash.MakeSeed(), choose: o.Plan.Seed.Rand(bench.StreamModelSelection)}
	if o.Plan.Spread.Least {
		w.flights.count = make([]int64, len(o.Plan.Targets))
	}
	return w
}

// Err returns the error of the dataset that ended a phase.
func (w *Work) Err() error {
	if err := w.failed.Load(); err != nil {
		return *err
	}
	return nil
}

// begin prepares the dataset for a phase. One that reads it once begins at its first
// conversation, and so does the phase after such a phase; every other phase goes on
// where the one before it has ended.
func (w *Work) begin(p *plan.Phase) error {
	before := w.once
	w.once = &p.Once
	if before == nil || !p.Once && !*before {
		return nil
	}
	w.unused = nil
	return w.Restart(p.Once)
}

// Wait waits for the requests that cancel jobs at the server.
func (w *Work) Wait() { w.cancel.Wait() }

// Target returns the index of the target of the nth session or request that will be
// started, from 0. It is called between phases only.
func (w *Work) Target(n int64) int {
	spread := &w.Plan.Spread
	if spread.Request {
		return spread.Pick(w.sent.Load() + n)
	}
	if spread.Least {
		return spread.Pick(n)
	}
	if n < int64(len(w.unused)) {
		return w.unused[n].target
	}
	return spread.Pick(w.drawn + n - int64(len(w.unused)))
}

// session returns the oldest session that an earlier phase prepared and did not start,
// or draws a conversation, a model and a target for a new one.
func (w *Work) session(quit <-chan struct{}) (*session, error) {
	if len(w.unused) > 0 {
		s := w.unused[0]
		w.unused = w.unused[1:]
		return s, nil
	}
	model := w.Plan.Models.Pick(w.drawn, w.choose)
	conversation, err := w.Draw(model, quit)
	if err != nil {
		return nil, err
	}
	s := &session{
		num:          w.drawn,
		entry:        conversation,
		conversation: conversation,
		model:        cmp.Or(conversation.Model, model),
		target:       w.Plan.Spread.Pick(w.drawn),
		correlation:  w.ids.next(),
		permits:      make(chan time.Duration, 1), // the sender never waits for the session
	}
	if w.Plan.Spread.Least {
		s.target = undecided
	}
	s.root = s
	w.drawn++
	return s, nil
}

// headers returns the headers of every request plus the ids of this one.
func (w *Work) headers(rec *bench.Record) http.Header {
	h := make(http.Header, len(w.Plan.Header)+3+len(w.Plan.Affinity))
	maps.Copy(h, w.Plan.Header)
	values := []string{rec.RequestID, rec.CorrelationID}
	h["X-Request-Id"] = values[:1:1]
	for _, name := range w.Plan.Affinity {
		h[name] = values[1:]
	}
	h[w.Plan.SessionID] = values[1:]
	return h
}

// aim sets the target of a request.
func (w *Work) aim(rec *bench.Record, r *transport.Request, target int) {
	t := &w.Plan.Targets[target]
	rec.Target, r.URL, r.Host = target, t.URL, t.Host
	if t.Basic != "" && r.Header["Authorization"] == nil {
		r.Header["Authorization"] = []string{t.Basic}
	}
}
