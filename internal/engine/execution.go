package engine

import (
	"context"
	"fmt"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/collect"
	"aiperfd/internal/engine/hub"
	"aiperfd/internal/engine/load"
	"aiperfd/internal/engine/metric"
	"aiperfd/internal/engine/monitor"
	"aiperfd/internal/engine/pace"
	"aiperfd/internal/engine/plan"
	"aiperfd/internal/engine/redact"
	"aiperfd/internal/engine/report"
	"aiperfd/internal/engine/target"
	"aiperfd/internal/engine/transport"
	"aiperfd/internal/engine/verdict"
	"aiperfd/internal/run"
)

// execution is one run while it is active. Its supervisor goroutine calls its
// methods in order; cancel and latest may be called from any goroutine.
type execution struct {
	id      string     // of the run
	plan    *plan.Plan // replaced when the server has named the model
	secrets *redact.Set
	system  system
	notify  notifications
	cancel  *cancellation

	warnings []bench.Warning

	clock   bench.Clock
	client  *transport.Client
	servers *target.Servers // for requests that are not load; nil before the preparation
	data    datasets
	tokens  *collect.Tokens
	files   *collect.Files
	records *collect.Run
	work    *load.Work

	finished []finishedPhase
	observed observation
	process  processMeter
	snapshot atomic.Pointer[run.Snapshot]
	state    atomic.Value // bench.State
}

// system holds the options of the engine that a run uses.
type system struct {
	dial   func(ctx context.Context, network, addr string) (net.Conn, error) // nil = the system's
	memory *transport.Memory                                                 // of responses; nil = without bound
	pacer  func() pace.Waiter
	hub    hub.Options // locates the tokenizers of models
}

// notifications are how a run reports to the engine. None blocks.
type notifications struct {
	log           zerolog.Logger
	publish       func(run.EventType, *run.Snapshot)
	status        func(text string) // what the run is waiting for, for users; empty = it no longer waits
	alarm         func(text string) // status, as a warning
	modelResolved func(*plan.Plan)  // the server has named the model
}

// observation is the state of the load generator, and what it has sent.
type observation struct {
	monitor     *monitor.Monitor     // while phases are performed
	repeats     *collect.Repeats     // of prompts
	certificate *verdict.Certificate // nil = none was requested, or not yet made
	// stampLag returns how long received bytes waited for the client since the
	// run began, by the kernel's stamps; nil = the transport does not measure it.
	stampLag func() verdict.Histogram
}

// finishedPhase is a phase that has ended.
type finishedPhase struct {
	report.Measured
	public run.Phase
	chunks int64 // content events of all responses
}

// perform performs all phases. The end of ctx aborts them at once; cancel stops them
// gracefully. Its error is that of a call to a server between the phases.
func (x *execution) perform(ctx context.Context) *run.Error {
	ctx, force := context.WithCancelCause(ctx)
	defer force(nil)
	x.cancel.onForce(force)
	for i := range x.plan.Phases {
		if x.cancel.cancelled() || ctx.Err() != nil {
			return nil
		}
		p := &x.plan.Phases[i]
		if err := x.servers.ResetCaches(ctx, p); err != nil {
			return &run.Error{Code: run.CacheReset, Phase: p.Name, Message: x.secrets.String(err.Error())}
		}
		x.warnings = append(x.warnings, x.servers.Profile(ctx, p, true)...)
		end := x.phase(ctx, p)
		x.warnings = append(x.warnings, x.servers.Profile(context.WithoutCancel(ctx), p, false)...)
		if end == bench.PhaseFailed || end == bench.PhaseSaturated || end == bench.PhaseAborted {
			return nil
		}
	}
	return nil
}

