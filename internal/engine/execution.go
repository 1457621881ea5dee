package engine

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/dataset"
	"aiperfd/internal/engine/export"
	"aiperfd/internal/engine/hub"
	"aiperfd/internal/engine/metric"
	"aiperfd/internal/engine/monitor"
	"aiperfd/internal/engine/pace"
	"aiperfd/internal/engine/plan"
	"aiperfd/internal/engine/redact"
	"aiperfd/internal/engine/target"
	"aiperfd/internal/engine/transport"
	"aiperfd/internal/engine/verdict"
	"aiperfd/internal/run"
)

// defaultCancelGrace is how long requests in flight may still take after a
// graceful cancel of a phase whose own grace has no limit.
const defaultCancelGrace = 30 * time.Second

// codeForced is of requests that were cut by force.
const codeForced = "run_cancelled"

// execution is one run while it is active. Its supervisor goroutine calls its
// methods in order; request and snapshot may be used from anywhere.
type execution struct {
	plan          *plan.Plan
	clock         bench.Clock
	secrets       *redact.Set
	files         recordFile[*bench.Record]
	raws          recordFile[*export.Raw]
	values        valueFiles
	publish       func(run.EventType, *run.Snapshot)
	logs          zerolog.Logger
	say           func(text string) // what the run is waiting for, for people; empty = nothing any more
	alarm         func(text string) // say, as a warning
	modelResolved func(*plan.Plan)  // the server has named the model

	dial     func(ctx context.Context, network, addr string) (net.Conn, error) // nil = the system's
	memory   *transport.Memory                                                 // of responses; nil = without bound
	client   *transport.Client
	servers  *target.Servers // for requests that are not load; nil before prepare
	hub      hub.Options     // where tokenizers of models are
	source   dataset.Source
	sources  map[string]dataset.Source // by model, if tokenizers differ; nil = source is everybody's
	sampler  *dataset.Sampler
	tokens   counter
	encoders tokenizers // of turns for APIs that take tokens; empty elsewhere
	ids      identities
	pacer    func() pace.Waiter
	choose   *rand.Rand   // of models; only who holds ahead.making draws
	sent     atomic.Int64 // requests, where each chooses its target
	drawn    int64        // sessions; only who holds ahead.making counts
	spares   []*session   // built for an earlier phase but not started, in order; as above
	finished []finishedPhase
	warnings []bench.Warning // of the preparation; only the supervisor adds

	mismatched  atomic.Int64           // answers with a count_mismatch
	malformed   atomic.Int64           // answers with a malformed_event
	oddity      atomic.Pointer[string] // the first such event; nil = there was none
	snapshot    atomic.Pointer[run.Snapshot]
	state       atomic.Value // bench.State
	cancelAsked chan struct{}
	process     processMeter
	monitor     *monitor.Monitor     // while phases are performed
	certificate *verdict.Certificate // nil = none was asked for, or not yet
	takebacks   sync.WaitGroup       // requests that cancel jobs at the server
	// stampLag returns how long received bytes waited for the client since the
	// run began, by the kernel's stamps; nil = the transport does not measure it.
	stampLag func() verdict.Histogram

	mu            sync.Mutex
	request       *run.CancelRequest      // guarded by mu; nil = nobody asked
	current       *phase                  // guarded by mu
	force         context.CancelCauseFunc // guarded by mu; nil before the first phase
	stopPreparing context.CancelFunc      // guarded by mu; nil once prepared
}

// finishedPhase is a phase that has ended.
type finishedPhase struct {
	plan   *plan.Phase
	set    *metric.Set
	public run.Phase
	watch  *watch
	chunks int64  // content events of all responses
	silent string // when the server was silent for long; empty = it was not
}

// saturated reports whether the servers did not keep up with the phase.
func (f *finishedPhase) saturated() bool {
	return f.watch.saturation != nil && f.watch.saturation.Saturated
}

// load performs all phases. ctx ends everything at once; cancel is the gentle
// way.
func (x *execution) load(ctx context.Context) {
	ctx, force := context.WithCancelCause(ctx)
	defer force(nil)
	x.mu.Lock()
	x.force = force
	x.mu.Unlock()
	for i := range x.plan.Phases {
		if x.cancelled() || ctx.Err() != nil {
			return
		}
		plan := &x.plan.Phases[i]
		x.warnings = append(x.warnings, x.servers.Profile(ctx, plan, true)...)
		end := x.phase(ctx, plan)
		x.warnings = append(x.warnings, x.servers.Profile(context.WithoutCancel(ctx), plan, false)...)
		if end == bench.PhaseFailed || end == bench.PhaseAborted {
			return
		}
	}
}

// phase performs one phase and keeps what it measured.
func (x *execution) phase(ctx context.Context, plan *plan.Phase) bench.PhaseEnd {
	set, err := metric.NewSet(x.plan.Metrics)
	if err != nil {
		panic(fmt.Sprintf("objectives were checked when the plan was compiled: %v", err))
	}
	if err := x.values.keep(set); err != nil {
		x.warn("values", fmt.Sprintf("phase %s: %v", plan.Name, err))
	}
	for _, cost := range x.preconnect(ctx, plan) {
		set.Connected(cost)
	}
	p := newPhase(x, plan)
	x.mu.Lock()
	x.current = p
	x.mu.Unlock()
	if x.cancelled() {
		p.stop(bench.PhaseCancelled)
	}
	rec := newRecorder(p, set)
	end := p.execute(ctx, rec)
	x.mu.Lock()
	x.current = nil
	x.mu.Unlock()
	stats := p.stats(p.clock.Now())
	stats.End = end
	x.finished = append(x.finished, finishedPhase{plan: plan, set: set, public: rec.public(stats), watch: rec.watch, chunks: rec.bytes.chunks, silent: rec.silence.text()})
	snap := x.baseSnapshot()
	if plan.Kind == bench.Profiling {
		snap.Metrics, snap.MetricsAt, snap.Errors = rec.live, p.clock.Wall(rec.computed), set.ErrorGroups()
	}
	x.announce(run.EventPhaseComplete, snap)
	return end
}

