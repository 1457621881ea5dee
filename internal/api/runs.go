package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"aiperfd/internal/api/access"
	"aiperfd/internal/api/feed"
	"aiperfd/internal/api/intake"
	"aiperfd/internal/api/respond"
	"aiperfd/internal/api/wire"
	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/config"
	"aiperfd/internal/engine/config/problem"
	"aiperfd/internal/run"
)

// The maximum waits that a client may request.
const (
	maxSubmitWait = 30 * time.Second
	maxCancelWait = 60 * time.Second
)

// runHandler handles the routes of the collection of runs.
type runHandler struct {
	*base
	hub    *feed.Hub
	load   LoadFunc
	compat func(*config.Document) any
	limits Limits
	files  *fileHandler
	rate   *submitRate
	keys   *inProgress
	gate   *intake.Gate // of documents
	orders *intake.Gate // of the bodies of other requests, which documents cannot delay
}

// body reads the text of a document from a request. The caller releases it when the
// document is not needed any more, so that the memory of documents and of the answers to
// them is bounded.
func (h *runHandler) body(w http.ResponseWriter, r *http.Request) (*intake.Body, config.Format, error) {
	format, err := documentFormat(r)
	if err != nil {
		return nil, "", err
	}
	body, err := readBody(w, r, h.gate, &h.limits)
	return body, format, err
}

// document reads a document when it is its turn, until the client leaves. An invalid one
// is a *failure with the problems.
func (h *runHandler) document(ctx context.Context, data []byte, format config.Format) (Loaded, error) {
	ctx, leave, err := h.gate.Enter(ctx, len(data))
	if err != nil {
		return Loaded{}, err
	}
	defer leave()
	loaded, err := h.load(ctx, data, format)
	var malformed *config.Malformed
	var invalid *problem.Invalid
	switch {
	case err == nil:
		return loaded, nil
	case errors.Is(err, context.DeadlineExceeded):
		return Loaded{}, respond.Fail(intake.ErrBusy, "The document was not checked within %v", intake.WorkLimit)
	case errors.As(err, &malformed):
		return Loaded{}, &respond.Failure{Err: respond.ErrMalformed, Detail: malformed.Detail, Position: *malformed}
	case errors.As(err, &invalid):
		n := len(invalid.Problems)
		detail := fmt.Sprintf("%d problems in the submitted configuration", n)
		if n == 1 {
			detail = "1 problem in the submitted configuration"
		}
		return Loaded{}, &respond.Failure{Err: invalidity(invalid), Detail: detail, Errors: invalid.Problems, Warnings: loaded.Warnings}
	}
	return Loaded{}, err
}

// invalidity returns the error of the table for an invalid document: what the operator
// forbids comes before what is wrong.
func invalidity(e *problem.Invalid) error {
	switch {
	case problem.Has(e, problem.CodeTargetNotAllowed):
		return respond.ErrTarget
	case problem.Has(e, problem.CodeSecretNotAllowed):
		return respond.ErrSecret
	}
	return respond.ErrInvalid
}

// submit queues a run.
//
//	@Summary		Submit a run
//	@Description	The body is a benchmark document, or its benchmark section alone, in JSON or YAML. The run is stored before the response is sent. With Prefer: wait=N the response is sent when the run has ended, or after N seconds (at most 30).
//	@Tags			runs
//	@Accept			json,application/yaml,application/x-yaml,text/yaml
//	@Param			config	body		object	true	"Configuration"
//	@Param			Prefer	header		string	false	"wait=N"
//	@Param			Idempotency-Key	header	string	false	"Makes it safe to repeat the request: for 24 hours, the same key with the same body returns the run of the first request"	minlength(1)	maxlength(255)
//	@Success		200		{object}	wire.Run	"The run of an earlier request with the same Idempotency-Key"
//	@Header			200		{string}	Idempotency-Replayed	"true"
//	@Success		201		{object}	wire.Run
//	@Header			201		{string}	Location	"Address of the run"
//	@Header			201		{string}	ETag		"Revision of the run"
//	@Failure		400		{object}	wire.Problem
//	@Failure		403		{object}	wire.Problem
//	@Failure		409		{object}	wire.Problem
//	@Failure		413		{object}	wire.Problem
//	@Failure		415		{object}	wire.Problem
//	@Failure		422		{object}	wire.Problem
//	@Failure		429		{object}	wire.Problem
//	@Failure		503		{object}	wire.Problem
//	@Failure		507		{object}	wire.Problem
//	@Produce		json
//	@Router			/api/runs [post]
//	@Router			/api/run [post]
func (h *runHandler) submit(w http.ResponseWriter, r *http.Request) error {
	wait, err := preferWait(r)
	if err != nil {
		return err
	}
	if err := h.rate.take(access.Caller(r.Context()), time.Now()); err != nil {
		return err
	}
	body, format, err := h.body(w, r)
	if err != nil {
		return err
	}
	defer body.Release()
	id, err := idempotency(r, body.Data, format)
	if err != nil {
		return err
	}
	run, created, err := h.once(r.Context(), id, func(ctx context.Context) (*run.Run, error) { return h.create(ctx, body.Data, format, id) })
	if err != nil {
		return err
	}
	body.Release()
	status := http.StatusCreated
	if !created {
		status = http.StatusOK
		w.Header().Set("Idempotency-Replayed", "true")
	}
	if wait > 0 {
		w.Header().Set("Preference-Applied", "wait="+strconv.Itoa(int(wait.Seconds())))
	}
	w.Header().Set("Location", "/api/runs/"+run.ID)
	return h.writeChanged(w, r, status, run, wait)
}

