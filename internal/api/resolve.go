package api

import (
	"context"
	"errors"
	"net/http"
	"regexp"

	"github.com/go-chi/chi/v5"

	"aiperfd/internal/engine"
	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/plainjson"
)

// Names that stand for a run.
const (
	aliasCurrent = "current" // the active run
	aliasLatest  = "latest"  // the run that finished last
)

var idPattern = regexp.MustCompile(`^[0-9a-f]{32}$`)

// terminalStates are those after which nothing happens.
func terminalStates() []bench.State {
	return []bench.State{bench.Completed, bench.Aborted, bench.Failed}
}

// run finds the run that a request is about: the id in the path, else the
// parameter run, else the selected run. It returns nil if nothing is named and
// there is no run. The answer's headers say which run it is.
func (s *Server) run(w http.ResponseWriter, r *http.Request) (*engine.Run, error) {
	name := chi.URLParam(r, "id")
	if name == "" {
		name = r.URL.Query().Get("run")
	}
	found, err := s.find(r.Context(), name)
	if err != nil || found == nil {
		return nil, err
	}
	h := w.Header()
	h.Set(headerRunID, found.ID)
	if name == aliasCurrent || name == aliasLatest {
		h.Set("Content-Location", "/api/runs/"+found.ID)
		h.Set("Cache-Control", noStore)
	}
	return found, nil
}

// find returns a run by id or alias; without a name the selected run, or nil.
func (s *Server) find(ctx context.Context, name string) (*engine.Run, error) {
	switch {
	case name == "":
		id, ok := s.Live.Selected(ctx)
		if !ok {
			return nil, nil
		}
		found, err := s.Runs.Get(ctx, id)
		if errors.Is(err, engine.ErrNotFound) { // deleted in between
			return nil, nil
		}
		return found, err
	case name == aliasCurrent:
		running := s.Live.Queue().Running
		if len(running) == 0 {
			return nil, fail(errNotFound, "No run is active")
		}
		return s.Runs.Get(ctx, running[len(running)-1])
	case name == aliasLatest:
		last, err := s.lastFinished(ctx)
		if err == nil && last == nil {
			return nil, fail(errNotFound, "No run has ended yet")
		}
		if err != nil {
			return nil, err
		}
		return s.Runs.Get(ctx, last.ID)
	case !idPattern.MatchString(name):
		return nil, engine.ErrNotFound
	}
	return s.Runs.Get(ctx, name)
}

// lastFinished returns the run that finished last, nil if none has.
func (s *Server) lastFinished(ctx context.Context) (*engine.Run, error) {
	page, err := s.Runs.List(ctx, engine.Query{
		States: terminalStates(), Sort: engine.SortEnded, Descending: true, Limit: 1,
	})
	if err != nil || len(page.Runs) == 0 {
		return nil, err
	}
	return &page.Runs[0], nil
}

// snapshot returns the newest snapshot of a run. A run whose numbers are lost
// has none, which is not an error of the request.
func (s *Server) snapshot(ctx context.Context, r *engine.Run) (*engine.Snapshot, error) {
	if r == nil {
		return nil, nil
	}
	snap, err := s.Live.Snapshot(ctx, r.ID)
	if errors.Is(err, engine.ErrNotFound) {
		return nil, nil
	}
	return snap, err
}

// writeOf answers with something about a run. What belongs to a run that is
// named by its id and finished never changes, so that it may be cached.
func (s *Server) writeOf(w http.ResponseWriter, r *http.Request, found *engine.Run, v any) error {
	body, err := plainjson.Marshal(v)
	if err != nil {
		return err
	}
	if found == nil || chi.URLParam(r, "id") != found.ID || !found.State.Terminal() {
		s.writeBody(w, http.StatusOK, body)
		return nil
	}
	w.Header().Set("Cache-Control", immutable)
	s.writeTagged(w, r, bodyTag(body), body)
	return nil
}
