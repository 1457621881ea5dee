package series

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/metric/catalogue"
	"aiperfd/internal/engine/sketch"
)

// origin is the offset of the start of the runs of the tests.
const origin = 3 * time.Second

var epoch = time.Date(2026, 5, 4, 10, 0, 0, 0, time.UTC)

// recorder is a recorder of a run with its folder. It has begun a phase.
func recorder(t testing.TB) (*Recorder, string) {
	t.Helper()
	dir := t.TempDir()
	r, err := Create(Options{Path: filepath.Join(dir, File), Clock: bench.ClockAt(epoch), CPU: func() float64 { return 50 }})
	if err != nil {
		t.Fatal(err)
	}
	r.Begin(Phase{Index: 0, Name: "profiling", Kind: "profiling", Start: origin})
	return r, dir
}

func closed(t testing.TB, r *Recorder) {
	t.Helper()
	if incomplete, err := r.Close(); err != nil || incomplete {
		t.Fatalf("Close() = %v, %v", incomplete, err)
	}
}

// answered is a request that ended at a time of the run, with its latency.
func answered(end, latency time.Duration) *bench.Record {
	end += origin
	rec := &bench.Record{Stamps: bench.Stamps{Due: end - latency, Start: end - latency, End: end}}
	rec.Answer.Streamed = true
	rec.Answer.Chunks = []bench.Chunk{{At: end - latency/2}, {At: end}}
	rec.OutputTokens = new(bench.Tokens(2))
	return rec
}

// failedWith is a request that failed at a time of the run.
func failedWith(end time.Duration, class bench.Class) *bench.Record {
	rec := &bench.Record{Stamps: bench.Stamps{Due: end + origin, Start: end + origin, End: end + origin}}
	rec.Answer.Failure = &bench.Failure{Class: class}
	return rec
}

func load(at time.Duration, sent int64) Load {
	return Load{At: at + origin, Sent: sent, Offered: -1, InFlight: 3, Limit: 4}
}

// selected returns the query of some metrics.
func selected(t testing.TB, step int64, names ...string) Query {
	t.Helper()
	metrics, err := Select(names)
	if err != nil {
		t.Fatal(err)
	}
	return Query{Metrics: metrics, Step: step}
}

