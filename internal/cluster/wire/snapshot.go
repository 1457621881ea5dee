package wire

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"time"

	"aiperfd/internal/cluster/clock"
)

// The limits of a snapshot.
const (
	MaxSnapshot = 64 << 10            // bytes
	MaxSketch   = MaxSnapshot - 8<<10 // bytes
	MaxProbes   = 64
)

// Activity is what a worker is doing.
type Activity uint8

// The activities. The numbers are on the wire.
const (
	Idle Activity = iota
	Preparing
	Waiting // for the start of a phase
	Running
	Draining
	Reporting
	activities // how many there are
)

// String returns the name of the activity.
func (a Activity) String() string {
	switch a {
	case Idle:
		return "idle"
	case Preparing:
		return "preparing"
	case Waiting:
		return "waiting"
	case Running:
		return "running"
	case Draining:
		return "draining"
	case Reporting:
		return "reporting"
	case activities:
	}
	return fmt.Sprintf("activity %d", uint8(a))
}

// Counters count since the start of the run. None of them is below 0.
type Counters struct {
	Scheduled, Sent, Succeeded, Failed, Cancelled, InFlight, Dropped int64
}

// fields lists the counters in the order in which they are on the wire.
func (c *Counters) fields() []*int64 {
	return []*int64{&c.Scheduled, &c.Sent, &c.Succeeded, &c.Failed, &c.Cancelled, &c.InFlight, &c.Dropped}
}

// Snapshot is the state of a worker, sent each second. It is cumulative, so that the newest replaces all before it.
type Snapshot struct {
	Run      string        // empty = none
	Sequence uint64        // 1, 2, … in the life of an instance
	At       time.Duration // on the clock of the worker
	Activity Activity
	Phase    int
	Counters Counters
	Probes   []clock.Probe // since the last snapshot that was acknowledged
	Whole    bool          // Sketch does not depend on an earlier one
	Sketch   []byte        // of the metrics; may be empty
}

// Encode returns the bytes of the snapshot, or what is wrong with it.
func (s *Snapshot) Encode() ([]byte, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	out := make([]byte, 0, 256+len(s.Sketch))
	out = append(out, Version, byte(kindSnapshot))
	run, _ := hex.DecodeString(s.Run) // it was checked
	out = appendBytes(out, run)
	out = binary.AppendUvarint(out, s.Sequence)
	out = binary.AppendVarint(out, int64(s.At))
	out = append(out, byte(s.Activity))
	out = binary.AppendUvarint(out, uint64(s.Phase))
	for _, n := range s.Counters.fields() {
		out = binary.AppendUvarint(out, uint64(*n))
	}
	out = binary.AppendUvarint(out, uint64(len(s.Probes)))
	for i := range s.Probes {
		out = appendProbe(out, &s.Probes[i])
	}
	whole := byte(0)
	if s.Whole {
		whole = 1
	}
	out = append(out, whole)
	out = appendBytes(out, s.Sketch)
	if len(out) > MaxSnapshot {
		return nil, ErrTooLarge
	}
	return out, nil
}

func (s *Snapshot) check() error {
	counters := true
	for _, n := range s.Counters.fields() {
		counters = counters && *n >= 0
	}
	return broken(
		rule{s.Run == "" || isRun(s.Run).ok, "run", "empty or 32 hex digits in lower case"},
		rule{s.Sequence > 0, "sequence", "above 0"},
		rule{s.Activity < activities, "activity", fmt.Sprintf("below %d", activities)},
		isPhase(s.Phase),
		rule{counters, "counters", "at least 0"},
		rule{len(s.Probes) <= MaxProbes, "probes", fmt.Sprintf("at most %d", MaxProbes)},
		rule{len(s.Sketch) <= MaxSketch, "sketch", fmt.Sprintf("at most %d bytes", MaxSketch)},
	)
}

