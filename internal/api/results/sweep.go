package results

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"

	"aiperfd/internal/api/respond"
	"aiperfd/internal/results"
	"aiperfd/internal/run"
)

// Sweep serves what the runs of a sweep say together.
//
//	@Summary		Get the results of a sweep
//	@Description	A row for each value with the mean and the interval of its runs, the best rows, and the answer of a search: the boundary, what was observed on both sides of it, and why the search ended. It grows while the sweep goes on. Sweeps that earlier versions have performed have none.
//	@Tags			runs
//	@Success		200	{object}	results.Sweep
//	@Success		304
//	@Failure		404	{object}	wire.Problem
//	@Failure		503	{object}	wire.Problem
//	@Produce		json
//	@Router			/api/runs/{id}/sweep [get]
func (h *Handler) Sweep(w http.ResponseWriter, r *http.Request) error {
	return serveRecorded(h, w, r, struct{}{}, nil, h.SweepOf)
}

// SweepOf returns what the runs of a sweep say together. The error is respond.ErrNotFound if
// nothing is known yet.
func (h *Handler) SweepOf(_ context.Context, found *run.Run, _ struct{}) (*results.Sweep, error) {
	switch {
	case found == nil:
		return nil, respond.ErrNoRun
	case found.Kind() != run.KindSweep:
		return nil, respond.Fail(respond.ErrNotFound, "Run %s is no sweep", found.ID)
	}
	s, err := h.Recorded.Sweep(found.ID)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, respond.Fail(respond.ErrNotFound, "No run of sweep %s has ended, or it has no summary", found.ID)
	case err != nil:
		return nil, fmt.Errorf("sweep %s: %w: %w", found.ID, run.ErrStore, err)
	}
	return s, nil
}
