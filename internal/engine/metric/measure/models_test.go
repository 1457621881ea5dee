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

// Records are divided by model, also when sets are merged. Those of other models are
// together.
func TestByModel(t *testing.T) {
	record := func(model string, latency time.Duration, class bench.Class) *bench.Record {
		r := &bench.Record{Model: model, Stamps: bench.Stamps{Start: time.Second, End: time.Second + latency}}
		r.Answer.Chunks = []bench.Chunk{{At: time.Second + latency}}
		if class != "" {
			r.Answer.Failure = &bench.Failure{Class: class}
		}
		return r
	}
	many := make([]string, 40)
	for i := range many {
		many[i] = fmt.Sprintf("m%d", i)
	}
	for _, tt := range []struct {
		name   string
		models []string
		used   []string
		want   string
	}{
		{"one model", []string{"a"}, []string{"a", "b"}, ""},
		{"two models", []string{"a", "b"}, []string{"a", "b", "a"}, "a: 2 of 2, b: 1 of 1"},
		{"a model of the dataset", []string{"a", "b"}, []string{"c", "a", "d"}, "a: 1 of 1, b: 0 of 0, other: 2 of 2"},
		{"a model is called other", []string{"other", "b"}, []string{"c", "other"}, "other: 2 of 2, b: 0 of 0"},
		{"twice the same", []string{"a", "a"}, []string{"a"}, "a: 1 of 1"},
		{"more than are told apart", many, many[31:], strings.Join(func() (out []string) {
			for _, m := range many[:31] {
				out = append(out, m+": 0 of 0")
			}
			return append(out, "m31: 1 of 1", "other: 8 of 8")
		}(), ", ")},
	} {
		o := Options{Caps: bench.Caps{ProducesTokens: true}, Models: tt.models}
		s, part := newSet(t, o), newSet(t, o)
		for i, model := range tt.used {
			to := s
			if i%2 > 0 {
				to = part
			}
			to.Observe(record(model, time.Millisecond, ""))
			to.Observe(record(model, time.Millisecond, bench.ServerError))
		}
		if err := s.Merge(part); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, m := range ByModel(s) {
			c := m.Counters()
			h, ok := m.Histogram("request_latency")
			if !ok || c.Errors != c.Success || c.ByClass[bench.ServerError] != c.Errors {
				t.Errorf("%s: model %s: %+v", tt.name, m.Name, c)
			}
			got = append(got, fmt.Sprintf("%s: %d of %d", m.Name, h.Count(), c.Success))
		}
		if diff := cmp.Diff(tt.want, strings.Join(got, ", ")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
		got = nil
		for _, m := range ModelResults(Part{Set: s, Window: time.Second}) {
			count := func(tag string) int {
				res := m.Results.Find(tag)
				if res == nil {
					return 0
				}
				n, _ := res.Get(metric.Avg)
				return int(n)
			}
			got = append(got, fmt.Sprintf("%s: %d of %d", m.Name, count("error_request_count"), count("request_count")))
		}
		if diff := cmp.Diff(tt.want, strings.Join(got, ", ")); diff != "" {
			t.Errorf("%s: results (-want +got):\n%s", tt.name, diff)
		}
	}
}

// The histogram of a model does not depend on whether its values were kept.
func TestModelHistogram(t *testing.T) {
	s := newSet(t, Options{Caps: bench.Caps{ProducesTokens: true}, Models: []string{"a", "b"}})
	for i := range 2 * sampleMost {
		latency := time.Duration(i+1) * time.Millisecond
		r := &bench.Record{Model: "a", Stamps: bench.Stamps{Start: time.Second, End: time.Second + latency}}
		r.Answer.Chunks = []bench.Chunk{{At: time.Second + latency}}
		s.Observe(r)
		if n := i + 1; n == sampleMost || n == 2*sampleMost {
			of, _ := ByModel(s)[0].Histogram("request_latency")
			whole, _ := s.Histogram("request_latency")
			if of.Count() != uint64(n) || of.Quantile(0.9) != whole.Quantile(0.9) || of.Max() != latency.Seconds() {
				t.Errorf("after %d values: count %d, p90 %v, want %v", n, of.Count(), of.Quantile(0.9), whole.Quantile(0.9))
			}
		}
	}
	if _, ok := ByModel(s)[0].Histogram("nothing"); ok {
		t.Error("there is a histogram of a metric that does not exist")
	}
}