// cancel asks the run to stop. A second call can only make it harder: force
// after graceful, or another grace period. first reports whether nobody had
// asked before.
func (x *execution) cancel(c run.CancelRequest) (first bool) {
	x.mu.Lock()
	first = x.request == nil
	if !first {
		c.Force = c.Force || x.request.Force
		if c.Grace == nil {
			c.Grace = x.request.Grace
		}
		c.Patience = cmp.Or(c.Patience, x.request.Patience)
		if c.Reason == "" {
			c.Reason = x.request.Reason
		}
	}
	x.request = &c
	current, force := x.current, x.force
	if x.stopPreparing != nil {
		x.stopPreparing()
	}
	x.mu.Unlock()
	if first {
		close(x.cancelAsked)
	}
	if current != nil {
		current.stop(bench.PhaseCancelled)
	}
	if c.Force && force != nil {
		force(transport.CancelWith(&bench.Failure{
			Class: bench.Cancelled, Code: codeForced, Message: "run cancelled by force",
		}))
	}
	return first
}

// cancelled reports whether somebody asked to stop.
func (x *execution) cancelled() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.request != nil
}

// patience returns how long a server may be silent after a cancel before the
// requests in flight are cut; 0 = as long as they may take.
func (x *execution) patience() time.Duration {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.request == nil {
		return 0
	}
	return x.request.Patience
}

// heard counts what servers have sent so far.
func (x *execution) heard() uint64 {
	lag := x.client.Lag()
	return lag.Kernel + lag.Read
}

// cancelGrace returns how long requests in flight may take because of a cancel;
// false = nobody cancelled, or the phase's own grace holds.
func (x *execution) cancelGrace() (time.Duration, bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	switch {
	case x.request == nil:
		return 0, false
	case x.request.Force:
		return 0, true
	case x.request.Grace != nil:
		return *x.request.Grace, true
	case x.current != nil && x.current.plan.Grace < 0:
		return defaultCancelGrace, true
	}
	return 0, false
}

// nextSession returns the oldest session that an earlier phase built and did not
// start, or draws a conversation, a model and a target for a new one.
func (x *execution) nextSession() *session {
	if len(x.spares) > 0 {
		s := x.spares[0]
		x.spares = x.spares[1:]
		return s
	}
	s := &session{
		num:         x.drawn,
		target:      x.plan.Spread.Pick(x.drawn),
		correlation: x.ids.next(),
		permits:     make(chan time.Duration, 1), // who permits never waits for a session
	}
	s.model = x.plan.Models.Pick(x.drawn, x.choose)
	s.talk = x.sourceOf(s.model).At(x.sampler.Next())
	s.model = cmp.Or(s.talk.Model, s.model)
	x.drawn++
	return s
}

// headers are those of every request plus the identity of this one.
func (x *execution) headers(rec *bench.Record) http.Header {
	h := make(http.Header, len(x.plan.Header)+3+len(x.plan.Affinity))
	maps.Copy(h, x.plan.Header)
	values := []string{rec.RequestID, rec.CorrelationID}
	h["X-Request-Id"] = values[:1:1]
	for _, name := range x.plan.Affinity {
		h[name] = values[1:]
	}
	h[x.plan.SessionID] = values[1:]
	return h
}

// aim gives a request its target.
func (x *execution) aim(rec *bench.Record, r *transport.Request, target int) {
	t := &x.plan.Targets[target]
	rec.Target, r.URL, r.Host = target, t.URL, t.Host
	if t.Basic != "" && r.Header["Authorization"] == nil {
		r.Header["Authorization"] = []string{t.Basic}
	}
}

// keep hands a record to the record files. A file that cannot be written is
// reported once, by the export.
func (x *execution) keep(rec *bench.Record) { x.files.write(rec) }

// redactRecord takes secrets out of the texts that a server chose.
func (x *execution) redactRecord(rec *bench.Record) {
	a := &rec.Answer
	a.ResponseID, a.Model = x.secrets.String(a.ResponseID), x.secrets.String(a.Model)
	if f := a.Failure; f != nil {
		clean := *f
		clean.Message, clean.Code, clean.Type = x.secrets.String(f.Message), x.secrets.String(f.Code), x.secrets.String(f.Type)
		a.Failure = &clean
	}
}

// baseSnapshot is what is known without the phase that is running.
func (x *execution) baseSnapshot() *run.Snapshot {
	snap := &run.Snapshot{
		Wall: time.Now().UTC(), State: x.state.Load().(bench.State), Cancelled: x.cancelled(),
		Process: x.process.read(),
	}
	for i := range x.finished {
		snap.Phases = append(snap.Phases, x.finished[i].public)
	}
	snap.Phases = slices.Clip(snap.Phases)
	snap.Client, snap.Stream = x.trust(nil)
	snap.Saturation = x.saturation(nil)
	snap.SetElapsed(x.clock.Now())
	return snap
}

// announce publishes a snapshot and the event that goes with it.
func (x *execution) announce(what run.EventType, snap *run.Snapshot) {
	x.snapshot.Store(snap)
	x.publish(what, snap)
}