func read(t testing.TB, dir string, q Query) *Result {
	t.Helper()
	s, err := Read(context.Background(), dir, q)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// near compares values with room for rounding.
func near() cmp.Option {
	return cmp.Options{cmpopts.EquateApprox(1e-9, 0), cmpopts.EquateNaNs()}
}

// The latencies are those that the catalogue shows over time. Their positions are part of the file
// format, so they stand in both.
func TestDistributionNames(t *testing.T) {
	var names []string
	for _, m := range Metrics() {
		if m.Kind == Distribution {
			names = append(names, m.Name)
		}
	}
	if want := catalogue.Headlines(catalogue.OverTime); !slices.Equal(names, want) {
		t.Errorf("distributions of %q, want %q", names, want)
	}
}

func TestSeries(t *testing.T) {
	r, dir := recorder(t)
	const ms = time.Millisecond
	r.Look(0, load(250*ms, 3), false)
	r.Observe(answered(500*ms, 100*ms), false)
	r.Observe(answered(999*ms, 300*ms), false)
	r.Observe(failedWith(1500*ms, bench.RateLimited), false)
	r.Observe(failedWith(1600*ms, bench.Overloaded), false)
	r.Observe(failedWith(1700*ms, bench.Cancelled), false)
	r.Look(0, load(1600*ms, 5), false)
	r.Look(0, load(3500*ms, 5), false)
	r.Observe(answered(200*ms, 200*ms), false) // its decoding took three seconds
	r.Begin(Phase{Index: 1, Name: "idle", Kind: "profiling", Start: origin + 3600*ms})
	r.Look(0, load(3700*ms, 6), true)
	r.Look(1, Load{At: origin + 4400*ms, Offered: 0}, true) // a phase without requests
	closed(t, r)
	got := read(t, dir, selected(t, 1, "request_latency", "requests_offered", "requests_sent", "requests_completed", "requests_cancelled", "output_tokens", "in_flight", "concurrency_limit", "errors"))
	nan := math.NaN()
	want := &Result{
		Start: epoch.Add(origin), Step: 1, Next: 5, Times: []int64{0, 1, 2, 3, 4},
		Phases: []Band{
			{Index: 0, Name: "profiling", Kind: "profiling", Start: 0, End: new(3.7)},
			{Index: 1, Name: "idle", Kind: "profiling", Start: 3.6, End: new(4.4)},
		},
		Values: []map[string][]float64{
			{
				"count": {3, 0, 0, 0, 0}, "avg": {200, nan, nan, nan, nan}, "min": {100, nan, nan, nan, nan}, "max": {300, nan, nan, nan, nan},
				"p50": {200, nan, nan, nan, nan}, "p90": {280, nan, nan, nan, nan}, "p95": {290, nan, nan, nan, nan}, "p99": {298, nan, nan, nan, nan},
			},
			{"count": {nan, nan, nan, nan, 0}, "rate": {nan, nan, nan, nan, nan}},
			{"count": {5, nan, 0, 1, 0}, "rate": {5, nan, 0, 1, nan}}, // the last point is shorter than half a step
			{"count": {3, nan, 0, 0, 0}, "rate": {3, nan, 0, 0, nan}},
			{"count": {0, 1, 0, 0, 0}, "rate": {0, 1, 0, 0, nan}},
			{"count": {6, nan, 0, 0, 0}, "rate": {6, nan, 0, 0, nan}},
			{"avg": {3, nan, 3, 3, 0}, "max": {3, nan, 3, 3, 0}},
			{"avg": {4, nan, 4, nan, nan}, "max": {4, nan, 4, nan, nan}}, // the second phase has no limit
			{"rate_limited": {0, 1, 0, 0, 0}, "overloaded": {0, 1, 0, 0, 0}},
		},
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateApprox(sketch.RelativeError, 0), cmpopts.EquateNaNs()); diff != "" {
		t.Errorf("series (-want +got):\n%s", diff)
	}
}

// stream is a run with random requests; some are processed seconds after their end.
func stream(t *rapid.T, r *Recorder) (ends, latencies []time.Duration) {
	seconds := rapid.IntRange(1, 60).Draw(t, "seconds")
	random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
	sent := int64(0)
	for second := range seconds {
		for range random.IntN(20) {
			end := time.Duration(float64(second)+random.Float64()-float64(random.IntN(1+random.IntN(8)))) * time.Second
			end = max(end, 0) + time.Duration(random.IntN(1e9))
			latency := time.Duration(math.Exp(random.NormFloat64()) * 1e7)
			r.Observe(answered(end, latency), false)
			ends, latencies = append(ends, end), append(latencies, latency)
			sent++
		}
		r.Look(0, load(time.Duration(second+1)*time.Second-1, sent), second == seconds-1)
	}
	return ends, latencies
}

// Whatever the step, a point is that of the values themselves in one sketch: merging
// windows is exact and does not depend on the order.
func TestStepsMerge(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		r, dir := recorder(t)
		ends, latencies := stream(rt, r)
		closed(t, r)
		step := rapid.Int64Range(1, 70).Draw(rt, "step")
		got := read(t, dir, selected(t, step, "request_latency"))
		for i, at := range got.Times {
			direct := sketch.New()
			for k := range ends {
				if end := int64(ends[k] / time.Second); end >= at && end < at+step {
					direct.Add(latencies[k].Seconds())
				}
			}
			values := got.Values[0]
			for name, want := range map[string]float64{
				"count": float64(direct.Count()), "avg": direct.Mean() * 1e3, "min": direct.Min() * 1e3, "max": direct.Max() * 1e3,
				"p50": direct.Quantile(0.5) * 1e3, "p99": direct.Quantile(0.99) * 1e3,
			} {
				if diff := cmp.Diff(want, values[name][i], near()); diff != "" {
					rt.Fatalf("step %d, %s at %d s (-direct +series): %s", step, name, at, diff)
				}
			}
		}
	})
}

