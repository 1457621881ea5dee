package runs

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math"
	"mime"
	"net/http"
	"strings"
	"time"

	"aiperfd/internal/api/access"
	"aiperfd/internal/api/respond"
	"aiperfd/internal/api/wire"
	"aiperfd/internal/engine/config/problem"
	"aiperfd/internal/run"
)

// Cancel stops a run.
//
//	@Summary		Cancel a run
//	@Description	A graceful cancel waits for requests in flight; a forced one aborts them. Everything that was recorded is exported. Runs of other tokens need the scope admin.
//	@Tags			runs
//	@Accept			json
//	@Param			id		path		string		true	"Run id or current"
//	@Param			If-Match	header	string	false	"ETag that the run must have"
//	@Param			wait	query		integer		false	"Seconds to wait until the run has ended"	minimum(0)	maximum(60)
//	@Param			cancel	body		wire.Cancel	false	"How to stop"
//	@Success		200		{object}	wire.Run	"The run is terminal, or was stopping already"
//	@Success		202		{object}	wire.Run	"The run is stopping"
//	@Failure		400,409,412,415,422		{object}	wire.Problem
//	@Router			/api/runs/{id}/cancel [post]
func (h *Handler) Cancel(w http.ResponseWriter, r *http.Request) error {
	wait := time.Duration(0)
	if value := r.URL.Query().Get("wait"); value != "" {
		var err error
		if wait, err = seconds("wait", value, maxCancelWait); err != nil {
			return err
		}
	}
	request, err := h.readCancel(w, r)
	if err != nil {
		return err
	}
	run, err := h.Find.Run(w, r)
	if err != nil {
		return err
	}
	if err := access.Of(r.Context()).AdmitOwner(run.SubmittedBy); err != nil {
		return err
	}
	if err := matched(r, run); err != nil {
		return err
	}
	run, changed, err := h.Engine.Cancel(r.Context(), run.ID, request)
	if err != nil {
		return err
	}
	status := http.StatusOK
	if changed {
		status = http.StatusAccepted
	}
	return h.writeChanged(w, r, status, run, wait)
}

// readCancel reads the optional body of a cancel.
func (h *Handler) readCancel(w http.ResponseWriter, r *http.Request) (run.CancelRequest, error) {
	var out run.CancelRequest
	received, err := h.readBody(w, r, h.orders)
	if err != nil {
		return out, err
	}
	defer received.release()
	if len(received.Data) == 0 {
		return out, nil
	}
	if media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || media != "application/json" {
		return out, respond.Fail(respond.ErrMediaType,
			"Content-Type %q is not supported; send application/json", r.Header.Get("Content-Type"))
	}
	var body wire.Cancel
	dec := json.NewDecoder(bytes.NewReader(received.Data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&body); err != nil {
		return out, cancelFault(err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return out, respond.Fail(respond.ErrMalformed, "Unexpected text after the JSON object")
	}
	switch body.Mode {
	case "", "graceful":
	case "force":
		out.Force = true
	default:
		return out, invalidMember("mode", problem.CodeBadEnum, "must be graceful or force", body.Mode)
	}
	if body.Grace != nil {
		if !(*body.Grace >= 0 && *body.Grace <= maxGrace.Seconds()) {
			return out, invalidMember("grace_period_sec", problem.CodeOutOfRange, "must be from 0 to 86400", *body.Grace)
		}
		out.Grace = new(time.Duration(math.Round(*body.Grace * float64(time.Second))))
	}
	if len(body.Reason) > maxReason {
		return out, invalidMember("reason", problem.CodeOutOfRange, "must have at most 1024 bytes", nil)
	}
	out.Reason = body.Reason
	return out, nil
}

// The limits of a request to cancel.
const (
	maxGrace  = 24 * time.Hour
	maxReason = 1024 // bytes
)

// cancelFault turns a decoding error into the problem of a member, or of the whole
// body.
func cancelFault(err error) error {
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return invalidMember(wrong.Field, problem.CodeWrongType, "must not be a "+wrong.Value, nil)
	}
	if name, ok := strings.CutPrefix(err.Error(), "json: unknown field "); ok {
		return invalidMember(strings.Trim(name, `"`), problem.CodeUnknownField, "unknown field; accepted are mode, grace_period_sec and reason", nil)
	}
	return respond.Fail(respond.ErrMalformed, "The body is not a JSON object: %v", err)
}

// invalidMember returns the problem of a member of the body.
func invalidMember(name, code, detail string, value any) error {
	pointer := "#"
	if name != "" {
		pointer = "#/" + name
	}
	return &respond.Failure{
		Err: respond.ErrInvalid, Detail: "The cancel request is not valid",
		Errors: []wire.Fault{{Pointer: pointer, Code: code, Detail: detail, Value: value}},
	}
}