// DecodeSnapshot reads the bytes of a snapshot. Its sketch is a part of payload.
func DecodeSnapshot(payload []byte) (s Snapshot, err error) {
	rest, err := open(payload, kindSnapshot, MaxSnapshot)
	if err != nil {
		return s, err
	}
	d := &reader{rest: rest}
	s.Run = hex.EncodeToString(d.bytes(16))
	s.Sequence = d.uvarint()
	s.At = time.Duration(d.varint())
	s.Activity = Activity(d.octet())
	s.Phase = int(min(d.uvarint(), 1<<31-1))
	for _, n := range s.Counters.fields() {
		*n = int64(d.uvarint()) // check refuses what is below 0
	}
	if probes := d.uvarint(); probes <= MaxProbes {
		for range probes {
			s.Probes = append(s.Probes, d.probe())
		}
	} else {
		d.failed = true
	}
	switch d.octet() {
	case 0:
	case 1:
		s.Whole = true
	default:
		d.failed = true
	}
	s.Sketch = d.bytes(MaxSketch)
	if err := d.end(); err != nil {
		return Snapshot{}, err
	}
	if err := s.check(); err != nil {
		return Snapshot{}, err
	}
	return s, nil
}

// Ack answers a snapshot or a report: what has this number, and all before it, is no longer needed.
type Ack struct {
	Sequence uint64
	Known    bool // the sender is a member; false = it must join again
}

// Encode returns the bytes of the acknowledgement.
func (a Ack) Encode() []byte {
	known := byte(0)
	if a.Known {
		known = 1
	}
	return binary.AppendUvarint([]byte{Version, byte(kindAck), known}, a.Sequence)
}

// DecodeAck reads the bytes of an acknowledgement.
func DecodeAck(payload []byte) (a Ack, err error) {
	rest, err := open(payload, kindAck, 2+1+binary.MaxVarintLen64)
	if err != nil {
		return a, err
	}
	d := &reader{rest: rest}
	known := d.octet()
	a = Ack{Known: known == 1, Sequence: d.uvarint()}
	if err := d.end(); err != nil || known > 1 {
		return Ack{}, ErrMalformed
	}
	return a, nil
}

// Question asks for the time.
type Question struct{ Sent time.Duration }

// Answer is the time of the controller. It repeats what the question had, so that an answer that is late cannot be
// taken for that of another question.
type Answer struct{ Sent, Arrived, Answered time.Duration }

// Encode returns the bytes of the question.
func (q Question) Encode() []byte {
	return binary.AppendVarint([]byte{Version, byte(kindQuestion)}, int64(q.Sent))
}

// DecodeQuestion reads the bytes of a question.
func DecodeQuestion(payload []byte) (q Question, err error) {
	rest, err := open(payload, kindQuestion, 2+binary.MaxVarintLen64)
	if err != nil {
		return q, err
	}
	d := &reader{rest: rest}
	q.Sent = time.Duration(d.varint())
	return q, d.end()
}

// Encode returns the bytes of the answer.
func (a Answer) Encode() []byte {
	out := binary.AppendVarint([]byte{Version, byte(kindAnswer)}, int64(a.Sent))
	out = binary.AppendVarint(out, int64(a.Arrived))
	return binary.AppendVarint(out, int64(a.Answered))
}

// DecodeAnswer reads the bytes of an answer.
func DecodeAnswer(payload []byte) (a Answer, err error) {
	rest, err := open(payload, kindAnswer, 2+3*binary.MaxVarintLen64)
	if err != nil {
		return a, err
	}
	d := &reader{rest: rest}
	a = Answer{time.Duration(d.varint()), time.Duration(d.varint()), time.Duration(d.varint())}
	return a, d.end()
}

// Probe returns the probe that the answer completes when it is read.
func (a Answer) Probe(returned time.Duration) clock.Probe {
	return clock.Probe{Sent: a.Sent, Arrived: a.Arrived, Answered: a.Answered, Returned: returned}
}
