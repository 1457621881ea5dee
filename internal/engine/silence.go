package engine

import (
	"fmt"
	"sync"
	"time"
)

// firstSilence is how long servers may say nothing before people are told. They are
// told again whenever that time has doubled.
const firstSilence = 10 * time.Second

// silence watches whether anything comes from the servers of a phase. Only its
// recorder touches it.
type silence struct {
	first   time.Duration // length at which people are told first
	heard   uint64        // reads so far
	failed  int64         // requests, when the silence began
	since   time.Time     // the last sign of a server
	next    time.Duration // length at which people are told
	longest time.Duration // that people were told of
}

// begin starts with the silence that the preparation has met, if any.
func (s *silence) begin(r *recorder) {
	x := r.phase.run
	x.quiet.mu.Lock()
	defer x.quiet.mu.Unlock()
	first := firstSilence + x.plan.Settings.Job.Interval // between polls nobody is asked
	*s = silence{first: first, heard: x.heard(), since: x.quiet.since, next: first}
	if s.since.IsZero() || len(x.finished) > 0 {
		s.since = time.Now()
		return
	}
	s.next = max(first, x.quiet.next)
}

// look tells people what waits. A server that has nothing to answer is not silent.
func (s *silence) look(r *recorder) {
	p := r.phase
	x, now := p.run, time.Now()
	st := p.stats(p.clock.Now())
	heard, waiting, failed := x.heard(), st.InFlight(), st.Errors-s.failed
	if heard != s.heard || waiting == 0 && failed == 0 {
		s.end(r)
		s.heard, s.failed, s.since, s.next = heard, st.Errors, now, s.first
		return
	}
	if now.Sub(s.since) < s.next {
		return
	}
	s.longest = max(s.longest, s.next)
	x.alarm(unanswered(s.next, waits(waiting, failed)+" for "+x.plan.Servers(), s.since))
	s.next *= 2
}

// end takes back what was said, if anything was.
func (s *silence) end(r *recorder) {
	if s.next > s.first {
		r.phase.run.say("")
	}
}

// text says in the result how long the servers were silent; empty = never for long.
func (s *silence) text() string {
	if s.longest == 0 {
		return ""
	}
	return fmt.Sprintf("the server sent nothing for %.0f s or more while requests were waiting", s.longest.Seconds())
}

// unanswered is what people are told.
func unanswered(length time.Duration, what string, since time.Time) string {
	return fmt.Sprintf("no answer for %.0f s: %s since %s", length.Seconds(), what, since.Format(time.TimeOnly))
}

// waits says how many requests wait and how many were given up.
func waits(waiting, failed int64) string {
	text := fmt.Sprintf("%d requests are waiting", waiting)
	switch waiting {
	case 0:
		return fmt.Sprintf("%d requests failed", failed)
	case 1:
		text = "1 request is waiting"
	}
	if failed > 0 {
		text += fmt.Sprintf(" and %d failed", failed)
	}
	return text
}

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
		q.since, q.next = time.Now(), firstSilence
	}
	q.what = what
	var timer *time.Timer
	timer = time.AfterFunc(time.Until(q.since.Add(q.next)), func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		if q.what == "" {
			return
		}
		x.alarm(unanswered(q.next, q.what+" is waiting", q.since))
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
