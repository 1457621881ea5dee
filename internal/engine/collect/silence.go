package collect

import (
	"fmt"
	"time"
)

// FirstSilence is how long servers may send nothing before the first alarm. The next
// alarms follow each time the silence has doubled.
const FirstSilence = 10 * time.Second

// Silence observes how long the servers of a phase send nothing.
type Silence struct {
	options  SilenceOptions
	received uint64        // reads so far
	failed   int64         // requests, when the silence began
	since    time.Time     // of the last read from a server
	next     time.Duration // length at which Alarm is called
	longest  time.Duration // for which Alarm was called
}

// SilenceOptions configure a [Silence].
type SilenceOptions struct {
	First    time.Duration // length at which Alarm is called first
	Since    time.Time     // when the silence began, if it began in the preparation; zero = now
	Next     time.Duration // length of that silence at the next alarm
	Servers  string        // their names, for users
	Received func() uint64 // reads from servers so far
	Alarm    func(text string)
	Clear    func() // withdraws the alarm
}

// NewSilence returns the silence of the servers of a phase.
func NewSilence(o SilenceOptions) *Silence { return &Silence{options: o} }

// Observer returns what observes the phase.
func (s *Silence) Observer() Observer { return Observer{Begin: s.begin, Look: s.look} }

func (s *Silence) begin(Load) {
	o := &s.options
	s.received, s.since, s.next = o.Received(), o.Since, o.First
	if s.since.IsZero() {
		s.since = time.Now()
		return
	}
	s.next = max(o.First, o.Next)
}

// look calls Alarm if the servers are silent. A server
// without requests is not silent.
func (s *Silence) look(l *Look) {
	o, now := &s.options, time.Now()
	if l.Last {
		s.end()
		return
	}
	received, waiting, failed := o.Received(), l.Stats.InFlight(), l.Stats.Errors-s.failed
	if received != s.received || waiting == 0 && failed == 0 {
		s.end()
		s.received, s.failed, s.since, s.next = received, l.Stats.Errors, now, o.First
		return
	}
	if now.Sub(s.since) < s.next {
		return
	}
	s.longest = max(s.longest, s.next)
	o.Alarm(Unanswered(s.next, waits(waiting, failed)+" for "+o.Servers, s.since))
	s.next *= 2
}

// end withdraws the alarm, if there is one.
func (s *Silence) end() {
	if s.next > s.options.First {
		s.options.Clear()
	}
}

// Text describes for the result how long the servers were silent; empty = there was no
// alarm.
func (s *Silence) Text() string {
	if s.longest == 0 {
		return ""
	}
	return fmt.Sprintf("the server sent nothing for %.0f s or more while requests were waiting", s.longest.Seconds())
}

// Unanswered returns the text about requests without a response.
func Unanswered(length time.Duration, what string, since time.Time) string {
	return fmt.Sprintf("no answer for %.0f s: %s since %s", length.Seconds(), what, since.Format(time.TimeOnly))
}

// waits returns the number of requests that wait, and of those that have timed out.
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
