package api

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"aiperfd/internal/api/access"
	"aiperfd/internal/api/bundle"
	"aiperfd/internal/api/compare"
	"aiperfd/internal/engine/plainjson"
	"aiperfd/internal/run"
)

// resultRoutes returns the routes of what runs have left behind.
func resultRoutes(files *fileHandler) []route {
	get := http.MethodGet
	results := &resultHandler{base: files.base}
	return []route{
		{method: get, pattern: "/api/runs/{id}/artifacts", scope: access.Read, handle: files.listFiles, query: none()},
		{method: get, pattern: "/api/runs/{id}/artifacts/*", scope: access.Read, handle: files.getFile, query: none()},
		{method: get, pattern: "/api/runs/{id}/artifacts.zip", scope: access.Read, handle: files.bundle(bundle.Zip), query: none()},
		{method: get, pattern: "/api/runs/{id}/artifacts.tar.gz", scope: access.Read, handle: files.bundle(bundle.TarGz), query: none()},
		{method: get, pattern: "/api/compare", scope: access.Read, handle: results.compare, query: []string{"ids", "baseline"}},
	}
}

// resultHandler handles the routes of results that AIPerf does not have.
type resultHandler struct{ *base }

// compare compares runs.
//
//	@Summary		Compare runs
//	@Description	The metrics of 2 to 10 runs with their differences from a baseline, and the values in which their configurations differ. Runs without results are listed too.
//	@Tags			runs
//	@Param			ids			query		string	true	"Ids of runs, current or latest, separated by commas"
//	@Param			baseline	query		string	false	"The one of ids that the others are compared with; default: the first"
//	@Success		200			{object}	compare.Comparison
//	@Success		304
//	@Failure		400	{object}	wire.Problem
//	@Failure		404	{object}	wire.Problem
//	@Produce		json
//	@Router			/api/compare [get]
func (h *resultHandler) compare(w http.ResponseWriter, r *http.Request) error {
	query, err := compare.ParseQuery(r.URL.Query())
	if err != nil {
		return fail(errParameter, "Bad parameters: %v", err)
	}
	var inputs []compare.Input
	var missing, ids []string
	for _, name := range query.IDs {
		found, err := h.find(r.Context(), name)
		switch {
		case errors.Is(err, run.ErrNotFound) || errors.Is(err, errNotFound):
			missing = append(missing, name)
			continue
		case err != nil:
			return err
		case slices.Contains(ids, found.ID):
			return fail(errParameter, "Bad parameters: ids has run %s twice", found.ID)
		}
		snap, err := h.snapshot(r.Context(), found)
		if err != nil {
			return err
		}
		ids, inputs = append(ids, found.ID), append(inputs, compare.Input{Run: found, Snapshot: snap})
	}
	if missing != nil {
		return fail(errNotFound, "No such run: %s", strings.Join(missing, ", "))
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
	h.writeTagged(w, r, bodyTag(body), body)
	return nil
}
