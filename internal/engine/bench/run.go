package bench

import (
	"math/bits"
	"slices"
	"time"
)

// State is the state of a run.
type State string

// The states of a run: queued → starting → running → stopping → exporting →
// completed | cancelled | failed; also queued → cancelled and starting → failed.
const (
	StateQueued    State = "queued"
	StateStarting  State = "starting"
	StateRunning   State = "running"
	StateStopping  State = "stopping"
	StateExporting State = "exporting"
	StateCompleted State = "completed"
	StateCancelled State = "cancelled"
	StateFailed    State = "failed"
)

// Terminal reports whether the state is final.
func (s State) Terminal() bool { return s == StateCompleted || s == StateCancelled || s == StateFailed }

// Active reports whether the run has been started and has not ended.
func (s State) Active() bool {
	return s == StateStarting || s == StateRunning || s == StateStopping || s == StateExporting
}

// PhaseKind is the purpose of a phase.
type PhaseKind string

// The kinds of phases.
const (
	Warmup    PhaseKind = "warmup"
	Profiling PhaseKind = "profiling"
)

// PhaseEnd is the reason why a phase ended.
type PhaseEnd string

// The reasons why a phase ends.
const (
	PhaseCompleted    PhaseEnd = "completed"     // all requests returned
	PhaseGraceTimeout PhaseEnd = "grace_timeout" // the grace period expired; the remaining requests were aborted
	PhaseCancelled    PhaseEnd = "cancelled"     // by a signal or the API
	PhaseFailed       PhaseEnd = "failed"        // too many requests failed, or the dataset could not be read
	PhaseSaturated    PhaseEnd = "saturated"     // more arrivals waited for a slot than the plan allows
	PhaseAborted      PhaseEnd = "aborted"       // by an error of the engine
)

// PhaseStats are the live counters of a phase. Times are offsets from the run's
// epoch; 0 = has not happened yet.
type PhaseStats struct {
	Index             int
	ProfilingIndex    int // index among the profiling phases; -1 for warm-up
	Name              string
	Kind              PhaseKind
	Start             time.Duration
	SentEnd           time.Duration // the last request was sent
	RequestsEnd       time.Duration // the last request returned
	RecordsEnd        time.Duration // the last record was added
	LastUpdate        time.Duration
	ExpectedRequests  int64         // 0 = no limit
	ExpectedSessions  int64         // 0 = no limit
	ExpectedDuration  time.Duration // 0 = no limit
	Grace             time.Duration // < 0 = no limit
	Sent              int64
	Completed         int64 // successful and failed, without cancelled ones
	Cancelled         int64
	Errors            int64
	SentSessions      int64
	CompletedSessions int64
	CancelledSessions int64
	SessionTurns      int64 // turns of all started sessions
	SkippedTurns      int64 // turns not sent because an earlier one failed
	Records           RecordCounts
	Backlog           int64 // arrivals waiting for a slot
	BacklogMax        int64
	Arrivals          Arrivals // in an open loop
	Interruptions
	DurationReached bool     // the phase reached its duration
	End             PhaseEnd // empty while the phase runs
}

// Join adds the counts of the same phase at another load generator, whose offsets are from the same epoch. What is
// expected of the phase stays. Maxima of queues are added: they may have been reached at different times.
func (s *PhaseStats) Join(o *PhaseStats) {
	earliest := func(a, b time.Duration) time.Duration {
		if a == 0 || b != 0 && b < a {
			return b
		}
		return a
	}
	// An end is known when it is known of both.
	last := func(a, b time.Duration) time.Duration {
		if a == 0 || b == 0 {
			return 0
		}
		return max(a, b)
	}
	s.Start, s.Records.From = earliest(s.Start, o.Start), earliest(s.Records.From, o.Records.From)
	s.SentEnd, s.RequestsEnd = last(s.SentEnd, o.SentEnd), last(s.RequestsEnd, o.RequestsEnd)
	s.RecordsEnd = last(s.RecordsEnd, o.RecordsEnd)
	s.LastUpdate = max(s.LastUpdate, o.LastUpdate)
	for to, n := range map[*int64]int64{
		&s.Sent: o.Sent, &s.Completed: o.Completed, &s.Cancelled: o.Cancelled, &s.Errors: o.Errors,
		&s.SentSessions: o.SentSessions, &s.CompletedSessions: o.CompletedSessions,
		&s.CancelledSessions: o.CancelledSessions,
		&s.SessionTurns:      o.SessionTurns, &s.SkippedTurns: o.SkippedTurns,
		&s.Records.Success: o.Records.Success, &s.Records.Errors: o.Records.Errors,
		&s.Records.Excluded: o.Records.Excluded,
		&s.Backlog:          o.Backlog, &s.BacklogMax: o.BacklogMax,
		&s.Pauses: o.Pauses, &s.CancelledByTest: o.CancelledByTest,
	} {
		*to += n
	}
	s.Arrivals.join(&o.Arrivals, earliest)
	s.DurationReached = s.DurationReached || o.DurationReached
	s.End = worstEnd(s.End, o.End)
}

