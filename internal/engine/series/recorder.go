package series

import (
	"cmp"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"sync"
	"time"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/durable"
	"aiperfd/internal/engine/metric/catalogue"
)

const (
	// settle is how many seconds a window stays open after its end, for requests that are
	// still being decoded.
	settle = 1
	// maxWaiting bounds the entries that wait for the disk: some minutes.
	maxWaiting = 512
	// markEvery is the distance in seconds of the entries whose place in the file is kept.
	markEvery = 64
)

// Options configure a [Recorder].
type Options struct {
	Path  string // of the file; an old one is replaced
	Clock bench.Clock
	// CPU returns the processor time that the process uses in percent of a core, 0 if it is
	// not known; nil = it never is.
	CPU func() float64
	// Settle is how many seconds a window stays open after its end; 0 = for requests that are still being decoded.
	Settle int64
	// Closed is told of each window when it will not change any more, unless a request is processed more than a second
	// after its end; then there is another one of the same second. It must not block. nil = nobody is told.
	Closed func(Window)
}

// Recorder records the series of a run while it is performed. Make one with [Create]; the
// caller must call Close. Its methods are safe for concurrent use, and but for Close none
// waits for the disk.
type Recorder struct {
	opts    Options
	metrics []Metric
	wake    chan struct{} // buffered 1: entries wait, or the recorder is closed
	writer  sync.WaitGroup
	err     error // of the writer; read it after Close

	mu      sync.Mutex
	state   state             // guarded by mu
	open    map[place]*window // guarded by mu; those that may change
	waiting []waiting         // guarded by mu; entries that are not in the file, oldest first
	view    catalogue.View    // guarded by mu; scratch of Observe
	list    []float64         // guarded by mu; scratch of Observe
}

// state is how far a recorder is.
type state struct {
	began     bool
	origin    time.Duration // offset of the start of the run
	start     time.Time     // the same as a time
	phases    bands
	looks     map[int]*Load // the last look at each phase that is performed, by index
	now       int64         // the latest second that is known
	closed    int64         // windows before this second are written
	late      int64         // a window was written this many seconds after it began, at most
	size      int64         // of the file
	marks     []mark
	lost      int // entries that could not be written
	failed    bool
	finishing bool // no entry will follow
}

// mark is the place of an entry in the file.
type mark struct{ written, offset int64 }

// waiting is an entry that is not in the file.
type waiting struct {
	written int64
	data    []byte
}

// Create makes the file of a series and starts its writer.
func Create(o Options) (*Recorder, error) {
	file, err := durable.Create(o.Path, durable.Shared)
	if err != nil {
		return nil, fmt.Errorf("record time series: %w", err)
	}
	if o.CPU == nil {
		o.CPU = func() float64 { return 0 }
	}
	o.Settle = cmp.Or(o.Settle, settle)
	r := &Recorder{
		opts: o, metrics: Metrics(), wake: make(chan struct{}, 1), open: map[place]*window{},
		state: state{looks: map[int]*Load{}}, waiting: []waiting{{data: []byte(magic)}},
	}
	r.wakeWriter()
	r.writer.Go(func() { r.err = r.write(file) })
	return r, nil
}

// Phase is a phase whose requests are recorded.
type Phase struct {
	Index      int
	Name, Kind string
	Start      time.Duration // offset
}

// Load is the state of a phase at one instant.
type Load struct {
	At       time.Duration // offset
	Sent     int64         // requests so far
	Offered  int64         // arrivals so far; < 0 = there is no schedule
	InFlight int64
	Limit    int64 // of the requests in flight; 0 = none
	Backlog  int64
}

// Begin begins a phase. The series begins with the first one.
func (r *Recorder) Begin(p Phase) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := &r.state
	if !s.began {
		s.began, s.origin, s.start = true, p.Start, r.opts.Clock.Wall(p.Start)
		r.enqueue(newEntry(ofStart, 0, binary.LittleEndian.AppendUint64(nil, uint64(s.start.UnixNano()))))
	}
	s.looks[p.Index] = &Load{At: p.Start}
	r.putBand(Band{Index: p.Index, Name: p.Name, Kind: p.Kind, Start: r.seconds(p.Start)}, p.Start)
}

