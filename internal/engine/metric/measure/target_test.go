package measure

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/metric"
)

// byTarget returns a few statistics of each target, as lines.
func byTarget(parts ...Part) string {
	var out strings.Builder
	for i, rs := range ByTarget(parts...) {
		fmt.Fprint(&out, i, ":")
		for _, c := range []struct {
			tag  string
			stat metric.Stat
		}{
			{"request_count", metric.Avg}, {"error_request_count", metric.Avg}, {"cancelled_by_test_count", metric.Avg}, {"request_throughput", metric.Avg},
			{"request_latency", metric.Avg}, {"request_latency", metric.Max}, {"slo_attainment.request_latency", metric.Avg},
		} {
			if m := rs.Find(c.tag); m != nil {
				if v, ok := m.Get(c.stat); ok {
					fmt.Fprintf(&out, " %s=%.4g", c.tag, v)
				}
			}
		}
		fmt.Fprintln(&out)
	}
	return out.String()
}

// Records are divided by their target; those of several phases are put together.
func TestByTarget(t *testing.T) {
	o := Options{Caps: bench.Caps{ProducesTokens: true}, Targets: 3, SLOs: map[string]float64{"request_latency": 150}}
	part := func(records ...*bench.Record) Part {
		s, err := NewSet(o)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range records {
			s.Observe(r)
		}
		return Part{Set: s, Window: 2 * time.Second}
	}
	record := func(target int, latency time.Duration, class bench.Class) *bench.Record {
		r := &bench.Record{Target: target, Stamps: bench.Stamps{Start: time.Second, End: time.Second + latency}}
		r.Answer.Chunks = []bench.Chunk{{At: time.Second + latency}}
		if class != "" {
			r.Answer.Failure = &bench.Failure{Class: class}
		}
		return r
	}
	const ms = time.Millisecond
	first := part(record(0, 100*ms, ""), record(2, 200*ms, ""), record(2, 1*ms, bench.ServerError), record(0, 50*ms, bench.CancelledByTest))
	second := part(record(0, 300*ms, ""), record(2, 100*ms, ""))
	second.Phase.Start = 2 * time.Second
	want := "0: request_count=1 cancelled_by_test_count=1 request_throughput=0.5 request_latency=100 request_latency=100 slo_attainment.request_latency=1\n" +
		"1: request_count=0 request_throughput=0\n" +
		"2: request_count=1 error_request_count=1 request_throughput=0.5 request_latency=200 request_latency=200 slo_attainment.request_latency=0\n"
	if diff := cmp.Diff(want, byTarget(first)); diff != "" {
		t.Error(diff)
	}
	want = "0: request_count=2 cancelled_by_test_count=1 request_throughput=0.5 request_latency=200 request_latency=300 slo_attainment.request_latency=0.5\n" +
		"1: request_count=0 request_throughput=0\n" +
		"2: request_count=2 error_request_count=1 request_throughput=0.5 request_latency=150 request_latency=200 slo_attainment.request_latency=0.3333\n"
	if diff := cmp.Diff(want, byTarget(first, second)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(want, byTarget(first, second)); diff != "" {
		t.Errorf("a second time: %s", diff)
	}
	second.Phase.Start = time.Second // their windows overlap
	if got := byTarget(first, second); !strings.Contains(got, "0: request_count=2 cancelled_by_test_count=1 request_throughput=0.6667 ") {
		t.Errorf("two requests in windows of 3 s together: %s", got)
	}
	o.Targets = 1
	if got := byTarget(part(record(0, 100*ms, ""))); got != "" {
		t.Errorf("of one target: %s", got)
	}
	if got := ByTarget(); got != nil {
		t.Errorf("without phases: %v", got)
	}
}
