package run

import (
	"errors"
	"time"
)

// ErrNoWorker says that no load generator with a name has joined.
var ErrNoWorker = errors.New("no such worker")

// WorkerStates returns the states of a load generator that has joined, in the order in which they occur.
func WorkerStates() []string {
	return []string{"idle", "preparing", "ready", "running", "reporting", "drained", "late", "lost"}
}

// Worker is a load generator that has joined a controller.
type Worker struct {
	ID      string `json:"id"` // of the process: one that is started again has another
	Name    string `json:"name" example:"worker-1"`
	Version string `json:"version"`
	State   string `json:"state" enums:"idle,preparing,ready,running,reporting,drained,late,lost"`
	// Draining says that it takes no further run; it is drained once the run that it performs has ended.
	Draining bool              `json:"draining"`
	RunID    *string           `json:"run_id"` // that it performs a part of; null = none
	Joined   time.Time         `json:"joined_at"`
	Heard    time.Time         `json:"last_heard_at"`
	Cores    int               `json:"cores"`
	Memory   *int64            `json:"memory_bytes"` // that it may use; null = it is not known
	Labels   map[string]string `json:"labels"`
	// ClockOffset is how much more the clock of the controller shows, at most ClockBound more or less, in milliseconds.
	// Both are monotonic and count from the start of their processes. null = it is not known.
	ClockOffset *float64 `json:"clock_offset_ms"`
	ClockBound  *float64 `json:"clock_bound_ms"`
	RoundTrip   float64  `json:"round_trip_ms"` // of a question for the time
	Lanes       int      `json:"lanes"`         // of the 65,536 of its run; 0 = it performs none
	// StartSkew is by how much it began a phase of its run before or after the time that was agreed on, at most, as its
	// clock and that of the controller are known; null = it has begun none.
	StartSkew *float64 `json:"start_skew_ms"`
	Requests  int64    `json:"requests"` // that it sent in its run
}

// WorkerChange is what happened to a load generator.
type WorkerChange struct {
	At     time.Time
	What   string // joined, left or lost
	Reason string // why it left or was lost, for people
	Worker Worker
}

// BusTraffic counts the messages of a kind between a controller and its load generators, with their answers.
type BusTraffic struct {
	Kind            string
	Messages, Bytes int64
}
