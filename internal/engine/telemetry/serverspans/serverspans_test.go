package serverspans

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/telemetry/otlp"
)

// served returns a success whose first content came 100 ms after its request was written.
func served(session int64) *bench.Record {
	const ms = time.Millisecond
	return &bench.Record{
		SessionNum: session, RequestID: fmt.Sprint("r", session), Stamps: bench.Stamps{Start: ms, Wrote: 2 * ms},
		Answer: bench.Answer{Chunks: []bench.Chunk{{At: 102 * ms}}},
	}
}

// spanOf returns the span of a server for a record.
func spanOf(traces *otlp.Traces, rec *bench.Record, queue float64) otlp.ServerSpan {
	return otlp.ServerSpan{
		Trace: traces.Trace(rec.SessionNum), ID: [8]byte{1}, Parent: traces.Span(rec.SessionNum, rec.RequestID),
		Times: &otlp.ServerTimes{Queue: &queue, Prefill: new(0.02)},
	}
}

// A span is joined with its request, whichever comes first, also by way of the spans of gateways; and only once.
func TestJoin(t *testing.T) {
	traces := otlp.NewTraces("run", 1)
	for name, add := range map[string]func(j *Joiner, rec *bench.Record, s otlp.ServerSpan){
		"the request first": func(j *Joiner, rec *bench.Record, s otlp.ServerSpan) {
			j.Observe(rec, "main", bench.Profiling)
			j.Add([]otlp.ServerSpan{s})
		},
		"the span first": func(j *Joiner, rec *bench.Record, s otlp.ServerSpan) {
			j.Add([]otlp.ServerSpan{s})
			j.Observe(rec, "main", bench.Profiling)
		},
		"through gateways, in the wrong order": func(j *Joiner, rec *bench.Record, s otlp.ServerSpan) {
			outer := otlp.ServerSpan{Trace: s.Trace, ID: [8]byte{2}, Parent: s.Parent}
			inner := otlp.ServerSpan{Trace: s.Trace, ID: [8]byte{3}, Parent: outer.ID}
			s.Parent = inner.ID
			j.Add([]otlp.ServerSpan{s})
			j.Observe(rec, "main", bench.Profiling)
			j.Add([]otlp.ServerSpan{inner})
			j.Add([]otlp.ServerSpan{outer})
		},
	} {
		t.Run(name, func(t *testing.T) {
			var lines strings.Builder
			j := NewJoiner(traces, &lines)
			rec := served(7)
			s := spanOf(traces, rec, 0.05)
			add(j, rec, s)
			j.Add([]otlp.ServerSpan{s, spanOf(traces, served(8), 1)})
			r := j.Report()
			if r.Requests != 1 || r.Received != 3 || r.Joined != 1 || r.Unmatched != 2 {
				t.Errorf("report %+v", r)
			}
			if line := r.Phases[0].Line(); line != "p50 / p99 in ms of 1 request: network and frontend 30.0 / 30.0, queue 50.0 / 50.0, prefill 20.0 / 20.0" {
				t.Errorf("line %q", line)
			}
			if want := `"x_request_id":"r7"`; strings.Count(lines.String(), "\n") != 1 || !strings.Contains(lines.String(), want) ||
				!strings.Contains(lines.String(), `"queue_ms":50,"prefill_ms":20,"decode_ms":null`) {
				t.Errorf("lines %s", lines.String())
			}
			if err := j.Await(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}

// Requests of traces that are not sampled, and failures, are not waited for.
func TestNotAsked(t *testing.T) {
	j := NewJoiner(otlp.NewTraces("run", 0), nil)
	j.Observe(served(1), "main", bench.Profiling)
	failed := served(2)
	failed.Answer.Failure = &bench.Failure{Class: bench.Overloaded}
	j.Observe(failed, "main", bench.Profiling)
	if err := j.Await(t.Context()); err != nil || j.Report().Requests != 0 {
		t.Errorf("%v, %+v", err, j.Report())
	}
}

// What waits for its counterpart is bounded, and counted.
func TestBounds(t *testing.T) {
	traces := otlp.NewTraces("run", 1)
	j := NewJoiner(traces, nil)
	rec := served(1)
	for range maxSpans + 5 {
		j.Add([]otlp.ServerSpan{spanOf(traces, rec, 1)})
	}
	if r := j.Report(); r.Dropped != 5 || r.Unmatched != maxSpans+5 || j.waiting != maxSpans {
		t.Errorf("report %+v, %d wait", r, j.waiting)
	}
	for i := range maxSpans + 5 {
		j.Add([]otlp.ServerSpan{{Trace: [16]byte{9}, ID: [8]byte{byte(i), byte(i >> 8), byte(i >> 16), 1}, Parent: [8]byte{1}}})
	}
	if len(j.links) != maxSpans {
		t.Errorf("%d links", len(j.links))
	}
}
