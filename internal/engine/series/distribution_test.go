package series

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"aiperfd/internal/engine/sketch"
)

// distributed returns the query of the distribution of a metric.
func distributed(t testing.TB, name string) DistributionQuery {
	t.Helper()
	metrics, err := DistributionMetrics([]string{name})
	if err != nil {
		t.Fatal(err)
	}
	return DistributionQuery{Metrics: metrics}
}

func readDistribution(t testing.TB, dir string, q DistributionQuery) (*Distributions, *Spread) {
	t.Helper()
	d, err := ReadDistributions(t.Context(), dir, q)
	if err != nil {
		t.Fatal(err)
	}
	return d, &d.Of[0]
}

func total(counts []int64) (n int64) {
	for _, c := range counts {
		n += c
	}
	return n
}

// A distribution has the quantiles of the values themselves in one sketch; its buckets hold
// all values, each in the right one, and the columns are what the histogram is made of.
func TestDistribution(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		r, dir := recorder(t)
		_, latencies := stream(rt, r)
		closed(t, r)
		q := distributed(t, "request_latency")
		q.Columns = rapid.Int64Range(1, 70).Draw(rt, "columns")
		d, s := readDistribution(t, dir, q)
		direct := sketch.New()
		for _, l := range latencies {
			direct.Add(l.Seconds())
		}
		want := make([]float64, len(Quantiles()))
		direct.Quantiles(Quantiles(), want)
		for i := range want {
			want[i] *= 1e3
		}
		if diff := cmp.Diff(want, s.Values, near()); diff != "" || s.Count != direct.Count() {
			rt.Fatalf("count %d, quantiles (-direct +series):\n%s", s.Count, diff)
		}
		if n := int64(len(d.Times)); n > q.Columns || n != int64(len(s.Columns)) {
			rt.Fatalf("%d times, %d columns, want at most %d", n, len(s.Columns), q.Columns)
		}
		if len(s.Histogram.Counts) > maxBars || len(s.Rows) > maxRows+1 {
			rt.Fatalf("%d bars, %d bounds of rows", len(s.Histogram.Counts), len(s.Rows))
		}
		rows := make([]int64, max(0, len(s.Rows)-1))
		for i, column := range s.Columns {
			if len(column) != len(rows) {
				rt.Fatalf("column %d has %d rows, want %d", i, len(column), len(rows))
			}
			for k, c := range column {
				rows[k] += c
			}
		}
		for name, h := range map[string]Histogram{"histogram": s.Histogram, "heat map": {s.Rows, rows}} {
			exact := make([]int64, len(h.Counts))
			for _, l := range latencies {
				v := float64(l) / 1e6
				at, found := slices.BinarySearch(h.Bounds, v)
				_ = found // the upper bound belongs to a bucket
				exact[at-1]++
			}
			if diff := cmp.Diff(exact, h.Counts, cmpopts.EquateEmpty()); diff != "" {
				rt.Fatalf("%s (-values +buckets):\n%s", name, diff)
			}
		}
	})
}

// Requests of other phases, and those that the results leave out, do not count, also if they
// end in the same second.
func TestDistributionOfPhase(t *testing.T) {
	r, dir := recorder(t)
	const ms = time.Millisecond
	r.Begin(Phase{Index: 1, Name: "warm", Kind: "warmup", Start: origin})
	r.Begin(Phase{Index: 2, Name: "second", Kind: "profiling", Start: origin})
	for phase, latency := range []time.Duration{10 * ms, 100 * ms, 1000 * ms} {
		rec := answered(1500*ms, latency)
		rec.Phase = phase
		r.Observe(rec, false)
		rec = answered(1500*ms, 7*latency)
		rec.Phase = phase
		r.Observe(rec, true)
	}
	for phase := range 3 {
		r.Look(phase, load(1900*ms, 2), true)
	}
	closed(t, r)
	for phase, want := range map[string][]float64{
		"": {10, 1000}, "profiling": {10, 1000}, "warmup": {100}, "warm": {100}, "second": {1000}, "other": nil,
	} {
		q := distributed(t, "request_latency")
		q.Phase = phase
		d, s := readDistribution(t, dir, q)
		if s.Count != uint64(len(want)) || len(d.Phases) != len(want) {
			t.Errorf("phase %q: %d values of the phases %+v, want %v", phase, s.Count, d.Phases, want)
		}
		if len(want) > 0 && (math.Abs(s.Min-want[0]) > 1e-6 || math.Abs(s.Max-want[len(want)-1]) > 1e-6) {
			t.Errorf("phase %q: %v to %v, want %v", phase, s.Min, s.Max, want)
		}
		if len(want) == 0 && (!math.IsNaN(s.Avg) || !math.IsNaN(s.Values[0]) || len(s.Histogram.Bounds) != 0) {
			t.Errorf("phase %q: %+v", phase, s)
		}
	}
}

