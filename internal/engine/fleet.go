package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/collect"
	"aiperfd/internal/engine/config"
	"aiperfd/internal/engine/durable"
	"aiperfd/internal/engine/export"
	"aiperfd/internal/engine/metric/measure"
	"aiperfd/internal/engine/plan"
	"aiperfd/internal/engine/report"
	"aiperfd/internal/engine/samples"
	"aiperfd/internal/engine/series"
	"aiperfd/internal/run"
)

// Fleet performs runs on several load generators. It is safe for concurrent use.
type Fleet interface {
	// Perform performs a run, and returns the load generators that have performed parts of it once all have ended. fault
	// says why the run ended early; nil = it did not. Without members there is nothing of the run.
	Perform(ctx context.Context, f *FleetRun) (members []report.Member, fault *run.Error)
}

// FleetRun is a run that a fleet performs.
type FleetRun struct {
	ID       string
	Document *config.Document
	Plan     *plan.Plan
	Dir      string // in which each load generator gets a folder for the files of its part
	// Cancelled is closed when the run is cancelled; Cancel says how. It may become more forceful later.
	Cancelled <-chan struct{}
	Cancel    func() run.CancelRequest
	Status    func(text string) // what the run is waiting for; empty = it no longer waits
	// Gathered is called when the load generators are known, with the clock of the run.
	Gathered func(clock bench.Clock)
	// Ready is called when all load generators are ready for a phase, before its start is set. It may take some seconds.
	Ready   func(ctx context.Context)
	Running func() // is called when the load begins
	// Begin is called when the start of a phase is set, which is soon.
	Begin func(phase int, at time.Duration)
	// End is called when all load generators have ended the phase that began last. It may take some seconds.
	End func(ctx context.Context)
	// Over is called when no load generator performs the run any more, before their files are there.
	Over func()
	// Look takes the state of the load generators and of all phases that have begun, about once per second.
	Look func(*FleetLook)
}

// FleetLook is the state of a run on several load generators.
type FleetLook struct {
	Clock   bench.Clock
	Phases  []FleetPhase
	Workers []run.WorkerState
	Seconds []series.Window // of all load generators, since the look before
	// Latest is when the second begins that came last from the one that is furthest behind; 0 = it has told of none.
	Latest time.Duration
}

// FleetPhase is the state of a phase at all load generators together.
type FleetPhase struct {
	Stats bench.PhaseStats
	Set   *measure.Set // of all records so far, by sketches
}

// workersFolder is the folder of a run that has the files of its load generators.
const workersFolder = "workers"

// fleetRun is the performance of a run on several load generators.
type fleetRun struct {
	job   *job
	env   *environment
	began map[int]bool // phases that were announced
	// workers are the load generators at the last look.
	workers  []run.WorkerState
	last     bench.PhaseStats      // of the phase that began last, at the last look
	servers  *collect.FleetServers // nil = the servers' metrics are not read
	series   *series.Recorder      // nil = it cannot be written
	clock    bench.Clock           // of the load generators
	start    time.Duration         // of the first phase
	closed   bool                  // the servers are not read any more
	ends     map[int]time.Duration // of phases in the series
	warnings warnings
}

// executeFleet performs a run on several load generators.
func (j *job) executeFleet(ctx context.Context, env *environment) {
	if j.engine.opts.Fleet == nil {
		j.abandon(ctx, env, &prepareError{run.WorkersMissing, errors.New(
			"the document asks for load generators, and none can join this process: start it with --bus-listen or --bus-url")})
		return
	}
	f := &fleetRun{job: j, env: env, began: map[int]bool{}, ends: map[int]time.Duration{}}
	stoppable, stop := context.WithCancel(ctx)
	defer stop()
	defer f.endObservers()
	members, fault := j.engine.opts.Fleet.Perform(stoppable, &FleetRun{
		ID: j.item.ID(), Document: j.plan.Document, Plan: j.plan, Dir: filepath.Join(env.dir, workersFolder),
		Cancelled: j.cancels.requested, Cancel: j.cancels.current, Status: env.notify.status,
		Gathered: f.observe, Ready: f.ready, Begin: f.begin, End: f.end, Over: f.closeServers,
		Running: func() { j.enter(ctx, bench.StateRunning) }, Look: f.look,
	})
	if len(members) == 0 {
		f.endObservers()
		j.abandon(ctx, env, &prepareError{fault.Code, errors.New(fault.Message)})
		return
	}
	j.enter(ctx, bench.StateExporting)
	if err := f.conclude(ctx, members, fault); err != nil {
		j.abandon(ctx, env, &prepareError{run.ExportFailed, err})
	}
}

