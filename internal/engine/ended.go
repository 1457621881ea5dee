package engine

import (
	"context"

	"aiperfd/internal/run"
)

// ended are the jobs of an engine that have ended and are still in memory.
type ended struct{ *Engine }

// unstored returns the jobs that have ended but whose end the store has refused. They
// stay in memory, because what the store has of them is out of date.
func (e ended) unstored() (out []*job) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, j := range e.jobs {
		if j.unstored() {
			out = append(out, j)
		}
	}
	return out
}

// store stores jobs that have ended, and forgets those that the store has accepted.
func (e ended) store(ctx context.Context, jobs []*job) {
	for _, j := range jobs {
		if j.warn(j.change(ctx, func(*run.Run) {})); j.unstored() {
			return // the store still fails
		}
		e.mu.Lock()
		e.forget(j.id)
		e.mu.Unlock()
	}
}

// forget drops a job that has ended from memory, unless it is the last one or the store
// does not have its end. Call it with mu held.
func (e ended) forget(id string) {
	if j := e.jobs[id]; j != nil && id != e.last && !j.unstored() {
		delete(e.jobs, id)
	}
}
