// Package runs serves the collection of runs: it submits, lists, changes, cancels and deletes
// them.
package runs

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"time"

	"aiperfd/internal/api/access"
	"aiperfd/internal/api/respond"
	"aiperfd/internal/api/results"
	"aiperfd/internal/api/wire"
	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/config"
	"aiperfd/internal/engine/config/problem"
	"aiperfd/internal/run"
)

// Engine has runs and performs them. Every method is safe for concurrent use. The errors are
// those of package run, wrapped or not.
type Engine interface {
	respond.Runs
	// Submit queues a run of a document that was loaded without problems, which it owns from
	// now on. The run is durable when the method returns.
	Submit(ctx context.Context, doc *config.Document, s run.Submission) (*run.Run, error)
	// Cancel stops a run and returns it. changed is false if the request had no
	// effect.
	Cancel(ctx context.Context, id string, c run.CancelRequest) (r *run.Run, changed bool, err error)
	// Update applies a change of a user to a run and returns it. change is called once,
	// with a copy whose maps it must not write to; its error ends the update. The change
	// is durable when the method returns.
	Update(ctx context.Context, id string, change func(*run.Run) error) (*run.Run, error)
	// Delete deletes a run and its files. With force an active run is stopped
	// first, which continues after the method has returned.
	Delete(ctx context.Context, id string, force bool) error
}

// Loaded is a document from the network that was read.
type Loaded struct {
	Document *config.Document
	Compiled any               // see [run.Submission]
	Warnings []problem.Problem // also with an error
	Advice   []problem.Problem // what a run of the document warns of at its start
}

// LoadFunc reads a document from the network. Its errors are *problem.Invalid,
// *config.Malformed and that of ctx.
type LoadFunc func(ctx context.Context, data []byte, format config.Format) (Loaded, error)

// Options are the parameters of a [Handler]. Those of the first group are required.
type Options struct {
	Out    *respond.Responder
	Find   *respond.Finder
	Engine Engine
	Files  *results.Files
	Load   LoadFunc
	Compat func(*config.Document) any // the resolved document as clients see it, redacted
	// Await waits until a run is terminal or ctx ends. ended reports whether the run is
	// terminal; it is called once.
	Await       func(ctx context.Context, id string, ended func() bool) error
	MaxBody     int64         // bytes of a request body
	BodyTimeout time.Duration // to receive one

	// SubmitRate is the number of submissions per minute, and at once, of every caller;
	// 0 = no limit. Without AnonymousRate, only callers with a name are limited.
	SubmitRate    int
	AnonymousRate bool
}

// Handler handles the routes. Make one with [New].
type Handler struct {
	Options
	rate   submitRate
	keys   inProgress
	gate   *gate // of documents
	orders *gate // of the bodies of other requests, which documents cannot delay
	ended  endedRuns
}

// New returns a handler.
func New(o Options) *Handler {
	return &Handler{
		Options: o, rate: submitRate{perMinute: o.SubmitRate, anonymous: o.AnonymousRate},
		gate: newGate(o.MaxBody), orders: newGate(o.MaxBody),
	}
}

// await waits until a run is terminal or the time is over, and returns the run.
func (h *Handler) await(ctx context.Context, run *run.Run, wait time.Duration) (*run.Run, error) {
	limited, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	err := h.Await(limited, run.ID, func() bool {
		now, err := h.Engine.Get(ctx, run.ID)
		return err != nil || now.State.Terminal()
	})
	if err != nil && ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return h.Engine.Get(ctx, run.ID)
}

// writeChanged answers a request that has changed a run, once the run is terminal or the
// time is over.
func (h *Handler) writeChanged(w http.ResponseWriter, r *http.Request, status int, run *run.Run, wait time.Duration) (err error) {
	w.Header().Set(respond.HeaderRunID, run.ID)
	if wait > 0 && !run.State.Terminal() {
		if run, err = h.await(r.Context(), run, wait); err != nil {
			return respond.AfterChange{Err: err}
		}
	}
	if status == http.StatusAccepted && run.State.Terminal() {
		status = http.StatusOK
	}
	if err := h.writeRun(w, r, status, run); err != nil {
		return respond.AfterChange{Err: err}
	}
	return nil
}

// Resource returns the complete resource of a run.
func (h *Handler) Resource(ctx context.Context, run *run.Run) (wire.Run, error) {
	queue := h.Find.Live.Queue()
	out, err := h.measured(ctx, run, 1+slices.Index(queue.IDs, run.ID))
	if err != nil {
		return wire.Run{}, err
	}
	if run.State == bench.StateQueued {
		out.StateReason = queue.Reason(run, time.Now())
	}
	return out, nil
}

// brief returns the resource of a run without what its files have: of a run that has ended, the store
// knows what lists of runs show.
func (h *Handler) brief(ctx context.Context, r *run.Run) (wire.Run, error) {
	queue := h.Find.Live.Queue()
	var snap *run.Snapshot
	if !r.State.Terminal() {
		var err error
		if snap, err = h.Find.Snapshot(ctx, r); err != nil {
			return wire.Run{}, err
		}
	}
	out := wire.NewBriefRun(r, snap, 1+slices.Index(queue.IDs, r.ID))
	if r.State == bench.StateQueued {
		out.StateReason = queue.Reason(r, time.Now())
	}
	return out, nil
}

// writeRun answers with a run and its revision as the entity tag.
func (h *Handler) writeRun(w http.ResponseWriter, r *http.Request, status int, run *run.Run) error {
	resource, err := h.Resource(r.Context(), run)
	if err != nil {
		return err
	}
	header := w.Header()
	header.Set(respond.HeaderRunID, run.ID)
	header.Set("Etag", revisionTag(run))
	return h.Out.WriteJSON(w, status, resource)
}

// revisionTag returns the entity tag of a run.
func revisionTag(run *run.Run) string { return `"r` + strconv.FormatInt(run.Revision, 10) + `"` }

// Get serves a run.
//
//	@Summary	Get a run
//	@Tags		runs
//	@Success	200	{object}	wire.Run
//	@Header		200	{string}	ETag	"Revision of the run"
//	@Success	304
//	@Router		/api/runs/{id} [get]
func (h *Handler) Get(w http.ResponseWriter, r *http.Request) error {
	run, err := h.Find.Run(w, r)
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

// Delete deletes a run.
//
//	@Summary		Delete a run and its files
//	@Description	Runs of other tokens, and force, need the scope admin.
//	@Tags			runs
//	@Param			id			path	string	true	"Run id"
//	@Param			force		query	boolean	false	"Cancel the run first if it has not ended; delete it even if it is pinned"
//	@Param			If-Match	header	string	false	"ETag that the run must have"
//	@Success		202			"The run is being stopped and will be deleted"
//	@Success		204			"The run is gone"
//	@Failure		400,409,412			{object}	wire.Problem
//	@Router			/api/runs/{id} [delete]
func (h *Handler) Delete(w http.ResponseWriter, r *http.Request) error {
	force, err := respond.BoolParameter(r.URL.Query(), "force")
	if err != nil {
		return err
	}
	if force {
		if err := access.Of(r.Context()).Admit(access.Admin); err != nil {
			return err
		}
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
	if err := h.Engine.Delete(r.Context(), run.ID, force); err != nil {
		return err
	}
	status := http.StatusNoContent
	if !run.State.Terminal() {
		status = http.StatusAccepted
	}
	w.WriteHeader(status)
	return nil
}
