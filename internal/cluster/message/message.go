// Package message has the messages between a controller and its workers. All carry state, so that one that is lost,
// doubled or late changes nothing.
package message

import (
	"encoding/json"
	"time"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/report"
	"aiperfd/internal/run"
)

// The kinds of messages, see bus.FromWorker and bus.ToWorker. All are requests.
const (
	KindBeat    = "beat"    // from a worker: [Beat], answered by [Ack]
	KindReady   = "ready"   // from a worker: [Ready], answered by [Start]
	KindPrepare = "prepare" // to a worker: [Prepare], answered by [Answer]
	KindFile    = "file"    // to a worker: [Range], answered by the bytes; fewer than asked for at the end of the file
	KindRelease = "release" // to a worker: [Release], answered by [Answer]
)

// Join asks a controller to take a worker; it answers with [Answer].
type Join struct {
	ID      string            `json:"id"`   // of the process
	Name    string            `json:"name"` // for people; unique at a time
	Version string            `json:"version"`
	Labels  map[string]string `json:"labels,omitempty"`
	Cores   int               `json:"cores"`
	Memory  int64             `json:"memory_bytes,omitempty"`
}

// Answer says whether something was done.
type Answer struct {
	Error string `json:"error,omitempty"` // why not, for people; empty = it was
	Again bool   `json:"again,omitempty"` // it may be done later
}

// Clock is the time of the controller when a question arrived and when it was answered, since an instant of its own.
type Clock struct {
	Arrived  time.Duration `json:"arrived"`
	Answered time.Duration `json:"answered"`
}

// Prepare gives a worker its part of a run.
type Prepare struct {
	Run       string          `json:"run"`
	Document  json.RawMessage `json:"document"`
	Seed      int64           `json:"seed"`
	Epoch     time.Duration   `json:"epoch"`      // of the run, on the clock of the controller
	EpochWall time.Time       `json:"epoch_wall"` // the same by the calendar
	Weights   []float64       `json:"weights"`    // of the shares of all workers
	Index     int             `json:"index"`      // of this one
	LostAfter time.Duration   `json:"lost_after"`
}

// Ready says that a worker can begin a phase.
type Ready struct {
	Run   string `json:"run"`
	Phase int    `json:"phase"`
	After int64  `json:"after"` // the number after the last session that it has begun
}

// Start says when a phase begins.
type Start struct {
	Wait  bool          `json:"wait,omitempty"` // others are not ready
	Error string        `json:"error,omitempty"`
	At    time.Duration `json:"at"`    // on the clock of the controller
	First int64         `json:"first"` // number of the first session
}

// Beat is the state of a worker, about once per second.
type Beat struct {
	Sequence   int64         `json:"sequence"`
	Offset     time.Duration `json:"offset"`      // of its clock: the controller shows so much more
	ClockBound time.Duration `json:"clock_bound"` // of the offset; <0 = the offset is not known
	RTT        time.Duration `json:"rtt"`
	Draining   bool          `json:"draining,omitempty"` // it takes no further run

	Run    string   `json:"run,omitempty"`    // that it performs; empty = it is idle
	Status string   `json:"status,omitempty"` // of the run
	Phases []Phase  `json:"phases,omitempty"`
	Done   *Done    `json:"done,omitempty"` // the run has ended
	CPU    *float64 `json:"cpu_cores,omitempty"`
}

// Phase is the state of a phase.
type Phase struct {
	Stats bench.PhaseStats `json:"stats"`
	Live  []byte           `json:"live,omitempty"` // see measure.Set.MarshalLive
}

// Done says how a part of a run has ended. Its files stay with the worker until they are released.
type Done struct {
	State  bench.State    `json:"state"`
	Reason string         `json:"reason,omitempty"`
	Code   run.ErrorCode  `json:"code,omitempty"`
	Ending *report.Ending `json:"ending,omitempty"`
	Files  []File         `json:"files"`
}

// File is a file of a part of a run.
type File struct {
	Name   string `json:"name"`
	Size   int64  `json:"size"`
	SHA256 []byte `json:"sha256"`
}

// Ack answers a beat.
type Ack struct {
	Unknown bool               `json:"unknown,omitempty"` // the worker must join again
	Cancel  *run.CancelRequest `json:"cancel,omitempty"`  // of the run of the beat; nil = it goes on
	Lost    bool               `json:"lost,omitempty"`    // the run of the beat goes on without the worker
}

// Range asks for a part of a file.
type Range struct {
	Run    string `json:"run"`
	Name   string `json:"name"`
	Offset int64  `json:"offset"`
	Size   int    `json:"size"`
}

// Release says that the files of a run are not needed any more.
type Release struct {
	Run string `json:"run"`
}
