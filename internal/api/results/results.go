// Package results serves what runs have measured, live or final: metrics and progress,
// comparisons, time series and logs, records and files.
package results

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-chi/chi/v5"

	"aiperfd/internal/api/respond"
	"aiperfd/internal/api/wire"
	"aiperfd/internal/compare"
	"aiperfd/internal/engine/plainjson"
	"aiperfd/internal/run"
)

// Handler handles the routes of the data of runs. Those of AIPerf exist with and without the
// id of the run. All exported fields are required. It must not be copied.
type Handler struct {
	Out      *respond.Responder
	Find     *respond.Finder
	Recorded Recorded
	Version  string // of this program
	// Recent returns the counts of requests of a run in the last ten seconds.
	Recent func(id string, now time.Time) wire.Recent

	followers atomic.Int64 // of logs
}

// serve answers with what show makes of the run of a request and its newest snapshot. Without
// a run, the answer is the error absent or, if that is nil, what show makes of nothing.
func (h *Handler) serve(
	w http.ResponseWriter, r *http.Request, absent error, show func(*run.Run, *run.Snapshot) any,
) error {
	found, err := h.Find.Run(w, r)
	if err != nil {
		return err
	}
	if found == nil && absent != nil {
		return absent
	}
	snap, err := h.Find.Snapshot(r.Context(), found)
	if err != nil {
		return err
	}
	return h.Out.WriteOf(w, r, found, show(found, snap))
}

// Config serves the resolved configuration.
//
//	@Summary		Get the configuration of a run
//	@Description	The benchmark section with all defaults, in camelCase. Nulls are kept and secrets are replaced.
//	@Tags			aiperf
//	@Success		200	{object}	object
//	@Failure		503	{object}	wire.Problem
//	@Router			/api/config [get]
//	@Router			/api/runs/{id}/config [get]
func (h *Handler) Config(w http.ResponseWriter, r *http.Request) error {
	found, err := h.Find.Run(w, r)
	if err != nil {
		return err
	}
	if found == nil {
		return respond.ErrNoActiveRun
	}
	return h.Out.WriteOf(w, r, found, found.Config)
}

// RunInfo serves the identity of a run.
//
//	@Summary	Get the identity of a run
//	@Tags		aiperf
//	@Success	200	{object}	wire.RunInfo
//	@Failure	503	{object}	wire.Problem
//	@Router		/api/run [get]
//	@Router		/api/runs/{id}/run [get]
func (h *Handler) RunInfo(w http.ResponseWriter, r *http.Request) error {
	return h.serve(w, r, respond.ErrNoActiveRun, func(found *run.Run, snap *run.Snapshot) any {
		return wire.NewRunInfo(found, snap)
	})
}

// Metrics serves the metrics, live or final.
//
//	@Summary	Get the metrics of a run
//	@Tags		aiperf
//	@Success	200	{object}	wire.Metrics
//	@Router		/api/metrics [get]
//	@Router		/api/runs/{id}/metrics [get]
func (h *Handler) Metrics(w http.ResponseWriter, r *http.Request) error {
	return h.serve(w, r, nil, func(found *run.Run, snap *run.Snapshot) any {
		return wire.NewMetrics(h.Version, found, snap)
	})
}

// Progress serves the progress of the phases.
//
//	@Summary	Get the progress of a run
//	@Tags		aiperf
//	@Success	200	{object}	wire.Progress
//	@Router		/api/progress [get]
//	@Router		/api/runs/{id}/progress [get]
func (h *Handler) Progress(w http.ResponseWriter, r *http.Request) error {
	return h.serve(w, r, nil, func(found *run.Run, snap *run.Snapshot) any {
		return wire.NewProgress(found, snap)
	})
}

