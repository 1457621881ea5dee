package otlp

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"strconv"

	"aiperfd/internal/engine/bench"
)

// Traces derives the ids of the traces of a run, and says which of them are sampled. Nothing is stored: who knows
// the id of the run and the metadata of a record can compute its ids. It is immutable and safe for concurrent use.
//
// A root session and its descendants are one trace. Trace ids are the first 16 bytes of the SHA-256 of
// "RUN/SESSION", with the number of the session; span ids the first 8 bytes of that of "RUN/SESSION/ID", where ID
// is the id of a request, which tells apart its turn and its attempt, or the correlation id of a session.
type Traces struct {
	run   string
	least uint64 // of the last 56 bits of the id of a sampled trace
}

// NewTraces returns the traces of a run of which a share from 0 to 1 is sampled.
func NewTraces(run string, share float64) *Traces {
	const all = 1 << randomBits
	return &Traces{run: run, least: all - uint64(share*all)}
}

// randomBits is how many bits of a trace id decide whether it is sampled: those that W3C Trace Context (level 2)
// calls random, so that collectors that sample by the same rule agree.
const randomBits = 56

// Trace returns the id of the trace of a session.
func (t *Traces) Trace(session int64) (id [16]byte) {
	sum := sha256.Sum256(t.name(session))
	copy(id[:], sum[:])
	return id
}

// Span returns the id of the span of a request or of a session of several turns, by the id of either.
func (t *Traces) Span(session int64, of string) (id [8]byte) {
	sum := sha256.Sum256(append(append(t.name(session), '/'), of...))
	copy(id[:], sum[:])
	return id
}

func (t *Traces) name(session int64) []byte {
	return strconv.AppendInt(append(append(make([]byte, 0, 128), t.run...), '/'), session, 10)
}

// Sampled reports whether a trace is sampled.
func (t *Traces) Sampled(id [16]byte) bool {
	return binary.BigEndian.Uint64(id[8:])&(1<<randomBits-1) >= t.least
}

// Traceparent returns the header of a request (W3C Trace Context, version 00). If it is not sampled, that is empty
// unless all requests have one.
func (t *Traces) Traceparent(rec *bench.Record, all bool) string {
	trace := t.Trace(rec.SessionNum)
	sampled := t.Sampled(trace)
	if !sampled && !all {
		return ""
	}
	span := t.Span(rec.SessionNum, rec.RequestID)
	out := append(make([]byte, 0, 55), "00-"...)
	out = append(hex.AppendEncode(out, trace[:]), '-')
	out = append(hex.AppendEncode(out, span[:]), "-00"...)
	if sampled {
		out[len(out)-1] = '1'
	}
	return string(out)
}