// join adds the arrivals of another load generator.
func (a *Arrivals) join(o *Arrivals, earliest func(a, b time.Duration) time.Duration) {
	a.First, a.Last = earliest(a.First, o.First), max(a.Last, o.Last)
	for to, n := range map[*int64]int64{
		&a.Used: o.Used, &a.Queue: o.Queue, &a.QueueMax: o.QueueMax, &a.Dropped: o.Dropped, &a.Waited: o.Waited,
		&a.LiveMax: o.LiveMax, &a.Earlier: o.Earlier, &a.Recent: o.Recent,
	} {
		*to += n
	}
	a.WaitSum, a.WaitMax = a.WaitSum+o.WaitSum, max(a.WaitMax, o.WaitMax)
}

// worstEnd returns the worse of the ends of a phase at two load generators; empty = it runs at one of them.
func worstEnd(a, b PhaseEnd) PhaseEnd {
	if a == "" || b == "" {
		return ""
	}
	order := []PhaseEnd{PhaseCompleted, PhaseGraceTimeout, PhaseCancelled, PhaseSaturated, PhaseFailed, PhaseAborted}
	return order[max(slices.Index(order, a), slices.Index(order, b), 0)]
}

// Interruptions counts what the client did to requests on its own.
type Interruptions struct {
	Pauses          int64 // requests delayed because the previous one could not connect
	CancelledByTest int64 // ended by the phase's cancellation test; not in Cancelled
}

// RecordCounts are the records of a phase.
type RecordCounts struct {
	Success, Errors int64
	Excluded        int64         // of these and of the cancelled requests: those that are not in the metrics, because they were sent during a ramp
	From            time.Duration // when the window of the metrics begins: at the start of the phase, or at the end of its ramps
}

// Arrivals summarises the arrivals of an open loop and the length of their queue: the
// requests that are in flight or wait for a slot.
type Arrivals struct {
	Used        int64         // number of arrivals
	First, Last time.Duration // due times
	Queue       int64         // length at the last arrival, including it
	QueueMax    int64
	Dropped     int64         // arrivals that found no free slot and were not sent; in Used
	Waited      int64         // arrivals that waited for a slot and were sent
	WaitSum     time.Duration // of those that waited
	WaitMax     time.Duration
	LiveMax     int64 // sessions at the same time, at most
	// Recent is the length at the last arrival whose number is a power of two, and
	// Earlier that at the one before.
	Earlier, Recent int64
}

// Add adds an arrival and the length of the queue, including the arrival.
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

// Wait adds an arrival that has got its slot, and how long it waited for it.
func (a *Arrivals) Wait(d time.Duration) {
	a.Waited++
	a.WaitSum += d
	a.WaitMax = max(a.WaitMax, d)
}

// Before returns the number of an arrival in the second quarter of all arrivals, and
// the length of the queue at it; 0 if there were fewer than two arrivals.
func (a *Arrivals) Before() (arrival, queue int64) {
	if a.Used < 2 {
		return 0, 0
	}
	return 1 << (bits.Len64(uint64(a.Used)) - 2), a.Earlier
}

// Lately returns the growth of the queue over the last arrivals, and their number. ok
// = false if they are less than a quarter of all.
func (a *Arrivals) Lately() (arrivals, growth int64, ok bool) {
	if a.Used < 2 {
		return 0, 0, false
	}
	arrivals = a.Used - 1<<(bits.Len64(uint64(a.Used))-1)
	return arrivals, a.Queue - a.Recent, 4*arrivals >= a.Used
}

// InFlight returns the number of requests that were sent and have not returned.
func (p *PhaseStats) InFlight() int64 { return p.Sent - p.Returned() }

// Returned returns the number of requests that ended in any way.
func (p *PhaseStats) Returned() int64 { return p.Completed + p.Cancelled + p.CancelledByTest }

// Measured returns the part of [PhaseStats.Window] that metrics are computed over.
func (p *PhaseStats) Measured(now time.Duration) time.Duration {
	return max(0, p.Window(now)-max(0, p.Records.From-p.Start))
}

// Window returns the duration that rates are computed over: from the start of the
// phase to the return of its last request, or to now while the phase runs.
func (p *PhaseStats) Window(now time.Duration) time.Duration {
	if p.Start == 0 {
		return 0
	}
	if p.RequestsEnd != 0 {
		return p.RequestsEnd - p.Start
	}
	return max(0, now-p.Start)
}
