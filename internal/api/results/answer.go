package results

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"aiperfd/internal/api/respond"
	"aiperfd/internal/compare"
	"aiperfd/internal/engine/config/sweep"
	"aiperfd/internal/engine/plainjson"
	"aiperfd/internal/run"
)

// Judge answers whether runs are better or worse than others.
//
//	@Summary		Ask whether runs are better or worse than others
//	@Description	Runs B against runs A, the reference: a verdict for each metric and one for all, with intervals, doubts, and what would decide it. A run of repeats stands for all its runs; sweeps are compared value by value. The body has at most 64 KiB.
//	@Tags			runs
//	@Accept			json
//	@Param			question	body		compare.Question	true	"Which runs are compared"
//	@Success		200			{object}	compare.Answer
//	@Failure		400,404,413,415	{object}	wire.Problem
//	@Router			/api/compare [post]
func (h *Handler) Judge(w http.ResponseWriter, r *http.Request) error {
	var q compare.Question
	if err := respond.ReadJSON(w, r, "a question", &q); err != nil {
		return err
	}
	answer, err := h.Answer(r.Context(), &q)
	if err != nil {
		return err
	}
	body, err := plainjson.Marshal(answer)
	if err != nil {
		return fmt.Errorf("encode answer: %w", err)
	}
	w.Header().Set("Cache-Control", respond.NoStore)
	h.Out.WriteBody(w, http.StatusOK, body)
	return nil
}

// Answer answers a question. Its errors are those of responses.
func (h *Handler) Answer(ctx context.Context, q *compare.Question) (*compare.Answer, error) {
	if err := q.Check(); err != nil {
		return nil, respond.Fail(respond.ErrParameter, "Bad question: %v", err)
	}
	a, err := h.side(ctx, q.A)
	if err != nil {
		return nil, err
	}
	b, err := h.side(ctx, q.B)
	if err != nil {
		return nil, err
	}
	err = compare.ReadSingles(a, b, func(in *compare.Input) (*compare.Requests, error) {
		return h.Recorded.Requests(ctx, in)
	})
	if err != nil {
		return nil, err
	}
	answer, err := compare.Judge(a, b, compare.AnswerOptions{
		Version: h.Version, Margin: q.Margin, Metrics: q.Metrics, Allow: q.Allow,
	})
	if errors.Is(err, compare.ErrNothingInCommon) {
		return nil, respond.Fail(respond.ErrParameter, "Bad question: %v", err)
	}
	return answer, err
}

// side returns the runs that names stand for: runs, and all runs of repeats and sweeps.
func (h *Handler) side(ctx context.Context, names []string) ([]compare.Input, error) {
	var out []compare.Input
	var missing []string
	for _, name := range names {
		found, err := h.Find.Find(ctx, name)
		if errors.Is(err, run.ErrNotFound) || errors.Is(err, respond.ErrNotFound) {
			missing = append(missing, name)
			continue
		}
		if err != nil {
			return nil, err
		}
		runs, err := h.trials(ctx, found)
		if err != nil {
			return nil, err
		}
		out = append(out, runs...)
	}
	switch {
	case missing != nil:
		return nil, respond.Fail(respond.ErrNotFound, "No such run: %s", strings.Join(missing, ", "))
	case len(out) == 0:
		return nil, respond.Fail(respond.ErrParameter, "Bad question: %s has no runs", strings.Join(names, ", "))
	}
	return out, nil
}

// trials returns a run, or the runs of a sweep that have begun with the names of their
// configurations. Those of repeats have none.
func (h *Handler) trials(ctx context.Context, found *run.Run) ([]compare.Input, error) {
	if found.Kind() != run.KindSweep {
		snap, err := h.Find.Snapshot(ctx, found)
		return []compare.Input{{Run: found, Snapshot: snap}}, err
	}
	trials, err := h.Find.Trials(ctx, found)
	if err != nil {
		return nil, err
	}
	var out []compare.Input
	for _, trial := range trials {
		snap, err := h.Find.Snapshot(ctx, trial)
		if err != nil {
			return nil, err
		}
		out = append(out, compare.Input{Run: trial, Snapshot: snap, Cell: cellName(trial.Cell)})
	}
	return out, nil
}

// cellName returns the name of a configuration of a sweep, as in its table; empty for repeats.
func cellName(c *run.Cell) string {
	const most = 3 // values that a name has
	switch n := len(c.Variation.Values); {
	case n == 0:
		return ""
	case n > most:
		return c.Variation.Label
	}
	return sweep.Short(c.Variation.Values)
}
