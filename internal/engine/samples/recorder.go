package samples

import (
	"cmp"
	"encoding/gob"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/durable"
	"aiperfd/internal/engine/metric/catalogue"
)

// writeEvery is how often the file is replaced.
const writeEvery = 10 * time.Second

// Options configure a [Recorder]. All fields are required.
type Options struct {
	Path  string // of the file
	Clock bench.Clock
	Rand  *rand.Rand // draws the uniform sample
}

// Recorder records the samples of a run while it is performed. Make one with [New]; the
// caller must call Close. Its methods are safe for concurrent use, and but for Close none
// waits for the disk.
type Recorder struct {
	opts   Options
	rows   rows
	stop   chan struct{}
	writer sync.WaitGroup
	err    error // of the writer; read it after Close

	mu                  sync.Mutex
	view                catalogue.View // guarded by mu; scratch of Observe
	start               time.Time      // guarded by mu; zero = no phase has begun
	origin              time.Duration  // guarded by mu; offset of start
	latency, firstToken slowest        // guarded by mu
	points              reservoir      // guarded by mu
	changes             int64          // guarded by mu
}

// rows are the metrics of a request.
type rows struct{ latency, firstToken, interToken, lag *catalogue.Row }

// New starts the writer of a recorder.
func New(o Options) *Recorder {
	all := catalogue.Rows()
	row := func(tag string) *catalogue.Row {
		return &all[slices.IndexFunc(all, func(r catalogue.Row) bool { return r.Tag == tag })]
	}
	r := &Recorder{
		opts: o, stop: make(chan struct{}),
		rows:   rows{row("request_latency"), row("time_to_first_token"), row("inter_token_latency"), row("schedule_lag")},
		points: newReservoir(o.Rand, MaxPoints),
	}
	r.writer.Go(r.write)
	return r
}

// Begin begins a phase. Times of the run count from the first one.
func (r *Recorder) Begin(start time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.start.IsZero() {
		r.start, r.origin = r.opts.Clock.Wall(start), start
	}
}

// Observe adds a record of a phase. It retains nothing of it.
func (r *Recorder) Observe(rec *bench.Record, phase string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	ok := rec.OK()
	if !ok && (rec.Cancelled() || rec.Stamps.Start == 0) {
		return
	}
	at := -1
	if ok {
		at = r.points.next()
	}
	// No latency is longer than the time until the end.
	most := float64(rec.Stamps.End-rec.Stamps.Start) / float64(time.Millisecond)
	if at < 0 && most <= r.latency.least() && !(ok && r.late(rec)) {
		return
	}
	v := &r.view
	v.Load(rec)
	latency, first := most, math.NaN()
	if ok {
		latency, first = r.value(r.rows.latency), r.value(r.rows.firstToken)
	}
	if at >= 0 {
		r.points.put(at, Point{
			End: rec.Stamps.End - r.origin, Input: v.ISL, Output: v.OSL,
			FirstToken: first, InterToken: r.value(r.rows.interToken), Latency: latency, Wait: r.value(r.rows.lag),
		})
	}
	var q *Request
	for _, list := range [...]struct {
		*slowest
		by float64
	}{{&r.latency, latency}, {&r.firstToken, first}} {
		if list.by > list.least() {
			if q == nil {
				q = newRequest(v, phase, r.origin, latency, first)
			}
			list.put(list.by, q)
		}
	}
	r.changes++
	v.Record, v.Usage = nil, nil
}

// late reports whether the first token of a record may have taken longer than those kept.
func (r *Recorder) late(rec *bench.Record) bool {
	return rec.Answer.Streamed && float64(rec.Answer.Chunks[0].At-rec.Stamps.Start)/float64(time.Millisecond) > r.firstToken.least()
}

// value returns a metric of the record that is loaded.
func (r *Recorder) value(row *catalogue.Row) float64 { return row.Each(&r.view) / row.Div }

