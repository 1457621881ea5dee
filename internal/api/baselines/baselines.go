// Package baselines serves the names of runs that others are compared with.
package baselines

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/prometheus/client_golang/prometheus"

	"aiperfd/internal/api/access"
	"aiperfd/internal/api/respond"
	"aiperfd/internal/api/wire"
	"aiperfd/internal/engine/redact"
	"aiperfd/internal/run"
)

// Kept is the baselines of a data directory. Every method is safe for concurrent use.
type Kept interface {
	List(ctx context.Context) ([]run.Baseline, error) // by name
	// Get returns a baseline by its name. The error is run.ErrNoBaseline if there is none.
	Get(ctx context.Context, name string) (*run.Baseline, error)
	// Add adds a revision, and returns it with its number. It is durable when Add returns.
	Add(ctx context.Context, name string, r run.Revision) (*run.Revision, error)
	// Remove removes a revision, or with 0 all of them. The error is run.ErrNoBaseline if there is none.
	Remove(ctx context.Context, name string, revision int) error
	// Key returns what a run was measured with.
	Key(r *run.Run) (run.BaselineKey, error)
}

// Handler handles the routes of baselines. All fields but Kept are required.
type Handler struct {
	Out    *respond.Responder
	Find   *respond.Finder
	Kept   Kept // nil = this process keeps none
	Update func(ctx context.Context, id string, change func(*run.Run) error) (*run.Run, error)
	// Rules has the verdicts of the last gate of each baseline, see [NewRules].
	Rules   *prometheus.GaugeVec
	Version string // of this program
}

// maxRuns is the number of runs of a revision.
const maxRuns = 100

// errNoneKept answers requests to a process without a data directory.
func errNoneKept() error {
	return respond.Fail(respond.ErrNotFound, "This process keeps no baselines; aiperfd serve does")
}

// List serves all baselines.
//
//	@Summary		List baselines
//	@Description	By name, each with its revisions, the newest one last. A baseline is a name for runs that `aiperfd gate` compares candidates with.
//	@Tags			baselines
//	@Success		200	{object}	wire.Baselines
//	@Failure		404	{object}	wire.Problem
//	@Router			/api/baselines [get]
func (h *Handler) List(w http.ResponseWriter, r *http.Request) error {
	if h.Kept == nil {
		return errNoneKept()
	}
	all, err := h.Kept.List(r.Context())
	if err != nil {
		return stored(err)
	}
	return h.Out.WriteJSON(w, http.StatusOK, wire.Baselines{Items: append([]run.Baseline{}, all...)})
}

// Get serves one baseline.
//
//	@Summary	Get a baseline
//	@Tags		baselines
//	@Param		name	path		string	true	"Name of the baseline"
//	@Success	200		{object}	run.Baseline
//	@Failure	404		{object}	wire.Problem
//	@Router		/api/baselines/{name} [get]
func (h *Handler) Get(w http.ResponseWriter, r *http.Request) error {
	found, err := h.find(r)
	if err != nil {
		return err
	}
	return h.Out.WriteJSON(w, http.StatusOK, found)
}

// GetRevision serves one revision of a baseline.
//
//	@Summary		Get a revision of a baseline
//	@Description	Revisions do not change.
//	@Tags			baselines
//	@Param			name		path		string	true	"Name of the baseline"
//	@Param			revision	path		int		true	"Number of the revision"
//	@Success		200			{object}	run.Revision
//	@Failure		400,404		{object}	wire.Problem
//	@Router			/api/baselines/{name}/{revision} [get]
func (h *Handler) GetRevision(w http.ResponseWriter, r *http.Request) error {
	found, err := h.find(r)
	if err != nil {
		return err
	}
	number, err := revisionOf(r)
	if err != nil {
		return err
	}
	revision := found.Revision(number)
	if revision == nil {
		return noRevision(found.Name, number)
	}
	return h.Out.WriteJSON(w, http.StatusOK, revision)
}

