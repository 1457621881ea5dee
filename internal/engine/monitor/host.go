package monitor

import (
	"math"
	"runtime"
	"runtime/metrics"
	"time"

	"aiperfd/internal/engine/verdict"
)

// The metrics of the Go runtime that are read.
const (
	schedulerMetric = "/sched/latencies:seconds"
	pauseMetric     = "/sched/pauses/total/gc:seconds"
)

// host is this process.
type host struct {
	system
	samples []metrics.Sample
}

var _ Host = (*host)(nil)

func newHost() *host {
	return &host{system: newSystem(), samples: []metrics.Sample{{Name: schedulerMetric}, {Name: pauseMetric}}}
}

// Cores returns how many processors this process may use: the least of those of the machine, its quota and GOMAXPROCS.
func Cores() int { return max(1, int(math.Ceil(newHost().Read().Cores))) }

// Read implements [Host].
func (h *host) Read() Totals {
	t := Totals{Cores: float64(min(runtime.NumCPU(), runtime.GOMAXPROCS(0)))}
	h.fill(&t)
	if g := t.Cgroup; g != nil && g.Quota > 0 {
		t.Cores = min(t.Cores, g.Quota)
	}
	metrics.Read(h.samples)
	t.Scheduler, t.Pauses = distribution(&h.samples[0]), distribution(&h.samples[1])
	return t
}

// distribution takes a histogram of the runtime over; nil if the runtime does
// not have it.
func distribution(s *metrics.Sample) *verdict.Histogram {
	if s.Value.Kind() != metrics.KindFloat64Histogram {
		return nil
	}
	in := s.Value.Float64Histogram()
	out := new(verdict.Histogram)
	for i, n := range in.Counts {
		// A bucket stands for its upper bound; the last one has none.
		bound := in.Buckets[i+1]
		if math.IsInf(bound, 1) {
			bound = in.Buckets[i]
		}
		out.AddN(time.Duration(max(0, bound)*float64(time.Second)), n)
	}
	return out
}
