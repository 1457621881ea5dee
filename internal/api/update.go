package api

import (
	"errors"
	"mime"
	"net/http"
	"slices"
	"strconv"

	"aiperfd/internal/api/access"
	"aiperfd/internal/api/amend"
	"aiperfd/internal/api/respond"
	"aiperfd/internal/engine/config"
	"aiperfd/internal/engine/config/problem"
	"aiperfd/internal/run"
)

// updateHandler changes runs.
type updateHandler struct{ *runHandler }

// update changes what users may change of a run.
//
//	@Summary		Change a run
//	@Description	A JSON merge patch (RFC 7396): members that are absent stay, null removes. The change is stored before the response is sent. Runs of other tokens need the scope admin.
//	@Tags			runs
//	@Accept			application/merge-patch+json
//	@Param			id			path		string		true	"Run id, current or latest"
//	@Param			If-Match	header		string		false	"ETag that the run must have"
//	@Param			patch		body		wire.Patch	true	"What changes"
//	@Success		200			{object}	wire.Run
//	@Header			200			{string}	ETag	"Revision of the run"
//	@Failure		400			{object}	wire.Problem
//	@Failure		403			{object}	wire.Problem
//	@Failure		404			{object}	wire.Problem
//	@Failure		409			{object}	wire.Problem
//	@Failure		412			{object}	wire.Problem
//	@Failure		413			{object}	wire.Problem
//	@Failure		415			{object}	wire.Problem
//	@Failure		422			{object}	wire.Problem
//	@Failure		503			{object}	wire.Problem
//	@Produce		json
//	@Router			/api/runs/{id} [patch]
func (h updateHandler) update(w http.ResponseWriter, r *http.Request) error {
	found, err := h.Run(w, r)
	if err != nil {
		return err
	}
	if err := access.Of(r.Context()).AdmitOwner(found.SubmittedBy); err != nil {
		return err
	}
	if media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || media != amend.MediaType {
		return &respond.Failure{
			Err: respond.ErrMediaType, Header: map[string]string{"Accept-Patch": amend.MediaType},
			Detail: "Content-Type " + strconv.Quote(r.Header.Get("Content-Type")) + " is not supported; send " + amend.MediaType,
		}
	}
	body, err := readBody(w, r, h.orders, &h.limits)
	if err != nil {
		return err
	}
	patch, err := amend.Read(body.Data)
	body.Release()
	if err != nil {
		return patchFault(err)
	}
	updated, err := h.runs.Update(r.Context(), found.ID, func(now *run.Run) error {
		if err := matched(r, now); err != nil {
			return err
		}
		return patch.Apply(now)
	})
	if err != nil {
		return patchFault(err)
	}
	return h.writeChanged(w, r, http.StatusOK, updated, 0)
}

// patchFault turns an error of a patch into one of the table.
func patchFault(err error) error {
	if malformed, ok := errors.AsType[*config.Malformed](err); ok {
		return &respond.Failure{Err: respond.ErrMalformed, Detail: malformed.Detail, Position: *malformed}
	}
	if invalid, ok := errors.AsType[*problem.Invalid](err); ok {
		return &respond.Failure{Err: respond.ErrInvalid, Detail: "The patch is not valid; it may have " + amend.Members, Errors: invalid.Problems}
	}
	return err
}

// matched checks the If-Match of a request against a run.
func matched(r *http.Request, found *run.Run) error {
	wanted := r.Header.Values("If-Match")
	if slices.Contains(wanted, "") {
		return respond.Fail(respond.ErrParameter, "If-Match is empty; it needs an ETag or *")
	}
	if len(wanted) > 0 && !respond.Tagged(wanted, revisionTag(found)) {
		return respond.ErrPrecondition
	}
	return nil
}

// pause stops the queue.
//
//	@Summary		Pause the queue
//	@Description	No run starts until the queue is resumed, also after a restart of the service. Active runs continue, and runs can still be submitted.
//	@Tags			service
//	@Success		200	{object}	wire.Queue
//	@Failure		503	{object}	wire.Problem
//	@Produce		json
//	@Router			/api/queue/pause [post]
func (h *serviceHandler) pause(w http.ResponseWriter, r *http.Request) error {
	return h.setPaused(w, r, true)
}

// resume starts the queue again.
//
//	@Summary	Resume the queue
//	@Tags		service
//	@Success	200	{object}	wire.Queue
//	@Failure	503	{object}	wire.Problem
//	@Produce	json
//	@Router		/api/queue/resume [post]
func (h *serviceHandler) resume(w http.ResponseWriter, r *http.Request) error {
	return h.setPaused(w, r, false)
}

func (h *serviceHandler) setPaused(w http.ResponseWriter, r *http.Request, paused bool) error {
	if err := h.runs.Pause(r.Context(), paused); err != nil {
		return err
	}
	return h.getQueue(w, r)
}
