package sketch

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

var probes = []float64{0, 0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999, 1}

// exact is numpy's default quantile of sorted values.
func exact(sorted []float64, q float64) float64 {
	r := q * float64(len(sorted)-1)
	lo := int(math.Floor(r))
	if frac := r - float64(lo); frac > 0 {
		if math.IsInf(sorted[lo+1], 1) {
			return sorted[lo+1]
		}
		return sorted[lo] + frac*(sorted[lo+1]-sorted[lo])
	}
	return sorted[lo]
}

func fill(values []float64) *Sketch {
	s := New()
	for _, v := range values {
		s.Add(v)
	}
	return s
}

func samples(n int, f func(r *rand.Rand) float64) []float64 {
	r := rand.New(rand.NewPCG(1, 2))
	out := make([]float64, n)
	for i := range out {
		out[i] = f(r)
	}
	return out
}

func TestQuantile(t *testing.T) {
	tests := []struct {
		name   string
		values []float64
	}{
		{"lognormal", samples(20000, func(r *rand.Rand) float64 { return math.Exp(18 + r.NormFloat64()) })},
		{"seconds", samples(20000, func(r *rand.Rand) float64 { return 0.05 * math.Exp(r.NormFloat64()) })},
		{"bimodal", samples(20000, func(r *rand.Rand) float64 {
			if r.Float64() < 0.7 {
				return 1e6 * (1 + 0.1*r.Float64())
			}
			return 5e9 * (1 + 0.1*r.Float64())
		})},
		{"constant", samples(1000, func(*rand.Rand) float64 { return 8 })},
		{"one", []float64{3.7}},
		{"two", []float64{1, 1e15}},
		{"whole range", samples(5000, func(r *rand.Rand) float64 { return math.Pow(10, 15*r.Float64()) })},
		{"zeros", samples(5000, func(r *rand.Rand) float64 { return max(0, r.NormFloat64()) })},
		{"signed", samples(5001, func(r *rand.Rand) float64 { return 30 * r.NormFloat64() })},
		{"infinite tail", samples(3000, func(r *rand.Rand) float64 {
			if r.Float64() < 0.07 {
				return math.Inf(1)
			}
			return 1e8 + 1e7*r.Float64()
		})},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := fill(test.values)
			sorted := slices.Sorted(slices.Values(test.values))
			got := make([]float64, len(probes))
			s.Quantiles(probes, got)
			for i, q := range probes {
				want := exact(sorted, q)
				if single := s.Quantile(q); single != got[i] {
					t.Errorf("Quantile(%v) = %v, but Quantiles says %v", q, single, got[i])
				}
				if math.IsInf(want, 1) {
					if !math.IsInf(got[i], 1) {
						t.Errorf("Quantile(%v) = %v, want +Inf", q, got[i])
					}
					continue
				}
				// Interpolation between values of different sign can cancel, so the
				// error is measured against the larger neighbour.
				lo := int(q * float64(len(sorted)-1))
				hi := min(lo+1, len(sorted)-1)
				scale := max(math.Abs(sorted[lo]), math.Abs(want))
				if sorted[lo] < 0 {
					scale = max(scale, math.Abs(sorted[hi]))
				}
				if math.Abs(got[i]-want) > RelativeError*scale {
					t.Errorf("Quantile(%v) = %v, want %v within %v", q, got[i], want, RelativeError)
				}
			}
			for _, k := range []int{0, len(sorted) / 3, len(sorted) - 1} {
				got, want := s.Rank(uint64(k)), sorted[k]
				if got != want && math.Abs(got-want) > RelativeError*math.Abs(want) {
					t.Errorf("Rank(%d) = %v, want %v", k, got, want)
				}
			}
		})
	}
}

func TestMoments(t *testing.T) {
	s := fill([]float64{2, 4, 4, 4, 5, 5, 7, 9})
	s.Add(math.NaN())
	s.Add(math.Inf(-1))
	got := []float64{float64(s.Count()), s.Sum(), s.Min(), s.Max(), s.Mean(), s.Std()}
	if diff := cmp.Diff([]float64{8, 40, 2, 9, 5, 2}, got); diff != "" {
		t.Errorf("moments (-want +got):\n%s", diff)
	}
	s.Add(math.Inf(1))
	if s.Count() != 9 || s.infs != 1 || !math.IsInf(s.Sum(), 1) || !math.IsInf(s.Max(), 1) ||
		!math.IsInf(s.Mean(), 1) || !math.IsNaN(s.Std()) || s.Min() != 2 {
		t.Errorf("with +Inf: count %d infs %d sum %v max %v mean %v std %v min %v",
			s.Count(), s.infs, s.Sum(), s.Max(), s.Mean(), s.Std(), s.Min())
	}
}

