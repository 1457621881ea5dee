package load

import "sync"

// budget enforces the bounds of a phase: exactly so many requests and sessions
// are ever allowed, whatever goroutines ask at the same time. Safe for
// concurrent use.
type budget struct {
	requests, sessions int64 // 0 = without bound

	mu      sync.Mutex
	sent    int64 // guarded by mu
	started int64 // guarded by mu
	over    bool  // guarded by mu; nothing is allowed any more
}

// takeSession allows one more session together with its first request.
func (b *budget) takeSession() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.over || b.full() || (b.sessions > 0 && b.started >= b.sessions) {
		return false
	}
	b.started++
	b.sent++
	return true
}

// takeTurn allows one more request of a session that was started.
func (b *budget) takeTurn() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.over || b.full() {
		return false
	}
	b.sent++
	return true
}

// full reports whether the request bound is reached. Call with mu held.
func (b *budget) full() bool { return b.requests > 0 && b.sent >= b.requests }

// stop ends all permission.
func (b *budget) stop() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.over = true
}

// closed reports whether no session will ever be allowed again.
func (b *budget) closed() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.over || b.full() || (b.sessions > 0 && b.started >= b.sessions)
}

// room reports whether the budget has room for one more session behind so many
// that wait already.
func (b *budget) room(waiting int64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return !b.over && (b.requests == 0 || b.sent+waiting < b.requests) &&
		(b.sessions == 0 || b.started+waiting < b.sessions)
}

// exhausted reports whether no request will ever be allowed again.
func (b *budget) exhausted() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.over || b.full()
}

// counts returns the requests and sessions allowed so far.
func (b *budget) counts() (sent, started int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.sent, b.started
}
