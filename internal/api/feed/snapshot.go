package feed

import (
	"context"
	"sync/atomic"

	"aiperfd/internal/api/access"
	"aiperfd/internal/api/respond"
	"aiperfd/internal/api/wire"
	"aiperfd/internal/run"
)

// Handler handles the routes of the WebSocket and of server-sent events. All exported fields
// are required. It must not be copied.
type Handler struct {
	Out     *respond.Responder
	Find    *respond.Finder
	Hub     *Hub
	State   func() string // of the service, for heartbeats
	Version string        // of this program, for snapshots
	Most    int           // streams of events that are open at a time
	Access  *access.Guard

	open atomic.Int64 // streams of events
}

// run returns a run by its whole id.
func (h *Handler) run(ctx context.Context, id string) (*run.Run, error) {
	if !respond.IsID(id) {
		return nil, run.ErrNotFound
	}
	return h.Find.Runs.Get(ctx, id)
}

// newSnapshot returns the message of type snapshot of a run without its number, and the
// run.
func (h *Handler) newSnapshot(ctx context.Context, id string) (*draft, *run.Run, error) {
	r, err := h.run(ctx, id)
	if err != nil {
		return nil, nil, err
	}
	s, err := h.Find.Live.Snapshot(ctx, id)
	if err != nil {
		s = nil // nothing was measured, or it cannot be read
	}
	d := &draft{kind: kindSnapshot, service: fromSystem, payload: snapshotPayload{
		Run:      briefRun(run.Event{RunID: id, Run: r, Snapshot: s}),
		Progress: wire.NewProgress(r, s), Metrics: wire.NewMetrics(h.Version, r, s),
	}}
	d.encode()
	return d, r, nil
}
