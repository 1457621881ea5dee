package sockstamp

import (
	"io"
	"math/rand/v2"
	"testing"
	"time"
)

// Every lag lies below the bound of its bucket and not below that of the bucket
// before, and a bucket is at most an eighth of its lag wide.
func TestLagBuckets(t *testing.T) {
	lags := []time.Duration{-1, 0, 1, 1023, 1024, 1151, 1152, 2047, 2048, time.Microsecond, time.Millisecond, time.Second, 2 * time.Second}
	r := rand.New(rand.NewPCG(1, 2))
	for range 10_000 {
		lags = append(lags, time.Duration(r.Int64N(1<<uint(1+r.IntN(31)))))
	}
	for _, lag := range lags {
		i := lagBucket(lag)
		if lag >= LagBound(i) {
			t.Fatalf("lag %d is in bucket %d, which ends at %d", lag, i, LagBound(i))
		}
		if i == 0 {
			continue
		}
		if low := LagBound(i - 1); lag < low || 8*(LagBound(i)-low) > low {
			t.Fatalf("lag %d is in bucket %d of [%d, %d)", lag, i, low, LagBound(i))
		}
	}
	if i := lagBucket(time.Hour); i != LagBuckets-1 {
		t.Errorf("an hour is in bucket %d, want the last, %d", i, LagBuckets-1)
	}
}

func TestLagCounts(t *testing.T) {
	var l Lags
	if c := l.Counts(); c.Source() != "" || c.Quantile(0.5) != 0 {
		t.Errorf("nothing read: source %q, median %v", c.Source(), c.Quantile(0.5))
	}
	for range 98 {
		l.Count(Stamp{Kernel: true, Lag: 10 * time.Microsecond})
	}
	before := l.Counts()
	l.Count(Stamp{Kernel: true, Lag: 3 * time.Millisecond})
	l.Count(Stamp{Kernel: true, Lag: 3 * time.Millisecond})
	c := l.Counts()
	if c.Kernel != 100 || c.Read != 0 || c.Source() != "kernel" {
		t.Errorf("kernel %d, read %d, source %q; want 100, 0, kernel", c.Kernel, c.Read, c.Source())
	}
	for _, tt := range []struct {
		q    float64
		want time.Duration
	}{{0, 10240}, {0.5, 10240}, {0.98, 10240}, {0.99, 3145728}, {1, 3145728}} {
		if got := c.Quantile(tt.q); got != tt.want {
			t.Errorf("Quantile(%v) = %d, want %d", tt.q, got, tt.want)
		}
	}
	if d := c.Since(before); d.Kernel != 2 || d.Quantile(0) != 3145728 {
		t.Errorf("since: %d reads, least %v; want 2, 3.145728ms", d.Kernel, d.Quantile(0))
	}
	l.Count(Stamp{})
	if c := l.Counts(); c.Read != 1 || c.Source() != "mixed" {
		t.Errorf("read %d, source %q; want 1, mixed", c.Read, c.Source())
	}
}

func TestReadsAreCountedAndAllocateNothing(t *testing.T) {
	client, server := pair(t)
	var l Lags
	c := New(client)
	c.CountIn(&l)
	in, out := make([]byte, 64), make([]byte, 64)
	n := testing.AllocsPerRun(100, func() {
		if _, err := server.Write(out); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(c, in); err != nil {
			t.Fatal(err)
		}
	})
	if n != 0 {
		t.Errorf("%v allocations a read, want none", n)
	}
	counts := l.Counts()
	if got := counts.Kernel + counts.Read; got != uint64(c.Reads()) || got < 101 {
		t.Errorf("counted %d of %d reads", got, c.Reads())
	}
	if !c.Kernel() && counts.Kernel > 0 { // the first packets of a machine may have no stamps, whatever it supports
		t.Errorf("source %q, kernel stamps %v", counts.Source(), c.Kernel())
	}
}
