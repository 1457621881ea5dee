package target

import (
	"sync"
	"time"
)

// silence measures how long servers have not answered.
type silence struct {
	first time.Duration // length at which alarm is called first
	alarm func(request string, since time.Time, length time.Duration)

	mu      sync.Mutex
	since   time.Time     // guarded by mu; zero = the last request was answered
	next    time.Duration // guarded by mu; length at which alarm is called
	request string        // guarded by mu; the request in flight; empty = none
}

// current returns the start of the silence and the length of its next alarm.
func (s *silence) current() (since time.Time, next time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.since, s.next
}

// began notes a request, and calls alarm while it is in flight. The caller must
// call ended after the request.
func (s *silence) began(request string) (ended func(answered bool)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.since.IsZero() {
		s.since, s.next = time.Now(), s.first
	}
	s.request = request
	var timer *time.Timer
	timer = time.AfterFunc(time.Until(s.since.Add(s.next)), func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.request == "" {
			return
		}
		s.alarm(s.request, s.since, s.next)
		s.next *= 2
		timer.Reset(time.Until(s.since.Add(s.next)))
	})
	return func(answered bool) {
		s.mu.Lock()
		defer s.mu.Unlock()
		timer.Stop() // under the lock, so that it is not set again
		s.request = ""
		if answered {
			s.since = time.Time{}
		}
	}
}
