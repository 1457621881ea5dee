package api

import (
	"math"
	"strconv"
	"sync"
	"time"

	"aiperfd/internal/api/respond"
)

// submitRate limits how often each caller submits: evenly, after as many at once as it
// may submit per minute (GCRA). The zero value limits nothing. It is safe for concurrent
// use.
type submitRate struct {
	perMinute int
	anonymous bool // callers without a name are limited, too: all of them together

	mu   sync.Mutex
	next map[string]time.Time // by caller, of which there are as many as tokens: when it has used up nothing
}

// take counts a submission of a caller. The error says when the next one is allowed.
func (s *submitRate) take(caller string, now time.Time) error {
	if s.perMinute == 0 || caller == "" && !s.anonymous {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.next == nil {
		s.next = make(map[string]time.Time)
	}
	interval := time.Minute / time.Duration(s.perMinute)
	next := s.next[caller]
	if next.Before(now) {
		next = now
	}
	if wait := next.Sub(now) - interval*time.Duration(s.perMinute-1); wait > 0 {
		limited := respond.Fail(respond.ErrRateLimited, "More than %d submissions per minute (--submit-rate)", s.perMinute)
		limited.Header = map[string]string{"Retry-After": strconv.Itoa(int(math.Ceil(wait.Seconds())))}
		return limited
	}
	s.next[caller] = next.Add(interval)
	return nil
}
