package feed

import (
	"net/http"
	"slices"
	"strings"
	"sync/atomic"

	"aiperfd/internal/api/access"
	"aiperfd/internal/api/respond"
	"aiperfd/internal/api/wire"
)

// EventHandler handles the routes of server-sent events. All exported fields are
// required. It must not be copied.
type EventHandler struct {
	*respond.Base
	Hub    *Hub
	Source Source
	// Version is that of this program, for snapshots.
	Version string
	// Most is the number of streams that are open at a time.
	Most   int
	Access *access.Guard

	open atomic.Int64 // streams
}

// OfRun streams the events of a run.
//
//	@Summary		Stream the events of a run
//	@Description	Server-sent events: a snapshot, then what changes, until the run has ended. docs/api.md lists the events.
//	@Tags			runs
//	@Param			id				path		string	true	"Run: id, current or latest"
//	@Param			types			query		string	false	"Types of events, separated by commas: state, phase, progress, metrics, errors; snapshot and finished are always sent"
//	@Param			since_seq		query		string	false	"Continue after this event: its id or number"
//	@Param			Last-Event-ID	header		string	false	"Continue after this event; takes precedence over since_seq"
//	@Success		200				{string}	string
//	@Success		204				"The run has ended"
//	@Failure		400				{object}	wire.Problem
//	@Failure		404				{object}	wire.Problem
//	@Failure		503				{object}	wire.Problem
//	@Produce		event-stream
//	@Router			/api/runs/{id}/events [get]
func (h *EventHandler) OfRun(w http.ResponseWriter, r *http.Request) error {
	var q EventRequest
	if types := r.URL.Query().Get("types"); types != "" {
		q.Types = strings.Split(types, ",")
	}
	known := EventTypes()
	if unknown := slices.DeleteFunc(slices.Clone(q.Types), func(t string) bool { return slices.Contains(known, t) }); len(unknown) > 0 {
		return respond.Fail(respond.ErrParameter, "types has %q; accepted are %s", unknown, strings.Join(known, ", "))
	}
	found, err := h.Run(w, r)
	if err != nil {
		return err
	}
	q.Run = found.ID
	if found.State.Terminal() {
		w.Header().Set("Cache-Control", "no-store")
		w.WriteHeader(http.StatusNoContent)
		return nil
	}
	return h.serve(w, r, q)
}

// OfAll streams the changes of all runs.
//
//	@Summary		Stream the changes of all runs
//	@Description	Server-sent events: a snapshot of the queue, then one event for each run that is created, changes its state or is deleted. docs/api.md lists the events.
//	@Tags			runs
//	@Param			since_seq		query		string	false	"Continue after this event: its id or number"
//	@Param			Last-Event-ID	header		string	false	"Continue after this event; takes precedence over since_seq"
//	@Success		200				{string}	string
//	@Failure		400				{object}	wire.Problem
//	@Failure		503				{object}	wire.Problem
//	@Produce		event-stream
//	@Router			/api/events [get]
func (h *EventHandler) OfAll(w http.ResponseWriter, r *http.Request) error {
	return h.serve(w, r, EventRequest{Queue: func() wire.Queue { return wire.NewQueue(h.Live.Queue()) }})
}

// serve sends events to a client for as long as it may read.
func (h *EventHandler) serve(w http.ResponseWriter, r *http.Request, q EventRequest) error {
	if since := r.URL.Query().Get("since_seq"); since != "" {
		id, err := ParseEventID(since)
		if err != nil {
			return respond.Fail(respond.ErrParameter, "since_seq: %v; it must be a number or an id such as 413-k3v9q2xa", err)
		}
		q.Since = &id
	}
	// A browser sends what it received last: an id that is not known gets a snapshot.
	if last := r.Header.Get("Last-Event-ID"); last != "" {
		q.Since = nil
		if id, err := ParseEventID(last); err == nil && id.Complete() {
			q.Since = &id
		}
	}
	if h.open.Add(1) > int64(h.Most) {
		h.open.Add(-1)
		return respond.ErrTooManyStreams
	}
	defer h.open.Add(-1)
	header := w.Header()
	header.Set("Content-Type", "text/event-stream; charset=utf-8")
	header.Set("Cache-Control", "no-store")
	header.Set("X-Accel-Buffering", "no") // proxies that buffer would hold events back
	if r.Method == http.MethodHead {
		return nil
	}
	ctx, release := h.Access.Lease(r.Context())
	defer release()
	q.Source, q.Version = h.Source, h.Version
	return h.Hub.ServeEvents(ctx, w, q)
}