func TestEmpty(t *testing.T) {
	s := New()
	for name, v := range map[string]float64{
		"Quantile": s.Quantile(0.5), "Min": s.Min(), "Max": s.Max(), "Mean": s.Mean(),
		"Std": s.Std(), "Rank": s.Rank(0), "out of range": fill([]float64{1}).Quantile(1.01),
	} {
		if !math.IsNaN(v) {
			t.Errorf("%s of an empty sketch = %v, want NaN", name, v)
		}
	}
	if s.Count() != 0 || s.Sum() != 0 {
		t.Errorf("count %d sum %v, want 0 0", s.Count(), s.Sum())
	}
	only := New()
	only.Add(math.Inf(1))
	if !math.IsInf(only.Min(), 1) || !math.IsInf(only.Quantile(0), 1) {
		t.Errorf("only +Inf: min %v p0 %v, want +Inf", only.Min(), only.Quantile(0))
	}
}

func TestIndex(t *testing.T) {
	tests := []struct {
		v    float64
		want int
	}{
		{1, 0}, {2, 128}, {0.5, -128}, {math.Nextafter(1, 2), 1}, {math.Nextafter(1, 0), 0},
		{math.Nextafter(2, 1), 128}, {MinValue, -60 * 128}, {MaxValue, 60 * 128}, {1e300, 60 * 128},
		{1.41421356, 64}, {1.41421357, 65},
	}
	for _, test := range tests {
		if got := index(test.v); got != test.want {
			t.Errorf("index(%v) = %d, want %d", test.v, got, test.want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		v := rapid.Float64Range(MinValue, MaxValue).Draw(t, "v")
		i := index(v)
		if lo, hi := upper(i-1), upper(i); v <= lo*(1-1e-15) || v > hi*(1+1e-15) {
			t.Fatalf("index(%v) = %d: (%v, %v]", v, i, lo, hi)
		}
	})
}

func TestBuckets(t *testing.T) {
	s := fill([]float64{-2, 0, 0, 1, 1.9, 2, 3})
	got := slices.Collect(s.Buckets())
	want := []Bucket{
		{-2, -upper(127), 1}, {0, 0, 2}, {upper(-1), 1, 1},
		{upper(118), upper(119), 1}, {upper(127), 2, 1}, {upper(202), upper(203), 1},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Buckets (-want +got):\n%s", diff)
	}
	for i := range len(want) {
		n := 0
		for range s.Buckets() {
			if n++; n > i {
				break
			}
		}
		if n != i+1 {
			t.Errorf("stopped after %d buckets, want %d", n, i+1)
		}
	}
	if got, want := s.CountsAtMost(-3, -1, 0, 1, 1.5, 2, 10), []uint64{0, 1, 3, 4, 4, 6, 7}; !slices.Equal(got, want) {
		t.Errorf("CountsAtMost = %d, want %d", got, want)
	}
}

// TestMerge checks that a sketch does not depend on the pieces and the order in which
// its values came.
func TestMerge(t *testing.T) {
	value := rapid.OneOf(
		rapid.Float64Range(1e-9, 1e15), rapid.Float64Range(-100, 100),
		rapid.SampledFrom([]float64{0, 1, math.Inf(1)}))
	rapid.Check(t, func(t *rapid.T) {
		parts := rapid.SliceOfN(rapid.SliceOfN(value, 0, 30), 1, 5).Draw(t, "parts")
		whole, forth, back := fill(slices.Concat(parts...)), New(), New()
		for i := range parts {
			forth.Merge(fill(parts[i]))
			back.Merge(fill(parts[len(parts)-1-i]))
		}
		for name, got := range map[string]*Sketch{"forth": forth, "back": back, "clone": whole.Clone()} {
			if diff := cmp.Diff(slices.Collect(whole.Buckets()), slices.Collect(got.Buckets())); diff != "" {
				t.Fatalf("%s: buckets differ:\n%s", name, diff)
			}
			a, b := make([]float64, len(probes)), make([]float64, len(probes))
			whole.Quantiles(probes, a)
			got.Quantiles(probes, b)
			for i := range a {
				if math.Float64bits(a[i]) != math.Float64bits(b[i]) {
					t.Fatalf("%s: p%v = %v, want %v", name, probes[i]*100, b[i], a[i])
				}
			}
			if whole.Count() != got.Count() || whole.infs != got.infs || whole.zeros != got.zeros {
				t.Fatalf("%s: counts differ", name)
			}
			if w, g := whole.Std(), got.Std(); math.Abs(w-g) > 1e-6*math.Abs(w) {
				t.Fatalf("%s: std %v, want %v", name, g, w)
			}
		}
	})
}

func TestClone(t *testing.T) {
	s := fill([]float64{1, 2, -3, 0})
	c := s.Clone()
	s.Add(1)
	if c.Count() != 4 || c.CountsAtMost(1)[0] != 3 {
		t.Errorf("the clone changed: count %d", c.Count())
	}
}

func TestAddAllocatesNothing(t *testing.T) {
	values := samples(1000, func(r *rand.Rand) float64 { return math.Exp(r.NormFloat64()) })
	s := fill(values)
	i := 0
	if n := testing.AllocsPerRun(1000, func() { s.Add(values[i%1000]); i++ }); n != 0 {
		t.Errorf("Add allocates %v times, want 0", n)
	}
}

func BenchmarkAdd(b *testing.B) {
	values := samples(1024, func(r *rand.Rand) float64 { return 0.05 * math.Exp(r.NormFloat64()) })
	s := fill(values)
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		s.Add(values[i&1023])
		i++
	}
}

