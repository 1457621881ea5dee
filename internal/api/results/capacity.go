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

// Capacity serves the answer of an experiment.
//
//	@Summary		Get the answer of a search for a capacity, of a comparison of two servers, or of repeats
//	@Description	A search for a capacity: the capacity with its interval, the loads that are confirmed as good and as bad, and every probe. A comparison of two servers (sweep of type ab): the change of each metric with its interval, every block of time, and what was known after each. Repeats of a document: the value of one statistic with its interval over the runs, and every run. All: what speaks against the answer, and what would make it better. It follows the measurement while that goes on (`final` is false).
//	@Tags			runs
//	@Success		200	{object}	results.Answer
//	@Success		304
//	@Failure		404	{object}	wire.Problem
//	@Failure		503	{object}	wire.Problem
//	@Produce		json
//	@Router			/api/runs/{id}/answer [get]
func (h *Handler) Capacity(w http.ResponseWriter, r *http.Request) error {
	return serveRecorded(h, w, r, struct{}{}, nil, h.CapacityOf)
}

// CapacityOf returns the answer of an experiment. The error is respond.ErrNotFound if the
// run has none.
func (h *Handler) CapacityOf(_ context.Context, found *run.Run, _ struct{}) (*results.Answer, error) {
	if found == nil {
		return nil, respond.ErrNoRun
	}
	a, err := h.Recorded.Answer(found.ID)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, respond.Fail(respond.ErrNotFound, "Run %s has no answer: it is no search for a capacity, no comparison of "+
			"two servers and no repeats, or nothing of it has been measured yet", found.ID)
	case err != nil:
		return nil, fmt.Errorf("answer of run %s: %w: %w", found.ID, run.ErrStore, err)
	}
	return a, nil
}