// Workers serves the state of the load generator.
//
//	@Summary	Get the state of the load generator of a run
//	@Tags		aiperf
//	@Success	200	{object}	wire.Workers
//	@Router		/api/workers [get]
//	@Router		/api/runs/{id}/workers [get]
func (h *Handler) Workers(w http.ResponseWriter, r *http.Request) error {
	return h.serve(w, r, nil, func(found *run.Run, snap *run.Snapshot) any {
		now, recent := time.Now(), wire.Recent{}
		if found != nil {
			recent = h.Recent(found.ID, now)
		}
		return wire.NewWorkers(found, snap, recent, now)
	})
}

// Worker serves the state of one of the load generators of a run.
//
//	@Summary	Get the state of one load generator of a run
//	@Tags		aiperf
//	@Param		worker	path		string	true	"Name"
//	@Success	200		{object}	wire.Worker
//	@Failure	404		{object}	wire.Problem
//	@Router		/api/runs/{id}/workers/{worker} [get]
func (h *Handler) Worker(w http.ResponseWriter, r *http.Request) error {
	found, err := h.Find.Run(w, r)
	if err != nil {
		return err
	}
	snap, err := h.Find.Snapshot(r.Context(), found)
	if err != nil {
		return err
	}
	now := time.Now()
	one, ok := wire.NewWorkers(found, snap, h.Recent(found.ID, now), now).Workers[chi.URLParam(r, "worker")]
	if !ok {
		return respond.ErrNoPart
	}
	return h.Out.WriteOf(w, r, found, &one)
}

// Results serves the outcome of a run.
//
//	@Summary		Get the results of a run
//	@Description	The status is running until all files of the run are complete.
//	@Tags			aiperf
//	@Success		200	{object}	wire.Results
//	@Router			/api/results [get]
//	@Router			/api/runs/{id}/results [get]
func (h *Handler) Results(w http.ResponseWriter, r *http.Request) error {
	return h.serve(w, r, respond.ErrNoRun, func(found *run.Run, snap *run.Snapshot) any {
		return wire.NewResults(found, snap)
	})
}

// Errors serves the errors of a run.
//
//	@Summary		Get the errors of a run
//	@Description	The errors of the profiling phases in groups of messages that differ only in numbers and identifiers, while the run goes on and afterwards.
//	@Tags			runs
//	@Success		200	{object}	wire.Errors
//	@Success		304
//	@Failure		400	{object}	wire.Problem
//	@Router			/api/runs/{id}/errors [get]
func (h *Handler) Errors(w http.ResponseWriter, r *http.Request) error {
	return h.serve(w, r, nil, func(found *run.Run, snap *run.Snapshot) any {
		return wire.NewErrors(found, snap)
	})
}

// Compare compares runs.
func (h *Handler) Compare(w http.ResponseWriter, r *http.Request) error {
	query, err := compare.ParseQuery(r.URL.Query())
	if err != nil {
		return respond.Fail(respond.ErrParameter, "Bad parameters: %v", err)
	}
	var inputs []compare.Input
	var missing, ids []string
	for _, name := range query.IDs {
		found, err := h.Find.Find(r.Context(), name)
		switch {
		case errors.Is(err, run.ErrNotFound) || errors.Is(err, respond.ErrNotFound):
			missing = append(missing, name)
			continue
		case err != nil:
			return err
		case slices.Contains(ids, found.ID):
			return respond.Fail(respond.ErrParameter, "Bad parameters: ids has run %s twice", found.ID)
		}
		snap, err := h.Find.Snapshot(r.Context(), found)
		if err != nil {
			return err
		}
		ids, inputs = append(ids, found.ID), append(inputs, compare.Input{Run: found, Snapshot: snap})
	}
	if missing != nil {
		return respond.Fail(respond.ErrNotFound, "No such run: %s", strings.Join(missing, ", "))
	}
	result, err := compare.New(inputs, query.Baseline)
	if err != nil {
		return fmt.Errorf("compare runs: %w", err)
	}
	body, err := plainjson.Marshal(result)
	if err != nil {
		return fmt.Errorf("encode comparison: %w", err)
	}
	w.Header().Set("Cache-Control", "private, no-cache")
	h.Out.WriteTagged(w, r, respond.BodyTag(body), body)
	return nil
}
