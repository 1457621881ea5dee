package measure

import (
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/metric"
	"aiperfd/internal/engine/metric/catalogue"
	"aiperfd/internal/engine/sketch"
)

// load refills one record again and again, so that only the set holds memory.
type load struct {
	r    *rand.Rand
	rec  *bench.Record
	base time.Duration // between starts
}

func newLoad(base time.Duration, chunks int) *load {
	r := rand.New(rand.NewPCG(9, 9))
	return &load{r: r, rec: randomRecord(r, 0, chunks), base: base}
}

// next returns the i-th record. Every 1,000th fails with a unique message.
func (l *load) next(i int) *bench.Record {
	rec := l.rec
	start := time.Second + time.Duration(i)*l.base
	at := start + time.Duration(50e6*math.Exp(l.r.NormFloat64()/3))
	rec.Stamps = bench.Stamps{
		Due: start - ms, Permit: start - 100*time.Microsecond, Start: start,
		Connected: start + 1000, Wrote: start + 2000, FirstByte: at - 1000, Headers: at - 500, FirstBody: at,
	}
	rec.Answer.Failure = nil
	if i%1000 == 999 {
		rec.Answer.Failure = &bench.Failure{
			Class: bench.ServerError, Status: 500, Code: "code-" + string(rune('a'+i/1000%26)), Message: "worker died",
		}
	}
	rec.Answer.FirstEvent = at - 100
	*rec.InputTokens = bench.Tokens(20 + l.r.IntN(200))
	for c := range rec.Answer.Chunks {
		rec.Answer.Chunks[c].At = at
		at += time.Duration(1 + l.r.Int64N(20e6))
	}
	rec.Stamps.End = at
	return rec
}

// heap returns the live heap after a collection.
func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// TestBudget observes a million requests, and then an hour of 5,000 events a
// second, and checks that memory stays within the budget and ends to grow.
func TestBudget(t *testing.T) {
	for _, test := range []struct {
		name     string
		requests int
		chunks   int
		every    time.Duration // between starts
		budget   int64
	}{
		{"a million requests", 1_000_000, 4, 3600 * time.Microsecond, 64 << 20},
		{"an hour of 5,000 events a second", 180_000, 100, 20 * ms, 16 << 20},
	} {
		test.requests /= thinned
		test.budget /= thinned
		before := heap()
		o := withSLOs()
		o.Budget = test.budget
		set, l := newSet(t, o), newLoad(test.every, test.chunks)
		var most, half int64
		for i := range test.requests {
			set.Observe(l.next(i))
			if i%1000 == 0 {
				most = max(most, set.Size())
			}
			if i == test.requests/2 {
				half = set.Size()
			}
		}
		if most > test.budget {
			t.Errorf("%s: the set held %d bytes, more than its budget of %d", test.name, most, test.budget)
		}
		if grown := heap() - before; grown > set.Size()*5/4+1<<20 {
			t.Errorf("%s: the heap grew by %d bytes, the set admits to %d", test.name, grown, set.Size())
		}
		if end := set.Size(); end > half+half/10 {
			t.Errorf("%s: the set held %d bytes after half of the requests and %d at the end", test.name, half, end)
		}
		window := time.Duration(test.requests) * test.every
		results := set.Final(window, bench.PhaseStats{Start: time.Second})
		if r := results.Find("request_latency"); r.Method() != metric.Sketched || r.RelError > 0.005 || r.Count != int64(test.requests-test.requests/1000) {
			t.Errorf("%s: request_latency: %s with error %v, count %d", test.name, r.Method(), r.RelError, r.Count)
		}
		if r := results.Find("effective_concurrency"); r.Method() != metric.Binned || r.Bin > 300*ms {
			t.Errorf("%s: effective_concurrency: %s with bins of %v", test.name, r.Method(), r.Bin)
		}
		runtime.KeepAlive(set)
	}
}

// TestBudgetOrder checks the order in which values are dropped.
func TestBudgetOrder(t *testing.T) {
	o := everything()
	o.Budget = 4 << 20
	set, l := newSet(t, o), newLoad(10*ms, 400)
	method := func(tag string) metric.Method {
		return set.Final(time.Minute, bench.PhaseStats{Start: ms}).Find(tag).Method()
	}
	observe := func(from, to int) {
		if to > 1000 {
			l = newLoad(10*ms, 2) // what remains to be filled is slow to fill with events
		}
		for i := from; i < to; i++ {
			set.Observe(l.next(i))
		}
		set.enforce()
	}
	tags := [...]string{"request_latency", "inter_chunk_latency", "effective_concurrency"}
	for _, step := range []struct {
		from, to int
		want     [3]metric.Method
	}{
		{0, 50, [3]metric.Method{metric.Exact, metric.Exact, metric.Exact}},
		{50, 150, [3]metric.Method{metric.Exact, metric.Exact, metric.Binned}},
		{150, 600, [3]metric.Method{metric.Exact, metric.Sketched, metric.Binned}},
		{600, 30_000, [3]metric.Method{metric.Sketched, metric.Sketched, metric.Binned}},
	} {
		observe(step.from, step.to)
		for i, tag := range tags {
			if got := method(tag); got != step.want[i] {
				t.Errorf("after %d requests, %s is %s, want %s", step.to, tag, got, step.want[i])
			}
		}
	}
}

