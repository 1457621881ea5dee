package terminal

import (
	"context"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"aiperfd/internal/api/wire"
	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/metric"
	"aiperfd/internal/run"
)

// script is a source that notes what it is asked for.
type script struct {
	cells   []*wire.Run
	elapsed float64
	asked   []string
}

var _ Source = (*script)(nil)

func (s *script) Cells(context.Context, string) ([]*wire.Run, error) { return s.cells, nil }

func (s *script) Measured(_ context.Context, r *wire.Run) (*Measured, error) {
	phases := map[string]wire.Phase{"b": {PhaseIndex: 1}, "a": {PhaseIndex: 0}}
	return &Measured{r, &wire.Progress{Phases: phases}, &wire.Metrics{ElapsedSec: s.elapsed}, &wire.Errors{}}, nil
}

func (s *script) Timeseries(_ context.Context, id string, _ []string, step, from, to int64) (*wire.Timeseries, error) {
	s.asked = append(s.asked, fmt.Sprintf("%s every %d from %d to %d", id, step, from, to))
	return &wire.Timeseries{}, nil
}

// A snapshot has the phases in order, the series as far as seconds are over, and of a study the
// run that is being performed and those that have ended.
func TestReadSnapshot(t *testing.T) {
	cell := func(id string, state bench.State) *wire.Run {
		return &wire.Run{ID: id, RunState: wire.RunState{State: state}}
	}
	study := &wire.Run{ID: "s", Kind: run.KindSweep}
	cells := []*wire.Run{cell("c3", bench.StateRunning), cell("c2", bench.StateFailed), cell("c1", bench.StateCompleted)}
	for _, tt := range []struct {
		name  string
		run   *wire.Run
		from  script
		shown string
		ended int
		asked []string
	}{
		{"begun", cell("r", bench.StateRunning), script{elapsed: 0.9}, "r", 0, nil},
		{"a few seconds", cell("r", bench.StateRunning), script{elapsed: 9.5}, "r", 0, []string{"r every 1 from 0 to 9"}},
		{"minutes", cell("r", bench.StateRunning), script{elapsed: 305}, "r", 0, []string{
			"r every 1 from 105 to 305", "r every 10 from 280 to 300",
		}},
		{"study", study, script{cells: cells}, "c3", 2, nil},
		{"study between runs", study, script{cells: cells[1:]}, "", 2, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, err := ReadSnapshot(t.Context(), &tt.from, tt.run)
			if err != nil {
				t.Fatal(err)
			}
			shown := ""
			if s.Run != nil {
				shown = s.Run.ID
				if len(s.Phases) != 2 || s.Phase().PhaseIndex != 1 {
					t.Errorf("phases %v are not in order", s.Phases)
				}
			}
			if shown != tt.shown || len(s.Cells) != tt.ended || (s.Study != nil) != (tt.run == study) {
				t.Errorf("shows %q and %d cells, want %q and %d", shown, len(s.Cells), tt.shown, tt.ended)
			}
			if diff := cmp.Diff(tt.asked, tt.from.asked); diff != "" {
				t.Errorf("series (-want +got):\n%s", diff)
			}
		})
	}
}

// A latency needs both percentiles, a rate its mean.
func TestNumbers(t *testing.T) {
	m := wire.Metrics{Metrics: map[string]wire.Stats{
		"request_throughput":  {Avg: new(24.94)},
		"time_to_first_token": {P50: new(61.2), P99: new(120.4)},
		"request_latency":     {P50: new(1.0)},
	}}
	want := []Number{{"", "24.9", "req/s", 1}, {"TTFT", "61.2/120", "ms", 3}}
	if diff := cmp.Diff(want, Numbers(m.Get)); diff != "" {
		t.Errorf("numbers (-want +got):\n%s", diff)
	}
	if _, ok := m.Get("request_latency", metric.P99); ok {
		t.Error("there is a p99 without a value")
	}
}