// Zeros have a bucket of their own, whether or not there are other values.
func TestDistributionOfZeros(t *testing.T) {
	for _, tt := range []struct {
		lags   []time.Duration
		bounds int
		counts []int64
	}{
		{[]time.Duration{0, 0}, 2, []int64{2}},
		{[]time.Duration{0, 0, time.Millisecond}, 3, []int64{2, 1}},
		{[]time.Duration{time.Millisecond}, 2, []int64{1}},
	} {
		r, dir := recorder(t)
		for _, lag := range tt.lags {
			rec := answered(2*time.Second, time.Second)
			rec.Stamps.Due = rec.Stamps.Start - lag
			r.Observe(rec, false)
		}
		r.Look(0, load(3*time.Second, 1), true)
		closed(t, r)
		_, s := readDistribution(t, dir, distributed(t, "schedule_lag"))
		if h := s.Histogram; len(h.Bounds) != tt.bounds || !slices.Equal(h.Counts, tt.counts) || (h.Bounds[0] == 0) != (tt.lags[0] == 0) {
			t.Errorf("lags %v: %+v", tt.lags, h)
		}
	}
}

// While the run is active, all windows that are closed count, also in a column that lacks
// seconds; a later reading of the file is the same.
func TestLiveDistribution(t *testing.T) {
	r, dir := recorder(t)
	q := distributed(t, "request_latency")
	q.Columns = 3
	drain(r) // before, there is no series
	for second := range 20 {
		at := time.Duration(second) * time.Second
		r.Observe(answered(at+time.Second/2, time.Duration(1+second)*time.Millisecond), false)
		r.Look(0, load(at+time.Second*3/4, int64(second)), second == 19)
		d, err := r.Distributions(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		if want := max(0, second-settle); d.Of[0].Count != uint64(want) || d.Elapsed != int64(want) || len(d.Times) > 3 || (d.Phases[0].End == nil) != (second < 19) {
			t.Fatalf("after %d s: %d values of %d s in the columns %v of the phases %+v, want %d", second, d.Of[0].Count, d.Elapsed, d.Times, d.Phases, want)
		}
	}
	closed(t, r)
	if d, s := readDistribution(t, dir, q); s.Count != 20 || total(s.Histogram.Counts) != 20 || d.Elapsed != 0 {
		t.Errorf("the file has %d values of %d s", s.Count, d.Elapsed)
	}
	q.From, q.To = 5, 11 // with three columns, a step of 2 s
	if d, s := readDistribution(t, dir, q); s.Count != 8 || d.Times[0] != 4 {
		t.Errorf("from 5 s to 11 s: %d values in the columns %v", s.Count, d.Times)
	}
}

// A file of an earlier version does not say of which phase a window is: its time says it.
func TestDistributionOfEarlierVersion(t *testing.T) {
	r, dir := recorder(t)
	for second := range 4 {
		r.Observe(answered(time.Duration(second)*time.Second, time.Millisecond), false)
	}
	r.Look(0, load(2500*time.Millisecond, 4), true)
	r.Begin(Phase{Index: 1, Name: "warm", Kind: "warmup", Start: origin + 3*time.Second})
	r.Look(1, load(3500*time.Millisecond, 0), true)
	closed(t, r)
	path := filepath.Join(dir, File)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	old := []byte(magic)
	for at := len(magic); at < len(data); {
		whole := entrySize + int(binary.LittleEndian.Uint32(data[at:]))
		window, content := binary.LittleEndian.Uint32(data[at+8:]), data[at+entrySize:at+whole]
		if _, known := partOf(content); known && window < ofStart {
			content = content[2+int(content[1]):]
		}
		old = append(old, newEntry(int64(window), int64(binary.LittleEndian.Uint32(data[at+12:])), content)...)
		at += whole
	}
	if err := os.WriteFile(path, old, 0o600); err != nil {
		t.Fatal(err)
	}
	if len(old) >= len(data) {
		t.Fatal("the file has no parts")
	}
	if _, s := readDistribution(t, dir, distributed(t, "request_latency")); s.Count != 3 {
		t.Errorf("%d values, want those of 3 s", s.Count)
	}
}

func TestQuantiles(t *testing.T) {
	q := Quantiles()
	if !slices.IsSorted(q) || len(slices.Compact(slices.Clone(q))) != len(q) || q[0] != 0 || q[len(q)-1] != 1 {
		t.Errorf("quantiles %v", q)
	}
	for _, p := range []float64{0.5, 0.9, 0.95, 0.99, 0.999, 0.9999} {
		if !slices.Contains(q, p) {
			t.Errorf("%v is no quantile", p)
		}
	}
}

// BenchmarkDistributions reads a day of 1,000,000 requests.
func BenchmarkDistributions(b *testing.B) {
	const day, perSecond = 24 * 60 * 60, 12
	r, dir := recorder(b)
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
	closed(b, r)
	metrics, err := DistributionMetrics(nil)
	if err != nil {
		b.Fatal(err)
	}
	for name, q := range map[string]DistributionQuery{"all": {Metrics: metrics}, "one": {Metrics: metrics[:1]}} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if d, s := readDistribution(b, dir, q); s.Count != day*perSecond || len(d.Times) != 144 {
					b.Fatalf("%d values in %d columns", s.Count, len(d.Times))
				}
			}
		})
	}
}
