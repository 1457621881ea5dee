package measure

import (
	"math"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/metric"
	"aiperfd/internal/engine/metric/catalogue"
)

// slicedSet returns a set with slices from 1 s on.
func slicedSet(t *testing.T, width time.Duration, budget int64) *Set {
	t.Helper()
	o := withSLOs()
	o.Slice, o.Budget = width, budget
	s := newSet(t, o)
	s.SliceFrom(time.Second)
	return s
}

// TestSlices compares the slices of a set with sets of their own for the requests that
// started in them.
func TestSlices(t *testing.T) {
	const width, window = 2 * time.Second, 9 * time.Second
	set := slicedSet(t, width, DefaultBudget)
	parts := make([]*Set, 5)
	for i := range parts {
		parts[i] = newSet(t, withSLOs())
	}
	l := newLoad(9*ms, 5)
	for i := range 1000 {
		r := *l.next(i)
		set.Observe(&r)
		parts[(r.Stamps.Start-time.Second)/width].Observe(&r)
	}
	phase := bench.PhaseStats{Start: time.Second}
	got := Part{Set: set, Window: window, Phase: phase}.Finish().Slices
	if len(got) != 5 {
		t.Fatalf("%d slices, want 5", len(got))
	}
	for i, slice := range got {
		from := time.Second + time.Duration(i)*width
		to := min(from+width, time.Second+window)
		if slice.From != from || slice.To != to || slice.Complete != (i < 4) {
			t.Errorf("slice %d is from %v to %v, complete %v", i, slice.From, slice.To, slice.Complete)
		}
		for _, want := range parts[i].Final(to-from, bench.PhaseStats{Start: from, End: bench.PhaseAborted}) {
			if want.Def.Kind == catalogue.Curve {
				continue
			}
			g := slice.Results.Find(want.Def.Tag)
			if g == nil {
				t.Fatalf("slice %d has no %s", i, want.Def.Tag)
			}
			tolerance := 1e-9
			if g.RelError > 0 {
				tolerance = 4 * g.RelError
			}
			for stat := range numStats {
				a, hasA := want.Get(stat)
				b, hasB := g.Get(stat)
				if hasA != hasB || hasA && !near(b, a, tolerance) && !(math.IsInf(a, 1) && math.IsInf(b, 1)) {
					t.Errorf("slice %d: %s %v is %v, %v, want %v, %v", i, want.Def.Tag, stat, b, hasB, a, hasA)
				}
			}
		}
	}
	whole := set.Final(window, phase)
	sumOver := func(tag string) (sum float64) {
		for _, s := range got {
			v, _ := s.Results.Find(tag).Get(metric.Avg)
			sum += v
		}
		return sum
	}
	if n := sumOver("requests_started"); n != 1000 {
		t.Errorf("%v requests started in all slices, want 1000", n)
	}
	tokens, _ := whole.Find("total_osl").Get(metric.Avg)
	if got := sumOver("tokens_received"); got > tokens || got < 0.95*tokens {
		t.Errorf("%v tokens arrived in all slices, want nearly %v", got, tokens)
	}
	var area float64
	for _, s := range got {
		v, _ := s.Results.Find("effective_concurrency").Get(metric.Avg)
		area += v * (s.To - s.From).Seconds()
	}
	mean, _ := whole.Find("effective_concurrency").Get(metric.Avg)
	if !near(area/window.Seconds(), mean, 1e-9) {
		t.Errorf("mean concurrency of the slices is %v, of the phase %v", area/window.Seconds(), mean)
	}
}

// TestSliceMemory checks that slices stay within their budget by becoming wider, and
// lose no request thereby.
func TestSliceMemory(t *testing.T) {
	const budget = 2 << 20
	set := slicedSet(t, 10*ms, budget)
	l := newLoad(3*ms, 20)
	const n = 20_000
	for i := range n {
		set.Observe(l.next(i))
	}
	if size := set.slicer.size(); size > 2*budget {
		t.Errorf("slices take %d bytes, want about %d", size, budget)
	}
	slices := Part{Set: set, Window: n * 3 * ms, Phase: bench.PhaseStats{Start: time.Second}}.Finish().Slices
	width := slices[0].To - slices[0].From
	if width <= 10*ms || width%(10*ms) != 0 {
		t.Errorf("slices of %v, want a multiple of 10ms", width)
	}
	var count, met float64
	for _, s := range slices {
		c, _ := s.Results.Find("request_count").Get(metric.Avg)
		g, _ := s.Results.Find("good_request_count").Get(metric.Avg)
		count, met = count+c, met+g
	}
	want := set.Counters()
	if int64(count) != want.Success || int64(met) != want.Good {
		t.Errorf("slices have %v requests, %v good ones, want %d, %d", count, met, want.Success, want.Good)
	}
}

// TestManySlices checks the bound on their number.
func TestManySlices(t *testing.T) {
	set := slicedSet(t, ms, DefaultBudget)
	rec := randomRecord(rand.New(rand.NewPCG(1, 1)), 0, 2)
	for _, at := range []time.Duration{time.Second, time.Hour} {
		shift := at - rec.Stamps.Start
		rec.Stamps.Start += shift
		rec.Stamps.End += shift
		for i := range rec.Answer.Chunks {
			rec.Answer.Chunks[i].At += shift
		}
		set.Observe(rec)
	}
	if n := len(set.slicer.folds); n > mostSlices || set.slicer.width != 256*ms {
		t.Errorf("%d slices of %v", n, set.slicer.width)
	}
}

// TestNoSlices checks that a set without slices has none and takes nothing for them.
func TestNoSlices(t *testing.T) {
	set := slicedSet(t, 0, DefaultBudget)
	set.Observe(handRecord())
	part := Part{Set: set, Window: time.Second}
	if got := part.Finish().Slices; got != nil || set.slicer != nil {
		t.Errorf("slices %v", reflect.TypeOf(got))
	}
}
