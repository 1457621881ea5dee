package worker

import (
	"strings"
	"testing"

	"aiperfd/internal/cluster/lane"
	"aiperfd/internal/cluster/message"
	"aiperfd/internal/engine/load/spec"
	"aiperfd/internal/engine/plan"
)

// A worker performs no more than its caps, of whatever kind the load is.
func TestWithin(t *testing.T) {
	weights := []float64{1, 1}
	users := func(n int, rate float64) spec.Phase {
		return spec.Phase{Starts: spec.Starts{Users: &spec.Users{Count: n, Rate: rate}}}
	}
	replay := spec.Phase{Starts: spec.Starts{Replay: &spec.Replay{}}}
	for _, tt := range []struct {
		name  string
		phase spec.Phase
		caps  Caps
		want  string // part of the error; empty = none
	}{
		{"half of a rate", spec.Phase{Rate: 40}, Caps{Rate: 21}, ""},
		{"half of a higher rate", spec.Phase{Rate: 44}, Caps{Rate: 21}, "per second; it performs at most 21 (--max-rate)"},
		{"users", users(8, 40), Caps{Rate: 21, Concurrency: 5}, ""},
		{"users at a higher rate", users(8, 44), Caps{Rate: 21}, "(--max-rate)"},
		{"more users", users(12, 1), Caps{Concurrency: 5}, "(--max-concurrency)"},
		{"a replay", replay, Caps{Rate: 21}, "the dataset says when requests are due"},
		{"a replay without a cap of the rate", replay, Caps{Concurrency: 1}, ""},
		{"slots", spec.Phase{Concurrency: 10}, Caps{Rate: 1, Concurrency: 5}, ""},
		{"more slots", spec.Phase{Concurrency: 12}, Caps{Concurrency: 5}, "a concurrency of 6; it performs at most 5"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.phase.Name = "profiling"
			p := &part{task: &message.Prepare{Weights: weights}, plan: &plan.Plan{}, own: lane.Divide(weights)[0]}
			p.plan.Phases = []spec.Phase{tt.phase}
			err := p.within(tt.caps)
			got := ""
			if err != nil {
				got = err.Error()
			}
			wrong := tt.want == "" && got != "" || tt.want != "" && !strings.HasPrefix(got, "phase profiling: ") || !strings.Contains(got, tt.want)
			if wrong {
				t.Errorf("error %q, want %q", got, tt.want)
			}
		})
	}
}
