package measure

import (
	"math"
	"testing"
	"time"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/metric"
)

// answered is a streamed answer after a time, from a target.
func answered(i int, after time.Duration, target int) *bench.Record {
	start := time.Duration(1+i) * time.Second
	end := start + after
	return &bench.Record{
		Target: target, Stamps: bench.Stamps{Due: start, Permit: start, Start: start, Wrote: start, FirstByte: end, FirstBody: end, End: end},
		Answer: bench.Answer{Streamed: true, Chunks: []bench.Chunk{{At: end, Bytes: 4, Tokens: 1}}, FirstEvent: end},
	}
}

// adjustedResults returns the results of answers after 10, 20 … ms, from the targets in turn.
func adjustedResults(t *testing.T, n, targets int, budget int64, network *Network) metric.Results {
	t.Helper()
	o := everything()
	o.Targets, o.Budget = targets, budget
	s := newSet(t, o)
	for i := range n {
		s.Observe(answered(i, time.Duration(1+i)*10*ms, i%targets))
	}
	s.Adjust(network)
	return s.Final(time.Minute, bench.PhaseStats{Start: time.Second})
}

func TestNetworkAdjusted(t *testing.T) {
	const tag = "network_adjusted_request_latency"
	mean := func(v float64) map[metric.Stat]float64 { return map[metric.Stat]float64{metric.Avg: v} }
	tests := []struct {
		name    string
		targets int
		network *Network
		want    map[metric.Stat]float64 // in ms; nil = there is no such metric
	}{
		{"unknown", 1, nil, nil},
		{"the round trip to the only server is unknown", 1, &Network{Least: []float64{math.NaN()}}, nil},
		{"one round trip", 1, &Network{Least: []float64{4e6}}, map[metric.Stat]float64{
			metric.Avg: 21, metric.Min: 6, metric.P50: 21, metric.Max: 36, metric.Sum: 84, metric.Std: math.Sqrt(125),
		}},
		{"longer than the shortest latencies", 1, &Network{Least: []float64{25e6}}, map[metric.Stat]float64{
			metric.Avg: 5, metric.Min: 0, metric.P50: 2.5, metric.Max: 15,
		}},
		{"each server its own", 2, &Network{Least: []float64{4e6, 10e6}}, map[metric.Stat]float64{
			metric.Min: 6, metric.Max: 30, metric.Sum: 6 + 10 + 26 + 30, metric.Avg: 18,
		}},
		{"one round trip for all servers", 2, &Network{Least: []float64{4e6}}, mean(21)},
		{"that to one of two servers is unknown", 2, &Network{Least: []float64{4e6, math.NaN()}}, nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			rs := adjustedResults(t, 4, test.targets, 0, test.network)
			if test.want == nil && rs.Find(tag) != nil {
				t.Errorf("%s = %+v, want none", tag, rs.Find(tag))
			}
			for stat, want := range test.want {
				if got := statistic(t, rs, tag, stat); math.Abs(got-want) > 1e-9 {
					t.Errorf("%s of %s = %v, want %v", stat, tag, got, want)
				}
			}
		})
	}
}

// Percentiles from sketches stay within the error that the result states, and averages are exact while no latency is
// shorter than the round trip.
func TestNetworkAdjustedSketch(t *testing.T) {
	const n = 2000
	for _, test := range []struct {
		name    string
		targets int
		least   []float64
	}{{"one", 1, []float64{4e6}}, {"two", 2, []float64{4e6, 9e6}}, {"longer than some latencies", 1, []float64{300e6}}} {
		t.Run(test.name, func(t *testing.T) {
			exact := adjustedResults(t, n, test.targets, 1<<40, &Network{Least: test.least})
			if test.targets > 1 { // those of a target become sketches sooner
				exact = adjustedResults(t, 2*sampleMost, test.targets, 0, &Network{Least: test.least})
			}
			count := n
			if test.targets > 1 {
				count = 2 * sampleMost
			}
			rough := adjustedResults(t, count, test.targets, -1, &Network{Least: test.least})
			for _, tag := range []string{"network_adjusted_request_latency", "network_adjusted_time_to_first_token"} {
				got := rough.Find(tag)
				for _, p := range percentiles {
					want, ok := exact.Value(tag, p.stat)
					if v, _ := got.Get(p.stat); ok && math.Abs(v-want) > want*(got.RelError+0.002)+1e-9 {
						t.Errorf("%s of %s = %v, want %v within %v", p.stat, tag, v, want, got.RelError)
					}
				}
				if want, v := statistic(t, exact, tag, metric.Avg), statistic(t, rough, tag, metric.Avg); math.Abs(v-want) > 0.003*want {
					t.Errorf("average of %s = %v, want %v", tag, v, want)
				}
				if test.name == "one" && math.Abs(statistic(t, rough, tag, metric.Avg)-statistic(t, exact, tag, metric.Avg)) > 1e-6 {
					t.Errorf("average of %s is not exact", tag)
				}
			}
		})
	}
}

func TestNetworkRTT(t *testing.T) {
	for _, test := range []struct {
		name    string
		network *Network
		want    map[metric.Stat]float64 // in ms
		count   int64
	}{
		{"given", &Network{Trips: []float64{2e6}, Least: []float64{2e6}},
			map[metric.Stat]float64{metric.Avg: 2, metric.Min: 2, metric.P99: 2, metric.Std: 0}, 1},
		{"probes", &Network{Trips: []float64{3e6, 1e6, 2e6}, Least: []float64{0.5e6}},
			map[metric.Stat]float64{metric.Avg: 2, metric.Min: 0.5, metric.P50: 2, metric.Max: 3}, 3},
		{"the kernel alone", &Network{Least: []float64{3e6, math.NaN(), 1e6}},
			map[metric.Stat]float64{metric.Avg: 2, metric.Min: 1, metric.Max: 3}, 2},
	} {
		t.Run(test.name, func(t *testing.T) {
			rs := adjustedResults(t, 3, max(1, len(test.network.Least)), 0, test.network)
			for stat, want := range test.want {
				if got := statistic(t, rs, "network_rtt", stat); math.Abs(got-want) > 1e-9 {
					t.Errorf("%s = %v, want %v", stat, got, want)
				}
			}
			if got := rs.Find("network_rtt").Count; got != test.count {
				t.Errorf("count = %d, want %d", got, test.count)
			}
		})
	}
}

// Results of a single server lose the round trip to it; those of slices only what all servers have in common.
func TestNetworkOfGroups(t *testing.T) {
	const tag = "network_adjusted_request_latency"
	o := everything()
	o.Targets, o.Slice = 2, time.Minute
	s := newSet(t, o)
	s.SliceFrom(0)
	for i := range 2 {
		s.Observe(answered(i, 20*ms, i))
	}
	s.Adjust(&Network{Least: []float64{4e6, 10e6}})
	part := Part{Set: s, Window: time.Minute}
	by := ByTarget(part)
	if a, b := statistic(t, by[0], tag, metric.Avg), statistic(t, by[1], tag, metric.Avg); a != 16 || b != 10 {
		t.Errorf("by target: %v and %v, want 16 and 10", a, b)
	}
	if got := part.Finish().Slices[0].Results.Find(tag); got != nil {
		t.Errorf("slice = %+v, want none", got)
	}
	s.Adjust(&Network{Least: []float64{4e6}})
	if got := statistic(t, part.Finish().Slices[0].Results, tag, metric.Avg); got != 16 {
		t.Errorf("slice with one round trip = %v, want 16", got)
	}
}
