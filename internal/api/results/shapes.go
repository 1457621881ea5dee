package results

import (
	"math"
	"time"

	"aiperfd/internal/api/wire"
	"aiperfd/internal/engine/samples"
	"aiperfd/internal/engine/series"
	"aiperfd/internal/run"
)

// NewTimeseries returns the series of a run.
func NewTimeseries(r *run.Run, metrics []series.Metric, s *series.Result) *wire.Timeseries {
	out := &wire.Timeseries{
		RunID: r.ID, State: string(r.State), StartTime: known(s.Start), StepSec: s.Step, NextSec: s.Next,
		Phases: []wire.Band{}, TimeSec: s.Times, Series: map[string]wire.Series{},
	}
	for i := range s.Phases {
		out.Phases = append(out.Phases, wire.Band(s.Phases[i]))
	}
	for i := range metrics {
		values := make(map[string]wire.Column, len(s.Values[i]))
		for name, column := range s.Values[i] {
			values[name] = column
		}
		out.Series[metrics[i].Name] = wire.Series{Unit: metrics[i].Unit, Values: values}
	}
	return out
}

// newDistributions returns the distributions of a run.
func newDistributions(r *run.Run, metrics []series.Metric, d *series.Distributions) *wire.Distributions {
	out := &wire.Distributions{
		RunID: r.ID, State: string(r.State), StartTime: known(d.Start), ElapsedSec: elapsed(r, float64(d.Elapsed)),
		StepSec: d.Step, TimeSec: d.Times,
		Phases: []wire.Band{}, Quantiles: series.Quantiles(), Distributions: map[string]wire.Distribution{},
	}
	for i := range d.Phases {
		out.Phases = append(out.Phases, wire.Band(d.Phases[i]))
	}
	for i := range metrics {
		s := &d.Of[i]
		out.Distributions[metrics[i].Name] = wire.Distribution{
			Unit: metrics[i].Unit, Count: s.Count, Avg: wire.Number(s.Avg), Std: wire.Number(s.Std), Min: wire.Number(s.Min),
			Max: wire.Number(s.Max), Values: s.Values, Histogram: wire.Histogram{Bounds: s.Histogram.Bounds, Counts: s.Histogram.Counts},
			Heatmap: wire.Heatmap{Bounds: s.Rows, Counts: s.Columns},
		}
	}
	return out
}

// known returns a time, nil if it is not known.
func known(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

// elapsed returns the seconds that a run had taken when it was read; nil if it has ended or has not begun.
func elapsed(r *run.Run, seconds float64) *float64 {
	if r.State.Terminal() || seconds <= 0 {
		return nil
	}
	return &seconds
}

// newSamples returns the samples of a run.
func newSamples(r *run.Run, s *samples.Samples) *wire.Samples {
	out := &wire.Samples{
		RunID: r.ID, State: string(r.State), StartTime: known(s.Start), ElapsedSec: elapsed(r, s.Elapsed.Seconds()),
		Damaged: s.Damaged,
		Slowest: wire.Slowest{Latency: slowRequests(r, s.Latency), FirstToken: slowRequests(r, s.FirstToken)},
	}
	column := func(value func(p *samples.Point) float64) wire.Column {
		c := make(wire.Column, len(s.Points))
		for i := range s.Points {
			c[i] = value(&s.Points[i])
		}
		return c
	}
	out.Sample = wire.Sample{
		Of:          s.Seen,
		EndSec:      column(func(p *samples.Point) float64 { return p.End.Seconds() }),
		Input:       column(func(p *samples.Point) float64 { return p.Input }),
		Output:      column(func(p *samples.Point) float64 { return p.Output }),
		FirstToken:  column(func(p *samples.Point) float64 { return p.FirstToken }),
		InterToken:  column(func(p *samples.Point) float64 { return p.InterToken }),
		Latency:     column(func(p *samples.Point) float64 { return p.Latency }),
		ScheduleLag: column(func(p *samples.Point) float64 { return p.Wait }),
	}
	return out
}

func slowRequests(r *run.Run, list []*samples.Request) []wire.SlowRequest {
	out := []wire.SlowRequest{}
	for _, q := range list {
		setup, at := q.Setup, &q.Timeline
		one := wire.SlowRequest{
			RequestID: q.ID, ConversationID: q.Conversation, Phase: q.Phase, Session: q.Session, Turn: q.Turn, Model: q.Model,
			Status: q.Status, ErrorClass: string(q.Class), Input: wire.Number(q.Input), Output: wire.Number(q.Output),
			Latency: rounded(q.Latency), FirstToken: wire.Number(q.FirstToken), StartSec: rounded(q.At.Seconds()),
			Connection: wire.Connection{
				Reused:  q.Reused,
				DNS:     float64(offset(setup.DNS)),
				Connect: float64(offset(setup.Connect)),
				TLS:     float64(offset(setup.TLS)),
			},
			Timeline: wire.Timeline{
				Due: offset(at.Due), Connected: offset(at.Connected), Sent: offset(at.Wrote), FirstByte: offset(at.FirstByte), End: offset(at.End),
				Chunks: wire.Column{}, ChunkCount: at.ChunkCount,
			},
		}
		if q.Target < len(r.Targets) {
			one.Target = r.Targets[q.Target]
		}
		for _, chunk := range at.Chunks {
			one.Timeline.Chunks = append(one.Timeline.Chunks, float64(offset(chunk)))
		}
		out = append(out, one)
	}
	return out
}

// rounded rounds a number to three decimal places.
func rounded(v float64) float64 { return math.Round(v*1e3) / 1e3 }

// offset returns an offset in milliseconds.
func offset(d time.Duration) wire.Number {
	if d == samples.NoTime {
		return wire.Number(math.NaN())
	}
	return wire.Number(float64(d.Microseconds()) / 1e3)
}