// create submits a document.
func (h *runHandler) create(ctx context.Context, body []byte, format config.Format, id *run.Idempotency) (*run.Run, error) {
	loaded, err := h.document(ctx, body, format)
	if err != nil {
		return nil, err
	}
	accepted := make([]bench.Warning, 0, len(loaded.Warnings))
	for _, p := range loaded.Warnings {
		accepted = append(accepted, bench.Warning{Pointer: p.Pointer, Code: p.Code, Detail: p.Detail})
	}
	created, err := h.runs.Submit(ctx, loaded.Document, run.Submission{
		Warnings: accepted, Via: "api", By: access.Caller(ctx), Idempotency: id, Compiled: loaded.Compiled,
	})
	if invalid, ok := errors.AsType[*problem.Invalid](err); ok {
		return nil, &respond.Failure{Err: invalidity(invalid), Errors: invalid.Problems, Warnings: loaded.Warnings}
	}
	return created, err
}

// preferWait returns the preference wait=N (RFC 7240), 0 if there is none.
func preferWait(r *http.Request) (time.Duration, error) {
	for _, field := range r.Header.Values("Prefer") {
		for preference := range strings.SplitSeq(field, ",") {
			value, ok := strings.CutPrefix(strings.TrimSpace(preference), "wait=")
			if !ok {
				continue
			}
			return seconds("wait", value, maxSubmitWait)
		}
	}
	return 0, nil
}

// seconds reads a whole number of seconds from 0 to limit.
func seconds(name, value string, limit time.Duration) (time.Duration, error) {
	n, err := strconv.Atoi(value)
	if err != nil || n < 0 || n > int(limit.Seconds()) {
		return 0, respond.Fail(respond.ErrParameter, "%s must be a whole number of seconds from 0 to %d, not %q", name, int(limit.Seconds()), value)
	}
	return time.Duration(n) * time.Second, nil
}

// await waits until a run is terminal or the time is over, and returns the run.
func (h *runHandler) await(ctx context.Context, run *run.Run, wait time.Duration) (*run.Run, error) {
	limited, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	err := h.hub.Await(limited, run.ID, func() bool {
		now, err := h.runs.Get(ctx, run.ID)
		return err != nil || now.State.Terminal()
	})
	if err != nil && ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return h.runs.Get(ctx, run.ID)
}

// writeChanged answers a request that has changed a run, once the run is terminal or the
// time is over.
func (h *runHandler) writeChanged(w http.ResponseWriter, r *http.Request, status int, run *run.Run, wait time.Duration) (err error) {
	w.Header().Set(respond.HeaderRunID, run.ID)
	if wait > 0 && !run.State.Terminal() {
		if run, err = h.await(r.Context(), run, wait); err != nil {
			return afterChange{err}
		}
	}
	if status == http.StatusAccepted && run.State.Terminal() {
		status = http.StatusOK
	}
	if err := h.writeRun(w, r, status, run); err != nil {
		return afterChange{err}
	}
	return nil
}

// resource returns the complete resource of a run.
func (h *runHandler) resource(ctx context.Context, run *run.Run) (wire.Run, error) {
	snap, err := h.Snapshot(ctx, run)
	if err != nil {
		return wire.Run{}, err
	}
	queue := h.live.Queue()
	position := 1 + slices.Index(queue.IDs, run.ID)
	out := wire.NewRun(run, snap, position, h.files.artifacts(run.ID))
	if run.State == bench.StateQueued {
		out.StateReason = queue.Reason(run, time.Now())
	}
	return out, nil
}

// writeRun answers with a run and its revision as the entity tag.
func (h *runHandler) writeRun(w http.ResponseWriter, r *http.Request, status int, run *run.Run) error {
	resource, err := h.resource(r.Context(), run)
	if err != nil {
		return err
	}
	header := w.Header()
	header.Set(respond.HeaderRunID, run.ID)
	header.Set("Etag", revisionTag(run))
	return h.WriteJSON(w, status, resource)
}

// revisionTag returns the entity tag of a run.
func revisionTag(run *run.Run) string { return `"r` + strconv.FormatInt(run.Revision, 10) + `"` }

