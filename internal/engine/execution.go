package engine

import (
	"context"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"aiperfd/internal/engine/allow"
	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/collect"
	"aiperfd/internal/engine/hub"
	"aiperfd/internal/engine/load"
	"aiperfd/internal/engine/monitor"
	"aiperfd/internal/engine/pace"
	"aiperfd/internal/engine/plan"
	"aiperfd/internal/engine/redact"
	"aiperfd/internal/engine/report"
	"aiperfd/internal/engine/samples"
	"aiperfd/internal/engine/series"
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
	faults  *collect.Faults // of the processing of responses
	records *collect.Run
	work    *load.Work

	begun    []*activePhase // in the order of the plan; guarded by records.Recording while phases are performed
	observed observation
	process  processMeter
	snapshot atomic.Pointer[run.Snapshot]
	state    atomic.Value // bench.State
}

// system holds the options of the engine that a run uses.
type system struct {
	allow    *allow.List                                                       // nil = every server may be reached
	dial     func(ctx context.Context, network, addr string) (net.Conn, error) // nil = the system's
	memory   *transport.Memory                                                 // of responses; nil = without bound
	pacer    func() pace.Waiter
	hub      hub.Options // locates the tokenizers of models
	watchdog *watchdog
	// reserve is the bytes of the disk that record files leave free.
	reserve int64
}

// notifications are how a run reports to the engine. None blocks.
type notifications struct {
	log           zerolog.Logger                                     // its lines are in the log of the run too
	note          func(level, message string, fields map[string]any) // writes to the log of the run only
	publish       func(what run.EventType, snap *run.Snapshot, phase int)
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
	// series is the time series of the run while it is recorded; nil before and after that.
	series atomic.Pointer[series.Recorder]
	// samples are single requests of the run while they are recorded; nil before and after that.
	samples atomic.Pointer[samples.Recorder]
}

// silence returns the observer of the servers' silence in a phase. The first phase
// continues the silence that the preparation observed, if any.
func (x *execution) silence(p *plan.Phase) *collect.Silence {
	o := collect.SilenceOptions{
		First:   collect.FirstSilence + x.plan.Settings.Job.Interval, // between polls nothing is requested
		Servers: x.plan.Servers(), Received: x.received, Alarm: x.notify.alarm, Clear: func() { x.notify.status("") },
	}
	if p.Index == 0 {
		o.Since, o.Next = x.servers.Silence()
	}
	return collect.NewSilence(o)
}

// received returns the number of reads from the servers so far.
func (x *execution) received() uint64 {
	lag := x.client.Lag()
	return lag.Kernel + lag.Read
}

// shot returns a snapshot of the run because of a phase; nil = of none. Call it with
// records.Recording held, or when no phase is performed.
func (x *execution) shot(because *activePhase) *run.Snapshot {
	snap := &run.Snapshot{
		Wall: time.Now().UTC(), State: x.state.Load().(bench.State), Cancelled: x.cancel.cancelled(),
		Process: x.process.read(),
	}
	now := x.clock.Now()
	var measured []report.Measured
	for _, a := range x.begun {
		f := &a.finished
		if !a.ended {
			l := a.recorder.Live()
			m := a.measured(l)
			f, now = &finishedPhase{Measured: *m, public: x.public(m, l), live: l}, l.Stats.LastUpdate
		}
		if l := f.live; a.plan.Kind == bench.Profiling && (!a.ended || a == because) {
			snap.Metrics, snap.MetricsAt, snap.Errors = l.Metrics, l.MetricsAt, l.Errors
		}
		snap.Phases = append(snap.Phases, f.public)
		if a.ended || a.plan.Kind == bench.Profiling {
			measured = append(measured, f.Measured)
		}
	}
	snap.SetElapsed(now)
	snap.Client = report.Client(measured, x.observed.certificate)
	snap.Stream, snap.Saturation = report.Stream(measured), report.Saturation(measured)
	return snap
}

// public returns a phase as the API shows it.
func (x *execution) public(m *report.Measured, l *collect.Live) run.Phase {
	out := m.Public(x.clock)
	out.Counters.BytesSent, out.Counters.BytesReceived = l.Sent, l.Received
	return out
}

// finished returns the phases that have ended, in the order of the plan. It is called
// when none is performed.
func (x *execution) finished() (out []finishedPhase) {
	for _, a := range x.begun {
		if a.ended {
			out = append(out, a.finished)
		}
	}
	return out
}

// measured returns the measurements of the phases that have ended.
func (x *execution) measured() (out []report.Measured) {
	for _, f := range x.finished() {
		out = append(out, f.Measured)
	}
	return out
}

// announce publishes a snapshot and the event of a phase that goes with it.
func (x *execution) announce(what run.EventType, snap *run.Snapshot, phase int) {
	x.snapshot.Store(snap)
	x.notify.publish(what, snap, phase)
}

// watched calls work while the process monitors itself.
func (x *execution) watched(o monitor.Options, work func()) {
	x.observed.monitor = monitor.Start(o)
	stop := sync.OnceFunc(x.observed.monitor.Stop)
	defer stop()
	work()
}
