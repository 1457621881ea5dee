package window

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

// TestMistyped: a high-water mark that is declared a counter is a gauge; counters that fall because the server began
// again stay counters.
func TestMistyped(t *testing.T) {
	const tokens = "# TYPE llamacpp:prompt_tokens_total counter\nllamacpp:prompt_tokens_total %v\n"
	const mark = "# TYPE llamacpp:n_tokens_max counter\nllamacpp:n_tokens_max %v\n"
	const start = "process_start_time_seconds %v\n"
	for _, tt := range []struct {
		name   string
		format string
		pages  [][]any
		want   string
		resets int // of what is no mistyped counter
	}{
		{"falls alone", mark + tokens, [][]any{{10, 10}, {50, 60}, {20, 80}, {60, 140}, {5, 145}}, "llamacpp:n_tokens_max", 0},
		{"falls once", mark + tokens, [][]any{{10, 10}, {50, 60}, {20, 80}, {60, 140}, {60, 145}}, "", 1},
		{"the server began again", mark + tokens, [][]any{{10, 10}, {50, 60}, {20, 20}, {60, 80}, {5, 5}}, "", 2},
		{"nothing else was counted", mark + tokens, [][]any{{10, 0}, {50, 0}, {20, 0}, {60, 0}, {5, 0}}, "", 2},
		{"the process is the same", start + mark, [][]any{{7, 10}, {7, 50}, {7, 20}, {7, 60}, {7, 5}}, "llamacpp:n_tokens_max", 0},
		{"the process is another", start + mark, [][]any{{7, 10}, {7, 50}, {8, 20}, {8, 60}, {9, 5}}, "", 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			i := -1
			h := history(t, func(time.Duration) string {
				i++
				return fmt.Sprintf(tt.format, tt.pages[i]...)
			}, every(second, 0, 4*second)...)
			var got []string
			for _, f := range h.Families {
				if f.Mistyped() {
					got = append(got, f.Name)
				}
			}
			if tt.want == "" && got != nil || tt.want != "" && !slices.Equal(got, []string{tt.want}) {
				t.Errorf("mistyped: %q, want %q", got, tt.want)
			}
			for _, m := range h.Reduce(Window{From: second / 2, To: 4 * second}, 0) {
				if m.Name != "llamacpp:n_tokens_max" {
					continue
				}
				s := m.Series[0]
				if s.Own.Resets != tt.resets {
					t.Errorf("%d resets, want %d", s.Own.Resets, tt.resets)
				}
				if tt.want == "" {
					if m.Kind != Counter {
						t.Errorf("kind %s", m.Kind)
					}
					continue
				}
				if m.Kind != Gauge {
					t.Errorf("kind %s", m.Kind)
				}
				for _, one := range s.Stats {
					if one.Name == "min" && one.Value != 20 || one.Name == "max" && one.Value != 60 {
						t.Errorf("%s %v", one.Name, one.Value)
					}
				}
			}
		})
	}
}
