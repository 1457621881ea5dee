package runs

import (
	"context"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"aiperfd/internal/api/access"
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

// documentBody reads the text of a document from a request. The caller releases it when the
// document is not needed any more, so that the memory of documents and of the answers to
// them is bounded.
func (h *Handler) documentBody(w http.ResponseWriter, r *http.Request) (*body, config.Format, error) {
	format, err := documentFormat(r)
	if err != nil {
		return nil, "", err
	}
	body, err := h.readBody(w, r, h.gate)
	return body, format, err
}

// document reads a document when it is its turn, until the client leaves. An invalid one
// is a *failure with the problems.
func (h *Handler) document(ctx context.Context, data []byte, format config.Format) (Loaded, error) {
	ctx, leave, err := h.gate.enter(ctx, len(data))
	if err != nil {
		return Loaded{}, err
	}
	defer leave()
	loaded, err := h.Load(ctx, data, format)
	var malformed *config.Malformed
	var invalid *problem.Invalid
	switch {
	case err == nil:
		return loaded, nil
	case errors.Is(err, context.DeadlineExceeded):
		return Loaded{}, respond.Fail(respond.ErrBusy, "The document was not checked within %v", workLimit)
	case errors.As(err, &malformed):
		return Loaded{}, malformedBody(malformed)
	case errors.As(err, &invalid):
		n := len(invalid.Problems)
		detail := fmt.Sprintf("%d problems in the submitted configuration", n)
		if n == 1 {
			detail = "1 problem in the submitted configuration"
		}
		return Loaded{}, &respond.Failure{
			Err: invalidity(invalid), Detail: detail, Errors: faults(invalid.Problems), Warnings: faults(loaded.Warnings),
		}
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

// Submit queues a run.
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
//	@Failure		400,409,413,415,422,429,503,507		{object}	wire.Problem
//	@Router			/api/runs [post]
//	@Router			/api/run [post]
func (h *Handler) Submit(w http.ResponseWriter, r *http.Request) error {
	wait, err := preferWait(r)
	if err != nil {
		return err
	}
	if err := h.rate.take(access.Caller(r.Context()), time.Now()); err != nil {
		return err
	}
	body, format, err := h.documentBody(w, r)
	if err != nil {
		return err
	}
	defer body.release()
	id, err := idempotency(r, body.Data, format)
	if err != nil {
		return err
	}
	run, created, err := h.once(r.Context(), id, func(ctx context.Context) (*run.Run, error) { return h.create(ctx, body.Data, format, id) })
	if err != nil {
		return err
	}
	body.release()
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
func (h *Handler) create(ctx context.Context, body []byte, format config.Format, id *run.Idempotency) (*run.Run, error) {
	loaded, err := h.document(ctx, body, format)
	if err != nil {
		return nil, err
	}
	accepted := make([]bench.Warning, 0, len(loaded.Warnings))
	for _, p := range loaded.Warnings {
		accepted = append(accepted, bench.Warning{Pointer: p.Pointer, Code: p.Code, Detail: p.Detail})
	}
	created, err := h.Engine.Submit(ctx, loaded.Document, run.Submission{
		Warnings: accepted, Via: "api", By: access.Caller(ctx), Idempotency: id, Compiled: loaded.Compiled,
	})
	if invalid, ok := errors.AsType[*problem.Invalid](err); ok {
		return nil, &respond.Failure{
			Err: invalidity(invalid), Errors: faults(invalid.Problems), Warnings: faults(loaded.Warnings),
		}
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

// Validate checks a document without running it.
//
//	@Summary		Check a configuration
//	@Description	Returns 200 with the list of problems even if the document is invalid. Only bodies that are not JSON or YAML are rejected. A valid document is returned as it would run; defaults lists the values that follow from others, with the reason.
//	@Tags			runs
//	@Accept			json,application/yaml,application/x-yaml,text/yaml
//	@Param			config	body		object	true	"Configuration"
//	@Success		200		{object}	wire.Validation
//	@Failure		400,413,415,503		{object}	wire.Problem
//	@Router			/api/validate [post]
func (h *Handler) Validate(w http.ResponseWriter, r *http.Request) error {
	body, format, err := h.documentBody(w, r)
	if err != nil {
		return err
	}
	defer body.release()
	loaded, err := h.document(r.Context(), body.Data, format)
	var f *respond.Failure
	out := wire.Validation{Errors: []wire.Fault{}, Defaults: []wire.Default{}}
	switch {
	case err == nil:
		out.Valid, out.Config = true, h.Compat(loaded.Document)
		out.Warnings = faults(append(loaded.Warnings, loaded.Advice...))
		for _, d := range loaded.Document.Defaulted() {
			out.Defaults = append(out.Defaults, wire.Default(d))
		}
	case errors.As(err, &f) && f.Errors != nil:
		out.Errors, out.Warnings = f.Errors, f.Warnings
	default:
		return err
	}
	return h.Out.WriteJSON(w, http.StatusOK, out)
}

// faults returns problems as clients see them, never nil.
func faults(problems []problem.Problem) []wire.Fault {
	out := make([]wire.Fault, 0, len(problems))
	for _, p := range problems {
		out = append(out, wire.Fault(p))
	}
	return out
}

// malformedBody is the failure of a body that is no document.
func malformedBody(m *config.Malformed) error {
	return &respond.Failure{Err: respond.ErrMalformed, Detail: m.Detail, Line: m.Line, Column: m.Column}
}

// readBody reads the whole body of a request. The caller releases it.
func (h *Handler) readBody(w http.ResponseWriter, r *http.Request, gate *gate) (*body, error) {
	if coding := r.Header.Get("Content-Encoding"); coding != "" && coding != "identity" {
		return nil, &respond.Failure{
			Err: respond.ErrMediaType, Detail: fmt.Sprintf("Content-Encoding %q is not supported", coding),
			Header: map[string]string{"Accept-Encoding": "identity"},
		}
	}
	body, err := gate.read(http.MaxBytesReader(w, r.Body, h.MaxBody))
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return nil, respond.Fail(respond.ErrTooLarge, "The body is larger than %d bytes", h.MaxBody)
	case errors.Is(err, respond.ErrBusy):
		w.Header().Set("Connection", "close") // the rest of the body is not read
		return nil, err
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, respond.Fail(respond.ErrMalformed, "The body was not complete after %v", h.BodyTimeout)
	case err != nil:
		return nil, respond.Fail(respond.ErrMalformed, "The body could not be read")
	}
	// The deadline was for the body only. The error is that of a ResponseWriter
	// without deadlines.
	_ = http.NewResponseController(w).SetReadDeadline(time.Time{})
	return body, nil
}

// formats returns the formats of documents by media type.
func formats() map[string]config.Format {
	return map[string]config.Format{
		"application/json": config.JSON, "application/yaml": config.YAML,
		"application/x-yaml": config.YAML, "text/yaml": config.YAML,
	}
}

// AcceptPost lists the media types of documents.
const AcceptPost = "application/json, application/yaml, application/x-yaml, text/yaml"

// documentFormat returns the format of a document by its Content-Type.
func documentFormat(r *http.Request) (config.Format, error) {
	given := r.Header.Get("Content-Type")
	media, params, err := mime.ParseMediaType(given)
	format, ok := formats()[media]
	charset := strings.ToLower(params["charset"])
	if err != nil || !ok || charset != "" && charset != "utf-8" {
		return "", &respond.Failure{
			Err: respond.ErrMediaType, Header: map[string]string{"Accept-Post": AcceptPost},
			Detail: fmt.Sprintf("Content-Type %q is not supported; send %s in UTF-8", given, AcceptPost),
		}
	}
	return format, nil
}
