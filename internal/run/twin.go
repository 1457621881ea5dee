package run

import (
	"context"
	"iter"
	"time"
)

// Twin is what the run of one of two servers that are compared knows of the other run. It is safe for concurrent use.
type Twin interface {
	// Pair is the same for both runs, and for no others: they are active together, and count as one run.
	Pair() any
	// Meet returns when both runs are ready for a phase, with the instant at which both begin it, which is soon. The
	// error says why the other run will not come; it is that of ctx if ctx ends first.
	Meet(ctx context.Context, phase int) (time.Time, error)
	// Arrivals returns when the arrivals of the profiling phase are due at this side, from those of the plan. Between
	// two of them it may wait for the other run, until the channel that over returns is closed; over is called once the
	// first arrival was asked for. canary sends a short request that is no part of the load, and returns how long the
	// answer took; one call at a time.
	Arrivals(
		plan iter.Seq[time.Duration], canary func(context.Context) (time.Duration, error), over func() <-chan struct{},
	) iter.Seq[time.Duration]
	// Share returns the share of the planned rate that the arrivals of this side have; 0 = they come in turns with those
	// of the other side, so that they have no steady rate.
	Share() float64
	// Begin says which session is the first one of the profiling phase, before a request of it is taken.
	Begin(session int64)
	// Take takes a request of profiling, one at a time.
	Take(s *TwinSample)
	// Leave says that the run begins no phase any more, and why; it may be called several times.
	Leave(why string)
}

// TwinSample is what a run says of a request to its twin. Latencies are in milliseconds; NaN = not measured.
type TwinSample struct {
	Session                       int64 // number in the run, from 0
	Turn                          int   // from 0
	Conversation                  string
	Due                           time.Duration // since the start of the phase
	Lag                           time.Duration // between when it was due and its start
	Failed                        bool
	FirstToken, InterToken, Whole float64
	Input, Output                 float64 // tokens; NaN = unknown
}
