package engine

import (
	"context"

	"aiperfd/internal/engine/series"
)

// History is what was recorded of runs over their time. Its methods are safe for concurrent
// use, and none waits for a run.
type History struct{ engine *Engine }

// NewHistory returns the history of the runs of an engine.
func NewHistory(e *Engine) *History { return &History{e} }

// Series returns a part of the time series of a run. It is empty before the first phase, and
// for a run that had none.
func (h *History) Series(ctx context.Context, id string, q series.Query) (*series.Result, error) {
	if j := h.engine.job(id); j != nil {
		if recorder := j.exec.observed.series.Load(); recorder != nil {
			return recorder.Read(ctx, q)
		}
	}
	return series.Read(ctx, h.engine.opts.Store.Dir(id), q)
}