// secondsSettle is after how many seconds a second of the time series does not wait for load generators that have not
// told of it any more.
const secondsSettle = 10

// observe begins the time series, and to read the metrics of servers and accelerators if the plan asks for it: once for
// all load generators.
func (f *fleetRun) observe(clock bench.Clock) {
	f.clock = clock
	p, env := f.job.plan, f.env
	var err error
	f.series, err = series.Create(series.Options{
		Path: filepath.Join(env.dir, series.File), Clock: clock, Settle: secondsSettle,
	})
	if err != nil {
		f.warnings.add(collect.WarnSeries, err.Error())
	}
	env.live.series.Store(f.series)
	to := startTelemetry(p, env, clock, collect.NewReadings(&collect.FileOptions{
		Dir: env.dir, Plan: p, Reserve: env.opts.DiskReserve, Alarm: env.notify.alarm,
	}), f.warnings.add)
	if to != nil {
		f.servers = collect.NewFleetServers(collect.ServerMetricsOptions{
			To: to, Forced: env.cancel.forced, Apart: p.Document.Benchmark.Datasets[0].Apart(),
		})
	}
}

// ready observes the servers before a phase.
func (f *fleetRun) ready(ctx context.Context) {
	if f.start == 0 {
		measureIdle(ctx, f.job.plan, f.env)
	}
	f.servers.Ready(ctx)
}

// begin observes the start of a phase.
func (f *fleetRun) begin(phase int, at time.Duration) {
	f.last = bench.PhaseStats{Index: phase, Start: at}
	f.start = cmp.Or(f.start, at)
	p := &f.job.plan.Phases[phase]
	f.servers.Begin(p, at)
	if f.series != nil {
		f.series.Begin(series.Phase{Index: p.Index, Name: p.Name, Kind: string(p.Kind), Start: at})
	}
}

// end observes the servers after a phase.
func (f *fleetRun) end(ctx context.Context) {
	f.servers.End(ctx, &f.last)
	if f.series != nil {
		f.endInSeries(f.last.Index, max(f.last.Start, cmp.Or(f.last.RequestsEnd, f.last.LastUpdate)))
	}
}

// endInSeries says when a phase has ended.
func (f *fleetRun) endInSeries(phase int, at time.Duration) {
	f.ends[phase] = at
	f.series.End(phase, at)
}

// closeServers ends the reading of the servers' metrics.
func (f *fleetRun) closeServers() {
	if !f.closed {
		f.closed = true
		f.servers.Close(f.warnings.add)
	}
}

// endObservers ends the time series and the reading of the servers' metrics.
func (f *fleetRun) endObservers() {
	f.env.live.servers.Store(nil)
	f.env.live.series.Store(nil)
	f.closeServers()
	collect.CloseSeries(f.series, f.warnings.add)
	f.servers, f.series = nil, nil
}

// look publishes the state of the run.
func (f *fleetRun) look(l *FleetLook) {
	clock, phases := l.Clock, l.Phases
	snap := f.env.shot()
	snap.Workers, f.workers = l.Workers, l.Workers
	events := []run.EventType{run.EventPhaseProgress}
	last, now := 0, time.Duration(0)
	var measured []report.Measured
	for i := range phases {
		s := &phases[i].Stats
		p := &f.job.plan.Phases[s.Index]
		m := report.Measured{Plan: p, Set: phases[i].Set, Stats: *s}
		snap.Phases = append(snap.Phases, m.Public(clock))
		now, last = max(now, s.LastUpdate), s.Index
		if s.Index == f.last.Index {
			f.last = *s
		}
		if p.Kind == bench.Profiling {
			snap.Metrics, snap.MetricsAt = m.Set.Live(m.Stats, s.LastUpdate), clock.Wall(s.LastUpdate)
			snap.Errors = m.Set.ErrorGroups()
			measured = append(measured, m)
		}
		if !f.began[s.Index] {
			f.began[s.Index] = true
			events = append([]run.EventType{run.EventPhaseStart}, events...)
		}
	}
	if len(measured) > 0 {
		events = append(events, run.EventMetrics)
	}
	f.lookAtSeconds(l)
	if counted := report.Counted(measured); len(counted) > 1 {
		snap.Metrics, snap.Errors = report.Together(counted), report.Errors(counted)
	}
	snap.SetElapsed(now)
	f.env.live.snapshot.Store(snap)
	for _, e := range events {
		f.env.notify.publish(e, snap, last)
	}
}