// Set makes runs the newest revision of a baseline.
//
//	@Summary		Set a baseline
//	@Description	The runs become the newest revision of the baseline, which is made if necessary; earlier revisions stay. The runs must have ended and have put the same load on their servers. A run of repeats stands for all its runs. They are pinned, so that the rules of retention keep them; runs of other tokens that are not pinned need the scope admin. If the newest revision has the same runs and the same note, nothing changes, and the status is 200. The body has at most 64 KiB.
//	@Tags			baselines
//	@Accept			json
//	@Param			name		path		string				true	"Name of the baseline: 1 to 64 letters, digits, dots, hyphens and underscores, the first one a letter or a digit"
//	@Param			revision	body		wire.BaselineRuns	true	"Runs of the revision"
//	@Success		200			{object}	run.Revision
//	@Success		201			{object}	run.Revision
//	@Header			201			{string}	Location	"The revision"
//	@Failure		400,404,413,415,503	{object}	wire.Problem
//	@Router			/api/baselines/{name} [put]
func (h *Handler) Set(w http.ResponseWriter, r *http.Request) error {
	name, err := h.nameOf(r)
	if err != nil {
		return err
	}
	var body wire.BaselineRuns
	if err := respond.ReadJSON(w, r, "the runs of a baseline", &body); err != nil {
		return err
	}
	if err := checkRuns(&body); err != nil {
		return err
	}
	revision, err := h.revision(r.Context(), body.Runs)
	if err != nil {
		return err
	}
	if found, err := h.Kept.Get(r.Context(), name); err == nil {
		newest := found.Newest()
		if slices.Equal(newest.Runs, revision.Runs) && newest.Note == redact.NewSet().String(body.Note) {
			return h.Out.WriteJSON(w, http.StatusOK, newest)
		}
	}
	added, err := h.add(r.Context(), w, name, revision, body.Note)
	if err != nil {
		return err
	}
	return h.Out.WriteJSON(w, http.StatusCreated, added)
}

// checkRuns returns what is wrong with the runs of a revision as they are asked for.
func checkRuns(body *wire.BaselineRuns) error {
	switch n := len(body.Runs); {
	case n == 0 || n > maxRuns:
		return respond.Fail(respond.ErrParameter, "runs has %d runs, want 1 to %d", n, maxRuns)
	case slices.Contains(body.Runs, ""):
		return respond.Fail(respond.ErrParameter, "runs has an empty element")
	case len(body.Note) > run.MaxNote:
		return respond.Fail(respond.ErrParameter, "note has %d bytes, want at most %d", len(body.Note), run.MaxNote)
	}
	return nil
}

// add pins the runs of a revision, adds it with a note, and names its address in the response.
func (h *Handler) add(
	ctx context.Context, w http.ResponseWriter, name string, revision run.Revision, note string,
) (*run.Revision, error) {
	revision.Created, revision.By = time.Now().UTC(), access.Caller(ctx)
	revision.Note = redact.NewSet().String(note)
	for _, id := range revision.Runs {
		if err := h.pin(ctx, id); err != nil {
			return nil, err
		}
	}
	added, err := h.Kept.Add(ctx, name, revision)
	if err != nil {
		return nil, stored(err)
	}
	w.Header().Set("Location", fmt.Sprintf("/api/baselines/%s/%d", url.PathEscape(name), added.Number))
	return added, nil
}

// revision returns a revision of the runs that names stand for; each run is in it once.
func (h *Handler) revision(ctx context.Context, names []string) (run.Revision, error) {
	var runs []*run.Run
	var keys []run.BaselineKey
	for _, name := range names {
		found, err := h.Find.Find(ctx, name)
		if errors.Is(err, run.ErrNotFound) {
			return run.Revision{}, respond.Fail(respond.ErrNotFound, "No such run: %s", name)
		}
		if err != nil {
			return run.Revision{}, err
		}
		trials, err := h.Find.Trials(ctx, found)
		if err != nil {
			return run.Revision{}, err
		}
		for _, r := range trials {
			if slices.ContainsFunc(runs, func(other *run.Run) bool { return other.ID == r.ID }) {
				continue
			}
			key, err := h.Kept.Key(r)
			if err != nil {
				return run.Revision{}, err
			}
			runs, keys = append(runs, r), append(keys, key)
		}
	}
	if n := len(runs); n == 0 || n > maxRuns {
		return run.Revision{}, respond.Fail(respond.ErrParameter, "runs stands for %d runs, want 1 to %d", n, maxRuns)
	}
	out, err := run.NewRevision(runs, keys)
	if err != nil {
		return out, respond.Fail(respond.ErrParameter, "These runs cannot be a baseline: %v", err)
	}
	return out, nil
}

