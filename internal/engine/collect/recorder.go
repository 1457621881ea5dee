package collect

import (
	"sync"
	"sync/atomic"
	"time"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/load"
	"aiperfd/internal/engine/load/spec"
	"aiperfd/internal/engine/metric"
	"aiperfd/internal/engine/metric/measure"
	"aiperfd/internal/run"
)

// How often a phase publishes its state.
const (
	progressEvery = 250 * time.Millisecond
	metricsEvery  = time.Second
)

// Load is the phase whose requests are recorded.
type Load interface {
	Start() time.Duration
	Stats(now time.Duration) bench.PhaseStats
	Stop(why bench.PhaseEnd)
	// Settled is called for each request that was not cancelled, in the order in which the
	// records are processed.
	Settled(ok bool)
}

// Observer observes a phase while it is performed. The recorder calls its functions from one
// goroutine at a time; none may block. One that is nil is not called.
type Observer struct {
	Begin   func(p Load)            // is called once, before the first request
	Observe func(rec *bench.Record) // is called for each record
	Look    func(l *Look)           // is called four times per second, and when all records are in
}

// RunObserver observes the phases of a run.
type RunObserver struct {
	// Phase returns the observer of a phase with its metrics, before it begins. Phases may
	// overlap.
	Phase func(p *spec.Phase, set *measure.Set) Observer
	// End is called once, when no phase is performed any more. It may block. What the results
	// lack goes to warn. nil = it is not called.
	End func(warn func(code, detail string))
}

// Look is the state of a phase at one instant.
type Look struct {
	Stats   bench.PhaseStats
	Metrics metric.Results // of the phase so far; at most one second old, nil for a warm-up
	Fresh   bool           // Metrics were computed for this look
	Last    bool           // all records are in
}

// Live holds the measurements of a phase so far.
type Live struct {
	Stats     bench.PhaseStats
	Sent      int64          // bytes of request bodies
	Received  int64          // bytes of response bodies
	Metrics   metric.Results // at most one second old; nil for a warm-up
	MetricsAt time.Time
	Errors    []metric.ErrorGroup // most frequent first
}

// Recorder folds the records of one phase into its metrics, hands them to the record
// files and the observers, and publishes the state of the phase. It is the phase's
// [load.Sink].
type Recorder struct {
	RecorderOptions
	load    Load
	finish  chan *load.Finished // pointers, since it has room for thousands
	done    chan struct{}       // closed when all records are in
	decoded recordQueue

	finishers, publishing sync.WaitGroup
	counts                recordCounts
	bytes                 struct{ sent, received, chunks int64 } // this field and those below are guarded by Run.Recording until Close has returned
	computed              time.Duration                          // when live was computed
	live                  metric.Results
	sendingComplete       bool // was published
}

// RecorderOptions configure a [Recorder].
type RecorderOptions struct {
	Run       *Run
	Phase     *spec.Phase
	Set       *measure.Set
	Observers []Observer
	// Shot takes a snapshot of the phase, with Run.Recording held, and returns what publishes
	// it, once for each event, without the lock. Neither may block.
	Shot func(events ...run.EventType) (publish func())
}

// recordCounts are the live counters of records.
type recordCounts struct {
	failed          atomic.Int64 // requests
	forced          atomic.Int64 // requests that had returned and were not decoded, because the run was cancelled by force
	success, errors atomic.Int64
	excluded        atomic.Int64
	end             atomic.Int64 // offset
}

var _ load.Sink = (*Recorder)(nil)

// NewRecorder returns a recorder that has not begun.
func NewRecorder(o RecorderOptions) *Recorder {
	r := &Recorder{
		RecorderOptions: o,
		finish:          make(chan *load.Finished, finishRoom(o.Phase)),
		done:            make(chan struct{}),
	}
	r.decoded.room.L = &r.decoded.mu
	r.decoded.record = r.record
	return r
}

// finishRoom returns how many responses may wait for the finish pool: all requests in
// flight may end at once, and their successors must not wait until the tokens of all
// of them are counted.
func finishRoom(p *spec.Phase) int {
	const least, most = 256, 8192
	if p.Concurrency == 0 {
		return most / 2
	}
	return min(max(2*p.Concurrency, least), most)
}

// Begin starts recording and returns what announces the phase. It is called before the
// first request, by the function of [Run.Publish].
func (r *Recorder) Begin(p Load) (publish func()) {
	r.load = p
	if r.Phase.Kind == bench.Profiling {
		r.Set.SliceFrom(p.Start())
	}
	r.startFinishers()
	for _, o := range r.Observers {
		if o.Begin != nil {
			o.Begin(p)
		}
	}
	r.publishing.Go(r.loop)
	return r.Shot(run.EventPhaseStart)
}

// Finished implements load.Sink.
func (r *Recorder) Finished(f load.Finished) { r.finish <- &f }

// Close returns when all finished requests are recorded. Finished must not be called
// afterwards.
func (r *Recorder) Close() {
	close(r.finish)
	r.finishers.Wait()
	close(r.done)
	r.publishing.Wait()
}

