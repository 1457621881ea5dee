package engine

import (
	"sync"
	"time"

	"aiperfd/internal/engine/collect"
)

// quiet is how long servers have not answered requests beside the load. Its zero
// value is that they have.
type quiet struct {
	mu    sync.Mutex
	since time.Time     // guarded by mu; zero = the last request got an answer
	next  time.Duration // guarded by mu; length at which people are told
	what  string        // guarded by mu; the request that goes on; empty = none
}

// began notes a request and tells people, as long as it goes on, that it waits.
// Call ended once it has.
func (q *quiet) began(x *execution, what string) (ended func(answered bool)) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.since.IsZero() {
		q.since, q.next = time.Now(), collect.FirstSilence
	}
	q.what = what
	var timer *time.Timer
	timer = time.AfterFunc(time.Until(q.since.Add(q.next)), func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		if q.what == "" {
			return
		}
		x.notify.alarm(collect.Unanswered(q.next, q.what+" is waiting", q.since))
		q.next *= 2
		timer.Reset(time.Until(q.since.Add(q.next)))
	})
	return func(answered bool) {
		q.mu.Lock()
		defer q.mu.Unlock()
		timer.Stop() // under the lock, so that it is not set again
		q.what = ""
		if answered {
			q.since = time.Time{}
		}
	}
}

// length returns since when servers have not answered, and the length at which people
// are told next; the zero time if they have.
func (q *quiet) length() (since time.Time, next time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.since, q.next
}
