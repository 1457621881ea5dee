package api

import (
	"context"
	"net/http"

	"github.com/gorilla/websocket"

	"aiperfd/internal/api/access"
	"aiperfd/internal/api/feed"
	"aiperfd/internal/api/respond"
	"aiperfd/internal/run"
)

// feedHandler handles the route of the WebSocket feed.
type feedHandler struct {
	*base
	hub    *feed.Hub
	access *access.Guard
}

// connect is the WebSocket feed.
//
//	@Summary		Connect to the live feed
//	@Description	WebSocket with one JSON object per text frame. Send {"type":"subscribe","message_types":["*"]} first; run, snapshot and since_seq are optional. docs/api.md lists the messages.
//	@Tags			aiperf
//	@Success		101
//	@Failure		403	{object}	wire.Problem
//	@Failure		426	{object}	wire.Problem
//	@Failure		503	{object}	wire.Problem
//	@Produce		json
//	@Router			/ws [get]
func (h *feedHandler) connect(w http.ResponseWriter, r *http.Request) error {
	if !websocket.IsWebSocketUpgrade(r) {
		return &respond.Failure{Err: respond.ErrUpgrade, Header: map[string]string{"Upgrade": "websocket", "Connection": "Upgrade"}}
	}
	if !h.access.AdmitsHandshake(r) {
		return respond.ErrOrigin
	}
	if !h.hub.Reserve() {
		return respond.ErrTooManyStreams
	}
	upgrader := websocket.Upgrader{
		HandshakeTimeout: stepLimit,
		CheckOrigin:      func(*http.Request) bool { return true }, // done above
		Error: func(w http.ResponseWriter, r *http.Request, _ int, reason error) {
			h.WriteProblem(w, r, respond.Fail(respond.ErrParameter, "%s", reason))
		},
	}
	conn, err := upgrader.Upgrade(w, r, nil)
	if err != nil {
		h.hub.Release()
		return nil // the upgrader has responded
	}
	ctx, release := h.access.Lease(r.Context())
	defer release()
	h.hub.Serve(ctx, conn, feedSource{h.base}, h.version)
	return nil
}

// feedSource gives the hub access to runs.
type feedSource struct{ base *base }

// Selected implements feed.Source.
func (f feedSource) Selected(ctx context.Context) (string, bool) { return f.base.live.Selected(ctx) }

// Get implements feed.Source.
func (f feedSource) Get(ctx context.Context, id string) (*run.Run, error) {
	if !respond.IsID(id) {
		return nil, run.ErrNotFound
	}
	return f.base.runs.Get(ctx, id)
}

// Snapshot implements feed.Source.
func (f feedSource) Snapshot(ctx context.Context, id string) (*run.Snapshot, error) {
	return f.base.live.Snapshot(ctx, id)
}

// Health implements feed.Source.
func (f feedSource) Health() run.Health { return f.base.live.Health() }
