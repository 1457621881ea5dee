package metric

import (
	"math/rand/v2"
	"testing"
	"time"

	"aiperfd/internal/engine/bench"
)

func TestObserveAllocations(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	records := make([]*bench.Record, 64)
	for i := range records {
		records[i] = randomRecord(r, 7*i, 50)
		records[i].Answer.Failure = nil
	}
	o := withSLOs()
	o.Budget = -1
	set := observed(t, o, records)
	i := 0
	if n := testing.AllocsPerRun(200, func() { set.Observe(records[i%64]); i++ }); n != 0 {
		t.Errorf("Observe allocates %v times with a full set, want 0", n)
	}
}

func BenchmarkObserve(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	records := make([]*bench.Record, 256)
	for i := range records {
		records[i] = randomRecord(r, i, 50)
		records[i].Answer.Failure = nil
	}
	set := newSet(b, withSLOs())
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		set.Observe(records[i&255])
		i++
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/50, "ns/chunk")
}

// BenchmarkObserveSketched is Observe once nothing is kept any more.
func BenchmarkObserveSketched(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	records := make([]*bench.Record, 256)
	for i := range records {
		records[i] = randomRecord(r, i, 50)
		records[i].Answer.Failure = nil
	}
	o := withSLOs()
	o.Budget = -1
	set := newSet(b, o)
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		set.Observe(records[i&255])
		i++
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/50, "ns/chunk")
}

func BenchmarkLive(b *testing.B) {
	set := observed(b, withSLOs(), randomRecords(3, 20000))
	b.ReportAllocs()
	for b.Loop() {
		set.Live(bench.PhaseStats{Start: ms}, time.Minute)
	}
}

func BenchmarkFinal(b *testing.B) {
	set := observed(b, withSLOs(), randomRecords(3, 20000))
	b.ReportAllocs()
	for b.Loop() {
		set.Final(time.Minute, bench.PhaseStats{Start: ms})
	}
}
