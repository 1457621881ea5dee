package spec

import (
	"iter"
	"time"

	"aiperfd/internal/engine/bench"
)

// Phase is one period of load.
type Phase struct {
	Index          int
	ProfilingIndex int // -1 for warm-up
	Name           string
	Kind           bench.PhaseKind
	Starts
	Arrivals      iter.Seq[time.Duration] // offsets from the phase's start; nil = closed loop, or a replay
	Once          bool                    // the dataset is read from its beginning to its end, once; always so in a replay
	Concurrency   int                     // sessions at a time; 0 = without limit
	Prefill       int                     // requests at a time that were sent and have no first token; 0 = without limit
	Shape         Shape
	Requests      int64         // 0 = without bound
	Sessions      int64         // 0 = without bound
	Duration      time.Duration // 0 = without bound
	Grace         time.Duration // after Duration; <0 = without limit
	Rate          float64       // arrivals per second, after a ramp; of a series, its largest; 0 = closed loop
	Smoothness    float64       // of the arrivals: below 1 they come in bursts; 1 = Poisson, and of every other process
	Excluded      bool          // its records do not enter the result
	FailThreshold *float64      // share of failures that ends the phase; nil = none does
	Cancellation  *Cancellation // of some requests on purpose; nil = of none
	Load          string        // for people: "concurrency 8", "poisson 12/s, cap 64"
	Part          *Part         // of a larger phase; nil = it is the whole
}

// Starts says who starts the sessions of a phase. The zero value leaves it to the
// arrivals, or in a closed loop to the slots.
type Starts struct {
	Replay     *Replay // the dataset says when conversations start; nil = it does not
	Users      *Users  // users start one after the other; nil = there are none
	Lanes      *Lanes  // slots play recorded sessions, the first ones from their middle; nil = from their beginning
	Seamless   bool    // the phase starts when the one before has sent everything
	PerSession bool    // arrivals only start sessions: later turns follow after their think time
	InTurns    bool    // arrivals come in turns with those of another run, so that they have no steady rate
	Backlog    Backlog // of arrivals that find no free slot
}

// Replay is the schedule of a phase that sends conversations at the times that the
// dataset has for them.
type Replay struct {
	Auto  bool          // the time of the first conversation is the start of the phase, in place of Start
	Start time.Duration // the dataset's time at the start of the phase; earlier conversations are left out unless Auto
	End   time.Duration // later conversations are left out; <0 = none is
}

// Users are the users of a user-centric phase. Each of them holds one conversation.
type Users struct {
	Count        int
	Rate         float64       // requests per second of all users together
	Gap          time.Duration // between the turns of a user
	OnCompletion bool          // a user is replaced when it has finished, in place of when it should have
}

// Backlog holds the arrivals of an open loop that find no free slot.
type Backlog struct {
	Saturation Saturation
	Limit      int // most arrivals that may wait, for AbortArrivals
}

// Saturation says what becomes of an arrival that finds no free slot.
type Saturation uint8

// The policies. The names in documents are those of [Saturations].
const (
	QueueArrivals Saturation = iota // it waits and keeps its due time
	DropArrivals                    // it is not sent
	AbortArrivals                   // it waits, and the run ends if too many do
)

// Saturations returns the names of the policies, in the order of their values.
func Saturations() []string { return []string{"queue", "drop", "abort"} }

// Open reports whether the phase is an open loop: requests are due at times that do
// not depend on the server.
func (p *Phase) Open() bool { return p.Arrivals != nil || p.Replay != nil || p.Users != nil }

// Counted reports whether the records of a phase enter the result, so that the
// client must have kept up with it.
func (p *Phase) Counted() bool { return p.Kind == bench.Profiling && !p.Excluded }

// Enough returns the least number of records of a phase with a meaningful share of
// failures.
func (p *Phase) Enough() int64 { return max(int64(p.Concurrency), 10) }

// TooMany reports whether more requests have failed than the phase allows.
func (p *Phase) TooMany(failed, ok int64) bool {
	return p.FailThreshold != nil && float64(failed) > *p.FailThreshold*float64(failed+ok)
}
