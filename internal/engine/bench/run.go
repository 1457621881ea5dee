package bench

import (
	"math/bits"
	"time"
)

// State is where a run is in its life.
type State string

// The states of a run: queued → starting → running → stopping → exporting →
// completed | cancelled | failed; also queued → cancelled and starting → failed.
const (
	Queued    State = "queued"
	Starting  State = "starting"
	Running   State = "running"
	Stopping  State = "stopping"
	Exporting State = "exporting"
	Completed State = "completed"
	Aborted   State = "cancelled"
	Failed    State = "failed"
)

// Terminal reports whether nothing more can happen to the run.
func (s State) Terminal() bool { return s == Completed || s == Aborted || s == Failed }

// Active reports whether the run holds the engine.
func (s State) Active() bool {
	return s == Starting || s == Running || s == Stopping || s == Exporting
}

// PhaseKind is the purpose of a phase.
type PhaseKind string

// The kinds of phases.
const (
	Warmup    PhaseKind = "warmup"
	Profiling PhaseKind = "profiling"
)

// PhaseEnd is why a phase ended.
type PhaseEnd string

// The five ends of a phase.
const (
	PhaseCompleted    PhaseEnd = "completed"     // every request returned
	PhaseGraceTimeout PhaseEnd = "grace_timeout" // the grace period ran out; the rest was cut
	PhaseCancelled    PhaseEnd = "cancelled"     // a person or the API asked for it
	PhaseFailed       PhaseEnd = "failed"        // the failed-request threshold was crossed
	PhaseAborted      PhaseEnd = "aborted"       // the engine itself could not go on
)

// PhaseStats are the live counters of one phase. Offsets are from the run's
// epoch; 0 = has not happened.
type PhaseStats struct {
	Index             int
	ProfilingIndex    int // among the profiling phases; -1 for warm-up
	Name              string
	Kind              PhaseKind
	Start             time.Duration
	SentEnd           time.Duration // the last request was sent
	RequestsEnd       time.Duration // the last request returned
	RecordsEnd        time.Duration // the last record was folded in
	LastUpdate        time.Duration
	ExpectedRequests  int64         // 0 = not bounded by requests
	ExpectedSessions  int64         // 0 = not bounded by sessions
	ExpectedDuration  time.Duration // 0 = not bounded by time
	Grace             time.Duration // <0 = without limit
	Sent              int64
	Completed         int64 // success + error, not cancelled
	Cancelled         int64
	Errors            int64
	SentSessions      int64
	CompletedSessions int64
	CancelledSessions int64
	SessionTurns      int64 // turns of the sessions that were started
	SkippedTurns      int64 // turns not sent because an earlier one failed
	SuccessRecords    int64
	ErrorRecords      int64
	Backlog           int64 // arrivals that wait for a slot
	BacklogMax        int64
	Arrivals          Arrivals // of an open loop
	Pauses            int64    // requests that waited because the one before them got no connection
	DurationReached   bool     // the phase ended by its duration
	End               PhaseEnd // empty while it runs
}

// Arrivals are the requests that an open loop was asked for, and the queue of
// those that have not returned: in flight, or waiting for a slot.
type Arrivals struct {
	Used        int64         // that became a request, or wait to become one
	First, Last time.Duration // when they were due
	Queue       int64         // as the last one found it, itself included
	QueueMax    int64
	// Earlier and Recent are the queues as the last but one and the last arrival
	// found them whose number is a power of two.
	Earlier, Recent int64
}

// Add takes an arrival in, with the queue that it found.
func (a *Arrivals) Add(due time.Duration, queue int64) {
	if a.Used == 0 {
		a.First = due
	}
	a.Used++
	a.Last, a.Queue, a.QueueMax = due, queue, max(a.QueueMax, queue)
	if a.Used&(a.Used-1) == 0 {
		a.Earlier, a.Recent = a.Recent, queue
	}
}

// Before returns the number of an arrival in the second quarter of all, and the
// queue that it found; 0 if there were too few.
func (a *Arrivals) Before() (arrival, queue int64) {
	if a.Used < 2 {
		return 0, 0
	}
	return 1 << (bits.Len64(uint64(a.Used)) - 2), a.Earlier
}

// Lately returns by how much the queue grew over so many of the last arrivals: at
// least a quarter of all. ok = false if that is not known.
func (a *Arrivals) Lately() (arrivals, growth int64, ok bool) {
	if a.Used < 2 {
		return 0, 0, false
	}
	arrivals = a.Used - 1<<(bits.Len64(uint64(a.Used))-1)
	return arrivals, a.Queue - a.Recent, 4*arrivals >= a.Used
}

// InFlight returns the requests that were sent and have not returned.
func (p *PhaseStats) InFlight() int64 { return p.Sent - p.Completed - p.Cancelled }

// Window returns the phase window that rates divide by: from the start of the
// phase to its last returned request, or to now while it runs.
func (p *PhaseStats) Window(now time.Duration) time.Duration {
	if p.Start == 0 {
		return 0
	}
	if p.RequestsEnd != 0 {
		return p.RequestsEnd - p.Start
	}
	return max(0, now-p.Start)
}
