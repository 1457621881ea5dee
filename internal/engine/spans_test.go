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
	"aiperfd/internal/run"
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

// Destinations and pages that accept connections and never answer delay a run by one second before the load and four
// behind it, however many there are.
func TestHangingCollectors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hangs := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			<-r.Context().Done()
		})
		b := newBedWith(t, mock.Options{}, nil, beside(t, hangs))
		timed := func(document string) (*run.Run, time.Duration) {
			begin := time.Now()
			r := b.run(document)
			return r, time.Since(begin)
		}
		plain, _, _ := strings.Cut(tracedDocument, "  otel:\n")
		_, without := timed(plain + "  serverMetrics: {enabled: false}\n  gpuTelemetry: {enabled: false}\n")
		r, with := timed(strings.Replace(tracedDocument, "  otel:\n", `
  serverMetrics: {urls: ["http://collector:8001/metrics"]}
  gpuTelemetry: {urls: ["http://collector:9400/metrics"]}
  mlflow: {trackingUri: "http://collector:5000"}
  otel:
    metricsUrl: "http://collector:4318"
`, 1))
		if later := with - without; r.State != bench.StateCompleted || later < 4*time.Second || later > 5500*time.Millisecond {
			t.Errorf("state %s, %v later than without; want about five seconds", r.State, later)
		}
		n := map[string]int{}
		for _, w := range r.Warnings {
			n[w.Code]++
		}
		if n["otel-incomplete"] < 2 || n["mlflow-incomplete"] != 1 {
			t.Errorf("warnings %v, want those of metrics, spans and results that were lost", r.Warnings)
		}
		b.stop()
	})
}
