package report

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"

	"golang.org/x/sync/semaphore"

	"aiperfd/internal/api/respond"
	"aiperfd/internal/compare"
	"aiperfd/internal/run"
)

// MaxAtOnce is the number of reports that are made at the same time: each takes some
// megabytes of memory.
const MaxAtOnce = 4

// Handler handles the routes of reports. All fields are required.
type Handler struct {
	Out *respond.Responder
	*Maker
	Room *semaphore.Weighted // of size MaxAtOnce
}

// OfRun serves the report of a run.
//
//	@Summary		Get the report of a run or a sweep
//	@Description	HTML is one page with the charts of the dashboard, its script and its data, which requests nothing; Markdown is a summary for pull requests. It is made on demand, also of active runs. At most four reports are made at a time.
//	@Tags			runs
//	@Success		200	{string}	string
//	@Header			200	{string}	ETag	"Changes with the report"
//	@Success		304
//	@Failure		400	{object}	wire.Problem
//	@Failure		503	{object}	wire.Problem
//	@Produce		html,text/markdown
//	@Router			/api/runs/{id}/report.html [get]
//	@Router			/api/runs/{id}/report.md [get]
func (h *Handler) OfRun(format Format) func(http.ResponseWriter, *http.Request) error {
	return func(w http.ResponseWriter, r *http.Request) error {
		found, err := h.Find.Run(w, r)
		if err != nil {
			return err
		}
		return h.send(w, r, []string{found.ID}, format)
	}
}

// Compared serves the report of several runs.
//
//	@Summary		Get a report that compares runs
//	@Description	2 to 10 runs against a baseline, in the formats of the report of one run.
//	@Tags			runs
//	@Param			ids			query		string	true	"Ids of runs, current or latest, separated by commas"
//	@Param			baseline	query		string	false	"The one of ids that the others are compared with; default: the first"
//	@Success		200	{string}	string
//	@Header			200	{string}	ETag	"Changes with the report"
//	@Success		304
//	@Failure		400	{object}	wire.Problem
//	@Failure		404	{object}	wire.Problem
//	@Failure		503	{object}	wire.Problem
//	@Produce		html,text/markdown
//	@Router			/api/compare/report.html [get]
//	@Router			/api/compare/report.md [get]
func (h *Handler) Compared(format Format) func(http.ResponseWriter, *http.Request) error {
	return func(w http.ResponseWriter, r *http.Request) error {
		ids, err := h.ids(r.Context(), r.URL.Query())
		if err != nil {
			return err
		}
		return h.send(w, r, ids, format)
	}
}

// ids returns the runs of a comparison, the baseline first.
func (h *Handler) ids(ctx context.Context, q url.Values) ([]string, error) {
	query, err := compare.ParseQuery(q)
	if err != nil {
		return nil, respond.Fail(respond.ErrParameter, "Bad parameters: %v", err)
	}
	var ids []string
	var faults []error
	for _, name := range query.IDs {
		id, err := h.id(ctx, name)
		if err != nil {
			faults = append(faults, err)
			continue
		}
		if slices.Contains(ids, id) {
			return nil, respond.Fail(respond.ErrParameter, "Bad parameters: ids has run %s twice", id)
		}
		ids = append(ids, id)
	}
	if faults != nil {
		return nil, errors.Join(faults...)
	}
	baseline := ids[query.Baseline]
	return append([]string{baseline}, slices.Delete(ids, query.Baseline, query.Baseline+1)...), nil
}

// id returns the id of a run by id or alias.
func (h *Handler) id(ctx context.Context, name string) (string, error) {
	found, err := h.Find.Find(ctx, name)
	switch {
	case errors.Is(err, run.ErrNotFound):
		return "", respond.Fail(respond.ErrNotFound, "No such run: %s", name)
	case err != nil:
		return "", err
	}
	return found.ID, nil
}

// send makes a report and sends it.
func (h *Handler) send(w http.ResponseWriter, r *http.Request, ids []string, format Format) error {
	if !h.Room.TryAcquire(1) {
		return respond.Fail(respond.ErrTooManyStreams, "%d reports are being made", MaxAtOnce)
	}
	defer h.Room.Release(1)
	body, err := h.Make(r.Context(), ids, format)
	if err != nil {
		return err
	}
	if format == HTML {
		policy, err := Policy()
		if err != nil {
			return err
		}
		w.Header().Set("Content-Security-Policy", policy)
		w.Header().Set("Referrer-Policy", "no-referrer")
	}
	w.Header().Set("Cache-Control", "private, no-cache")
	h.Out.SendTagged(w, r, format.MediaType(), body)
	return nil
}
