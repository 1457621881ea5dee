package feed

import (
	"net/http"
	"slices"
	"strings"

	"github.com/gorilla/websocket"

	"aiperfd/internal/api/respond"
)

// Connect is the WebSocket feed.
//
//	@Summary		Connect to the live feed
//	@Description	WebSocket with one JSON object per text frame. Send {"type":"subscribe","message_types":["*"]} first; run, snapshot and since_seq are optional. docs/api.md lists the messages.
//	@Tags			aiperf
//	@Success		101
//	@Failure		426,503	{object}	wire.Problem
//	@Router			/ws [get]
func (h *Handler) Connect(w http.ResponseWriter, r *http.Request) error {
	if !websocket.IsWebSocketUpgrade(r) {
		return &respond.Failure{
			Err: respond.ErrUpgrade, Header: map[string]string{"Upgrade": "websocket", "Connection": "Upgrade"},
		}
	}
	if !h.Access.AdmitsHandshake(r) {
		return respond.ErrOrigin
	}
	if !h.Hub.Reserve() {
		return respond.ErrTooManyStreams
	}
	upgrader := websocket.Upgrader{
		HandshakeTimeout: handshakeLimit,
		CheckOrigin:      func(*http.Request) bool { return true }, // done above
		Error: func(w http.ResponseWriter, r *http.Request, _ int, reason error) {
			h.Out.WriteProblem(w, r, respond.Fail(respond.ErrParameter, "%s", reason))
		},
	}
	conn, err := upgrader.Upgrade(w, r, nil)
	if err != nil {
		h.Hub.Release()
		return nil // the upgrader has responded
	}
	ctx, release := h.Access.Lease(r.Context())
	defer release()
	h.serveWebSocket(ctx, conn)
	return nil
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
//	@Failure		400,503				{object}	wire.Problem
//	@Produce		event-stream
//	@Router			/api/runs/{id}/events [get]
func (h *Handler) OfRun(w http.ResponseWriter, r *http.Request) error {
	var q eventRequest
	if types := r.URL.Query().Get("types"); types != "" {
		q.types = strings.Split(types, ",")
	}
	known := eventTypes()
	if unknown := slices.DeleteFunc(slices.Clone(q.types), func(t string) bool { return slices.Contains(known, t) }); len(unknown) > 0 {
		return respond.Fail(respond.ErrParameter, "types has %q; accepted are %s", unknown, strings.Join(known, ", "))
	}
	found, err := h.Find.Run(w, r)
	if err != nil {
		return err
	}
	q.run = found.ID
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
//	@Description	Server-sent events: a snapshot of the queue, then one event for each run that is created, changes its state or is deleted, and for each worker that joins, leaves or is lost. docs/api.md lists the events.
//	@Tags			runs
//	@Param			since_seq		query		string	false	"Continue after this event: its id or number"
//	@Param			Last-Event-ID	header		string	false	"Continue after this event; takes precedence over since_seq"
//	@Success		200				{string}	string
//	@Failure		400,503				{object}	wire.Problem
//	@Produce		event-stream
//	@Router			/api/events [get]
func (h *Handler) OfAll(w http.ResponseWriter, r *http.Request) error {
	return h.serve(w, r, eventRequest{})
}

// serve sends events to a client for as long as it may read.
func (h *Handler) serve(w http.ResponseWriter, r *http.Request, q eventRequest) error {
	if since := r.URL.Query().Get("since_seq"); since != "" {
		id, err := parseEventID(since)
		if err != nil {
			return respond.Fail(respond.ErrParameter, "since_seq: %v; it must be a number or an id such as 413-k3v9q2xa", err)
		}
		q.since = &id
	}
	// A browser sends what it received last: an id that is not known gets a snapshot.
	if last := r.Header.Get("Last-Event-ID"); last != "" {
		q.since = nil
		if id, err := parseEventID(last); err == nil && id.complete() {
			q.since = &id
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
	return h.serveEvents(ctx, w, q)
}
