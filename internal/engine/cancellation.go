package engine

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/load"
	"aiperfd/internal/engine/load/spec"
	"aiperfd/internal/engine/transport"
	"aiperfd/internal/run"
)

// defaultCancelGrace is how long requests in flight may still take after a
// graceful cancel of a phase whose own grace has no limit.
const defaultCancelGrace = 30 * time.Second

// cancellation is the request to stop a run, and what it has to stop. Safe for
// concurrent use.
type cancellation struct {
	requested chan struct{} // closed by the first cancel

	mu            sync.Mutex
	request       *run.CancelRequest      // guarded by mu; nil = the run was not cancelled
	phases        []*load.Phase           // guarded by mu; those that are performed
	broken        bool                    // guarded by mu; a phase has ended the run
	force         context.CancelCauseFunc // guarded by mu; nil before the first phase
	stopPreparing context.CancelFunc      // guarded by mu; nil while phases are performed
}

var _ load.Stop = (*cancellation)(nil)

func newCancellation() *cancellation { return &cancellation{requested: make(chan struct{})} }

// cancel stops the run. A second call can only escalate: force after graceful, or
// another grace period. first reports whether it is the first call.
func (c *cancellation) cancel(r run.CancelRequest) (first bool) {
	c.mu.Lock()
	first = c.request == nil
	if !first {
		r.Force, r.Deadline = r.Force || c.request.Force, c.request.Deadline
		if r.Grace == nil {
			r.Grace = c.request.Grace
		}
		r.Patience = cmp.Or(r.Patience, c.request.Patience)
		r.MaxGrace = cmp.Or(r.MaxGrace, c.request.MaxGrace)
		if r.Reason == "" {
			r.Reason = c.request.Reason
		}
	}
	c.request = &r
	phases, force := slices.Clone(c.phases), c.force
	if c.stopPreparing != nil {
		c.stopPreparing()
	}
	c.mu.Unlock()
	if first {
		close(c.requested)
	}
	for _, p := range phases {
		p.Stop(bench.PhaseCancelled)
	}
	if r.Force && force != nil {
		force(transport.CancelWith(load.Forced()))
	}
	return first
}

// cancelled reports whether the run was cancelled.
func (c *cancellation) cancelled() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.request != nil
}

// current returns how the run was cancelled; the zero request if it was not.
func (c *cancellation) current() run.CancelRequest {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.request == nil {
		return run.CancelRequest{}
	}
	return *c.request
}

// forced reports whether the run was cancelled by force.
func (c *cancellation) forced() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.request != nil && c.request.Force
}

// onCancel registers the function that stops the run while no phase is performed.
func (c *cancellation) onCancel(stop context.CancelFunc) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stopPreparing = stop
	if stop != nil && c.request != nil {
		stop()
	}
}

// onForce registers the function that aborts the requests in flight.
func (c *cancellation) onForce(force context.CancelCauseFunc) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.force = force
}

// enter registers a phase that is performed from now on.
func (c *cancellation) enter(p *load.Phase) {
	c.mu.Lock()
	c.phases = append(c.phases, p)
	c.mu.Unlock()
	if c.stopping() {
		p.Stop(bench.PhaseCancelled)
	}
}

// leave removes a phase that has ended.
func (c *cancellation) leave(p *load.Phase) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.phases = slices.DeleteFunc(c.phases, func(q *load.Phase) bool { return p == q })
}

// stopPhases stops the phases that are performed, because one has ended the run.
func (c *cancellation) stopPhases() {
	c.mu.Lock()
	c.broken = true
	phases := slices.Clone(c.phases)
	c.mu.Unlock()
	for _, p := range phases {
		p.Stop(bench.PhaseCancelled)
	}
}

// stopping reports whether no phase may begin any more.
func (c *cancellation) stopping() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.request != nil || c.broken
}

// Requested implements [load.Stop].
func (c *cancellation) Requested() <-chan struct{} { return c.requested }

// Patience implements [load.Stop].
func (c *cancellation) Patience() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.request == nil {
		return 0
	}
	return c.request.Patience
}

// Grace implements [load.Stop].
func (c *cancellation) Grace(p *spec.Phase) (time.Duration, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.request == nil {
		return 0, false
	}
	grace, own := p.Grace, true
	switch {
	case c.request.Force:
		return 0, true
	case c.request.Grace != nil:
		grace, own = *c.request.Grace, false
	case p.Grace < 0:
		grace, own = defaultCancelGrace, false
	}
	if most := c.request.MaxGrace; most > 0 && grace > most {
		return most, true
	}
	if own {
		return 0, false // the phase knows how much of its period is left
	}
	return grace, true
}
