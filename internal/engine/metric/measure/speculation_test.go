package measure

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/metric"
)

// TestSpeculation computes the metrics of two requests by hand; a third reports nothing.
func TestSpeculation(t *testing.T) {
	set := newSet(t, everything())
	for _, s := range []*bench.Speculation{{Steps: 10, Accepted: 15, Drafted: 30}, {Steps: 30, Accepted: 15, Drafted: 90}, nil} {
		r := handRecord()
		r.Answer.Speculation = s
		set.Observe(r)
	}
	got := set.Final(time.Second, bench.PhaseStats{})
	for tag, want := range map[string]float64{
		"spec_decode_acceptance_length": 2, "spec_decode_token_weighted_acceptance_length": 1.75,
		"spec_decode_draft_acceptance_rate": (50 + 100.0/6) / 2, "spec_decode_overall_draft_acceptance_rate": 25,
		"spec_decode_accepted_per_verified": (25.0/40 + 45.0/120) / 2, "spec_decode_steps": 20,
		"total_spec_decode_steps": 40, "total_accepted_draft_tokens": 30, "total_draft_tokens": 120,
	} {
		m := got.Find(tag)
		if m == nil {
			t.Errorf("no %s", tag)
			continue
		}
		if v, _ := m.Get(metric.Avg); !near(v, want, 1e-12) {
			t.Errorf("%s = %v, want %v", tag, v, want)
		}
	}
	if drafts := AcceptedDrafts(Part{Set: set}, Part{Set: newSet(t, everything())}); drafts != nil {
		t.Errorf("accepted drafts %v without histograms", drafts)
	}
	none := newSet(t, everything())
	none.Observe(handRecord())
	for _, m := range none.Final(time.Second, bench.PhaseStats{}) {
		if m.Def.Group == "spec_decode" {
			t.Errorf("%s without a report", m.Def.Tag)
		}
	}
}

// Phases and merged sets add up the histograms of their successes, and the records of each
// category.
func TestSpeculationByCategory(t *testing.T) {
	observe := func(set *Set, category string, histogram ...bench.Tokens) {
		r := handRecord()
		r.Category = category
		s := &bench.Speculation{Histogram: histogram}
		for accepted, steps := range histogram {
			s.Steps, s.Accepted, s.Drafted = s.Steps+steps, s.Accepted+bench.Tokens(accepted)*steps, s.Drafted+4*steps
		}
		if len(histogram) > 0 {
			r.Answer.Speculation = s
		}
		set.Observe(r)
	}
	first, second, merged := newSet(t, everything()), newSet(t, everything()), newSet(t, everything())
	observe(first, "writing", 1, 1, 2, 3, 1)
	observe(first, "coding", 1, 2)
	observe(second, "coding", 0, 0, 0, 2)
	observe(second, "")
	observe(merged, "qa", 4)
	if err := merged.Merge(second); err != nil {
		t.Fatal(err)
	}
	parts := []Part{{Set: first, Window: time.Second}, {Set: merged, Window: time.Second}}
	if diff := cmp.Diff(map[int]int64{0: 6, 1: 3, 2: 2, 3: 5, 4: 1}, AcceptedDrafts(parts...)); diff != "" {
		t.Errorf("accepted drafts (-want +got):\n%s", diff)
	}
	var got []string
	for _, c := range CategoryResults(parts...) {
		length, _ := c.Results.Value("spec_decode_token_weighted_acceptance_length", metric.Avg)
		requests, _ := c.Results.Value("request_count", metric.Avg)
		got = append(got, fmt.Sprintf("%s %v %v", c.Name, requests, length))
	}
	if diff := cmp.Diff([]string{"coding 2 2.6", "qa 1 1", "writing 1 3.25"}, got); diff != "" {
		t.Errorf("categories (-want +got):\n%s", diff)
	}
}

// The first categories have results of their own, the others have them together.
func TestManyCategories(t *testing.T) {
	set := newSet(t, everything())
	for i := range 40 {
		r := handRecord()
		r.Category = fmt.Sprintf("c%02d", i)
		set.Observe(r)
	}
	all := CategoryResults(Part{Set: set, Window: time.Second})
	if n := len(all); n != mostModels+1 || all[n-1].Name != OtherModels || all[0].Name != "c00" {
		t.Fatalf("%d categories, the last %s", n, all[n-1].Name)
	}
	if n, _ := all[mostModels].Results.Value("request_count", metric.Avg); n != 8 {
		t.Errorf("%v requests of other categories, want 8", n)
	}
}
