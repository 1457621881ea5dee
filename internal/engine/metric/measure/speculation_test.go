package measure

import (
	"testing"
	"time"

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
	none := newSet(t, everything())
	none.Observe(handRecord())
	for _, m := range none.Final(time.Second, bench.PhaseStats{}) {
		if m.Def.Group == "spec_decode" {
			t.Errorf("%s without a report", m.Def.Tag)
		}
	}
}
