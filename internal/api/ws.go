package api

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/gorilla/websocket"

	"aiperfd/internal/run"
)

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
func (s *Server) connect(w http.ResponseWriter, r *http.Request) error {
	if !websocket.IsWebSocketUpgrade(r) {
		return &failure{err: errUpgrade, header: map[string]string{"Upgrade": "websocket", "Connection": "Upgrade"}}
	}
	if !sameOrigin(r) {
		return errOrigin
	}
	if !s.Hub.Reserve() {
		return errTooManyStreams
	}
	upgrader := websocket.Upgrader{
		HandshakeTimeout: bodyLimit,
		CheckOrigin:      func(*http.Request) bool { return true }, // done above
		Error: func(w http.ResponseWriter, r *http.Request, _ int, reason error) {
			s.writeProblem(w, r, fail(errParameter, "%s", reason))
		},
	}
	conn, err := upgrader.Upgrade(w, r, nil)
	if err != nil {
		s.Hub.Release()
		return nil // the upgrader has answered
	}
	s.Hub.Serve(r.Context(), conn, feedSource{s}, s.Version)
	return nil
}

// sameOrigin reports whether a handshake comes from our own page, or from a
// program that is no browser and says nothing.
func sameOrigin(r *http.Request) bool {
	origin := r.Header.Get("Origin")
	if origin == "" {
		return true
	}
	u, err := url.Parse(origin)
	return err == nil && strings.EqualFold(u.Host, r.Host)
}

// feedSource lets the hub look for runs.
type feedSource struct{ server *Server }

// Selected implements feed.Source.
func (f feedSource) Selected(ctx context.Context) (string, bool) { return f.server.Live.Selected(ctx) }

// Get implements feed.Source.
func (f feedSource) Get(ctx context.Context, id string) (*run.Run, error) {
	if !idPattern.MatchString(id) {
		return nil, run.ErrNotFound
	}
	return f.server.Runs.Get(ctx, id)
}

// Snapshot implements feed.Source.
func (f feedSource) Snapshot(ctx context.Context, id string) (*run.Snapshot, error) {
	return f.server.Live.Snapshot(ctx, id)
}

// Health implements feed.Source.
func (f feedSource) Health() run.Health { return f.server.Live.Health() }

// closeCode is how feed clients are told that the process ends.
func (s *Server) closeCode(ctx context.Context) (int, string) {
	if s.OneShot {
		ctx, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		if run, err := s.find(ctx, ""); err == nil && run != nil && run.State.Terminal() {
			return websocket.CloseNormalClosure, "run finished"
		}
	}
	return websocket.CloseGoingAway, "shutting down"
}
