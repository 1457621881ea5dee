package respond

import (
	"context"
	"errors"
	"net/http"
	"regexp"

	"github.com/go-chi/chi/v5"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/run"
)

// Aliases of runs.
const (
	aliasCurrent = "current" // the active run
	aliasLatest  = "latest"  // the newest run or study that has ended; not one of the runs of a study
)

// Runs has the runs of requests. The errors are those of package run, wrapped or not.
type Runs interface {
	Get(ctx context.Context, id string) (*run.Run, error)
	List(ctx context.Context, q run.Query) (run.Page, error)
}

// Live has what is known of active runs; see api.Live.
type Live interface {
	Selected(ctx context.Context) (id string, ok bool)
	Snapshot(ctx context.Context, id string) (*run.Snapshot, error)
	Queue() run.Queue
}

// Finder finds the runs of requests. It is safe for concurrent use.
type Finder struct {
	Runs Runs
	Live Live
}

var idPattern = regexp.MustCompile(`^[0-9a-f]{32}$`)

// IsID reports whether a text is the whole id of a run.
func IsID(text string) bool { return idPattern.MatchString(text) }

// TerminalStates returns the states of runs that have ended.
func TerminalStates() []bench.State {
	return []bench.State{bench.StateCompleted, bench.StateCancelled, bench.StateFailed}
}

// ActiveStates returns the states of runs that are being performed.
func ActiveStates() []bench.State {
	return []bench.State{bench.StateStarting, bench.StateRunning, bench.StateStopping, bench.StateExporting}
}

// Run returns the run of a request: that of the id in the path, else of the
// parameter run, else the selected run. It returns nil if the request names none
// and there is no run. It sets the headers that identify the run.
func (f *Finder) Run(w http.ResponseWriter, r *http.Request) (*run.Run, error) {
	name := chi.URLParam(r, "id")
	if query := r.URL.Query(); name == "" && query.Has("run") {
		if name = query.Get("run"); name == "" { // of a script whose variable is empty
			return nil, Fail(ErrParameter, "run is empty; give the id of a run, current or latest, or leave it out")
		}
	}
	found, err := f.Find(r.Context(), name)
	if err != nil || found == nil {
		return nil, err
	}
	h := w.Header()
	h.Set(HeaderRunID, found.ID)
	if name == aliasCurrent || name == aliasLatest {
		h.Set("Content-Location", "/api/runs/"+found.ID)
		h.Set("Cache-Control", NoStore)
	}
	return found, nil
}

// Find returns a run by id or alias; without a name the selected run, or nil.
func (f *Finder) Find(ctx context.Context, name string) (*run.Run, error) {
	switch {
	case name == "":
		id, ok := f.Live.Selected(ctx)
		if !ok {
			return nil, nil
		}
		found, err := f.Runs.Get(ctx, id)
		if errors.Is(err, run.ErrNotFound) { // deleted in between
			return nil, nil
		}
		return found, err
	case name == aliasCurrent:
		running := f.Live.Queue().Running
		if len(running) == 0 {
			return nil, Fail(ErrNotFound, "No run is active")
		}
		return f.Runs.Get(ctx, running[len(running)-1])
	case name == aliasLatest:
		last, err := f.LastFinished(ctx, run.Query{TopLevel: true})
		if err == nil && last == nil {
			return nil, Fail(ErrNotFound, "No run has ended yet")
		}
		if err != nil {
			return nil, err
		}
		return f.Runs.Get(ctx, last.ID)
	case !IsID(name):
		return nil, run.ErrNotFound
	}
	return f.Runs.Get(ctx, name)
}

// LastFinished returns the newest run of a query that has ended, nil if there is none. It is
// not chosen by its time, which is wrong if the system clock was set back.
func (f *Finder) LastFinished(ctx context.Context, q run.Query) (*run.Run, error) {
	q.States, q.Limit = TerminalStates(), 1
	page, err := f.Runs.List(ctx, q)
	if err != nil || len(page.Runs) == 0 {
		return nil, err
	}
	return &page.Runs[0], nil
}

// Snapshot returns the newest snapshot of a run, or nil if there is none.
func (f *Finder) Snapshot(ctx context.Context, r *run.Run) (*run.Snapshot, error) {
	if r == nil {
		return nil, nil
	}
	snap, err := f.Live.Snapshot(ctx, r.ID)
	if errors.Is(err, run.ErrNotFound) {
		return nil, nil
	}
	return snap, err
}

// maxTrials is the number of runs of a study that are read at most, the largest page of a store.
const maxTrials = 500

// Trials returns the runs of a study that have begun, with their documents, or a run itself.
func (f *Finder) Trials(ctx context.Context, found *run.Run) ([]*run.Run, error) {
	if found.Kind() != run.KindSweep {
		return []*run.Run{found}, nil
	}
	page, err := f.Runs.List(ctx, run.Query{Parent: found.ID, Sort: run.SortCreated, Limit: maxTrials})
	if err != nil {
		return nil, err
	}
	out := make([]*run.Run, len(page.Runs))
	for i := range page.Runs {
		if out[i], err = f.Runs.Get(ctx, page.Runs[i].ID); err != nil {
			return nil, err
		}
	}
	return out, nil
}
