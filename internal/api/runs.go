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

	"aiperfd/internal/api/wire"
	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/config"
	"aiperfd/internal/run"
)

// The longest waits that a client may ask for.
const (
	maxSubmitWait = 30 * time.Second
	maxCancelWait = 60 * time.Second
)

// load reads the document of a request. The problems are returned next to the
// error of the table, for those who answer 200 with them.
func (s *Server) load(w http.ResponseWriter, r *http.Request) (*config.Document, []config.Problem, error) {
	format, err := documentFormat(r)
	if err != nil {
		return nil, nil, err
	}
	data, err := s.readBody(w, r)
	if err != nil {
		return nil, nil, err
	}
	doc, warnings, err := s.Load(data, format)
	var malformed *config.Malformed
	var invalid *config.Invalid
	switch {
	case err == nil:
		return doc, warnings, nil
	case errors.As(err, &malformed):
		return nil, nil, &failure{err: errMalformed, detail: malformed.Detail, position: *malformed}
	case errors.As(err, &invalid):
		n := len(invalid.Problems)
		detail := fmt.Sprintf("%d problems in the submitted configuration", n)
		if n == 1 {
			detail = "1 problem in the submitted configuration"
		}
		return nil, nil, &failure{err: errInvalid, detail: detail, errors: invalid.Problems, warnings: warnings}
	}
	return nil, nil, err
}

// submit queues a run.
//
//	@Summary		Submit a run
//	@Description	The body is a benchmark document, or its benchmark section alone, in JSON or YAML. The run is stored before the response is sent. With Prefer: wait=N the response is sent when the run has ended, or after N seconds (at most 30).
//	@Tags			runs
//	@Accept			json,application/yaml,application/x-yaml,text/yaml
//	@Param			config	body		object	true	"Configuration"
//	@Param			Prefer	header		string	false	"wait=N"
//	@Success		201		{object}	wire.Run
//	@Header			201		{string}	Location	"Address of the run"
//	@Header			201		{string}	ETag		"Revision of the run"
//	@Failure		400		{object}	wire.Problem
//	@Failure		403		{object}	wire.Problem
//	@Failure		413		{object}	wire.Problem
//	@Failure		415		{object}	wire.Problem
//	@Failure		422		{object}	wire.Problem
//	@Failure		429		{object}	wire.Problem
//	@Failure		503		{object}	wire.Problem
//	@Produce		json
//	@Router			/api/runs [post]
//	@Router			/api/run [post]
func (s *Server) submit(w http.ResponseWriter, r *http.Request) error {
	wait, err := preferWait(r)
	if err != nil {
		return err
	}
	doc, warnings, err := s.load(w, r)
	if err != nil {
		return err
	}
	doubts := make([]bench.Warning, 0, len(warnings))
	for _, p := range warnings {
		doubts = append(doubts, bench.Warning{Pointer: p.Pointer, Code: p.Code, Detail: p.Detail})
	}
	run, err := s.Runs.Submit(r.Context(), run.Submission{Document: doc, Warnings: doubts, Via: "api"})
	var invalid *config.Invalid
	switch {
	case errors.As(err, &invalid):
		return &failure{err: errInvalid, errors: invalid.Problems, warnings: warnings}
	case err != nil:
		return err
	}
	if wait > 0 {
		w.Header().Set("Preference-Applied", "wait="+strconv.Itoa(int(wait.Seconds())))
		if run, err = s.await(r.Context(), run, wait); err != nil {
			return err
		}
	}
	w.Header().Set("Location", "/api/runs/"+run.ID)
	return s.writeRun(w, r, http.StatusCreated, run)
}

// preferWait reads the preference wait=N (RFC 7240); 0 if there is none.
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
		return 0, fail(errParameter, "%s must be a whole number of seconds from 0 to %d, not %q", name, int(limit.Seconds()), value)
	}
	return time.Duration(n) * time.Second, nil
}

// await waits until a run is terminal or the time is over, and returns it as it
// is then.
func (s *Server) await(ctx context.Context, run *run.Run, wait time.Duration) (*run.Run, error) {
	limited, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	err := s.Hub.Await(limited, run.ID, func() bool {
		now, err := s.Runs.Get(ctx, run.ID)
		return err != nil || now.State.Terminal()
	})
	if err != nil && ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return s.Runs.Get(ctx, run.ID)
}

