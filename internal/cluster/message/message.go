// Package message has the messages between a controller and its workers. All carry state, so that one that is lost,
// doubled or late changes nothing. They come from other machines: what is decoded is strict and bounded.
package message

import (
	"time"

	"aiperfd/internal/cluster/sealed"
	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/report"
	"aiperfd/internal/engine/series"
	"aiperfd/internal/run"
)

// The kinds of messages with subjects of a worker, see bus.FromWorker and bus.ToWorker. All are requests.
const (
	KindBeat    = "beat"    // from a worker: [Beat], answered by [Ack]
	KindReady   = "ready"   // from a worker: [Ready], answered by [Start]
	KindPrepare = "prepare" // to a worker: [Sealed] with [Prepare], answered by [Answer]
	KindFile    = "file"    // to a worker: [Range], answered by [Chunk]
	KindRelease = "release" // to a worker: [Release], answered by [Answer]
)

// Join asks a controller to take a worker; it answers with [Answer].
type Join struct {
	ID      string            `json:"id"`   // of the process: sealed.Instance of its key
	Name    string            `json:"name"` // for people; unique at a time
	Version string            `json:"version"`
	Labels  map[string]string `json:"labels,omitempty"`
	Cores   int               `json:"cores"`
	Memory  int64             `json:"memory_bytes,omitempty"`
	Key     []byte            `json:"key"`   // to which its parts of runs are sealed
	Proof   sealed.Proof      `json:"proof"` // that it knows a token
}

// Answer says whether something was done.
type Answer struct {
	Error string `json:"error,omitempty"` // why not, for people; empty = it was
	Again bool   `json:"again,omitempty"` // it may be done later
}

// Probe asks for the time; it is answered by [Clock].
type Probe struct{}

// Clock is the time of the controller when a question arrived and when it was answered, since an instant of its own.
type Clock struct {
	Arrived  time.Duration `json:"arrived"`
	Answered time.Duration `json:"answered"`
}

// Sealed is a [Prepare] that nobody but the worker can read, and nobody without its token can make, see package sealed.
type Sealed struct {
	Run string `json:"run"`
	Box []byte `json:"-"`
}

// Prepare gives a worker its part of a run.
type Prepare struct {
	Run       string        `json:"run"`
	Document  []byte        `json:"-"` // JSON
	Seed      int64         `json:"seed"`
	Epoch     time.Duration `json:"epoch"`      // of the run, on the clock of the controller
	EpochWall time.Time     `json:"epoch_wall"` // the same by the calendar
	Weights   []float64     `json:"weights"`    // of the shares of all workers
	Index     int           `json:"index"`      // of this one
	LostAfter time.Duration `json:"lost_after"`
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

	Run    string `json:"run,omitempty"`    // that it performs; empty = it is idle
	Status string `json:"status,omitempty"` // of the run
	Phases Phases `json:"phases,omitempty"`
	// Seconds are those that the controller has not acknowledged, the oldest first.
	Seconds Seconds `json:"seconds,omitempty"`
	// Done says how the run has ended; nil = it has not, or there are further seconds.
	Done *Done `json:"done,omitempty"`
}

// Phase is the state of a phase.
type Phase struct {
	Stats bench.PhaseStats `json:"stats"`
	Live  []byte           `json:"live,omitempty"` // see measure.Set.MarshalLive; empty = there is none
}

// Phases are at most MaxPhases.
type Phases []Phase

// UnmarshalJSON implements json.Unmarshaler.
func (p *Phases) UnmarshalJSON(data []byte) (err error) {
	*p, err = decodeList[Phase](data, MaxPhases, "phases")
	return err
}

// Bound leaves out the metrics of phases, the first ones first, until a beat can have those that are left. They are for
// the eye: what counts is in the records.
func (p Phases) Bound() {
	size := 0
	for i := range p {
		size += len(p[i].Live)
	}
	for i := 0; size > maxLive; i++ {
		size -= len(p[i].Live)
		p[i].Live = nil
	}
}

// Second is what happened in a second of the run at the worker. A number that was there before means that it was sent
// again.
type Second struct {
	Number int64 `json:"number"`
	series.Window
}

// Seconds are at most MaxSeconds.
type Seconds []Second

// UnmarshalJSON implements json.Unmarshaler.
func (s *Seconds) UnmarshalJSON(data []byte) (err error) {
	*s, err = decodeList[Second](data, MaxSeconds, "seconds")
	return err
}

// Fitting returns the first seconds, as many as a beat has room for.
func (s Seconds) Fitting() Seconds {
	size := 0
	for i := range s {
		if size += len(s[i].Data); size > MaxSecond || i == MaxSeconds {
			return s[:i]
		}
	}
	return s
}

// Done says how a part of a run has ended. Its files stay with the worker until they are released.
type Done struct {
	State  bench.State    `json:"state"`
	Reason string         `json:"reason,omitempty"`
	Code   run.ErrorCode  `json:"code,omitempty"`
	Ending *report.Ending `json:"ending,omitempty"`
	Files  Files          `json:"files"`
}

// File is a file of a part of a run.
type File struct {
	Name   string `json:"name"`
	Size   int64  `json:"size"`
	SHA256 []byte `json:"sha256"`
}

// Files are at most MaxFiles.
type Files []File

// UnmarshalJSON implements json.Unmarshaler.
func (f *Files) UnmarshalJSON(data []byte) (err error) {
	*f, err = decodeList[File](data, MaxFiles, "files")
	return err
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

// Chunk is a part of a file; it is shorter than asked for at the end of the file.
type Chunk struct {
	Data []byte `json:"-"`
}

// Release says that the files of a run are not needed any more.
type Release struct {
	Run string `json:"run"`
}
