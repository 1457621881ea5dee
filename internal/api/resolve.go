package api

import (
	"context"
	"errors"
	"net/http"
	"regexp"

	"github.com/go-chi/chi/v5"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/plainjson"
	"aiperfd/internal/run"
)

// Aliases of runs.
const (
	aliasCurrent = "current" // the active run
	aliasLatest  = "latest"  // the newest run or study that has ended; not one of the runs of a study
)

// base is what the handlers of all resources share: access to runs, and the
// writing of responses.
type base struct {
	responder
	runs    Runs
	live    Live
	version string
}

var idPattern = regexp.MustCompile(`^[0-9a-f]{32}$`)

// terminalStates returns the states of runs that have ended.
func terminalStates() []bench.State {
	return []bench.State{bench.StateCompleted, bench.StateCancelled, bench.StateFailed}
}

// activeStates returns the states of runs that are being performed.
func activeStates() []bench.State {
	return []bench.State{bench.StateStarting, bench.StateRunning, bench.StateStopping, bench.StateExporting}
}

// run returns the run of a request: that of the id in the path, else of the
// parameter run, else the selected run. It returns nil if the request names none
// and there is no run. It sets the headers that identify the run.
func (b *base) run(w http.ResponseWriter, r *http.Request) (*run.Run, error) {
	name := chi.URLParam(r, "id")
	if query := r.URL.Query(); name == "" && query.Has("run") {
		if name = query.Get("run"); name == "" { // of a script whose variable is empty
			return nil, fail(errParameter, "run is empty; give the id of a run, current or latest, or leave it out")
		}
	}
	found, err := b.find(r.Context(), name)
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
func (b *base) find(ctx context.Context, name string) (*run.Run, error) {
	switch {
	case name == "":
		id, ok := b.live.Selected(ctx)
		if !ok {
			return nil, nil
		}
		found, err := b.runs.Get(ctx, id)
		if errors.Is(err, run.ErrNotFound) { // deleted in between
			return nil, nil
		}
		return found, err
	case name == aliasCurrent:
		running := b.live.Queue().Running
		if len(running) == 0 {
			return nil, fail(errNotFound, "No run is active")
		}
		return b.runs.Get(ctx, running[len(running)-1])
	case name == aliasLatest:
		last, err := b.lastFinished(ctx, run.Query{TopLevel: true})
		if err == nil && last == nil {
			return nil, fail(errNotFound, "No run has ended yet")
		}
		if err != nil {
			return nil, err
		}
		return b.runs.Get(ctx, last.ID)
	case !idPattern.MatchString(name):
		return nil, run.ErrNotFound
	}
	return b.runs.Get(ctx, name)
}

// lastFinished returns the newest run of a query that has ended, nil if there is none. It is
// not chosen by its time, which is wrong if the system clock was set back.
func (b *base) lastFinished(ctx context.Context, q run.Query) (*run.Run, error) {
	q.States, q.Limit = terminalStates(), 1
	page, err := b.runs.List(ctx, q)
	if err != nil || len(page.Runs) == 0 {
		return nil, err
	}
	return &page.Runs[0], nil
}

// snapshot returns the newest snapshot of a run, or nil if there is none.
func (b *base) snapshot(ctx context.Context, r *run.Run) (*run.Snapshot, error) {
	if r == nil {
		return nil, nil
	}
	snap, err := b.live.Snapshot(ctx, r.ID)
	if errors.Is(err, run.ErrNotFound) {
		return nil, nil
	}
	return snap, err
}

// writeOf answers with data of a run. The data of a finished run never changes; if
// the request has the run's id, the response may be cached.
func (b *base) writeOf(w http.ResponseWriter, r *http.Request, found *run.Run, v any) error {
	body, err := plainjson.Marshal(v)
	if err != nil {
		return err
	}
	if found == nil || chi.URLParam(r, "id") != found.ID || !found.State.Terminal() {
		b.writeBody(w, http.StatusOK, body)
		return nil
	}
	w.Header().Set("Cache-Control", immutable)
	b.writeTagged(w, r, bodyTag(body), body)
	return nil
}