// TestSketchedResults compares the results of a set without memory with all values:
// equal if nothing is estimated, within the sketch's error in percentiles.
func TestSketchedResults(t *testing.T) {
	records := randomRecords(2, 500)
	o := everything()
	o.Budget = -1
	small, full := observed(t, o, records), observed(t, everything(), records)
	stats := bench.PhaseStats{Start: ms}
	a, b := small.Final(10*time.Second, stats), full.Final(10*time.Second, stats)
	if len(a) != len(b) {
		t.Errorf("%d metrics without memory, %d with", len(a), len(b))
	}
	for i := range b {
		want := &b[i]
		got := a.Find(want.Def.Tag)
		switch {
		case got == nil:
			t.Errorf("%s is absent without memory", want.Def.Tag)
		case want.Method() != metric.Exact:
			t.Errorf("%s is %s with memory", want.Def.Tag, want.Method())
		case want.Def.Kind == catalogue.Curve:
			compareBinned(t, got, want)
		default:
			if !want.Scalar() && (got.Method() != metric.Sketched || got.Count != want.Count) {
				t.Errorf("%s: %s, count %d, want %d", want.Def.Tag, got.Method(), got.Count, want.Count)
			}
			compareLive(t, got, want)
		}
	}
}

// compareBinned compares a curve from bins of a millisecond with the exact one.
func compareBinned(t *testing.T, got, want *metric.Result) {
	t.Helper()
	if got.Method() != metric.Binned {
		t.Errorf("%s: %s, want bins", want.Def.Tag, got.Method())
	}
	for s, tolerance := range map[metric.Stat]float64{metric.Avg: 1e-9, metric.P50: 0.05, metric.P90: 0.05} {
		if s == metric.Avg && !additive(want.Def) {
			tolerance = 0.02
		}
		g, _ := got.Get(s)
		w, _ := want.Get(s)
		if !near(g, w, tolerance) {
			t.Errorf("%s: %v = %v in bins, want %v", want.Def.Tag, s, g, w)
		}
	}
}

// additive reports whether bins know the average of a curve exactly. The ratio
// of two curves is not a sum over requests, nor is the time with any of them.
func additive(d *catalogue.Def) bool {
	return d.Group != catalogue.GroupActive && !strings.HasSuffix(d.Tag, "_per_user")
}

// TestSketchError checks the stated error on shapes that are hard for sketches,
// and that the order of merging cannot be seen.
func TestSketchError(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	for name, draw := range map[string]func() float64{
		"log-normal": func() float64 { return 1e7 * math.Exp(1.5*r.NormFloat64()) },
		"bimodal": func() float64 {
			if r.IntN(100) < 95 {
				return 2e7 + 1e5*r.NormFloat64()
			}
			return 2e9 + 1e8*r.NormFloat64()
		},
		"constant": func() float64 { return 123456789 },
		"zeros":    func() float64 { return float64(r.IntN(2)) * 1e6 * r.ExpFloat64() },
	} {
		values := make([]float64, 30_001)
		for i := range values {
			values[i] = draw()
		}
		exact := resultOf(latencySeries(t, values))
		whole := latencySeries(t, nil)
		whole.drop()
		whole.addAll(values)
		var parts [3]*series
		for i := range parts {
			parts[i] = latencySeries(t, nil)
			parts[i].drop()
			parts[i].addAll(values[10_000*i : min(len(values), 10_000*(i+1)+i/2)])
		}
		var merged []*metric.Result
		for _, p := range [][]int{{0, 1, 2}, {2, 0, 1}, {1, 2, 0}} {
			se := latencySeries(t, nil)
			for _, i := range p {
				se.merge(parts[i])
			}
			merged = append(merged, resultOf(se))
		}
		for _, got := range append(merged, resultOf(whole)) {
			for _, p := range percentiles {
				w, _ := exact.Get(p.stat)
				if g, ok := got.Get(p.stat); !ok || math.Abs(g-w) > 0.005*w {
					t.Errorf("%s: %v = %v, want %v within 0.5 %%", name, p.stat, g, w)
				}
				g, _ := got.Get(p.stat)
				if first, _ := merged[0].Get(p.stat); g != first {
					t.Errorf("%s: %v = %v in one order of merging and %v in another", name, p.stat, first, g)
				}
			}
			if got.RelError != sketch.RelativeError || got.RelError > 0.005 {
				t.Errorf("%s: states an error of %v", name, got.RelError)
			}
		}
	}
}

// TestBinsOrder checks that bins do not depend on the order in which requests
// are observed, or on how they were divided among sets.
func TestBinsOrder(t *testing.T) {
	records := randomRecords(8, 3000)
	o := everything()
	o.Budget = -1
	stats := bench.PhaseStats{Start: ms}
	want := observed(t, o, records).Final(time.Minute, stats)
	backwards := slices.Clone(records)
	slices.Reverse(backwards)
	a, b := observed(t, o, records[2000:]), observed(t, o, records[:2000])
	if err := a.Merge(b); err != nil {
		t.Fatal(err)
	}
	for name, got := range map[string]metric.Results{
		"backwards": observed(t, o, backwards).Final(time.Minute, stats),
		"merged":    a.Final(time.Minute, stats),
	} {
		for i := range want {
			w := &want[i]
			if w.Def.Kind != catalogue.Curve {
				continue
			}
			g := got.Find(w.Def.Tag)
			if g.Bin < w.Bin {
				t.Errorf("%s, %s: bins of %v, want %v", name, w.Def.Tag, g.Bin, w.Bin)
			}
			if x, y := statistic(t, want, w.Def.Tag, metric.Avg), statistic(t, got, w.Def.Tag, metric.Avg); additive(w.Def) && !near(y, x, 1e-9) {
				t.Errorf("%s, %s: avg %v, want %v", name, w.Def.Tag, y, x)
			}
			if x, y := statistic(t, want, w.Def.Tag, metric.P90), statistic(t, got, w.Def.Tag, metric.P90); name == "backwards" && !near(y, x, 1e-9) {
				t.Errorf("%s, %s: p90 %v, want %v", name, w.Def.Tag, y, x)
			}
		}
	}
}
