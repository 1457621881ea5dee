package engine_test

import (
	"encoding/hex"
	"encoding/json"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"aiperfd/internal/engine"
	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/telemetry/otel"
	"aiperfd/internal/engine/telemetry/otlp"
	"aiperfd/internal/engine/telemetry/serverspans"
	"aiperfd/internal/mock"
	"aiperfd/internal/run"
)

const receivedDocument = `{randomSeed: 3, benchmark: {model: m, endpoint: {url: "http://mem", streaming: true}, otel: {receive: true}, ` +
	streamedLoad + `, phases: [{name: warmup, requests: 4, concurrency: 4}, {name: profiling, requests: 60, concurrency: 24}]}}`

// TestReceiveSpans: with the spans of a server that batches, the queue time of each request is that of the server's own
// record, also if a gateway stands between.
func TestReceiveSpans(t *testing.T) {
	for _, gateway := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			var b *bed
			o := batching(nil)
			o.Spans.Send = func(payload []byte) {
				spans, err := otlp.ReadSpans(payload)
				if err != nil || !b.engine.ReceiveSpans(spans) {
					t.Errorf("%d spans were not taken: %v", len(spans), err)
				}
			}
			var through func(http.Handler) http.Handler
			if gateway {
				through = func(h http.Handler) http.Handler {
					return tracingGateway(h, func(s otlp.ServerSpan) { b.engine.ReceiveSpans([]otlp.ServerSpan{s}) })
				}
			}
			b = newBed(t, o, through)
			r := b.run(receivedDocument)
			if r.State != bench.StateCompleted {
				t.Fatalf("%v %+v", r.State, r.Error)
			}
			if w := warningOf(r, "server-spans-incomplete"); w != "" {
				t.Errorf("warning %q", w)
			}
			report, err := engine.NewHistory(b.engine).ServerSpans(t.Context(), r)
			if err != nil || report == nil || report.Requests != 64 || report.Joined != 64 || report.Unmatched != 0 || len(report.Phases) != 2 {
				t.Fatalf("report %+v, %v", report, err)
			}
			b.compareSpans(r, &report.Phases[1])
			if line := b.firstLine(r, "Spans"); !strings.HasPrefix(line, "p50 / p99 in ms of 60 requests: network and frontend ") ||
				!strings.Contains(line, ", queue ") || !strings.Contains(line, ", prefill ") {
				t.Errorf("console %q", line)
			}
			const title, more = "**Single requests, by the spans of the server**", "64 spans with times came; 64 of 64 requests had one (100 %), warm-up included."
			if text := b.markdown(r); !strings.Contains(text, title) || !strings.Contains(text, more) {
				t.Errorf("report\n%s", text)
			}
		})
	}
}

// compareSpans compares the file of spans and what is said of a phase with the server's own records.
func (b *bed) compareSpans(r *run.Run, p *otel.SpanPhase) {
	b.t.Helper()
	truth := map[string]*mock.Truth{}
	all := b.server.Truth()
	for i := range all {
		truth[all[i].RequestID] = &all[i]
	}
	text, err := os.ReadFile(filepath.Join(b.store.Dir(r.ID), "server_spans.jsonl"))
	if err != nil {
		b.t.Fatal(err)
	}
	lines, sum, longest, waited := 0, 0.0, 0.0, 0
	for line := range strings.Lines(string(text)) {
		var one serverspans.Line
		if err := json.Unmarshal([]byte(line), &one); err != nil {
			b.t.Fatal(err)
		}
		of := truth[one.RequestID]
		if of == nil || one.Queue == nil || math.Abs(*one.Queue-of.Batch.QueueMs) > 1e-6 {
			b.t.Errorf("line %s, of %+v", line, of)
			continue
		}
		lines++
		if one.Phase != p.Name {
			continue
		}
		sum, longest = sum+*one.Queue, max(longest, *one.Queue)
		if *one.Queue > 0 {
			waited++
		}
		if left := one.Wait - *one.Queue - *one.Prefill; left < 0 || left > 20 { // 2 ms of frontend, and the step under way
			b.t.Errorf("%v ms of %v are left for network and frontend", left, one.Wait)
		}
	}
	if lines != 64 || waited < 30 {
		b.t.Errorf("%d lines, of which %d waited; want 64, and half of those of the phase at least", lines, waited)
	}
	if len(p.Segments) != 4 || p.Segments[1].Name != "queue" {
		b.t.Fatalf("segments %+v", p.Segments)
	}
	if q := p.Segments[1]; q.Count != 60 || math.Abs(q.Avg-sum/60) > 1e-6 || math.Abs(q.Max-longest) > 1e-6 {
		b.t.Errorf("queue %+v, want 60 with the mean %v and the maximum %v", q, sum/60, longest)
	}
}

// tracingGateway is a server between client and server that has a span of its own.
func tracingGateway(h http.Handler, report func(otlp.ServerSpan)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if parts := strings.Split(r.Header.Get("Traceparent"), "-"); len(parts) == 4 {
			var s otlp.ServerSpan
			trace, _ := hex.DecodeString(parts[1])
			parent, _ := hex.DecodeString(parts[2])
			copy(s.Trace[:], trace)
			copy(s.Parent[:], parent)
			for i, c := range s.Parent {
				s.ID[i] = ^c
			}
			report(s)
			r.Header.Set("Traceparent", "00-"+parts[1]+"-"+hex.EncodeToString(s.ID[:])+"-01")
		}
		h.ServeHTTP(w, r)
	})
}

// warningOf returns the text of a warning of a run; empty = there is none.
func warningOf(r *run.Run, code string) string {
	for _, w := range r.Warnings {
		if w.Code == code {
			return w.Detail
		}
	}
	return ""
}

// TestReceiveNoSpans: a server that sends no spans costs a warning and six seconds, and an engine without such a run
// takes no spans.
func TestReceiveNoSpans(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, timing(t, 100*time.Millisecond, 10*time.Millisecond), nil)
		before := time.Now()
		r := b.run(`{benchmark: {model: m, endpoint: {url: "http://mem"}, otel: {receive: true}, ` + streamedLoad + `, phases: {requests: 10, concurrency: 2}}}`)
		if took := time.Since(before); r.State != bench.StateCompleted || took > 8*time.Second { // of which the load takes 1.5
			t.Errorf("%v after %v", r.State, took)
		}
		const want = "no span of a server came for 10 requests: let it send them to /v1/traces of this API (vLLM: --otlp-traces-endpoint)"
		if got := warningOf(r, "server-spans-incomplete"); got != want {
			t.Errorf("warning %q, want %q", got, want)
		}
		if b.engine.ReceiveSpans(nil) {
			t.Error("spans were taken without an active run")
		}
	})
}