// Samples returns what is kept so far.
func (r *Recorder) Samples() *Samples {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.samples()
	if !r.start.IsZero() {
		s.Elapsed = r.opts.Clock.Now() - r.origin
	}
	return s
}

// samples is Samples with the lock held.
func (r *Recorder) samples() *Samples {
	return &Samples{
		Start: r.start, Seen: r.points.seen, Points: slices.Clone(r.points.points),
		Latency: r.latency.sorted(), FirstToken: r.firstToken.sorted(),
	}
}

// Close writes the file a last time and returns when it is durable.
func (r *Recorder) Close() error {
	close(r.stop)
	r.writer.Wait()
	return r.err
}

// write replaces the file from time to time, if there is something new.
func (r *Recorder) write() {
	tick := time.NewTicker(writeEvery)
	defer tick.Stop()
	var written int64
	for ending := false; !ending; {
		select {
		case <-tick.C:
		case <-r.stop:
			ending = true
		}
		r.mu.Lock()
		changes := r.changes
		var s *Samples
		if changes != written {
			s = r.samples()
		}
		r.mu.Unlock()
		if s == nil {
			continue
		}
		written = changes
		r.err = nil // only the last attempt counts
		if err := durable.Write(r.opts.Path, durable.Shared, func(w io.Writer) error { return gob.NewEncoder(w).Encode(s) }); err != nil {
			r.err = fmt.Errorf("record samples: %w", err)
		}
	}
}

// slowest are the requests with the largest values, the smallest of them first. The others
// are in no order, because they seldom change.
type slowest struct{ entries []entry }

type entry struct {
	by      float64
	request *Request
}

// least returns the value that one must exceed to be kept.
func (s *slowest) least() float64 {
	if len(s.entries) < MaxSlowest {
		return math.Inf(-1)
	}
	return s.entries[0].by
}

// put keeps a request whose value is larger than least.
func (s *slowest) put(by float64, q *Request) {
	if e := (entry{by, q}); len(s.entries) < MaxSlowest {
		s.entries = append(s.entries, e)
	} else {
		s.entries[0] = e
	}
	for i := range s.entries {
		if s.entries[i].by < s.entries[0].by {
			s.entries[0], s.entries[i] = s.entries[i], s.entries[0]
		}
	}
}

// sorted returns the requests, the slowest first.
func (s *slowest) sorted() []*Request {
	out := []*Request{}
	for _, e := range slices.SortedFunc(slices.Values(s.entries), func(a, b entry) int { return cmp.Compare(b.by, a.by) }) {
		out = append(out, e.request)
	}
	return out
}

// reservoir is a uniform sample of a stream of unknown length: algorithm L of Li,
// "Reservoir-sampling algorithms of time complexity O(n(1+log(N/n)))", 1994. It draws how
// many values to skip instead of a number for each value.
type reservoir struct {
	random *rand.Rand
	most   int
	points []Point
	seen   int64
	taken  int64 // number of the next value that is taken once the reservoir is full
	weight float64
}

func newReservoir(random *rand.Rand, most int) reservoir {
	r := reservoir{random: random, most: most, taken: int64(most), weight: 1}
	r.skip()
	return r
}

// skip draws the next value that is taken.
func (r *reservoir) skip() {
	r.weight *= math.Exp(math.Log(1-r.random.Float64()) / float64(r.most))
	r.taken += 1 + int64(min(math.Floor(math.Log(1-r.random.Float64())/math.Log1p(-r.weight)), math.MaxInt32))
}

// next counts a value and returns the place to put it; -1 = it is not taken.
func (r *reservoir) next() int {
	r.seen++
	if len(r.points) < r.most {
		r.points = append(r.points, Point{})
		return len(r.points) - 1
	}
	if r.seen < r.taken {
		return -1
	}
	r.skip()
	return r.random.IntN(r.most)
}

func (r *reservoir) put(at int, p Point) { r.points[at] = p }
