package run

import (
	"context"
	"time"

	"aiperfd/internal/engine/bench"
)

// Submission is what a request to queue one run says besides its document.
type Submission struct {
	Warnings   []bench.Warning // found while loading; kept with the run
	Via        string          // "api" or "cli"
	By         string          // name of the token of the caller; empty = none
	CLICommand string          // redacted; empty for runs submitted over the API
	// Idempotency is kept with the run; nil = the request has no key.
	Idempotency *Idempotency
	Cell        *Cell // the place of the run in a study, which the queue always takes; nil = it stands alone
	// Compiled is what a check has compiled the document to, for whoever performs the run; nil =
	// it has not been compiled.
	Compiled any
	Twin     Twin // the run of another server that is performed beside this one; nil = there is none
	// Settle waits before the first phase until the servers are idle, and returns why they are not; empty = they are, or
	// it is not known. The run then has the warning [NotIdle]. nil = it is not waited.
	Settle func(ctx context.Context, s Servers) (why string)
}

// NotIdle is the code of the warning of a run that began although its servers were not idle.
const NotIdle = "not-idle"

// Servers are what the servers of a run do before it sends its load. One call at a time.
type Servers interface {
	// Canary sends a short request that is no part of the load, and returns how long the answer took.
	Canary(ctx context.Context) (time.Duration, error)
	// Requests reads how many requests the servers have by their own metrics, running and waiting ones; known is false
	// if they do not say.
	Requests(ctx context.Context) (n float64, known bool)
}

// CancelRequest describes how to stop a run. The zero value stops it gracefully with
// the grace period of its phase.
type CancelRequest struct {
	Force    bool           `json:"force,omitempty"`        // abort the requests in flight now; escalates an earlier graceful stop
	Grace    *time.Duration `json:"grace_ns,omitempty"`     // ≥ 0, replaces the grace period of the phase; nil = that period
	MaxGrace time.Duration  `json:"max_grace_ns,omitempty"` // bounds the grace period, whoever has set it; 0 = it is not bounded
	Reason   string         `json:"reason,omitempty"`       // for people; may be empty
	Deadline bool           `json:"deadline,omitempty"`     // the run has passed its deadline, so that it fails
	// Patience ends the grace period early when nothing has been received for this
	// long; 0 = the grace period never ends early.
	Patience time.Duration `json:"patience_ns,omitempty"`
	// Passing stops the run only because the process ends: the next process does not take
	// it for cancelled.
	Passing bool `json:"-"`
}

// Queue is the state of the queue at one instant.
type Queue struct {
	IDs     []string // queued runs, the next to start first
	Running []string // active runs, in the order of their start
	Max     int      // queued runs allowed, ≥ 1
	MaxRuns int      // runs allowed at the same time, ≥ 1
	Paused  bool     // no run starts
	// StoreFails says that no run starts because the data directory cannot be used.
	StoreFails bool
	// Rivals are the active runs that queued ones wait for because they use the same
	// server, by the id of the queued one.
	Rivals map[string]string
}

// Reason returns why a queued run does not start now; empty = it waits for its turn.
func (q *Queue) Reason(r *Run, now time.Time) string {
	rival := q.Rivals[r.ID]
	switch {
	case q.Paused:
		return "the queue is paused"
	case q.StoreFails:
		return "waits until the data directory can be used"
	case r.Ready(now) > 0:
		return "starts after " + r.StartAfter.UTC().Format(time.RFC3339)
	case rival != "":
		return "waits for run " + rival + ", which uses the same server"
	}
	return ""
}

// Health is the state that the probes report. A run that failed does not change it.
type Health struct {
	State  string            // one of the Health constants
	Since  time.Time         // when State last changed
	Checks map[string]string // by name of the part: "ok", or the fault
	// Recovered is the number of runs that the end of an earlier process had interrupted,
	// and that this one has ended.
	Recovered int
	// Recovering is the number of those whose results are still to be computed, and
	// RecoveryRead the bytes of record files that were read for it.
	Recovering   int
	RecoveryRead int64
}

// The states of a service.
const (
	HealthStarting = "starting" // the store is not open yet
	HealthRunning  = "running"  // ready for work, busy or not
	HealthStopping = "stopping" // accepts no work, finishes what it has
	HealthFailed   = "failed"   // needs to be restarted
)