// place is what a window holds: what happened in a second of the run, and in which part of it.
type place struct {
	second int64
	part
}

// Observe adds a record. It retains nothing of it. left says that the results of the phase
// leave the record out.
func (r *Recorder) Observe(rec *bench.Record, left bool) {
	st := &rec.Stamps
	r.mu.Lock()
	defer r.mu.Unlock()
	v := &r.view
	v.Load(rec)
	w := r.at(max(st.End, st.Start, st.Due), part{rec.Phase, left})
	for i := range r.metrics[:distributions] {
		m := &r.metrics[i]
		switch {
		case !m.row.Scope.Covers(v.Outcome):
		case m.row.List != nil:
			r.list = m.row.List(v, r.list[:0])
			w.values[m.at].AddAll(r.list, m.row.SketchDiv)
		default:
			w.values[m.at].Add(m.row.Each(v) / m.row.SketchDiv) // NaN does not count
		}
	}
	switch v.Outcome {
	case catalogue.Success:
		w.count(completed, 1)
		w.count(inputTokens, whole(v.ISL))
		w.count(outputTokens, whole(v.OSL))
	case catalogue.Cancelled:
		w.count(cancelled, 1)
	case catalogue.Failed:
		w.count(failed, 1)
		w.fail(v.Failure().Class, 1)
	}
	v.Record, v.Usage = nil, nil
}

// whole returns a number of tokens, 0 if it is not known.
func whole(tokens float64) int64 {
	if math.IsNaN(tokens) {
		return 0
	}
	return int64(min(tokens, maxCount))
}

// Look samples the state of a phase that has begun. It is called a few times per second,
// and once when all records of the phase are in.
func (r *Recorder) Look(phase int, now Load, last bool) {
	busy := r.opts.CPU()
	r.mu.Lock()
	defer r.mu.Unlock()
	before := r.state.looks[phase]
	w := r.at(before.At+(now.At-before.At)/2, part{phase: phase}) // the window of most of what happened since then
	w.count(sent, now.Sent-before.Sent)
	for _, rate := range [...]int{completed, failed, cancelled, inputTokens, outputTokens} {
		w.count(rate, 0)
	}
	if now.Offered >= 0 {
		w.count(offered, now.Offered-before.Offered)
	}
	*before = now
	r.sample(w, busy)
	if last {
		r.end(phase, now.At)
	}
	r.advance(now.At)
	r.flush(r.state.now - r.opts.Settle)
}

// end ends a phase, with mu held.
func (r *Recorder) end(phase int, at time.Duration) {
	delete(r.state.looks, phase)
	i := slices.IndexFunc(r.state.phases, func(b Band) bool { return b.Index == phase })
	band := r.state.phases[i]
	band.End = new(r.seconds(at))
	r.putBand(band, at)
}

// advance makes an offset known.
func (r *Recorder) advance(offset time.Duration) {
	r.state.now = max(r.state.now, r.second(offset))
}

// sample adds the state of all phases together to the levels of a window.
func (r *Recorder) sample(w *window, busy float64) {
	var sum Load
	limited := true
	for _, l := range r.state.looks {
		sum.InFlight, sum.Backlog, sum.Limit = sum.InFlight+l.InFlight, sum.Backlog+l.Backlog, max(sum.Limit, l.Limit)
		limited = limited && l.Limit > 0
	}
	w.levels[inFlight].add(float64(sum.InFlight))
	w.levels[backlog].add(float64(sum.Backlog))
	if limited {
		w.levels[limit].add(float64(sum.Limit))
	}
	if busy > 0 {
		w.levels[cpu].add(busy)
	}
}

