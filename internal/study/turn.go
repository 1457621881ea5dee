package study

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"
)

// clockEvery is how often a study that waits for a time reads the system clock again,
// which may be set meanwhile.
const clockEvery = time.Minute

// turns decide which of the queued studies is performed next. Safe for concurrent use.
type turns struct {
	max int // studies at a time

	mu      sync.Mutex
	waiting []*performance // guarded by mu
	active  int            // guarded by mu
	held    bool           // guarded by mu; none begins: the queue is paused, or not recovered yet
	changed chan struct{}  // guarded by mu; closed by the next change
}

func newTurns(most int) *turns {
	return &turns{max: most, held: true, changed: make(chan struct{})}
}

// change applies a change, and makes all who wait look again.
func (t *turns) change(apply func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	apply()
	close(t.changed)
	t.changed = make(chan struct{})
}

// enter adds a study to those that wait.
func (t *turns) enter(p *performance) { t.change(func() { t.waiting = append(t.waiting, p) }) }

// leave removes a study that waits, which thereby becomes active or not.
func (t *turns) leave(p *performance) {
	t.change(func() { t.waiting = slices.DeleteFunc(t.waiting, func(o *performance) bool { return o == p }) })
}

// take waits for the turn of a study that has entered. It returns false if the study is
// cancelled first, or ctx ends. Otherwise the caller calls release at the end.
func (t *turns) take(ctx context.Context, p *performance) bool {
	defer t.leave(p)
	for {
		mine, wait, changed := t.look(p)
		if mine {
			return true
		}
		var due <-chan time.Time
		if wait > 0 {
			due = time.After(wait)
		}
		select {
		case <-changed:
		case <-due:
		case <-p.cancelled:
			return false
		case <-ctx.Done():
			return false
		}
	}
}

// look takes the turn if it is that of p. If it is not, wait is when to look again even if
// nothing changes; 0 = not.
func (t *turns) look(p *performance) (mine bool, wait time.Duration, changed <-chan struct{}) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.held || t.active >= t.max {
		return false, 0, t.changed
	}
	first, now := p, time.Now()
	for _, o := range t.waiting {
		r := o.view()
		if left := r.Ready(now); left > 0 {
			wait = min(cmp.Or(wait, clockEvery), left)
			continue
		}
		if f := first.view(); f.Ready(now) > 0 || r.Before(f) {
			first = o
		}
	}
	if r := p.view(); first != p || r.Ready(now) > 0 {
		return false, wait, t.changed
	}
	t.active++
	return true, 0, nil
}

// release ends a turn.
func (t *turns) release() { t.change(func() { t.active-- }) }

// hold lets no study begin, or again.
func (t *turns) hold(held bool) { t.change(func() { t.held = held }) }
