package dashboard

import (
	"cmp"
	"math"
	"slices"
	"time"

	"aiperfd/internal/api/wire"
	"aiperfd/internal/engine/verdict"
)

// Snapshot is what is known of a run at one instant. A dashboard does not change it.
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

// The parts of the time series that a dashboard shows.
const (
	Span   = 200 // seconds of [Snapshot.Seconds]
	Window = 10  // seconds of a point of [Snapshot.Tens]
)

// SeriesFrom returns where the time series of a snapshot begin, in seconds since the start
// of the run.
func SeriesFrom(elapsed time.Duration) (seconds, tens int64) {
	now := int64(elapsed.Seconds())
	return max(0, now-Span), max(0, now-2*Window) / Window * Window
}

// SeriesTo returns where they end: no later than the other numbers of the snapshot, so that
// the last seconds are not newer than the whole run. 0 = there is no point yet.
func SeriesTo(elapsed time.Duration) (seconds, tens int64) {
	now := int64(elapsed.Seconds())
	return now, now / Window * Window
}

// Series returns the names of the metrics of both time series.
func Series() []string {
	return []string{
		"time_to_first_token", "inter_token_latency", "request_latency", "schedule_lag",
		"requests_offered", "requests_completed", "output_tokens", "in_flight", "backlog", "client_cpu",
	}
}

// PhasesOf returns the phases of a run in order.
func PhasesOf(p *wire.Progress) []wire.Phase {
	var out []wire.Phase
	for _, phase := range p.Phases {
		out = append(out, phase)
	}
	slices.SortFunc(out, func(a, b wire.Phase) int { return cmp.Compare(a.PhaseIndex, b.PhaseIndex) })
	return out
}

// column returns the values of a metric, nil if there are none.
func column(t *wire.Timeseries, metric, statistic string) []float64 {
	if t == nil {
		return nil
	}
	return t.Series[metric].Values[statistic]
}

// latest returns the newest value of a metric that is a number.
func latest(t *wire.Timeseries, metric, statistic string) (float64, bool) {
	for _, v := range slices.Backward(column(t, metric, statistic)) {
		if !math.IsNaN(v) {
			return v, true
		}
	}
	return 0, false
}

// phase returns the phase that started last; nil = none.
func (s *Snapshot) phase() *wire.Phase {
	if len(s.Phases) == 0 {
		return nil
	}
	return &s.Phases[len(s.Phases)-1]
}
