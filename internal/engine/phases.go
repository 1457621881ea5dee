package engine

import (
	"context"
	"fmt"
	"sync"
	"time"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/collect"
	"aiperfd/internal/engine/load"
	"aiperfd/internal/engine/load/spec"
	"aiperfd/internal/engine/metric/measure"
	"aiperfd/internal/engine/plan"
	"aiperfd/internal/engine/report"
	"aiperfd/internal/run"
)

// activePhase is a phase that has begun.
type activePhase struct {
	plan     *spec.Phase
	load     *load.Phase
	recorder *collect.Recorder
	client   *collect.Client
	silence  *collect.Silence
	set      *measure.Set
	alive    *pulse

	ended    bool          // guarded by collect.Run.Recording
	finished finishedPhase // likewise; set once it has ended
}

// finishedPhase is a phase that has ended.
type finishedPhase struct {
	report.Measured
	public run.Phase
	live   *collect.Live
	chunks int64 // content events of all responses
}

// perform performs all phases. A seamless one begins when the one before it has sent
// everything, every other one when all before it have ended. The end of ctx aborts them at
// once; cancel stops them gracefully. Its error is that of a call to a server between the
// phases.
func (x *execution) perform(ctx context.Context) *run.Error {
	ctx, force := context.WithCancelCause(ctx)
	defer force(nil)
	x.env.cancel.onForce(force)
	all := x.prepared.plan.Phases
	measureIdle(ctx, x.prepared.plan, x.env)
	x.awaitIdle(ctx)
	for first := 0; first < len(all); {
		after := first + 1
		for after < len(all) && all[after].Seamless {
			after++
		}
		if x.env.cancel.cancelled() || ctx.Err() != nil {
			return nil
		}
		if err := x.prepared.servers.ResetCaches(ctx, &all[first]); err != nil {
			return &run.Error{Code: run.CacheReset, Phase: all[first].Name, Message: x.env.secrets.String(err.Error())}
		}
		x.profileServers(ctx, &all[first], true)
		met, err := x.meet(ctx, &all[first])
		if err != nil {
			return err
		}
		if !met {
			x.profileServers(context.WithoutCancel(ctx), &all[first], false)
			return nil
		}
		together := all[first:after]
		if x.env.part != nil {
			own, some := x.env.part.Share(&all[first]).Of(&all[first], x.firstSession)
			if !some {
				first = after
				continue
			}
			together = []spec.Phase{*own}
		}
		ok := x.performTogether(ctx, together)
		x.profileServers(context.WithoutCancel(ctx), &all[first], false)
		if !ok {
			return nil
		}
		first = after
	}
	return nil
}