// The parts that a client fetches one after the other while a run goes on make up the
// series, if no request is processed late.
func TestParts(t *testing.T) {
	r, dir := recorder(t)
	drain(r) // before, there is no series
	q := selected(t, 3)
	var times []int64
	var counts []float64
	for second := range 100 {
		at := time.Duration(second) * time.Second
		r.Observe(answered(at+time.Second/2, time.Duration(1+second)*time.Millisecond), false)
		r.Look(0, load(at+time.Second*3/4, int64(second)), second == 99)
		part, err := r.Read(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		if n := int64(len(part.Times)); part.Next != q.From+3*n || part.Next > int64(second) {
			t.Fatalf("after %d s: part from %d to %d with %d points", second, q.From, part.Next, n)
		}
		times, counts = append(times, part.Times...), append(counts, part.Values[3]["p50"]...)
		q.From = part.Next
	}
	closed(t, r)
	last := read(t, dir, q)
	whole := read(t, dir, selected(t, 3))
	if diff := cmp.Diff(whole.Times, append(times, last.Times...)); diff != "" {
		t.Errorf("times (-whole +parts):\n%s", diff)
	}
	if diff := cmp.Diff(whole.Values[3]["p50"], append(counts, last.Values[3]["p50"]...), near()); diff != "" {
		t.Errorf("values (-whole +parts):\n%s", diff)
	}
	if len(times) < 30 {
		t.Errorf("the parts of the active run have %d points only", len(times))
	}
}

// A file that a crash has torn anywhere has what is before that.
func TestTorn(t *testing.T) {
	r, dir := recorder(t)
	for second := range 5 {
		at := time.Duration(second) * time.Second
		r.Observe(answered(at, time.Millisecond), false)
		r.Look(0, load(at, 1), false)
	}
	closed(t, r)
	path := filepath.Join(dir, File)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before := 0
	for size := range len(data) + 1 {
		if err := os.WriteFile(path, data[:size], 0o600); err != nil {
			t.Fatal(err)
		}
		s := read(t, dir, selected(t, 1, "requests_completed"))
		if n := len(s.Times); n < before || n > before+1 {
			t.Fatalf("%d bytes have %d points, %d bytes had %d", size, n, size-1, before)
		} else {
			before = n
		}
	}
	if before != 5 {
		t.Errorf("the whole file has %d points, want 5", before)
	}
	damaged := slices.Clone(data)
	for i := len(magic); i < len(data); i += 7 {
		damaged[i] ^= 0x55
		if err := os.WriteFile(path, damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		read(t, dir, selected(t, 1)) // whatever it has
		damaged[i] = data[i]
	}
}

// drain waits until the writer has written everything.
func drain(r *Recorder) {
	for {
		r.mu.Lock()
		n := len(r.waiting)
		r.mu.Unlock()
		if n == 0 {
			return
		}
		runtime.Gosched()
	}
}

// A day with four requests per second: the answer is short, and so is the file.
func TestDay(t *testing.T) {
	const day, perSecond = 24 * 60 * 60, 4
	r, dir := recorder(t)
	random := rand.New(rand.NewPCG(1, 2))
	for second := range day {
		at := time.Duration(second) * time.Second
		for range perSecond {
			r.Observe(answered(at, time.Duration(math.Exp(random.NormFloat64()/2)*1e8)), false)
		}
		r.Look(0, load(at+time.Second-1, int64(second+1)*perSecond), second == day-1)
		if second%(maxWaiting/2) == 0 {
			drain(r)
		}
	}
	closed(t, r)
	s := read(t, dir, selected(t, 0))
	if s.Step != 60 || len(s.Times) != 1440 {
		t.Errorf("a day has %d points with a step of %d s", len(s.Times), s.Step)
	}
	if n := s.Values[3]["count"][700]; n != 60*perSecond {
		t.Errorf("a minute has %v requests, want %d", n, 60*perSecond)
	}
	if s := read(t, dir, selected(t, 7, "in_flight")); s.Step%7 != 0 || len(s.Times) > MaxPoints {
		t.Errorf("with a step of 7 s there are %d points with a step of %d s", len(s.Times), s.Step)
	}
	info, err := os.Stat(filepath.Join(dir, File))
	if err != nil {
		t.Fatal(err)
	}
	if perSecond := info.Size() / day; perSecond > 1024 {
		t.Errorf("the file has %d bytes per second", perSecond)
	} else {
		t.Logf("the file has %d bytes per second, %d in all", perSecond, info.Size())
	}
}

// After an error of the disk, the recorder goes on and says what is lost.
func TestDiskFault(t *testing.T) {
	r, _ := recorder(t)
	closed(t, r)
	file, err := os.Open(r.opts.Path) // cannot be written
	if err != nil {
		t.Fatal(err)
	}
	r.state.finishing = false
	r.writer.Go(func() { r.err = r.write(file) })
	for second := range 10 {
		r.Look(0, load(time.Duration(second)*time.Second, 1), second == 9)
	}
	if incomplete, err := r.Close(); !incomplete || err == nil {
		t.Errorf("Close() = %v, %v, want what is lost and why", incomplete, err)
	}
	if len(r.waiting) > 0 {
		t.Errorf("%d entries wait for ever", len(r.waiting))
	}
}

func TestSelect(t *testing.T) {
	if _, err := Select([]string{"in_flight", "ttft", "x"}); err == nil ||
		err.Error()[:len(`unknown metric "ttft", "x"; accepted are time_to_first_token, `)] != `unknown metric "ttft", "x"; accepted are time_to_first_token, ` {
		t.Errorf("error of unknown metrics: %v", err)
	}
}

func TestObserveAllocations(t *testing.T) {
	r, _ := recorder(t)
	rec := answered(time.Second, time.Millisecond)
	r.Observe(rec, false)
	if n := testing.AllocsPerRun(100, func() { r.Observe(rec, false) }); n != 0 {
		t.Errorf("Observe allocates %v times, want 0", n)
	}
	closed(t, r)
}

// BenchmarkObserve measures what the series adds to the processing of a record.
func BenchmarkObserve(b *testing.B) {
	for _, chunks := range []int{2, 50, 500} {
		b.Run(fmt.Sprintf("chunks=%d", chunks), func(b *testing.B) {
			r, _ := recorder(b)
			rec := answered(time.Second, time.Second)
			rec.Answer.Chunks = nil
			for i := range chunks {
				rec.Answer.Chunks = append(rec.Answer.Chunks, bench.Chunk{At: rec.Stamps.Start + time.Duration(i+1)*time.Second/time.Duration(chunks)})
			}
			b.ReportAllocs()
			for b.Loop() {
				r.Observe(rec, false)
			}
			closed(b, r)
		})
	}
}

// TestHugeCounts: numbers of tokens that no integer holds are the largest one, in new files
// and in those of earlier versions, in which they overflowed.
func TestHugeCounts(t *testing.T) {
	for _, claimed := range []bench.Tokens{1 << 53, 1 << 61, 1 << 62, math.MaxInt64} {
		r, dir := recorder(t)
		for i := range time.Duration(6) {
			rec := answered(time.Second+i*time.Millisecond, time.Millisecond)
			rec.OutputTokens = &claimed
			r.Observe(rec, false)
		}
		r.Look(0, load(3*time.Second, 6), true)
		closed(t, r)
		s := read(t, dir, selected(t, 1, "output_tokens"))
		total := 0.0
		for _, n := range s.Values[0]["count"] {
			if !math.IsNaN(n) {
				total += n
			}
		}
		if want := min(6*float64(claimed), maxCount); math.Abs(total-want) > 1e-9*want {
			t.Errorf("6 times %d tokens are %v, want %v", claimed, total, want)
		}
	}
	var w window
	overflown := uint64(1<<63 + 5)
	section := binary.AppendUvarint(nil, overflown)
	if err := w.mergeSection(section, &Metric{Kind: Rate, at: outputTokens}); err != nil || w.counts[outputTokens] != maxCount {
		t.Errorf("a count of %d is %d, %v; want %d", overflown, w.counts[outputTokens], err, int64(maxCount))
	}
}
