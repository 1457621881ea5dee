package otlp

import (
	"cmp"
	"slices"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"aiperfd/internal/engine/bench"
)

// What is exported of a run.
const (
	MostPerSecond    = 50   // spans of sampled requests that end within a second
	slowestPerSecond = 10   // requests that are exported because they are the slowest that end within a second
	mostSessions     = 2048 // of several turns that are exported and have not ended
)

// Tracer chooses the requests of a run whose spans are exported: those of sampled traces, and with Tail also
// each that failed and the slowest ones. It is not safe for concurrent use.
type Tracer struct {
	SpanSource
	// Tail exports more than what was decided before the requests were sent. Servers know nothing of it, so it is
	// for runs whose requests do not carry the decision.
	Tail bool
	// Emit takes a function that makes a span, and calls it if there is room for that.
	Emit func(span func() *tracepb.Span)

	second   time.Duration // that is counted: the newest in which a request has ended
	counted  int           // spans of sampled requests that ended in it
	slowest  []slow        // of those that are not exported otherwise, in no order
	sessions map[string]*openSession
	limited  int
}

// slow is a request that may be among the slowest of its second.
type slow struct {
	rec   *bench.Record
	phase string
}

func (s slow) latency() time.Duration { return s.rec.Stamps.End - s.rec.Stamps.Start }

// openSession is a session of several turns whose span is not exported yet.
type openSession struct {
	id, phase  string
	number     int64
	span       []byte
	start, end time.Duration // of its requests
	turns      int           // that were performed
}

// Observe takes the record of a request of a phase, and may retain it.
func (t *Tracer) Observe(rec *bench.Record, phase string) {
	if rec.Stamps.Start == 0 || rec.RequestID == "" {
		return // it was not sent
	}
	if second := rec.Stamps.End / time.Second; second > t.second {
		t.endSecond()
		t.second = second
	}
	switch {
	case t.Traces.Sampled(t.Traces.Trace(rec.SessionNum)):
		t.sampled(rec, phase)
	case !t.Tail || rec.Cancelled():
	case rec.Answer.Failure != nil:
		t.emit(rec, phase, nil)
	default:
		t.addSlow(slow{rec, phase})
	}
}

// sampled exports a request of a sampled trace, unless too many end in this second.
func (t *Tracer) sampled(rec *bench.Record, phase string) {
	parent := t.inSession(rec, phase)
	if t.counted++; t.counted > MostPerSecond {
		t.limited++
		return
	}
	t.emit(rec, phase, parent)
}

func (t *Tracer) emit(rec *bench.Record, phase string, parent []byte) {
	t.Emit(func() *tracepb.Span { return t.request(rec, phase, parent) })
}

// inSession accounts for a turn of a session, and returns the id of the span of the session; nil = it has none.
func (t *Tracer) inSession(rec *bench.Record, phase string) []byte {
	if rec.Turns < 2 {
		return nil
	}
	o := t.sessions[rec.CorrelationID]
	if o == nil {
		if len(t.sessions) >= mostSessions {
			return nil
		}
		if t.sessions == nil {
			t.sessions = make(map[string]*openSession)
		}
		id := t.Traces.Span(rec.SessionNum, rec.CorrelationID)
		o = &openSession{
			id: rec.CorrelationID, phase: phase, number: rec.SessionNum, span: id[:], start: rec.Stamps.Start,
		}
		t.sessions[o.id] = o
	}
	o.end = max(o.end, rec.Stamps.End)
	o.turns = max(o.turns, rec.Turn+1)
	if rec.Turn == rec.Turns-1 && rec.Answer.Failure == nil {
		t.endSession(o)
	}
	return o.span
}

func (t *Tracer) endSession(o *openSession) {
	delete(t.sessions, o.id)
	t.Emit(func() *tracepb.Span { return t.session(o) })
}

// addSlow keeps a request if it is among the slowest of the second so far.
func (t *Tracer) addSlow(s slow) {
	if len(t.slowest) < slowestPerSecond {
		t.slowest = append(t.slowest, s)
		return
	}
	fastest := 0
	for i := range t.slowest {
		if t.slowest[i].latency() < t.slowest[fastest].latency() {
			fastest = i
		}
	}
	if s.latency() > t.slowest[fastest].latency() {
		t.slowest[fastest] = s
	}
}

// endSecond exports the slowest requests of a second.
func (t *Tracer) endSecond() {
	for _, s := range t.slowest {
		t.emit(s.rec, s.phase, nil)
	}
	clear(t.slowest)
	t.slowest, t.counted = t.slowest[:0], 0
}

// Close exports what waits for later requests, and returns how many requests of sampled traces were left out
// because too many ended within a second.
func (t *Tracer) Close() (limited int) {
	t.endSecond()
	open := make([]*openSession, 0, len(t.sessions))
	for _, o := range t.sessions {
		open = append(open, o)
	}
	slices.SortFunc(open, func(a, b *openSession) int { return cmp.Compare(a.start, b.start) })
	for _, o := range open {
		t.endSession(o)
	}
	return t.limited
}