// lookAtSeconds continues the time series.
func (f *fleetRun) lookAtSeconds(l *FleetLook) {
	if f.series == nil {
		return
	}
	now := l.Clock.Now()
	for i := range l.Seconds {
		if err := f.series.Add(now, &l.Seconds[i]); err != nil {
			f.env.notify.log.Warn().Err(err).Msg("a second of a load generator is left out")
		}
	}
	// The last state of a phase may come after its end.
	for i := range l.Phases {
		s := &l.Phases[i].Stats
		if end, known := f.ends[s.Index]; known && s.RequestsEnd > end {
			f.endInSeries(s.Index, s.RequestsEnd)
		}
	}
	f.series.Advance(now, l.Latest)
}

// conclude computes the results of the whole run from those of its parts.
func (f *fleetRun) conclude(ctx context.Context, members []report.Member, fault *run.Error) error {
	j, p, servers := f.job, f.job.plan, f.servers
	f.endObservers()
	values := collect.NewValues(f.env.dir)
	defer values.Close()
	name := os.DevNull
	if p.Files.Records {
		name = filepath.Join(f.env.dir, export.NamesFor(p.Files.Layout.Prefix).Records)
	}
	records, err := os.OpenFile(name, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, durable.Shared)
	if err != nil {
		return fmt.Errorf("merge records: %w", err)
	}
	single := samples.New(samples.Options{
		Path: filepath.Join(f.env.dir, samples.File), Clock: f.clock, Rand: p.Seed.Rand(bench.StreamSamples),
	})
	single.Begin(f.start)
	o, phases, err := report.ConcludeCluster(ctx, &report.ClusterInput{
		Run: j.item.View(), Plan: p, Members: members, Records: records, Cancelled: j.cancels.cancelled(), Fault: fault,
		Keep: values.Keep, Servers: servers, Samples: single, Warnings: f.warnings,
	})
	if closed := single.Close(); closed != nil {
		o.Warnings = append(o.Warnings, bench.Warning{Code: "samples-incomplete", Detail: closed.Error()})
	}
	if p.Files.Records {
		err = errors.Join(err, records.Sync())
	}
	if err = errors.Join(err, records.Close()); err != nil {
		return err
	}
	failed, err := export.Write(f.env.dir, o.Report, f.env.secrets)
	switch {
	case err != nil:
		message := f.env.secrets.String(fmt.Sprintf("write results: %v", err))
		o.State, o.Err = bench.StateFailed, &run.Error{Code: run.ExportFailed, Message: message}
	case len(failed) > 0:
		o.Warnings = append(o.Warnings, bench.Warning{Code: "export", Detail: fmt.Sprintf("not written: %v", failed)})
	}
	snap := f.env.shot()
	snap.Phases, snap.Client, snap.Stream, snap.Saturation = phases, o.Report.Client, o.Report.Stream, o.Report.Saturation
	snap.SetElapsed(o.Report.Duration)
	snap.Workers = f.finished(o.Report.Cluster)
	snap.Contamination, snap.Conservation = o.Report.Cluster.Contamination, &o.Report.Cluster.Conservation
	j.settle(ctx, f.env, snap, &o)
	return nil
}

// finished returns the load generators as they are shown after the run.
func (f *fleetRun) finished(c *export.Cluster) []run.WorkerState {
	out := slices.Clone(f.workers)
	for i := range out {
		w := &out[i]
		at := slices.IndexFunc(c.Workers, func(of export.Worker) bool { return of.Name == w.Name })
		if at < 0 {
			continue
		}
		of := &c.Workers[at]
		w.State, w.Reason, w.Verdict, w.ClockBound = of.State, of.Reason, of.Verdict, of.ClockBound
		w.TTFTP50, w.TTFTP99, w.LatencyP50, w.LatencyP99 = of.TTFTP50, of.TTFTP99, of.LatencyP50, of.LatencyP99
	}
	return out
}
