package terminal

import (
	"cmp"
	"context"
	"slices"
	"time"

	"aiperfd/internal/api/wire"
	"aiperfd/internal/engine/verdict"
	"aiperfd/internal/run"
)

// Snapshot is what is known of a run at one instant. Who shows it does not change it.
type Snapshot struct {
	Run     *wire.Run             // nil = not known yet; of a study, the run that is being performed
	Phases  []wire.Phase          // those that started, in order
	Elapsed time.Duration         // since the first phase started
	Metrics map[string]wire.Stats // of the whole run, by tag
	Load    *verdict.Saturation   // nil without an open loop
	Errors  wire.Errors
	Seconds *wire.Timeseries // the last minutes with a point per second; nil = not known
	Tens    *wire.Timeseries // the last points of ten seconds; nil = not known

	Study *wire.Run   // the study; nil = Run stands alone
	Cells []*wire.Run // of the study, those that ended last first
}

// Phase returns the phase that started last; nil = none.
func (s *Snapshot) Phase() *wire.Phase {
	if len(s.Phases) == 0 {
		return nil
	}
	return &s.Phases[len(s.Phases)-1]
}

// Source answers questions about runs, as the API does.
type Source interface {
	// Cells returns runs of a study, those that were submitted last first.
	Cells(ctx context.Context, study string) ([]*wire.Run, error)
	// Measured returns what a run has measured; nil = it has not begun.
	Measured(ctx context.Context, r *wire.Run) (*Measured, error)
	// Timeseries returns the series of a run between two seconds, with points of step seconds.
	Timeseries(ctx context.Context, id string, metrics []string, step, from, to int64) (*wire.Timeseries, error)
}

// Measured is what a run has measured so far.
type Measured struct {
	Run      *wire.Run
	Progress *wire.Progress
	Metrics  *wire.Metrics
	Errors   *wire.Errors
}

// The parts of the time series that are shown.
const (
	Span   = 200 // seconds of [Snapshot.Seconds]
	Window = 10  // seconds of a point of [Snapshot.Tens]
)

// Series returns the names of the metrics of both time series.
func Series() []string {
	return []string{
		"time_to_first_token", "inter_token_latency", "request_latency", "schedule_lag",
		"requests_offered", "requests_completed", "output_tokens", "in_flight", "backlog", "client_cpu",
	}
}

// ReadSnapshot returns a snapshot of a run or of a study.
func ReadSnapshot(ctx context.Context, from Source, r *wire.Run) (*Snapshot, error) {
	out := &Snapshot{Run: r}
	if r.Kind == run.KindSweep {
		cells, err := from.Cells(ctx, r.ID)
		if err != nil {
			return nil, err
		}
		out.Study, out.Run = r, nil
		for _, c := range cells {
			if c.State.Terminal() {
				out.Cells = append(out.Cells, c)
			} else if out.Run == nil {
				out.Run = c
			}
		}
	}
	if out.Run == nil {
		return out, nil
	}
	m, err := from.Measured(ctx, out.Run)
	if err != nil || m == nil {
		return out, err
	}
	out.Run, out.Metrics, out.Load, out.Errors = m.Run, m.Metrics.Metrics, m.Metrics.Saturation, *m.Errors
	out.Elapsed = time.Duration(m.Metrics.ElapsedSec * float64(time.Second))
	for _, phase := range m.Progress.Phases {
		out.Phases = append(out.Phases, phase)
	}
	slices.SortFunc(out.Phases, func(a, b wire.Phase) int { return cmp.Compare(a.PhaseIndex, b.PhaseIndex) })
	return out, out.readSeries(ctx, from)
}

// readSeries adds the time series. They end no later than the other numbers of the snapshot,
// so that the last seconds are not newer than the whole run.
func (s *Snapshot) readSeries(ctx context.Context, from Source) (err error) {
	now := int64(s.Elapsed.Seconds())
	whole := now / Window * Window
	if now > 0 {
		s.Seconds, err = from.Timeseries(ctx, s.Run.ID, Series(), 1, max(0, now-Span), now)
	}
	if err == nil && whole > 0 {
		s.Tens, err = from.Timeseries(ctx, s.Run.ID, Series(), Window, max(0, now-2*Window)/Window*Window, whole)
	}
	return err
}
