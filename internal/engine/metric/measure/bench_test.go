package measure

import (
	"fmt"
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

// BenchmarkObserveEvents measures the cost of content events in long answers: while
// values are kept, and once nothing is kept any more. In plain answers the server
// does not report how many tokens an event carries.
func BenchmarkObserveEvents(b *testing.B) {
	const events = 500
	for _, kept := range []bool{true, false} {
		for _, plain := range []bool{true, false} {
			b.Run(fmt.Sprintf("kept=%v/plain=%v", kept, plain), func(b *testing.B) {
				records := longRecords(events, plain)
				o := withSLOs()
				if !kept {
					o.Budget = -1
				}
				set := newSet(b, o)
				b.ReportAllocs()
				i := 0
				for b.Loop() {
					set.Observe(records[i%len(records)])
					i++
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/events, "ns/event")
			})
		}
	}
}

// longRecords are successes with many content events.
func longRecords(events int, plain bool) []*bench.Record {
	r := rand.New(rand.NewPCG(1, 2))
	records := make([]*bench.Record, 32)
	for i := range records {
		records[i] = randomRecord(r, i, events)
		records[i].Answer.Failure = nil
		for c := range records[i].Answer.Chunks {
			if plain {
				records[i].Answer.Chunks[c].Tokens = 0
			}
		}
	}
	return records
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