// phase performs one phase and keeps its measurements.
func (x *execution) phase(ctx context.Context, p *plan.Phase) bench.PhaseEnd {
	set, err := metric.NewSet(x.plan.Metrics)
	if err != nil {
		panic(fmt.Sprintf("objectives were checked when the plan was compiled: %v", err))
	}
	if err := x.files.Keep(set); err != nil {
		x.warn("values", fmt.Sprintf("phase %s: %v", p.Name, err))
	}
	for _, cost := range x.preconnect(ctx, p) {
		set.Connected(cost)
	}
	x.data.warming = p.Kind == bench.Warmup
	var phase *load.Phase
	client := collect.NewClient(collect.ClientOptions{
		Phase: p, Monitor: x.observed.monitor, StampLag: x.observed.stampLag,
		InFlight: func() int64 { return phase.InFlight() },
	})
	silence := x.silence()
	measured := func(l *collect.Live) *report.Measured {
		return &report.Measured{
			Plan: p, Set: set, Stats: l.Stats, Tally: &client.Tally,
			Self: client.Self, Client: client.Report, Saturation: client.Saturation, Silence: silence.Text(),
		}
	}
	rec := collect.NewRecorder(collect.RecorderOptions{
		Run: x.records, Phase: p, Set: set, Observers: []collect.Observer{client, silence, x.observed.repeats.Phase(set)},
		Publish: func(l *collect.Live, events ...run.EventType) {
			snap := x.liveSnapshot(measured(l), l)
			for _, e := range events {
				x.announce(e, snap)
			}
		},
	})
	phase = load.NewPhase(x.work, p, rec)
	x.cancel.enter(phase)
	phase.Begin()
	rec.Begin(phase) //nolint:contextcheck // a record waits for the disk even if ctx has ended
	phase.Run(ctx)
	rec.Close()
	x.cancel.enter(nil)

	l := rec.Live()
	l.Stats.End = phase.End()
	x.warnings = append(x.warnings, phase.Warnings()...)
	m := measured(l)
	x.finished = append(x.finished, finishedPhase{Measured: *m, public: x.public(m, l), chunks: rec.Chunks()})
	snap := x.baseSnapshot()
	if p.Kind == bench.Profiling {
		snap.Metrics, snap.MetricsAt, snap.Errors = l.Metrics, l.MetricsAt, l.Errors
	}
	x.announce(run.EventPhaseComplete, snap)
	return l.Stats.End
}

// silence returns the observer of the servers' silence in the next phase. The first
// phase continues the silence that the preparation observed, if any.
func (x *execution) silence() *collect.Silence {
	o := collect.SilenceOptions{
		First:   collect.FirstSilence + x.plan.Settings.Job.Interval, // between polls nothing is requested
		Servers: x.plan.Servers(), Received: x.received, Alarm: x.notify.alarm, Clear: func() { x.notify.status("") },
	}
	if len(x.finished) == 0 {
		o.Since, o.Next = x.servers.Silence()
	}
	return collect.NewSilence(o)
}

// received returns the number of reads from the servers so far.
func (x *execution) received() uint64 {
	lag := x.client.Lag()
	return lag.Kernel + lag.Read
}

// baseSnapshot returns a snapshot without the phase that is running.
func (x *execution) baseSnapshot() *run.Snapshot {
	snap := &run.Snapshot{
		Wall: time.Now().UTC(), State: x.state.Load().(bench.State), Cancelled: x.cancel.cancelled(),
		Process: x.process.read(),
	}
	for i := range x.finished {
		snap.Phases = append(snap.Phases, x.finished[i].public)
	}
	snap.Phases = slices.Clip(snap.Phases)
	x.judge(snap, x.measured())
	snap.SetElapsed(x.clock.Now())
	return snap
}

// liveSnapshot returns a snapshot of the run while a phase is performed.
func (x *execution) liveSnapshot(m *report.Measured, l *collect.Live) *run.Snapshot {
	snap := x.baseSnapshot()
	snap.Phases = append(snap.Phases, x.public(m, l))
	snap.SetElapsed(l.Stats.LastUpdate)
	if m.Plan.Kind == bench.Profiling {
		snap.Metrics, snap.MetricsAt, snap.Errors = l.Metrics, l.MetricsAt, l.Errors
		x.judge(snap, append(x.measured(), *m))
	}
	return snap
}

// public returns a phase as the API shows it.
func (x *execution) public(m *report.Measured, l *collect.Live) run.Phase {
	out := m.Public(x.clock)
	out.Counters.BytesSent, out.Counters.BytesReceived = l.Sent, l.Received
	return out
}

// judge adds the judgements on phases to a snapshot.
func (x *execution) judge(snap *run.Snapshot, phases []report.Measured) {
	snap.Client = report.Client(phases, x.observed.certificate)
	snap.Stream, snap.Saturation = report.Stream(phases), report.Saturation(phases)
}

// measured returns the phases that have ended.
func (x *execution) measured() []report.Measured {
	var out []report.Measured
	for i := range x.finished {
		out = append(out, x.finished[i].Measured)
	}
	return out
}

// announce publishes a snapshot and the event that goes with it.
func (x *execution) announce(what run.EventType, snap *run.Snapshot) {
	x.snapshot.Store(snap)
	x.notify.publish(what, snap)
}

// watched calls work while the process monitors itself.
func (x *execution) watched(o monitor.Options, work func()) {
	x.observed.monitor = monitor.Start(o)
	stop := sync.OnceFunc(x.observed.monitor.Stop)
	defer stop()
	work()
}