func BenchmarkQuantiles(b *testing.B) {
	s := fill(samples(10000, func(r *rand.Rand) float64 { return 0.05 * math.Exp(r.NormFloat64()) }))
	out := make([]float64, len(probes))
	for b.Loop() {
		s.Quantiles(probes, out)
	}
}

// TestAddAll compares a batch with its values one by one: equal in all that is
// counted, and up to rounding in what is summed.
func TestAddAll(t *testing.T) {
	mixed := samples(5000, func(r *rand.Rand) float64 {
		switch r.IntN(10) {
		case 0:
			return 0
		case 1:
			return -math.Exp(r.NormFloat64())
		case 2:
			return 1e-30
		}
		return 1e9 * math.Exp(r.NormFloat64())
	})
	mixed = append(mixed, math.NaN(), math.Inf(1), math.Inf(-1), 5e18)
	for name, values := range map[string][]float64{
		"empty": nil, "one": {3e9}, "zeros": {0, 0, 0}, "not finite": {math.NaN(), math.Inf(1)},
		"constant": {2e9, 2e9, 2e9, 2e9}, "mixed": mixed,
	} {
		one, all := New(), New()
		for _, v := range values {
			one.Add(v / 1e9)
		}
		for len(values) > 0 {
			n := min(len(values), 37)
			all.AddAll(values[:n], 1e9)
			values = values[n:]
		}
		if diff := cmp.Diff(slices.Collect(one.Buckets()), slices.Collect(all.Buckets())); diff != "" {
			t.Errorf("%s: buckets (-one by one +batch):\n%s", name, diff)
		}
		if one.Count() != all.Count() || one.zeros != all.zeros || one.infs != all.infs {
			t.Errorf("%s: count %d, zeros %d, infs %d, want %d, %d, %d", name,
				all.Count(), all.zeros, all.infs, one.Count(), one.zeros, one.infs)
		}
		for what, pair := range map[string][2]float64{
			"min": {one.Min(), all.Min()}, "max": {one.Max(), all.Max()}, "sum": {one.Sum(), all.Sum()},
			"mean": {one.Mean(), all.Mean()}, "std": {one.Std(), all.Std()},
		} {
			want, got := pair[0], pair[1]
			if math.IsNaN(want) != math.IsNaN(got) || math.Abs(got-want) > 1e-9*math.Abs(want) {
				t.Errorf("%s: %s = %v, want %v", name, what, got, want)
			}
		}
	}
}

// TestSize checks that the memory of a sketch depends on the span of its values
// alone.
func TestSize(t *testing.T) {
	s := New()
	for i := range 100_000 {
		s.Add(1 + float64(i%9))
	}
	if size := s.Size(); size > 8<<10 {
		t.Errorf("one decade takes %d bytes", size)
	}
	for e := -70; e < 70; e++ {
		s.Add(math.Exp2(float64(e)))
		s.Add(-math.Exp2(float64(e)))
	}
	if size := s.Size(); size > 256<<10 {
		t.Errorf("the widest sketch takes %d bytes, more than 256 KiB", size)
	}
}

func BenchmarkAddAll(b *testing.B) {
	values := samples(50, func(r *rand.Rand) float64 { return 2e7 * math.Exp(r.NormFloat64()) })
	s := New()
	b.ReportAllocs()
	for b.Loop() {
		s.AddAll(values, 1e9)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/50, "ns/value")
}
