package api

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"slices"
	"strings"

	"github.com/go-chi/chi/v5"

	"aiperfd/internal/api/access"
	"aiperfd/internal/api/bundle"
	"aiperfd/internal/api/records"
	"aiperfd/internal/api/respond"
	"aiperfd/internal/api/wire"
	"aiperfd/internal/compare"
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
		{method: get, pattern: "/api/runs/{id}/records", scope: access.Read, handle: results.getRecords, query: []string{"cursor", "limit", "outcome", "phase"}},
		{method: get, pattern: "/api/runs/{id}/errors", scope: access.Read, handle: results.getErrors, query: none()},
		{method: get, pattern: "/api/compare", scope: access.Read, handle: results.compare, query: []string{"ids", "baseline"}},
	}
}

// resultHandler handles the routes of results that AIPerf does not have.
type resultHandler struct{ *base }

// compare compares runs.
func (h *resultHandler) compare(w http.ResponseWriter, r *http.Request) error {
	query, err := compare.ParseQuery(r.URL.Query())
	if err != nil {
		return respond.Fail(respond.ErrParameter, "Bad parameters: %v", err)
	}
	var inputs []compare.Input
	var missing, ids []string
	for _, name := range query.IDs {
		found, err := h.Find(r.Context(), name)
		switch {
		case errors.Is(err, run.ErrNotFound) || errors.Is(err, respond.ErrNotFound):
			missing = append(missing, name)
			continue
		case err != nil:
			return err
		case slices.Contains(ids, found.ID):
			return respond.Fail(respond.ErrParameter, "Bad parameters: ids has run %s twice", found.ID)
		}
		snap, err := h.Snapshot(r.Context(), found)
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
	h.WriteTagged(w, r, respond.BodyTag(body), body)
	return nil
}

// getErrors serves the errors of a run.
func (h *resultHandler) getErrors(w http.ResponseWriter, r *http.Request) error {
	found, err := h.Run(w, r)
	if err != nil {
		return err
	}
	snap, err := h.Snapshot(r.Context(), found)
	if err != nil {
		return err
	}
	return h.WriteOf(w, r, found, wire.NewErrors(found, snap))
}

// getRecords sends a page of the records of a run.
func (h *resultHandler) getRecords(w http.ResponseWriter, r *http.Request) error {
	found, err := h.Run(w, r)
	if err != nil {
		return err
	}
	query, err := records.ParseQuery(found.ID, r.URL.Query())
	if err != nil {
		return respond.Fail(respond.ErrParameter, "Bad parameters: %v", err)
	}
	var page *records.Page
	root, err := h.live.Artifacts(found.ID)
	if err == nil {
		defer root.Close()
		page, err = records.Open(r.Context(), root, found, query)
	}
	switch {
	case errors.Is(err, records.ErrCursor):
		return respond.Fail(respond.ErrParameter, "Bad parameters: %v", err)
	case errors.Is(err, fs.ErrNotExist) && found.State.Terminal():
		return respond.Fail(respond.ErrNotFound, "Run %s has no record lines: it measured nothing, or artifacts.level or artifacts.recordFormat exclude them", found.ID)
	case errors.Is(err, fs.ErrNotExist):
		return respond.Fail(respond.ErrNotReady, "Run %s has no record lines yet, or artifacts.level or artifacts.recordFormat exclude them", found.ID)
	case err != nil:
		return fmt.Errorf("read records of run %s: %w: %w", found.ID, run.ErrStore, err)
	}
	defer page.Close()
	w.Header().Set("Cache-Control", respond.NoStore)
	if chi.URLParam(r, "id") == found.ID && found.State.Terminal() {
		w.Header().Set("Cache-Control", respond.Immutable)
	}
	if err := page.Serve(&fileWriter{ResponseWriter: w, control: http.NewResponseController(w)}, r); err != nil {
		h.Log.Debug().Err(err).Str("run", found.ID).Msg("send records")
		panic(http.ErrAbortHandler) // too late to respond: close the connection
	}
	return nil
}
