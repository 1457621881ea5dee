package load

import (
	"cmp"
	"context"
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

// Sender performs exchanges. It is safe for concurrent use. It never fails: an exchange
// that went wrong has a Response.Failure.
type Sender interface {
	Do(ctx context.Context, r *transport.Request) transport.Exchange
	// EndSession releases what is kept for the requests of a session.
	EndSession(id string)
}

// Sink takes requests whose last byte is in. It is safe for concurrent use. It may
// block: what waits then shows as lag.
type Sink interface {
	Finished(f Finished)
}

// Stop is how a run is stopped from outside. It is safe for concurrent use.
type Stop interface {
	// Requested is closed when the run was asked to stop.
	Requested() <-chan struct{}
	// Grace returns how long requests in flight may still take because of the request;
	// false = the grace period of the phase holds.
	Grace(p *plan.Phase) (time.Duration, bool)
	// Patience returns how long servers may send nothing before the requests in flight
	// are cut; 0 = they may take as long as the grace period.
	Patience() time.Duration
}

// Options configure a [Work]. All fields are required unless they say otherwise.
type Options struct {
	Plan   *plan.Plan
	Clock  bench.Clock
	Client Sender
	// Received returns how many reads from servers there were so far.
	Received func() uint64
	// Pacer makes what open loops wait for due times with.
	Pacer func() pace.Waiter
	// Draw returns the next conversation for a model. It is called by one goroutine at
	// a time.
	Draw func(model string) *bench.Conversation
	// TokenIDs returns the tokens of a turn's texts; nil = the API takes none.
	TokenIDs func(t *bench.Turn, model string) []int
	Stop     Stop
}

// Work is what the phases of one run share: what is sent, and where.
type Work struct {
	Options
	ids    identities
	choose *rand.Rand     // of models; only who holds lookahead.drawing draws
	sent   atomic.Int64   // requests, if each chooses its target
	drawn  int64          // sessions; only who holds lookahead.drawing counts
	unused []*session     // prepared for an earlier phase but not started, in order; as above
	cancel sync.WaitGroup // requests that cancel jobs at the server
}

// NewWork returns the work of a run.
func NewWork(o Options) *Work {
	return &Work{Options: o, ids: newIdentities(), choose: o.Plan.Seed.Rand(bench.StreamModelSelection)}
}

// Wait returns when no request is under way any more that cancels a job at the server.
func (w *Work) Wait() { w.cancel.Wait() }

// Target returns the index of the target of the nth session or request that will be
// started, from 0. It is called between phases only.
func (w *Work) Target(n int64) int {
	spread := &w.Plan.Spread
	if spread.Request {
		return spread.Pick(w.sent.Load() + n)
	}
	if n < int64(len(w.unused)) {
		return w.unused[n].target
	}
	return spread.Pick(w.drawn + n - int64(len(w.unused)))
}

// session returns the oldest session that an earlier phase prepared and did not start,
// or draws a conversation, a model and a target for a new one.
func (w *Work) session() *session {
	if len(w.unused) > 0 {
		s := w.unused[0]
		w.unused = w.unused[1:]
		return s
	}
	s := &session{
		num:         w.drawn,
		target:      w.Plan.Spread.Pick(w.drawn),
		correlation: w.ids.next(),
		permits:     make(chan time.Duration, 1), // who permits never waits for a session
	}
	s.model = w.Plan.Models.Pick(w.drawn, w.choose)
	s.conversation = w.Draw(s.model)
	s.model = cmp.Or(s.conversation.Model, s.model)
	w.drawn++
	return s
}

// headers are those of every request plus the identity of this one.
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

// aim gives a request its target.
func (w *Work) aim(rec *bench.Record, r *transport.Request, target int) {
	t := &w.Plan.Targets[target]
	rec.Target, r.URL, r.Host = target, t.URL, t.Host
	if t.Basic != "" && r.Header["Authorization"] == nil {
		r.Header["Authorization"] = []string{t.Basic}
	}
}
