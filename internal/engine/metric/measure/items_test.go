package measure

import (
	"testing"
	"time"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/metric"
)

// TestItems: items are counted in answers that have any, and divided by the window.
func TestItems(t *testing.T) {
	s, err := NewSet(Options{Caps: bench.Caps{TokenizesInput: true, ProducesItems: true}})
	if err != nil {
		t.Fatal(err)
	}
	for _, items := range []int{3, 0, 5} {
		r := &bench.Record{Items: items, Stamps: bench.Stamps{Start: 1, End: 3}}
		r.Answer.Chunks = []bench.Chunk{{At: 2, Kind: bench.Embedding}}
		s.Observe(r)
	}
	results := s.Final(2*time.Second, bench.PhaseStats{})
	for tag, want := range map[string]float64{"item_count": 4, "item_throughput": 4} {
		m := results.Find(tag)
		if m == nil {
			t.Errorf("%s is missing", tag)
			continue
		}
		if got, _ := m.Get(metric.Avg); got != want {
			t.Errorf("%s = %v, want %v", tag, got, want)
		}
	}
	if m := results.Find("item_count"); m != nil && m.Count != 2 {
		t.Errorf("%d answers have items, want 2", m.Count)
	}
}
