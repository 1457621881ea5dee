package engine

import (
	"time"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/metric"
	"aiperfd/internal/engine/report"
	"aiperfd/internal/run"
)

// How often a running phase tells about itself.
const (
	progressEvery = 250 * time.Millisecond
	metricsEvery  = time.Second
)

// recorder folds the records of one phase into its metrics, hands them to the
// record files, and publishes snapshots. Only its own goroutine touches it,
// until that has ended.
type recorder struct {
	phase *phase
	watch *watch
	in    chan *bench.Record
	set   *metric.Set
	bytes struct{ sent, received, chunks int64 }

	computed  time.Duration // when live was computed
	live      metric.Results
	announced bool // that sending is complete
	silence   silence
}

func newRecorder(p *phase, set *metric.Set) *recorder {
	return &recorder{
		phase: p, set: set, watch: &watch{},
		in: make(chan *bench.Record, 256), // rides out a slow disk, of record and value files, without holding finishers up
	}
}

// began announces the phase; it is called before loop runs.
func (r *recorder) began() {
	r.watch.begin(r.phase)
	r.silence.begin(r)
	r.phase.run.announce(run.EventPhaseStart, r.snapshot())
}

// loop receives records until the channel is closed, then announces the end.
func (r *recorder) loop() {
	tick := time.NewTicker(progressEvery)
	defer tick.Stop()
	for {
		select {
		case rec, open := <-r.in:
			if !open {
				r.phase.count.recordsEnd.Store(int64(r.phase.clock.Now()))
				r.silence.end(r)
				r.publish(true)
				return
			}
			r.fold(rec)
		case <-tick.C:
			r.publish(false)
			r.silence.look(r)
		}
	}
}

// fold takes one record in.
func (r *recorder) fold(rec *bench.Record) {
	r.set.Observe(rec)
	r.watch.tally.Observe(rec)
	r.bytes.sent += int64(rec.Conn.Sent)
	r.bytes.received += int64(rec.Conn.Received)
	r.bytes.chunks += int64(len(rec.Answer.Chunks))
	count := &r.phase.count
	switch {
	case rec.Cancelled():
	case rec.OK():
		count.successRecords.Add(1)
	default:
		count.errorRecords.Add(1)
	}
	r.phase.run.keep(rec)
	r.judge()
}

// judge ends a phase of which more requests have failed than the user allows.
// Without such a limit failures do not end a phase: the server may recover.
func (r *recorder) judge() {
	p := r.phase
	ok, failed := p.count.successRecords.Load(), p.count.errorRecords.Load()
	if ok+failed >= p.plan.Enough() && p.plan.TooMany(failed, ok) {
		p.stop(bench.PhaseFailed)
	}
}

// publish makes the present state visible; the metrics of the phase at most
// once a second, and at its end.
func (r *recorder) publish(last bool) {
	p := r.phase
	now := p.clock.Now()
	fresh := p.plan.Kind == bench.Profiling && (last || now-r.computed >= metricsEvery)
	if fresh {
		r.computed = now
		stats := p.stats(now)
		r.live = r.set.Live(stats, now)
		r.watch.look(p, &stats, r.live)
	}
	snap := r.snapshot()
	if !r.announced && p.count.sentEnd.Load() != 0 {
		r.announced = true
		p.run.announce(run.EventPhaseSent, snap)
	}
	p.run.announce(run.EventPhaseProgress, snap)
	if fresh {
		p.run.announce(run.EventMetrics, snap)
	}
}

// snapshot describes the run as it is now.
func (r *recorder) snapshot() *run.Snapshot {
	p := r.phase
	snap := p.run.baseSnapshot()
	now := p.clock.Now()
	m := r.measured(p.stats(now))
	snap.Phases = append(snap.Phases, r.public(&m))
	snap.SetElapsed(now)
	if p.plan.Kind == bench.Profiling {
		snap.Metrics, snap.MetricsAt = r.live, p.clock.Wall(r.computed)
		snap.Errors = r.set.ErrorGroups()
		p.run.judge(snap, append(p.run.measured(), m))
	}
	return snap
}

// measured returns the phase with what was measured so far.
func (r *recorder) measured(stats bench.PhaseStats) report.Measured {
	w := r.watch
	return report.Measured{
		Plan: r.phase.plan, Set: r.set, Stats: stats, Tally: &w.tally,
		Self: w.self, Client: w.report, Saturation: w.saturation, Silence: r.silence.text(),
	}
}

// public returns the phase as the API shows it.
func (r *recorder) public(m *report.Measured) run.Phase {
	p := m.Public(r.phase.clock)
	p.Counters.BytesSent, p.Counters.BytesReceived = r.bytes.sent, r.bytes.received
	return p
}
