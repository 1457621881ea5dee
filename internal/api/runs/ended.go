package runs

import (
	"context"
	"sync"

	"aiperfd/internal/api/wire"
	"aiperfd/internal/run"
)

// maxEnded bounds the runs of which [endedRuns] keeps something: some twenty pages of the list.
const maxEnded = 1000

// endedRuns keeps what the resource of a run takes of its last snapshot. A snapshot has some
// 200 kB, so that a page of 50 runs would decode 10 MB. It is safe for concurrent use.
type endedRuns struct {
	mu    sync.Mutex
	known map[endedKey]lastSnapshot // guarded by mu
}

// endedKey names the last snapshot of a run: it does not change after the run has ended.
type endedKey struct {
	id    string
	ended int64 // Unix nanoseconds
}

// lastSnapshot is what the resource of a run takes of a snapshot.
type lastSnapshot struct {
	progress *wire.RunProgress
	metrics  map[string]wire.MainStats
	client   *run.ClientVerdict
}

// find returns what is known of a run.
func (e *endedRuns) find(r *run.Run) (last lastSnapshot, found bool) {
	if r.EndedAt == nil {
		return last, false
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	last, found = e.known[endedKey{r.ID, r.EndedAt.UnixNano()}]
	return last, found
}

// keep stores what a resource has of the last snapshot of a run that has ended.
func (e *endedRuns) keep(r *run.Run, of *wire.Run) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.known == nil || len(e.known) >= maxEnded {
		e.known = map[endedKey]lastSnapshot{}
	}
	e.known[endedKey{r.ID, r.EndedAt.UnixNano()}] = lastSnapshot{of.Progress, of.Metrics, of.Client}
}

// measured returns the resource of a run without its state in the queue.
func (h *Handler) measured(ctx context.Context, r *run.Run, position int) (wire.Run, error) {
	files := h.Files.Artifacts(r.ID)
	if last, found := h.ended.find(r); found {
		out := wire.NewRun(r, nil, position, files)
		out.Progress, out.Metrics, out.Client = last.progress, last.metrics, last.client
		return out, nil
	}
	snap, err := h.Find.Snapshot(ctx, r)
	if err != nil {
		return wire.Run{}, err
	}
	out := wire.NewRun(r, snap, position, files)
	if snap != nil && snap.Final && len(snap.Phases) > 0 && r.State.Terminal() && r.EndedAt != nil {
		h.ended.keep(r, &out)
	}
	return out, nil
}
