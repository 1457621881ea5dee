package engine

import (
	"context"
	"errors"

	"golang.org/x/sync/semaphore"

	"aiperfd/internal/compare"
	"aiperfd/internal/engine/samples"
	"aiperfd/internal/engine/series"
	"aiperfd/internal/results"
)

// History is what was recorded of runs over their time. Its methods are safe for concurrent
// use, and none waits for a run.
type History struct {
	engine  *Engine
	reading *semaphore.Weighted
}

// maxReading bounds the series that are read at the same time: that of a day takes most of
// a second of a processor, which active runs need too.
const maxReading = 2

// NewHistory returns the history of the runs of an engine.
func NewHistory(e *Engine) *History { return &History{e, semaphore.NewWeighted(maxReading)} }

// stored returns what a run has left in its folder.
func (h *History) stored(id string) *results.Results {
	return results.Open(h.engine.opts.Store.Dir(id), "")
}

// Series returns a part of the time series of a run. It is empty before the first phase, and
// for a run that had none. It waits while too many others are read.
func (h *History) Series(ctx context.Context, id string, q series.Query) (*series.Result, error) {
	if err := h.reading.Acquire(ctx, 1); err != nil {
		return nil, err
	}
	defer h.reading.Release(1)
	if j := h.engine.job(id); j != nil {
		if recorder := j.live.series.Load(); recorder != nil {
			return recorder.Read(ctx, q)
		}
	}
	return h.stored(id).Series(ctx, q)
}

// Distributions returns how latencies of a run are distributed, as [History.Series] does.
func (h *History) Distributions(ctx context.Context, id string, q series.DistributionQuery) (*series.Distributions, error) {
	if err := h.reading.Acquire(ctx, 1); err != nil {
		return nil, err
	}
	defer h.reading.Release(1)
	if j := h.engine.job(id); j != nil {
		if recorder := j.live.series.Load(); recorder != nil {
			return recorder.Distributions(ctx, q)
		}
	}
	return h.stored(id).Distributions(ctx, q)
}

// Samples returns the requests of a run that are kept for a closer look, also while it is
// active; there are none before the first phase, and for a run that had none. Those of a
// damaged file are empty and say so.
func (h *History) Samples(id string) (*samples.Samples, error) {
	if j := h.engine.job(id); j != nil {
		if recorder := j.live.samples.Load(); recorder != nil {
			return recorder.Samples(), nil
		}
	}
	s, err := h.stored(id).Samples()
	if errors.Is(err, samples.ErrDamaged) { // which no later request mends
		h.engine.opts.Log.Warn().Err(err).Str("run", id).Msg("the samples of the run are left out")
		return &samples.Samples{Damaged: true}, nil
	}
	return s, err
}

// Sweep returns what the runs of a sweep say together, fs.ErrNotExist if nothing is known yet.
func (h *History) Sweep(id string) (*results.Sweep, error) { return h.stored(id).Sweep() }

// Requests returns the requests of a run for a comparison, as [compare.ReadRequests]. It waits while
// too many others are read.
func (h *History) Requests(ctx context.Context, in *compare.Input) (*compare.Requests, error) {
	if err := h.reading.Acquire(ctx, 1); err != nil {
		return nil, err
	}
	defer h.reading.Release(1)
	prefix, err := results.Prefix(in.Run.Config)
	if err != nil {
		return nil, err
	}
	return compare.ReadRequests(ctx, results.Open(h.engine.opts.Store.Dir(in.Run.ID), prefix), in)
}

// Log calls each for the lines of the log of a run, the oldest first. A run that was never
// started has none.
func (h *History) Log(id string, each func(*results.LogLine) error) error {
	return h.stored(id).Log(each)
}

// Active reports whether the log of a run may get further lines from this process.
func (h *History) Active(id string) bool {
	_, busy := h.engine.queue.Busy(id)
	return busy
}