// resource describes a run with everything that the API knows of it.
func (s *Server) resource(ctx context.Context, run *run.Run) (wire.Run, error) {
	snap, err := s.snapshot(ctx, run)
	if err != nil {
		return wire.Run{}, err
	}
	position := 1 + slices.Index(s.Live.Queue().IDs, run.ID)
	return wire.NewRun(run, snap, position, s.artifacts(run.ID)), nil
}

// writeRun answers with a run and its revision as the entity tag.
func (s *Server) writeRun(w http.ResponseWriter, r *http.Request, status int, run *run.Run) error {
	resource, err := s.resource(r.Context(), run)
	if err != nil {
		return err
	}
	h := w.Header()
	h.Set(headerRunID, run.ID)
	h.Set("Etag", revisionTag(run))
	return s.writeJSON(w, status, resource)
}

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
func (s *Server) getRun(w http.ResponseWriter, r *http.Request) error {
	run, err := s.run(w, r)
	if err != nil {
		return err
	}
	// Progress and the place in the queue change without a new revision.
	if run.State.Terminal() && tagged(r.Header.Values("If-None-Match"), revisionTag(run)) {
		w.Header().Set("Etag", revisionTag(run))
		w.WriteHeader(http.StatusNotModified)
		return nil
	}
	return s.writeRun(w, r, http.StatusOK, run)
}

// validate checks a document without running it.
//
//	@Summary		Check a configuration
//	@Description	Returns 200 with the list of problems even if the document is invalid. Only bodies that are not JSON or YAML are rejected. A valid document is returned as it would run; defaults lists the values that follow from others, with the reason.
//	@Tags			runs
//	@Accept			json,application/yaml,application/x-yaml,text/yaml
//	@Param			config	body		object	true	"Configuration"
//	@Success		200		{object}	wire.Validation
//	@Failure		400		{object}	wire.Problem
//	@Failure		403		{object}	wire.Problem
//	@Failure		413		{object}	wire.Problem
//	@Failure		415		{object}	wire.Problem
//	@Produce		json
//	@Router			/api/validate [post]
func (s *Server) validate(w http.ResponseWriter, r *http.Request) error {
	doc, warnings, err := s.load(w, r)
	var f *failure
	switch {
	case errors.Is(err, errInvalid) && errors.As(err, &f):
		return s.writeJSON(w, http.StatusOK, wire.NewValidation(nil, f.errors, f.warnings, nil))
	case err != nil:
		return err
	}
	return s.writeJSON(w, http.StatusOK, wire.NewValidation(s.Compat(doc), nil, warnings, doc.Defaulted()))
}

// deleteRun forgets a run.
//
//	@Summary	Delete a run and its files
//	@Tags		runs
//	@Param		id			path	string	true	"Run id"
//	@Param		force		query	boolean	false	"Cancel the run first if it has not ended"
//	@Param		If-Match	header	string	false	"ETag that the run must have"
//	@Success	202			"The run is being stopped and will be deleted"
//	@Success	204			"The run is gone"
//	@Failure	400			{object}	wire.Problem
//	@Failure	403			{object}	wire.Problem
//	@Failure	404			{object}	wire.Problem
//	@Failure	409			{object}	wire.Problem
//	@Failure	412			{object}	wire.Problem
//	@Produce	json
//	@Router		/api/runs/{id} [delete]
func (s *Server) deleteRun(w http.ResponseWriter, r *http.Request) error {
	force, err := boolParameter(r.URL.Query(), "force")
	if err != nil {
		return err
	}
	run, err := s.run(w, r)
	if err != nil {
		return err
	}
	if wanted := r.Header.Values("If-Match"); len(wanted) > 0 && !tagged(wanted, revisionTag(run)) {
		return errPrecondition
	}
	if err := s.Runs.Delete(r.Context(), run.ID, force); err != nil {
		return err
	}
	status := http.StatusNoContent
	if !run.State.Terminal() {
		status = http.StatusAccepted
	}
	w.WriteHeader(status)
	return nil
}
