package engine

import (
	"fmt"
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
	since, next := x.servers.Silence()
	first := firstSilence + x.plan.Settings.Job.Interval // between polls nobody is asked
	*s = silence{first: first, heard: x.heard(), since: since, next: first}
	if s.since.IsZero() || len(x.finished) > 0 {
		s.since = time.Now()
		return
	}
	s.next = max(first, next)
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
