package measure

import (
	"math"
	"testing"
	"time"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/metric"
)

// Requests that the end of the grace period cut count with their age, or with their first
// content if it had come, in lower_bound metrics only; those cancelled for other reasons
// do not.
func TestUnfinished(t *testing.T) {
	const ms = time.Millisecond
	record := func(start, first, end time.Duration, code string) *bench.Record {
		r := &bench.Record{Stamps: bench.Stamps{Due: start - 10*ms, Start: start, End: end}}
		r.Answer.Streamed = true
		if first > 0 {
			r.Answer.Chunks = []bench.Chunk{{At: first}}
		}
		if code != "" {
			r.Answer.Failure = &bench.Failure{Class: bench.Cancelled, Code: code}
		} else {
			r.Answer.Chunks = append(r.Answer.Chunks, bench.Chunk{At: end})
		}
		return r
	}
	cut := []*bench.Record{
		record(100*ms, 0, 1000*ms, bench.CutByGrace),      // 900 ms without content
		record(100*ms, 400*ms, 1000*ms, bench.CutByGrace), // its first content after 300 ms
		record(100*ms, 0, 5000*ms, "silent"),
	}
	done := []*bench.Record{record(100*ms, 150*ms, 200*ms, ""), record(100*ms, 160*ms, 300*ms, "")}
	for name, budget := range map[string]int64{"values": 0, "sketch": -1} {
		set := func(records ...*bench.Record) *Set {
			s, err := NewSet(Options{Streaming: true, OpenLoop: true, Caps: bench.Caps{ProducesTokens: true}, Budget: budget})
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range records {
				s.Observe(r)
			}
			return s
		}
		all, err := Pool(Part{Set: set(append(cut, done...)...), Window: time.Second}, Part{Set: set(done...), Window: time.Second})
		if err != nil {
			t.Fatal(err)
		}
		for tag, want := range map[string]struct {
			count         int64
			avg, p50, max float64
		}{
			"unfinished_at_end":                         {0, 2, math.NaN(), math.NaN()},
			"request_latency":                           {4, 150, 150, 200},
			"lower_bound_request_latency":               {6, 2400.0 / 6, 200, 900},
			"lower_bound_time_to_first_token":           {6, 1420.0 / 6, 60, 900},
			"lower_bound_corrected_request_latency":     {6, 2460.0 / 6, 210, 910},
			"lower_bound_corrected_time_to_first_token": {6, 1480.0 / 6, 70, 910},
		} {
			m := all.Find(tag)
			if m == nil {
				t.Errorf("%s: %s is absent", name, tag)
				continue
			}
			if m.Count != want.count {
				t.Errorf("%s: %s has %d values, want %d", name, tag, m.Count, want.count)
			}
			for stat, want := range map[metric.Stat]float64{metric.Avg: want.avg, metric.P50: want.p50, metric.Max: want.max} {
				got, ok := m.Get(stat)
				if ok == math.IsNaN(want) || ok && math.Abs(got-want) > 0.01*want && (budget == 0 || stat != metric.P50) {
					t.Errorf("%s: %s of %s = %v, %v; want %v", name, stat, tag, got, ok, want)
				}
			}
			if _, ok := m.Get(metric.Std); ok && tag[0] == 'l' {
				t.Errorf("%s: %s has a standard deviation, which is no lower bound", name, tag)
			}
		}
		if rs := set(done...).Final(time.Second, bench.PhaseStats{}); rs.Find("lower_bound_request_latency") != nil || rs.Find("unfinished_at_end") != nil {
			t.Errorf("%s: lower bounds without a cut request", name)
		}
	}
}
