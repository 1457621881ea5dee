package verdict

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

func TestBuckets(t *testing.T) {
	for i := range buckets {
		if got := bucket(upper(i) - 1); got != i {
			t.Fatalf("bucket(upper(%d)-1) = %d", i, got)
		}
		if i+1 < buckets && bucket(upper(i)) != i+1 {
			t.Fatalf("bucket(upper(%d)) = %d, want %d", i, bucket(upper(i)), i+1)
		}
	}
	if got := upper(buckets - 1); got < 130*time.Second || got > 140*time.Second {
		t.Errorf("the last bucket ends at %v", got)
	}
	if got := bucket(time.Hour); got != buckets-1 {
		t.Errorf("bucket(1h) = %d, want the last one", got)
	}
}

// Quantiles are never too low, and at most a sixteenth too high.
func TestHistogramQuantile(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var h Histogram
	var all []time.Duration
	for range 5000 {
		d := time.Duration(r.ExpFloat64() * float64(3*time.Millisecond))
		all = append(all, d)
		h.Add(d)
	}
	slices.Sort(all)
	for _, q := range []float64{0.01, 0.5, 0.9, 0.99, 1} {
		exact := all[max(int(q*5000+0.9999)-1, 0)]
		if got := h.Quantile(q); got < exact || float64(got) > 1.0626*float64(exact)+1024 {
			t.Errorf("Quantile(%v) = %v, exact %v", q, got, exact)
		}
	}
	if h.Max() != all[4999] || h.Count() != 5000 {
		t.Errorf("max %v, count %d, want %v, 5000", h.Max(), h.Count(), all[4999])
	}
	if got, want := h.Above(10*time.Millisecond), len(all)-lowerBound(all, upper(bucket(10*time.Millisecond))); got != int64(want) {
		t.Errorf("Above(10ms) = %d, want %d", got, want)
	}
}

func lowerBound(all []time.Duration, d time.Duration) int {
	i, _ := slices.BinarySearch(all, d)
	return i
}

func TestHistogramSinceAndMerge(t *testing.T) {
	var h Histogram
	h.Add(time.Second)
	before := h
	h.AddN(2*time.Millisecond, 3)
	h.Add(-time.Second)
	d := h.Since(&before)
	if d.Count() != 4 || d.Sum() != 6*time.Millisecond || d.Mean() != 1500*time.Microsecond {
		t.Errorf("since: count %d, sum %v, mean %v", d.Count(), d.Sum(), d.Mean())
	}
	if d.Max() < 2*time.Millisecond || d.Max() > 2126*time.Microsecond {
		t.Errorf("since: max %v, want 2 ms to within its bucket", d.Max())
	}
	before.Merge(&d)
	if before.Count() != 5 || before.Max() != time.Second || before.Quantile(0.8) != d.Max() {
		t.Errorf("merged: count %d, max %v, p80 %v", before.Count(), before.Max(), before.Quantile(0.8))
	}
	var empty Histogram
	if empty.Quantile(0.99) != 0 || empty.Mean() != 0 || empty.Above(0) != 0 {
		t.Error("an empty histogram has values")
	}
	var zero Histogram
	zero.AddN(0, 10)
	if got := zero.Quantile(0.99); got != 0 {
		t.Errorf("p99 of zeros = %v", got)
	}
}

func TestHistogramAddDoesNotAllocate(t *testing.T) {
	var h Histogram
	if n := testing.AllocsPerRun(100, func() { h.Add(time.Millisecond) }); n != 0 {
		t.Errorf("Add allocates %v times", n)
	}
}
