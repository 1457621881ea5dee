package terminal

import (
	"cmp"
	"context"
	"slices"
	"time"

	"aiperfd/internal/api/wire"
	"aiperfd/internal/engine/metric"
	"aiperfd/internal/engine/verdict"
	"aiperfd/internal/run"
	"aiperfd/internal/view"
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

// Number is one of the main numbers of a run, as text.
type Number struct {
	Name   string // such as TTFT; empty for a rate, whose unit says what it is
	Value  string // of a latency: p50/p99
	Unit   string
	Weight int // of too many numbers the one with the largest weight is left out first
}

// Numbers returns the main numbers that a run has.
func Numbers(get func(tag string, stat metric.Stat) (float64, bool)) []Number {
	var out []Number
	for _, n := range []struct {
		tag, name, unit string
		weight          int
	}{
		{"request_throughput", "", "req/s", 1},
		{"output_token_throughput", "", "tok/s", 4},
		{"time_to_first_token", "TTFT", "ms", 3},
		{"inter_token_latency", "ITL", "ms", 6},
		{"request_latency", "latency", "ms", 7},
	} {
		if n.name == "" {
			if v, ok := get(n.tag, metric.Avg); ok {
				out = append(out, Number{Value: view.Figure(v), Unit: n.unit, Weight: n.weight})
			}
			continue
		}
		p50, hasP50 := get(n.tag, metric.P50)
		p99, hasP99 := get(n.tag, metric.P99)
		if hasP50 && hasP99 {
			out = append(out, Number{n.name, view.Figure(p50) + "/" + view.Figure(p99), n.unit, n.weight})
		}
	}
	return out
}