// measureIdle measures the accelerators while nothing is sent, if the plan asks for it. A cancellation ends it.
func measureIdle(ctx context.Context, p *plan.Plan, env *environment) {
	length, servers := p.GPUTelemetry.Idle, env.live.servers.Load()
	if length == 0 || servers == nil {
		return
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	env.cancel.onCancel(stop)
	defer env.cancel.onCancel(nil)
	_ = announce(env.notify.status, "measuring the idle GPUs", func() error { // it has no error
		servers.MeasureIdle(ctx, length)
		return nil
	})
}

// awaitIdle waits until the servers are idle, if the submission asks for it. A cancellation ends it.
func (x *execution) awaitIdle(ctx context.Context) {
	if x.env.awaitIdle == nil {
		return
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	x.env.cancel.onCancel(stop)
	defer x.env.cancel.onCancel(nil)
	_ = announce(x.env.notify.status, "waiting until the servers are idle", func() error { // it has no error
		if why := x.env.awaitIdle(ctx, idleServers{x}); why != "" && ctx.Err() == nil {
			x.prepared.warnings.add(run.NotIdle, why)
		}
		return nil
	})
}

// idleServers are the servers of a run before its first phase.
type idleServers struct{ *execution }

var _ run.Servers = idleServers{}

// Canary implements [run.Servers].
func (s idleServers) Canary(ctx context.Context) (time.Duration, error) {
	return canaryOf(s.execution)(ctx)
}

// Requests implements [run.Servers].
func (s idleServers) Requests(ctx context.Context) (n float64, known bool) {
	if to := s.env.live.servers.Load(); to != nil {
		return to.Requests(ctx)
	}
	return 0, false
}

// profileServers begins or ends the profiles of the servers for a phase, if the plan asks for
// them.
func (x *execution) profileServers(ctx context.Context, p *spec.Phase, begin bool) {
	failed := x.prepared.servers.Profile(ctx, p, begin)
	x.prepared.warnings = append(x.prepared.warnings, failed...)
}

// performTogether performs a phase and the seamless ones that follow it. It returns when
// all have ended; false = the run does not go on.
func (x *execution) performTogether(ctx context.Context, together []spec.Phase) (ok bool) {
	var working sync.WaitGroup
	var begun []*load.Phase
	for i := range together {
		if i > 0 {
			<-begun[i-1].Sent()
			if x.env.cancel.stopping() || ctx.Err() != nil {
				break
			}
		}
		a := x.begin(ctx, &together[i], begun)
		begun = append(begun, a.load)
		x.env.notify.note("info", "the phase begins", map[string]any{"phase": a.plan.Name})
		working.Go(func() {
			a.load.Run(ctx)
			a.recorder.Close()
			x.finish(a)
			s := &a.finished.public.Stats
			x.env.notify.note("info", "the phase has ended", map[string]any{
				"phase": s.Name, "end": s.End,
				"sent": s.Sent, "completed": s.Completed, "errors": s.Errors, "cancelled": s.Cancelled,
			})
		})
	}
	working.Wait()
	return !x.env.cancel.stopping()
}

// meet waits until the twin of the run, or the load generators that perform its other parts, are ready for a phase, too,
// and agrees on its start. ok is false, without an error, if the run was cancelled meanwhile.
func (x *execution) meet(ctx context.Context, p *spec.Phase) (ok bool, fault *run.Error) {
	if x.env.twin == nil && x.env.part == nil {
		return true, nil
	}
	ctx, stop := context.WithTimeout(ctx, meetPatience)
	defer stop()
	x.env.cancel.onCancel(stop)
	defer x.env.cancel.onCancel(nil)
	var start time.Time
	var err error
	if part := x.env.part; part != nil {
		err = announce(x.env.notify.status, "waiting for the other load generators", func() (err error) {
			start, x.firstSession, err = part.Meet(ctx, p.Index, x.prepared.work.AfterStarted(part.Share(p).Owns))
			return err
		})
	} else {
		err = announce(x.env.notify.status, "waiting for the other server", func() (err error) {
			start, err = x.env.twin.Meet(ctx, p.Index)
			return err
		})
	}
	switch {
	case err == nil:
	case x.env.cancel.stopping():
		return false, nil
	case x.env.part != nil:
		message := "the phase does not begin: " + x.env.secrets.String(err.Error())
		return false, &run.Error{Code: run.WorkerLost, Phase: p.Name, Message: message}
	default:
		message := "the other server is not measured: " + x.env.secrets.String(err.Error())
		return false, &run.Error{Code: run.TwinFailed, Phase: p.Name, Message: message}
	}
	x.startAt = x.prepared.clock.Offset(start)
	return true, nil
}

// meetPatience is how long a run waits for its twin, which prepares itself meanwhile.
const meetPatience = 30 * time.Minute

// besideTwin returns a phase with the arrivals that the twin leaves to this run. canary is that of [run.Twin]; over
// returns a channel that is closed when the phase needs no more of them.
func besideTwin(
	p *spec.Phase, twin run.Twin, canary func(context.Context) (time.Duration, error), over func() <-chan struct{},
) *spec.Phase {
	if twin == nil || !p.Counted() || p.Arrivals == nil {
		return p
	}
	own := *p
	own.Arrivals = twin.Arrivals(p.Arrivals, canary, over)
	if share := twin.Share(); share > 0 {
		own.Rate *= share
	} else {
		own.InTurns = true
	}
	return &own
}

// canaryOf returns what sends a short request of a run that is no part of the load, and says how long the answer took.
func canaryOf(x *execution) func(context.Context) (time.Duration, error) {
	return func(ctx context.Context) (time.Duration, error) {
		servers := newServers(x.prepared.plan, x.env) // those of the run belong to another goroutine
		defer servers.Close()
		return servers.Canary(ctx)
	}
}

// begin begins a phase after those that are still waiting for answers.
func (x *execution) begin(ctx context.Context, p *spec.Phase, earlier []*load.Phase) *activePhase {
	var a *activePhase
	p = besideTwin(p, x.env.twin, canaryOf(x), func() <-chan struct{} { return a.load.Drained() })
	set, err := measure.NewSet(x.prepared.plan.Metrics)
	if err != nil {
		panic(fmt.Sprintf("objectives were checked when the plan was compiled: %v", err))
	}
	if !p.Seamless {
		for _, cost := range x.preconnect(ctx, p) {
			set.Connected(cost)
		}
		x.prepared.data.warming = p.Kind == bench.Warmup
	}
	a = &activePhase{plan: p, set: set, silence: x.silence(p)}
	a.alive = x.env.watchdog.watch(fmt.Sprintf("phase %s of run %s", p.Name, x.env.id), phasePatience)
	a.client = collect.NewClient(collect.ClientOptions{
		Phase: p, Monitor: x.monitor, StampLag: x.prepared.stampLag,
		InFlight: func() int64 { return a.load.InFlight() }, Objectives: x.prepared.plan.Objectives(),
		Path: x.prepared.pathLoss(p),
	})
	observers := []collect.Observer{a.client.Observer(), a.silence.Observer()}
	for _, o := range x.prepared.observers {
		observers = append(observers, o.Phase(p, set))
	}
	a.recorder = collect.NewRecorder(collect.RecorderOptions{
		Run: x.prepared.records, Phase: p, Set: set, Observers: observers,
		Shot: func(events ...run.EventType) (publish func()) {
			if a.load.Overdue() < phasePatience { // else this loop runs, but not that of the load
				a.alive.beat()
			}
			snap := x.shot(a)
			return func() {
				for _, e := range events {
					x.announce(e, snap, p.Index)
				}
			}
		},
	})
	a.load = load.NewPhase(x.prepared.work, p, a.recorder)
	x.env.cancel.enter(a.load)
	x.prepared.records.Publish(func() func() { //nolint:contextcheck // a record waits for the disk even if ctx has ended
		if err := x.prepared.files.Keep(set); err != nil {
			x.prepared.warnings.add("values", fmt.Sprintf("phase %s: %v", p.Name, err))
		}
		a.load.StartAt(x.startAt)
		a.load.Begin(earlier...)
		if x.env.twin != nil && p.Counted() {
			x.env.twin.Begin(a.load.FirstSession())
		}
		x.begun = append(x.begun, a)
		return a.recorder.Begin(a.load)
	})
	return a
}

// finish keeps the measurements of a phase whose records are in. A phase that ends the run
// stops those that have begun after it.
func (x *execution) finish(a *activePhase) {
	x.env.cancel.leave(a.load)
	x.env.watchdog.forget(a.alive)
	x.prepared.records.Publish(func() func() {
		x.keep(a)
		snap := x.shot(a)
		return func() { x.announce(run.EventPhaseComplete, snap, a.plan.Index) }
	})
}

// keep keeps the measurements of a phase, with Recording held.
func (x *execution) keep(a *activePhase) {
	l := a.recorder.Live()
	l.Stats.End = a.load.End()
	x.prepared.warnings = append(x.prepared.warnings, a.load.Warnings()...)
	m := a.measured(l)
	a.finished = finishedPhase{Measured: *m, public: x.public(m, l), live: l, chunks: a.recorder.Chunks()}
	a.ended = true
	switch l.Stats.End {
	case bench.PhaseFailed, bench.PhaseSaturated, bench.PhaseAborted:
		x.env.cancel.stopPhases()
	case bench.PhaseCompleted, bench.PhaseGraceTimeout, bench.PhaseCancelled:
	}
}

// measured returns what was measured of a phase.
func (a *activePhase) measured(l *collect.Live) *report.Measured {
	return &report.Measured{
		Plan: a.plan, Set: a.set, Stats: l.Stats, Tally: &a.client.Tally,
		Self: a.client.Self, Client: a.client.Report, Saturation: a.client.Saturation, Silence: a.silence.Text(),
	}
}
