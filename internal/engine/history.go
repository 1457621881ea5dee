package engine

import (
	"bytes"
	"context"
	"errors"

	"golang.org/x/sync/semaphore"

	"aiperfd/internal/compare"
	"aiperfd/internal/engine/export"
	"aiperfd/internal/engine/samples"
	"aiperfd/internal/engine/series"
	"aiperfd/internal/engine/telemetry"
	"aiperfd/internal/engine/telemetry/diagnose"
	"aiperfd/internal/engine/telemetry/gpu"
	"aiperfd/internal/engine/telemetry/otel"
	"aiperfd/internal/engine/telemetry/paths"
	"aiperfd/internal/results"
	"aiperfd/internal/run"
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

// Servers returns what the servers' metrics say of a run, while it is active up to now; nil = they were not
// read. It waits while too many others are read.
func (h *History) Servers(ctx context.Context, r *run.Run) (*diagnose.Server, error) {
	if err := h.reading.Acquire(ctx, 1); err != nil {
		return nil, err
	}
	defer h.reading.Release(1)
	if live := h.recorder(r.ID); live != nil {
		return live.Look(), nil
	}
	files, err := h.files(r)
	if err != nil {
		return nil, err
	}
	return files.Server()
}

// Devices returns what the accelerators did in a run, while it is active up to now; nil = they were not read. It
// waits while too many others are read.
func (h *History) Devices(ctx context.Context, r *run.Run) (*gpu.Report, error) {
	if err := h.reading.Acquire(ctx, 1); err != nil {
		return nil, err
	}
	defer h.reading.Release(1)
	if live := h.recorder(r.ID); live != nil {
		return live.Devices(), nil
	}
	files, err := h.files(r)
	if err != nil {
		return nil, err
	}
	return files.Devices()
}

// Paths returns how the network behaved in a run, while it is active up to now; nil = nothing was counted. It waits
// while too many others are read.
func (h *History) Paths(ctx context.Context, r *run.Run) (*paths.Report, error) {
	if err := h.reading.Acquire(ctx, 1); err != nil {
		return nil, err
	}
	defer h.reading.Release(1)
	if j := h.engine.job(r.ID); j != nil {
		if live := j.live.paths.Load(); live != nil {
			return live.Report(), nil
		}
	}
	files, err := h.files(r)
	if err != nil {
		return nil, err
	}
	return files.Paths()
}

// Agents returns what a run of recorded sessions says, besides its metrics; that of an active run is empty. It waits
// while too many others are read.
func (h *History) Agents(ctx context.Context, r *run.Run) (*results.Agents, error) {
	if !r.State.Terminal() {
		return new(results.Agents), nil
	}
	if err := h.reading.Acquire(ctx, 1); err != nil {
		return nil, err
	}
	defer h.reading.Release(1)
	files, err := h.files(r)
	if err != nil {
		return nil, err
	}
	return files.Agents()
}

// OTel returns what became of what a run sends to OpenTelemetry collectors, while it is active so far; nil = nothing
// is sent. It waits while too many others are read.
func (h *History) OTel(ctx context.Context, r *run.Run) (*otel.Report, error) {
	if err := h.reading.Acquire(ctx, 1); err != nil {
		return nil, err
	}
	defer h.reading.Release(1)
	if j := h.engine.job(r.ID); j != nil {
		if live := j.live.senders.Load(); live != nil {
			return live.Report(), nil
		}
	}
	files, err := h.files(r)
	if err != nil {
		return nil, err
	}
	return files.OTel()
}

// ServerSpans returns what the spans of servers say of a run, while it is active so far; nil = none are received. It
// waits while too many others are read.
func (h *History) ServerSpans(ctx context.Context, r *run.Run) (*otel.ServerSpans, error) {
	if err := h.reading.Acquire(ctx, 1); err != nil {
		return nil, err
	}
	defer h.reading.Release(1)
	if j := h.engine.job(r.ID); j != nil {
		if live := j.live.spans.Load(); live != nil {
			return live.Report(), nil
		}
	}
	files, err := h.files(r)
	if err != nil {
		return nil, err
	}
	return files.ServerSpans()
}

// ServerSummaries returns the metrics of the servers of a run in AIPerf's shape, as [History.Servers] does.
func (h *History) ServerSummaries(ctx context.Context, r *run.Run) (map[string]diagnose.Summary, error) {
	if err := h.reading.Acquire(ctx, 1); err != nil {
		return nil, err
	}
	defer h.reading.Release(1)
	if live := h.recorder(r.ID); live != nil {
		server := live.Report()
		if server == nil || server.Pages == nil {
			return map[string]diagnose.Summary{}, nil
		}
		var file bytes.Buffer
		if err := export.WriteServerMetrics(&file, &export.Report{Server: server}); err != nil {
			return nil, err
		}
		return results.ReadServerSummaries(&file)
	}
	files, err := h.files(r)
	if err != nil {
		return nil, err
	}
	return files.ServerSummaries()
}

// recorder returns what reads the servers' metrics of an active run; nil = nothing does.
func (h *History) recorder(id string) *telemetry.Recorder {
	if j := h.engine.job(id); j != nil {
		return j.live.servers.Load()
	}
	return nil
}

// files returns what a run has left in its folder, with the names of its files.
func (h *History) files(r *run.Run) (*results.Results, error) {
	prefix, err := results.Prefix(r.Config)
	if err != nil {
		return nil, err
	}
	return results.Open(h.engine.opts.Store.Dir(r.ID), prefix), nil
}

// Sweep returns what the runs of a sweep say together, fs.ErrNotExist if nothing is known yet.
func (h *History) Sweep(id string) (*results.Sweep, error) { return h.stored(id).Sweep() }

// Answer returns the answer of a search for a capacity, fs.ErrNotExist if there is none.
func (h *History) Answer(id string) (*results.Answer, error) { return h.stored(id).Answer() }

// Requests returns the requests of a run for a comparison, as [compare.ReadRequests]. It waits while
// too many others are read.
func (h *History) Requests(ctx context.Context, in *compare.Input) (*compare.Requests, error) {
	if err := h.reading.Acquire(ctx, 1); err != nil {
		return nil, err
	}
	defer h.reading.Release(1)
	files, err := h.files(in.Run)
	if err != nil {
		return nil, err
	}
	return compare.ReadRequests(ctx, files, in)
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
