package engine_test

import (
	"bytes"
	"compress/gzip"
	"encoding/hex"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/mock"
)

// traceCollector keeps the spans that it gets.
type traceCollector struct {
	mu    sync.Mutex
	spans []*tracepb.Span
	plain []byte // all payloads
}

func (c *traceCollector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	z, err := gzip.NewReader(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	data, _ := io.ReadAll(z)
	m := new(tracepb.TracesData)
	if err := proto.Unmarshal(data, m); err != nil || r.URL.Path != "/v1/traces" {
		http.Error(w, "no spans", http.StatusBadRequest)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.plain = append(c.plain, data...)
	for _, rs := range m.ResourceSpans {
		for _, ss := range rs.ScopeSpans {
			c.spans = append(c.spans, ss.Spans...)
		}
	}
}

const tracedDocument = `
randomSeed: 1
metadata: {labels: {team: a}}
benchmark:
  model: m
  endpoint: {url: "http://server", streaming: true}
  datasets: [{prompts: {isl: 20, osl: 10}, turns: 2}]
  phases: [{name: main, kind: profiling, sessions: 12, concurrency: 4}]
  otel:
    tracesUrl: "http://user:CANARY-PASSWORD@collector:4318"
    tracesSample: 0.5
    headers: {X-Team: CANARY-HEADER}
    customResourceAttributes: {api_key: CANARY-ATTRIBUTE}
`

// The spans have the ids of the traceparent headers that the server got, each session of two turns has a span of
// its own, and no secret and no text of a prompt leaves the run.
func TestSendSpans(t *testing.T) {
	for _, which := range []string{"sampled", "all", "none"} {
		t.Run(which, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := &traceCollector{}
				var mu sync.Mutex
				var headers []string // of sampled requests
				unsampled := 0
				got := func(h http.Handler) http.Handler {
					return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
						mu.Lock()
						switch value := r.Header.Get("Traceparent"); {
						case strings.HasSuffix(value, "-01"):
							headers = append(headers, value)
						case value != "":
							unsampled++
						}
						mu.Unlock()
						h.ServeHTTP(w, r)
					})
				}
				b := newBedWith(t, mock.Options{}, got, beside(t, c))
				r := b.run(strings.Replace(tracedDocument, "tracesSample: 0.5", "tracesSample: 0.5\n    propagate: "+which, 1))
				if r.State != bench.StateCompleted {
					t.Fatalf("state %s: %+v", r.State, r.Error)
				}
				for _, w := range r.Warnings {
					if w.Code == "otel-incomplete" {
						t.Errorf("warning %s", w.Detail)
					}
				}
				requests, sessions := map[string]bool{}, map[string]int{}
				for _, s := range c.spans {
					trace := hex.EncodeToString(s.TraceId)
					if s.Kind == tracepb.Span_SPAN_KIND_INTERNAL {
						sessions[trace]++
						continue
					}
					requests["00-"+trace+"-"+hex.EncodeToString(s.SpanId)+"-01"] = true
				}
				sampled := len(headers)
				switch which {
				case "none":
					if sampled+unsampled > 0 || len(requests) < 10 {
						t.Errorf("%d headers, %d spans; want none, and the slowest requests at least", sampled+unsampled, len(requests))
					}
					return
				case "all":
					if sampled+unsampled != 24 || unsampled == 0 {
						t.Errorf("%d sampled headers and %d others, want 24", sampled, unsampled)
					}
				case "sampled":
					if unsampled > 0 {
						t.Errorf("%d headers of requests that are not sampled", unsampled)
					}
				}
				if sampled != len(requests) || sampled == 0 || sampled == 24 || 2*len(sessions) != sampled {
					t.Errorf("%d sampled headers, %d spans of requests, %d of sessions", sampled, len(requests), len(sessions))
				}
				for _, h := range headers {
					if !requests[h] {
						t.Errorf("no span of %s", h)
					}
				}
				if bytes.Contains(c.plain, []byte("CANARY")) || !bytes.Contains(c.plain, []byte("<redacted>")) {
					t.Error("a payload has a secret")
				}
				b.noCanary(r.ID)
			})
		})
	}
}

// Collectors that never answer delay the end of a run by five seconds, however many there are.
func TestHangingCollectors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hangs := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			<-r.Context().Done()
		})
		b := newBedWith(t, mock.Options{}, nil, beside(t, hangs))
		begin := time.Now()
		r := b.run(strings.Replace(tracedDocument, "  otel:\n", "  otel:\n    metricsUrl: \"http://collector:4318\"\n", 1))
		if took := time.Since(begin); r.State != bench.StateCompleted || took < 4*time.Second || took > 7*time.Second {
			t.Errorf("state %s after %v, want the end about five seconds after the load", r.State, took)
		}
		n := 0
		for _, w := range r.Warnings {
			if w.Code == "otel-incomplete" {
				n++
			}
		}
		if n < 2 {
			t.Errorf("%d warnings of metrics and spans that were lost: %v", n, r.Warnings)
		}
		b.stop()
	})
}