// getRun serves a run.
//
//	@Summary	Get a run
//	@Tags		runs
//	@Param		id	path		string	true	"Run id, current or latest"
//	@Success	200	{object}	wire.Run
//	@Header		200	{string}	ETag	"Revision of the run"
//	@Success	304
//	@Failure	404	{object}	wire.Problem
//	@Produce	json
//	@Router		/api/runs/{id} [get]
func (h *runHandler) getRun(w http.ResponseWriter, r *http.Request) error {
	run, err := h.Run(w, r)
	if err != nil {
		return err
	}
	// Progress and the position in the queue change without a new revision.
	if run.State.Terminal() && respond.Tagged(r.Header.Values("If-None-Match"), revisionTag(run)) {
		w.Header().Set("Etag", revisionTag(run))
		w.WriteHeader(http.StatusNotModified)
		return nil
	}
	return h.writeRun(w, r, http.StatusOK, run)
}

// Validation is the body of POST /api/validate.
type Validation struct {
	Valid    bool              `json:"valid"`
	Errors   []problem.Problem `json:"errors"`
	Warnings []problem.Problem `json:"warnings"`
	Defaults []config.Default  `json:"defaults"`                              // values that follow from others; only if valid
	Config   any               `json:"config,omitempty" swaggertype:"object"` // the resolved document, redacted; only if valid
} // @name wire.Validation

// newValidation returns the result of loading a document.
func newValidation(resolved any, problems, warnings []problem.Problem, defaults []config.Default) Validation {
	// Lists are never null.
	return Validation{
		Valid: len(problems) == 0, Errors: append([]problem.Problem{}, problems...),
		Warnings: append([]problem.Problem{}, warnings...), Defaults: append([]config.Default{}, defaults...), Config: resolved,
	}
}

// validate checks a document without running it.
//
//	@Summary		Check a configuration
//	@Description	Returns 200 with the list of problems even if the document is invalid. Only bodies that are not JSON or YAML are rejected. A valid document is returned as it would run; defaults lists the values that follow from others, with the reason.
//	@Tags			runs
//	@Accept			json,application/yaml,application/x-yaml,text/yaml
//	@Param			config	body		object	true	"Configuration"
//	@Success		200		{object}	Validation
//	@Failure		400		{object}	wire.Problem
//	@Failure		403		{object}	wire.Problem
//	@Failure		413		{object}	wire.Problem
//	@Failure		415		{object}	wire.Problem
//	@Failure		503		{object}	wire.Problem
//	@Produce		json
//	@Router			/api/validate [post]
func (h *runHandler) validate(w http.ResponseWriter, r *http.Request) error {
	body, format, err := h.body(w, r)
	if err != nil {
		return err
	}
	defer body.Release()
	loaded, err := h.document(r.Context(), body.Data, format)
	var f *respond.Failure
	switch {
	case errors.As(err, &f) && f.Errors != nil:
		return h.WriteJSON(w, http.StatusOK, newValidation(nil, f.Errors, f.Warnings, nil))
	case err != nil:
		return err
	}
	return h.WriteJSON(w, http.StatusOK, newValidation(h.compat(loaded.Document), nil, loaded.Warnings, loaded.Document.Defaulted()))
}

// deleteRun deletes a run.
//
//	@Summary		Delete a run and its files
//	@Description	Runs of other tokens, and force, need the scope admin.
//	@Tags			runs
//	@Param			id			path	string	true	"Run id"
//	@Param			force		query	boolean	false	"Cancel the run first if it has not ended; delete it even if it is pinned"
//	@Param			If-Match	header	string	false	"ETag that the run must have"
//	@Success		202			"The run is being stopped and will be deleted"
//	@Success		204			"The run is gone"
//	@Failure		400			{object}	wire.Problem
//	@Failure		403			{object}	wire.Problem
//	@Failure		404			{object}	wire.Problem
//	@Failure		409			{object}	wire.Problem
//	@Failure		412			{object}	wire.Problem
//	@Produce		json
//	@Router			/api/runs/{id} [delete]
func (h *runHandler) deleteRun(w http.ResponseWriter, r *http.Request) error {
	force, err := respond.BoolParameter(r.URL.Query(), "force")
	if err != nil {
		return err
	}
	if force {
		if err := access.Of(r.Context()).Admit(access.Admin); err != nil {
			return err
		}
	}
	run, err := h.Run(w, r)
	if err != nil {
		return err
	}
	if err := access.Of(r.Context()).AdmitOwner(run.SubmittedBy); err != nil {
		return err
	}
	if err := matched(r, run); err != nil {
		return err
	}
	if err := h.runs.Delete(r.Context(), run.ID, force); err != nil {
		return err
	}
	status := http.StatusNoContent
	if !run.State.Terminal() {
		status = http.StatusAccepted
	}
	w.WriteHeader(status)
	return nil
}