// pin makes the rules of retention keep a run, and the study that it belongs to.
func (h *Handler) pin(ctx context.Context, id string) error {
	for id != "" {
		r, err := h.Find.Runs.Get(ctx, id)
		if err != nil {
			return err
		}
		if !r.Pinned {
			if err := access.Of(ctx).AdmitOwner(r.SubmittedBy); err != nil {
				return err
			}
			if _, err := h.Update(ctx, id, func(r *run.Run) error { r.Pinned = true; return nil }); err != nil {
				return err
			}
		}
		id = r.ParentID()
	}
	return nil
}

// Remove removes a baseline with all its revisions.
//
//	@Summary		Remove a baseline
//	@Description	All its revisions. The runs stay, and stay pinned. Revisions that another token has made need the scope admin.
//	@Tags			baselines
//	@Param			name		path	string	true	"Name of the baseline"
//	@Success		204
//	@Failure		400,404,503	{object}	wire.Problem
//	@Router			/api/baselines/{name} [delete]
func (h *Handler) Remove(w http.ResponseWriter, r *http.Request) error {
	found, err := h.find(r)
	if err != nil {
		return err
	}
	for i := range found.Revisions {
		if err := access.Of(r.Context()).AdmitOwner(found.Revisions[i].By); err != nil {
			return err
		}
	}
	return h.remove(w, r, found.Name, 0)
}

// RemoveRevision removes one revision of a baseline.
//
//	@Summary		Remove a revision of a baseline
//	@Description	Its runs stay, and stay pinned. A revision that another token has made needs the scope admin.
//	@Tags			baselines
//	@Param			name		path	string	true	"Name of the baseline"
//	@Param			revision	path	int		true	"Number of the revision"
//	@Success		204
//	@Failure		400,404,503	{object}	wire.Problem
//	@Router			/api/baselines/{name}/{revision} [delete]
func (h *Handler) RemoveRevision(w http.ResponseWriter, r *http.Request) error {
	found, err := h.find(r)
	if err != nil {
		return err
	}
	number, err := revisionOf(r)
	if err != nil {
		return err
	}
	revision := found.Revision(number)
	if revision == nil {
		return noRevision(found.Name, number)
	}
	if err := access.Of(r.Context()).AdmitOwner(revision.By); err != nil {
		return err
	}
	return h.remove(w, r, found.Name, number)
}

func (h *Handler) remove(w http.ResponseWriter, r *http.Request, name string, revision int) error {
	if err := h.Kept.Remove(r.Context(), name, revision); err != nil {
		return stored(err)
	}
	if revision == 0 {
		h.Rules.DeletePartialMatch(prometheus.Labels{"gate": name})
	}
	w.Header().Set("Cache-Control", respond.NoStore)
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// find returns the baseline of a request.
func (h *Handler) find(r *http.Request) (*run.Baseline, error) {
	name, err := h.nameOf(r)
	if err != nil {
		return nil, err
	}
	found, err := h.Kept.Get(r.Context(), name)
	if errors.Is(err, run.ErrNoBaseline) {
		return nil, respond.Fail(respond.ErrNotFound, "No such baseline: %s", name)
	}
	return found, stored(err)
}

// nameOf returns the name of the baseline of a request.
func (h *Handler) nameOf(r *http.Request) (string, error) {
	if h.Kept == nil {
		return "", errNoneKept()
	}
	name := chi.URLParam(r, "name")
	if err := run.CheckBaselineName(name); err != nil {
		return "", respond.Fail(respond.ErrParameter, "Bad name: %v", err)
	}
	return name, nil
}

// revisionOf returns the number of the revision of a request.
func revisionOf(r *http.Request) (int, error) {
	text := chi.URLParam(r, "revision")
	number, err := strconv.Atoi(text)
	if err != nil || number < 1 {
		return 0, respond.Fail(respond.ErrParameter, "%q is not the number of a revision", text)
	}
	return number, nil
}

func noRevision(name string, number int) error {
	return respond.Fail(respond.ErrNotFound, "Baseline %s has no revision %d", name, number)
}

// stored marks an error of the data directory as one, unless it says that there is no such baseline.
func stored(err error) error {
	if err == nil || errors.Is(err, run.ErrNoBaseline) {
		return err
	}
	return fmt.Errorf("%w: %w", run.ErrStore, err)
}
