// Package samples keeps single requests of a run for a closer look: the slowest ones with
// their timelines, and a uniform sample of all that succeeded. Memory is constant, and most
// requests cost a few comparisons.
//
// A [Recorder] observes the requests of the profiling phases. It replaces a file in the
// folder of the run every few seconds and at the end, so that a crash loses little.
package samples

import (
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"path/filepath"
	"slices"
	"time"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/metric/catalogue"
	"aiperfd/internal/engine/regular"
)

// File is the name of the file of the samples in the folder of a run. It starts with a dot
// because it is not an artifact for users.
const File = ".samples.bin"

// What is kept at most.
const (
	MaxSlowest = 20   // requests of each list
	MaxChunks  = 2000 // times of content events of a request
	MaxPoints  = 2000 // requests of the uniform sample
)

// Samples are the requests of a run that are kept. They are immutable.
type Samples struct {
	Start  time.Time // of the run; zero = no phase has begun
	Seen   int64     // requests that succeeded, of which Points are a uniform sample
	Points []Point   // in no particular order
	// Latency are the slowest requests by latency, the slowest first; a failed request has
	// the time until it failed. FirstToken are those whose first token took longest.
	Latency, FirstToken []*Request
	// Elapsed is when the recorder was asked, since Start; 0 = it has ended, and the samples are of all requests.
	Elapsed time.Duration
	// Damaged says that the file cannot be decoded, so that nothing else is known.
	Damaged bool
}

// ErrDamaged is the error of a file that cannot be decoded, or has what no run can have.
var ErrDamaged = errors.New("the file is damaged")

// Point is one request of the uniform sample.
type Point struct {
	End                                   time.Duration // offset from the start of the run
	Input, Output                         float64       // tokens; NaN = unknown
	FirstToken, InterToken, Latency, Wait float64       // milliseconds; NaN = not measured
}

// Request is one request with its timeline.
type Request struct {
	ID, Conversation string
	Phase            string
	Session          int64
	Turn             int
	Target           int // index into the targets of the run
	Model            string
	Status           int           // of HTTP; 0 = none
	Class            bench.Class   // why it failed; empty = it succeeded
	Input, Output    float64       // tokens; NaN = unknown
	Latency          float64       // milliseconds; of a failed request until it failed
	FirstToken       float64       // milliseconds; NaN = none, or not streamed
	At               time.Duration // start, as offset from the start of the run
	Reused           bool          // the connection was open
	Setup            bench.Setup   // of the connection
	Timeline         Timeline
}

// Timeline is what happened when, as offsets from the start of the request; NoTime = it did
// not happen.
type Timeline struct {
	Due                              time.Duration // ≤ 0
	Connected, Wrote, FirstByte, End time.Duration
	Chunks                           []time.Duration // content events, the first MaxChunks
	ChunkCount                       int             // all of them
}

// NoTime is the offset of what did not happen.
const NoTime = time.Duration(math.MinInt64)

// maxFile bounds the file that is read: it is larger than any that is written.
const maxFile = 8 << 20

// Read returns the samples of a run from its folder; those of a run that has none are empty.
// The error is [ErrDamaged] if the file can be read, but not decoded.
func Read(dir string) (*Samples, error) {
	file, err := regular.Open(filepath.Join(dir, File))
	if errors.Is(err, fs.ErrNotExist) {
		return new(Samples), nil
	}
	if err != nil {
		return nil, fmt.Errorf("read samples: %w", err)
	}
	defer file.Close()
	s := new(Samples)
	err = gob.NewDecoder(io.LimitReader(file, maxFile)).Decode(s)
	if fault, ok := errors.AsType[*fs.PathError](err); ok {
		return nil, fmt.Errorf("read samples: %w", fault)
	}
	if err == nil {
		err = s.check()
	}
	if err != nil {
		return nil, fmt.Errorf("read samples: %w: %w", ErrDamaged, err)
	}
	return s, nil
}

// check reports requests that no run can have.
func (s *Samples) check() error {
	for _, q := range slices.Concat(s.Latency, s.FirstToken) {
		if q.Target < 0 || math.IsNaN(q.Latency) || math.IsInf(q.Latency, 0) {
			return fmt.Errorf("request %q has target %d and latency %v", q.ID, q.Target, q.Latency)
		}
	}
	return nil
}

// newRequest describes a record.
func newRequest(v *catalogue.View, phase string, origin time.Duration, latency, first float64) *Request {
	rec := v.Record
	st, chunks := &rec.Stamps, rec.Answer.Chunks
	after := func(at time.Duration) time.Duration {
		if at == 0 {
			return NoTime
		}
		return at - st.Start
	}
	q := &Request{
		ID: rec.RequestID, Conversation: rec.ConversationID, Phase: phase, Session: rec.SessionNum, Turn: rec.Turn,
		Target: rec.Target, Model: rec.Model, Status: rec.Status, Input: v.ISL, Output: v.OSL, Latency: latency, FirstToken: first,
		At: st.Start - origin, Reused: rec.Conn.Reused,
		Setup: bench.Setup{DNS: rec.Conn.DNS, Connect: rec.Conn.Connect, TLS: rec.Conn.TLS},
		Timeline: Timeline{
			Due: min(0, after(st.Due)), Connected: after(st.Connected), Wrote: after(st.Wrote), FirstByte: after(st.FirstByte), End: after(st.End),
			ChunkCount: len(chunks), Chunks: make([]time.Duration, 0, min(len(chunks), MaxChunks)),
		},
	}
	if v.Outcome != catalogue.Success {
		q.Class = v.Failure().Class
	}
	t := &q.Timeline
	for i := range chunks[:cap(t.Chunks)] {
		t.Chunks = append(t.Chunks, chunks[i].At-st.Start)
	}
	return q
}