// at returns the window of an offset.
func (r *Recorder) at(offset time.Duration, of part) *window {
	i := place{r.second(offset), of}
	w := r.open[i]
	if w == nil {
		w = new(window)
		r.open[i] = w
	}
	return w
}

// compare orders windows by time.
func (p place) compare(o place) int {
	return cmp.Or(cmp.Compare(p.second, o.second), cmp.Compare(p.phase, o.phase))
}

// second returns the second of an offset since the start of the run.
func (r *Recorder) second(offset time.Duration) int64 {
	return int64(max(0, offset-r.state.origin) / time.Second)
}

// seconds is second with the fraction.
func (r *Recorder) seconds(offset time.Duration) float64 {
	return max(0, offset-r.state.origin).Seconds()
}

// flush hands the windows before a second over to the writer.
func (r *Recorder) flush(before int64) {
	s := &r.state
	for _, i := range slices.SortedFunc(maps.Keys(r.open), place.compare) {
		if i.second >= before {
			break
		}
		data := r.open[i].append(i.append(nil), r.metrics)
		if r.opts.Closed != nil {
			r.opts.Closed(Window{At: s.origin + time.Duration(i.second)*time.Second, Data: data})
		}
		r.enqueue(newEntry(i.second, s.now, data))
		s.late = max(s.late, s.now-i.second)
		delete(r.open, i)
	}
	s.closed = max(s.closed, before)
}

// putBand keeps the time of a phase and hands it over to the writer.
func (r *Recorder) putBand(b Band, at time.Duration) {
	r.advance(at)
	r.state.phases.put(b)
	if data, err := json.Marshal(b); err == nil { // numbers and texts encode
		r.enqueue(newEntry(ofBand, r.state.now, data))
	}
}

// enqueue hands an entry over to the writer.
func (r *Recorder) enqueue(data []byte) {
	s := &r.state
	if s.failed || len(r.waiting) >= maxWaiting || len(data) > maxEntry {
		s.lost++
		return
	}
	r.waiting = append(r.waiting, waiting{s.now, data})
	r.wakeWriter()
}

func (r *Recorder) wakeWriter() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// Close writes what is left and returns when the file is durable. incomplete says that it
// lacks entries, because the disk was full or too slow.
func (r *Recorder) Close() (incomplete bool, err error) {
	r.mu.Lock()
	if len(r.open) > 0 {
		last := slices.MaxFunc(slices.Collect(maps.Keys(r.open)), place.compare).second + 1
		r.state.now = max(r.state.now, last)
		r.flush(last)
	}
	r.state.finishing = true
	r.mu.Unlock()
	r.wakeWriter()
	r.writer.Wait()
	return r.state.lost > 0, r.err
}

// write appends entries to the file until the recorder is closed. After an error it only
// discards them, so that the run is not disturbed.
func (r *Recorder) write(file *os.File) error {
	var failure error
	for {
		r.mu.Lock()
		var next waiting
		found, end := len(r.waiting) > 0, r.state.finishing
		if found {
			next = r.waiting[0]
		}
		r.mu.Unlock()
		switch {
		case found:
			_, err := file.Write(next.data)
			if err != nil {
				failure = fmt.Errorf("record time series: %w", err)
			}
			r.wrote(next, err)
		case end:
			if err := file.Sync(); err != nil && failure == nil {
				failure = fmt.Errorf("record time series: %w", err)
			}
			if err := file.Close(); err != nil && failure == nil {
				failure = fmt.Errorf("record time series: %w", err)
			}
			return failure
		default:
			<-r.wake
		}
	}
}

// wrote removes the first waiting entry. After an error, all are lost.
func (r *Recorder) wrote(w waiting, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := &r.state
	if err != nil {
		s.failed = true
		s.lost += len(r.waiting)
		r.waiting = nil
		return
	}
	if n := len(s.marks); n == 0 || w.written-s.marks[n-1].written >= markEvery {
		s.marks = append(s.marks, mark{w.written, s.size})
	}
	s.size += int64(len(w.data))
	r.waiting = slices.Delete(r.waiting, 0, 1)
}
