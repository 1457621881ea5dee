// Package serverspans joins the spans that servers send of their requests with the requests of a run, by the ids that
// the requests carried (traceparent). What a mean over all requests cannot say is known then: how long each of them
// waited in the queue, and so the percentiles of each part of its time.
package serverspans

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"io"
	"sync"
	"time"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/telemetry/otel"
	"aiperfd/internal/engine/telemetry/otlp"
)

// The bounds of what waits for its counterpart.
const (
	maxRequests = 1 << 18 // requests without a span
	maxSpans    = 1 << 16 // spans without a request, and spans that lead from one to the other
	maxHops     = 16      // spans between that of a request and that of a server, those of gateways
)

// Joiner joins spans with requests. It is safe for concurrent use.
type Joiner struct {
	traces *otlp.Traces
	lines  io.Writer // gets a line per joined request; nil = nobody does

	mu       sync.Mutex
	requests map[key]*request                // guarded by mu, like what follows
	links    map[key][8]byte                 // parents of spans
	early    map[[16]byte][]*otlp.ServerSpan // spans with times of which no request is known
	waiting  int                             // spans in early
	phases   []*phase
	report   otel.ServerSpans
	joined   chan struct{} // buffered 1: a request was joined, or none is left
	failed   error         // of lines
}

// key identifies a span.
type key struct {
	trace [16]byte
	span  [8]byte
}

// request is what is kept of a request until its span has come.
type request struct {
	id, correlation string
	turn            int
	wait            float64 // from the written request to the first content, in ms
	phase           *phase
}

// NewJoiner returns a joiner of the requests of a run.
func NewJoiner(traces *otlp.Traces, lines io.Writer) *Joiner {
	return &Joiner{
		traces: traces, lines: lines, requests: map[key]*request{}, links: map[key][8]byte{},
		early: map[[16]byte][]*otlp.ServerSpan{}, joined: make(chan struct{}, 1),
	}
}

// Observe takes the record of a request of a phase. Only successes of sampled traces have spans that are waited for.
func (j *Joiner) Observe(rec *bench.Record, name string, kind bench.PhaseKind) {
	trace := j.traces.Trace(rec.SessionNum)
	if !rec.OK() || !j.traces.Sampled(trace) {
		return
	}
	const ms = float64(time.Millisecond)
	j.mu.Lock()
	defer j.mu.Unlock()
	p := j.phase(name, kind)
	p.requests++
	if len(j.requests) == maxRequests {
		j.report.Dropped++
		return
	}
	j.requests[key{trace, j.traces.Span(rec.SessionNum, rec.RequestID)}] = &request{
		id: rec.RequestID, correlation: rec.CorrelationID, turn: rec.Turn, phase: p,
		wait: float64(rec.Answer.Chunks[0].At-rec.Stamps.Wrote) / ms,
	}
	j.retry(trace)
}

// Add takes spans.
func (j *Joiner) Add(spans []otlp.ServerSpan) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for i := range spans {
		s := &spans[i]
		if s.Parent == [8]byte{} {
			continue // it continues no trace
		}
		if s.Times == nil {
			if len(j.links) < maxSpans {
				j.links[key{s.Trace, s.ID}] = s.Parent
				j.retry(s.Trace)
			}
			continue
		}
		j.report.Received++
		if j.join(s) {
			continue
		}
		if j.waiting == maxSpans {
			j.report.Dropped++
			continue
		}
		j.early[s.Trace] = append(j.early[s.Trace], s)
		j.waiting++
	}
}

// retry joins the spans of a trace that waited for a request, or for what leads to it.
func (j *Joiner) retry(trace [16]byte) {
	all := j.early[trace]
	if len(all) == 0 {
		return
	}
	var left []*otlp.ServerSpan
	for _, s := range all {
		if !j.join(s) {
			left = append(left, s)
		}
	}
	j.waiting -= len(all) - len(left)
	if j.early[trace] = left; len(left) == 0 {
		delete(j.early, trace)
	}
}

// join joins a span with its request, if that is known.
func (j *Joiner) join(s *otlp.ServerSpan) bool {
	at := key{s.Trace, s.Parent}
	for range maxHops {
		if r := j.requests[at]; r != nil {
			delete(j.requests, at)
			j.report.Joined++
			r.phase.add(s.Times, r.wait)
			j.write(s, r)
			select {
			case j.joined <- struct{}{}:
			default: // whoever waits will look already
			}
			return true
		}
		parent, ok := j.links[at]
		if !ok {
			return false
		}
		at.span = parent
	}
	return false
}

// Line is a joined request in the file of spans. Times are in ms; null: the span does not say it.
type Line struct {
	RequestID     string   `json:"x_request_id"`
	CorrelationID string   `json:"x_correlation_id"`
	Turn          int      `json:"turn_index"`
	Phase         string   `json:"phase"`
	TraceID       string   `json:"trace_id"`
	Wait          float64  `json:"first_content_ms"` // from the written request, as the client saw it
	Queue         *float64 `json:"queue_ms"`
	Prefill       *float64 `json:"prefill_ms"`
	Decode        *float64 `json:"decode_ms"`
	FirstToken    *float64 `json:"server_first_token_ms"`
	Total         *float64 `json:"server_e2e_ms"`
}

// write writes the line of a request. After an error nothing more is written.
func (j *Joiner) write(s *otlp.ServerSpan, r *request) {
	if j.lines == nil || j.failed != nil {
		return
	}
	text, err := json.Marshal(Line{
		RequestID: r.id, CorrelationID: r.correlation, Turn: r.turn, Phase: r.phase.name, TraceID: hex.EncodeToString(s.Trace[:]),
		Wait: r.wait, Queue: inMS(s.Times.Queue), Prefill: inMS(s.Times.Prefill), Decode: inMS(s.Times.Decode),
		FirstToken: inMS(s.Times.FirstToken), Total: inMS(s.Times.Total),
	})
	if err == nil {
		_, err = j.lines.Write(append(text, '\n'))
	}
	j.failed = err
}

// inMS returns seconds in milliseconds; nil stays.
func inMS(seconds *float64) *float64 {
	if seconds == nil {
		return nil
	}
	const ms = 1e3
	return new(*seconds * ms)
}

// Await waits until each request has a span, or until ctx ends. The error is that of the lines.
func (j *Joiner) Await(ctx context.Context) error {
	for {
		j.mu.Lock()
		left, err := len(j.requests), j.failed
		j.mu.Unlock()
		if left == 0 {
			return err
		}
		select {
		case <-j.joined:
		case <-ctx.Done():
			return err
		}
	}
}

// Report returns what was joined so far.
func (j *Joiner) Report() *otel.ServerSpans {
	j.mu.Lock()
	defer j.mu.Unlock()
	out := j.report
	out.Phases = []otel.SpanPhase{}
	for _, p := range j.phases {
		out.Requests += p.requests
		out.Phases = append(out.Phases, p.describe())
	}
	out.Unmatched = out.Received - out.Joined
	return &out
}