// loop publishes the state of the phase until all records are in, then announces the end.
func (r *Recorder) loop() {
	tick := time.NewTicker(progressEvery)
	defer tick.Stop()
	for {
		select {
		case <-r.done:
			r.counts.end.Store(int64(r.Run.Clock.Now()))
			r.publish(true)
			return
		case <-tick.C:
			r.publish(false)
		}
	}
}

// record processes one record.
func (r *Recorder) record(rec *bench.Record) {
	r.measure(rec)
	denied := rec.Answer.Failure != nil && rec.Answer.Failure.Class == bench.TargetNotAllowed
	r.Run.Files.write(rec)
	if denied {
		r.load.Stop(bench.PhaseFailed) // the other requests would fail like this one
	}
	r.judge()
}

// measure adds a record to the measurements.
func (r *Recorder) measure(rec *bench.Record) {
	r.Run.Recording.Lock()
	defer r.Run.Recording.Unlock()
	if rec.Content.Replayed != nil {
		r.observe(rec, r.Run.expect)
	}
	if r.Phase.Leaves(rec) {
		r.counts.excluded.Add(1)
	} else {
		r.observe(rec, r.Set.Observe)
	}
	for i := range r.Observers {
		if observe := r.Observers[i].Observe; observe != nil {
			r.observe(rec, observe)
		}
	}
	r.bytes.sent += int64(rec.Conn.Sent)
	r.bytes.received += int64(rec.Conn.Received)
	r.bytes.chunks += int64(len(rec.Answer.Chunks))
	switch {
	case rec.Cancelled():
	case rec.OK():
		r.counts.success.Add(1)
		r.load.Settled(true)
	default:
		r.counts.errors.Add(1)
		r.load.Settled(false)
	}
}

// observe shows a record to an observer. If the observer panics, it gets the record once
// more, as that of a failed request.
func (r *Recorder) observe(rec *bench.Record, observe func(*bench.Record)) {
	const step = "measure"
	if !r.Run.Faults.guard(step, rec, observe) {
		r.Run.Faults.guard(step, rec, observe)
	}
}

// judge ends a phase if more of its requests have failed than the user allows.
// Without such a limit, failures do not end a phase: the server may recover.
func (r *Recorder) judge() {
	ok, failed := r.counts.success.Load(), r.counts.errors.Load()
	if ok+failed >= r.Phase.Enough() && r.Phase.TooMany(failed, ok) {
		r.load.Stop(bench.PhaseFailed)
	}
}

// Stats returns the counters of the phase with those of its records.
func (r *Recorder) Stats() bench.PhaseStats {
	s := r.load.Stats(r.Run.Clock.Now())
	s.Errors = r.counts.failed.Load()
	forced := r.counts.forced.Load()
	s.Completed, s.Cancelled = s.Completed-forced, s.Cancelled+forced
	s.Records = bench.RecordCounts{
		Success: r.counts.success.Load(), Errors: r.counts.errors.Load(), Excluded: r.counts.excluded.Load(),
		From: s.Start + r.Phase.Shape.Excluded(),
	}
	s.RecordsEnd = time.Duration(r.counts.end.Load())
	return s
}

// publish publishes the current state.
func (r *Recorder) publish(last bool) {
	r.Run.Publish(func() func() { return r.look(last) })
}

// look takes a snapshot of the current state. It computes the metrics of the phase at most
// once per second, and at its end.
func (r *Recorder) look(last bool) (publish func()) {
	l := Look{Stats: r.Stats(), Last: last}
	now := l.Stats.LastUpdate
	l.Fresh = r.Phase.Kind == bench.Profiling && (last || now-r.computed >= metricsEvery)
	if l.Fresh {
		r.computed = now
		r.live = r.Set.Live(l.Stats, now)
	}
	l.Metrics = r.live
	for _, o := range r.Observers {
		if o.Look != nil {
			o.Look(&l)
		}
	}
	var events []run.EventType
	if !r.sendingComplete && l.Stats.SentEnd != 0 {
		r.sendingComplete = true
		events = append(events, run.EventPhaseSent)
	}
	events = append(events, run.EventPhaseProgress)
	if l.Fresh {
		events = append(events, run.EventMetrics)
	}
	return r.Shot(events...)
}

// Live returns the measurements of the phase so far. Before Close has returned, only a holder
// of Run.Recording may call it; afterwards, one goroutine at a time.
func (r *Recorder) Live() *Live {
	l := &Live{Stats: r.Stats(), Sent: r.bytes.sent, Received: r.bytes.received}
	if r.Phase.Kind == bench.Profiling {
		l.Metrics, l.MetricsAt, l.Errors = r.live, r.Run.Clock.Wall(r.computed), r.Set.ErrorGroups()
	}
	return l
}

// Chunks returns the number of content events of all responses. Call it after Close.
func (r *Recorder) Chunks() int64 { return r.bytes.chunks }
