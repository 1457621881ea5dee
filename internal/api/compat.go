package api

import (
	"net/http"
	"time"

	"aiperfd/internal/api/feed"
	"aiperfd/internal/api/respond"
	"aiperfd/internal/api/wire"
)

// dataHandler handles the routes of the data of one run, which exist with and
// without the id of the run.
type dataHandler struct {
	*base
	hub *feed.Hub
}

// getConfig serves the resolved configuration.
//
//	@Summary		Get the configuration of a run
//	@Description	The benchmark section with all defaults, in camelCase. Nulls are kept and secrets are replaced.
//	@Tags			aiperf
//	@Param			run	query		string	false	"Run id, current or latest"
//	@Param			id	path		string	true	"Run id, current or latest"
//	@Success		200	{object}	object
//	@Failure		404	{object}	wire.Problem
//	@Failure		503	{object}	wire.Problem
//	@Produce		json
//	@Router			/api/config [get]
//	@Router			/api/runs/{id}/config [get]
func (h *dataHandler) getConfig(w http.ResponseWriter, r *http.Request) error {
	found, err := h.Run(w, r)
	if err != nil {
		return err
	}
	if found == nil {
		return respond.ErrNoActiveRun
	}
	return h.WriteOf(w, r, found, found.Config)
}

// getRunInfo serves the identity of a run.
//
//	@Summary	Get the identity of a run
//	@Tags		aiperf
//	@Param		run	query		string	false	"Run id, current or latest"
//	@Param		id	path		string	true	"Run id, current or latest"
//	@Success	200	{object}	wire.RunInfo
//	@Failure	404	{object}	wire.Problem
//	@Failure	503	{object}	wire.Problem
//	@Produce	json
//	@Router		/api/run [get]
//	@Router		/api/runs/{id}/run [get]
func (h *dataHandler) getRunInfo(w http.ResponseWriter, r *http.Request) error {
	found, err := h.Run(w, r)
	if err != nil {
		return err
	}
	if found == nil {
		return respond.ErrNoActiveRun
	}
	snap, err := h.Snapshot(r.Context(), found)
	if err != nil {
		return err
	}
	return h.WriteOf(w, r, found, wire.NewRunInfo(found, snap))
}

// getMetrics serves the metrics, live or final.
//
//	@Summary	Get the metrics of a run
//	@Tags		aiperf
//	@Param		run	query		string	false	"Run id, current or latest"
//	@Param		id	path		string	true	"Run id, current or latest"
//	@Success	200	{object}	wire.Metrics
//	@Failure	404	{object}	wire.Problem
//	@Produce	json
//	@Router		/api/metrics [get]
//	@Router		/api/runs/{id}/metrics [get]
func (h *dataHandler) getMetrics(w http.ResponseWriter, r *http.Request) error {
	found, err := h.Run(w, r)
	if err != nil {
		return err
	}
	snap, err := h.Snapshot(r.Context(), found)
	if err != nil {
		return err
	}
	return h.WriteOf(w, r, found, wire.NewMetrics(h.version, found, snap))
}

// getProgress serves the progress of the phases.
//
//	@Summary	Get the progress of a run
//	@Tags		aiperf
//	@Param		run	query		string	false	"Run id, current or latest"
//	@Param		id	path		string	true	"Run id, current or latest"
//	@Success	200	{object}	wire.Progress
//	@Failure	404	{object}	wire.Problem
//	@Produce	json
//	@Router		/api/progress [get]
//	@Router		/api/runs/{id}/progress [get]
func (h *dataHandler) getProgress(w http.ResponseWriter, r *http.Request) error {
	found, err := h.Run(w, r)
	if err != nil {
		return err
	}
	snap, err := h.Snapshot(r.Context(), found)
	if err != nil {
		return err
	}
	return h.WriteOf(w, r, found, wire.NewProgress(found, snap))
}

// getWorkers serves the state of the load generator.
//
//	@Summary	Get the state of the load generator of a run
//	@Tags		aiperf
//	@Param		run	query		string	false	"Run id, current or latest"
//	@Param		id	path		string	true	"Run id, current or latest"
//	@Success	200	{object}	wire.Workers
//	@Failure	404	{object}	wire.Problem
//	@Produce	json
//	@Router		/api/workers [get]
//	@Router		/api/runs/{id}/workers [get]
func (h *dataHandler) getWorkers(w http.ResponseWriter, r *http.Request) error {
	found, err := h.Run(w, r)
	if err != nil {
		return err
	}
	snap, err := h.Snapshot(r.Context(), found)
	if err != nil {
		return err
	}
	now, recent := time.Now(), wire.Recent{}
	if found != nil {
		recent = h.hub.Recent(found.ID, now)
	}
	return h.WriteOf(w, r, found, wire.NewWorkers(found, snap, recent, now))
}

// getServerMetrics serves an empty result: nothing is scraped from the server under
// test.
//
//	@Summary	Get the metrics of the server under test
//	@Tags		aiperf
//	@Param		run	query		string	false	"Run id, current or latest"
//	@Param		id	path		string	true	"Run id, current or latest"
//	@Success	200	{object}	wire.ServerMetrics
//	@Failure	404	{object}	wire.Problem
//	@Produce	json
//	@Router		/api/server-metrics [get]
//	@Router		/api/runs/{id}/server-metrics [get]
func (h *dataHandler) getServerMetrics(w http.ResponseWriter, r *http.Request) error {
	found, err := h.Run(w, r)
	if err != nil {
		return err
	}
	return h.WriteOf(w, r, found, wire.ServerMetrics{
		Endpoints: map[string]struct{}{}, Message: "No server metrics available yet",
	})
}

// getResults serves the outcome of a run.
//
//	@Summary		Get the results of a run
//	@Description	The status is running until all files of the run are complete.
//	@Tags			aiperf
//	@Param			run	query		string	false	"Run id, current or latest"
//	@Param			id	path		string	true	"Run id, current or latest"
//	@Success		200	{object}	wire.Results
//	@Failure		404	{object}	wire.Problem
//	@Produce		json
//	@Router			/api/results [get]
//	@Router			/api/runs/{id}/results [get]
func (h *dataHandler) getResults(w http.ResponseWriter, r *http.Request) error {
	found, err := h.Run(w, r)
	if err != nil {
		return err
	}
	if found == nil {
		return respond.ErrNoRun
	}
	snap, err := h.Snapshot(r.Context(), found)
	if err != nil {
		return err
	}
	return h.WriteOf(w, r, found, wire.NewResults(found, snap))
}
