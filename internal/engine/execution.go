package engine

import (
	"sync"
	"time"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/collect"
	"aiperfd/internal/engine/load/spec"
	"aiperfd/internal/engine/metric"
	"aiperfd/internal/engine/monitor"
	"aiperfd/internal/engine/report"
	"aiperfd/internal/engine/verdict"
	"aiperfd/internal/run"
)

// execution performs the phases of a prepared run and computes its results. The supervisor
// of the run calls its methods in order.
type execution struct {
	env      *environment
	prepared *prepared

	begun   []*activePhase   // in the order of the plan; guarded by records.Recording while phases are performed
	monitor *monitor.Monitor // while phases are performed
	startAt time.Duration    // of the next phase, agreed with others; 0 = when it is ready
	// firstSession is the number of the first session of the next phase, if the run is a part of a larger one.
	firstSession int64
	certificate  *verdict.Certificate // nil = none was requested, or not yet made
	together     together             // of several profiling phases; records.Recording guards it
}

// together are the metrics so far of several phases.
type together struct {
	at      time.Time
	metrics metric.Results
}

// silence returns the observer of the servers' silence in a phase. The first phase
// continues the silence that the preparation observed, if any.
func (x *execution) silence(p *spec.Phase) *collect.Silence {
	with, notify := x.prepared, x.env.notify
	o := collect.SilenceOptions{
		First:   collect.FirstSilence + with.plan.Settings.Job.Interval, // between polls nothing is requested
		Servers: with.plan.Servers(), Received: with.received, Alarm: notify.alarm, Clear: func() { notify.status("") },
	}
	if p.Index == 0 {
		o.Since, o.Next = with.servers.Silence()
	}
	return collect.NewSilence(o)
}

// shot returns a snapshot of a run that performs no phase.
func (env *environment) shot() *run.Snapshot {
	return &run.Snapshot{
		Wall: time.Now().UTC(), State: env.live.state.Load().(bench.State), Cancelled: env.cancel.cancelled(),
		Process: env.live.process.read(),
	}
}

// shot returns a snapshot of the run because of a phase; nil = because of none. Call it with
// records.Recording held, or when no phase is performed.
func (x *execution) shot(because *activePhase) *run.Snapshot {
	snap := x.env.shot()
	now := x.prepared.clock.Now()
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
	if counted := report.Counted(measured); len(counted) > 1 && snap.Metrics != nil {
		// The numbers are those of the run, not of its latest phase.
		if !x.together.at.Equal(snap.MetricsAt) {
			x.together.at, x.together.metrics = snap.MetricsAt, report.Together(counted)
		}
		snap.Metrics, snap.Errors = x.together.metrics, report.Errors(counted)
	}
	snap.SetElapsed(now)
	snap.Client = report.Client(measured, x.certificate)
	snap.Stream, snap.Saturation = report.Stream(measured), report.Saturation(measured)
	return snap
}

// public returns a phase as the API shows it.
func (x *execution) public(m *report.Measured, l *collect.Live) run.Phase {
	out := m.Public(x.prepared.clock)
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
	x.env.live.snapshot.Store(snap)
	x.env.notify.publish(what, snap, phase)
}

// watched calls work while the process monitors itself.
func (x *execution) watched(work func()) {
	x.monitor = monitor.Start(x.env.opts.Monitor)
	stop := sync.OnceFunc(x.monitor.Stop)
	defer stop()
	work()
}
