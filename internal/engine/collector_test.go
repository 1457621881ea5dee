package engine_test

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"aiperfd/internal/engine"
	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/sketch"
	"aiperfd/internal/engine/telemetry/otlp"
	"aiperfd/internal/mock"
	"aiperfd/internal/run"
)

// forwarded is what a collector has passed on, in JSON.
type forwarded struct {
	take func([]otlp.ServerSpan) bool // of the engine

	mu      sync.Mutex
	metrics []json.RawMessage
	ours    map[string]string // traces of the spans of clients, by the id of the span
	servers []otlp.ServerSpan
}

func (f *forwarded) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, "{}")
	if r.URL.Path == "/v1/metrics" {
		f.metrics = append(f.metrics, body)
		return
	}
	spans, err := otlp.ReadJSONSpans(body)
	if err != nil {
		return
	}
	f.take(spans)
	for _, s := range spans {
		if s.Times != nil {
			f.servers = append(f.servers, s)
		} else {
			f.ours[hex.EncodeToString(s.ID[:])] = hex.EncodeToString(s.Trace[:])
		}
	}
}

// startCollector starts a collector that passes everything on to a URL, and returns the ports of its protocols.
func startCollector(ctx context.Context, t *testing.T, program, to string) (http, grpc string, log *lockedBuffer) {
	t.Helper()
	var ports [2]string
	for i := range ports {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		ports[i] = ln.Addr().String()
		_ = ln.Close()
	}
	config := filepath.Join(t.TempDir(), "collector.yaml")
	text := fmt.Sprintf(`
receivers: {otlp: {protocols: {http: {endpoint: %q}, grpc: {endpoint: %q}}}}
exporters:
  debug: {verbosity: detailed}
  otlphttp: {endpoint: %q, encoding: json, compression: none, sending_queue: {enabled: false}}
service:
  telemetry: {metrics: {level: none}}
  pipelines:
    metrics: {receivers: [otlp], exporters: [debug, otlphttp]}
    traces: {receivers: [otlp], exporters: [debug, otlphttp]}
`, ports[0], ports[1], to)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	log = &lockedBuffer{}
	c := exec.CommandContext(ctx, program, "--config=file:"+config)
	c.Stdout, c.Stderr = log, log
	c.Cancel = func() error { return c.Process.Signal(os.Interrupt) }
	c.WaitDelay = 10 * time.Second
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Wait() })
	for _, port := range ports {
		eventually(ctx, t, "the collector listens at "+port, log, func() bool {
			conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", port)
			if err == nil {
				_ = conn.Close()
			}
			return err == nil
		})
	}
	return ports[0], ports[1], log
}

// lockedBuffer is a buffer for the output of a process.
type lockedBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// eventually waits until something holds, as long as the context allows.
func eventually(ctx context.Context, t *testing.T, what string, log fmt.Stringer, holds func() bool) {
	t.Helper()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			text := log.String()
			t.Fatalf("not in time: %s\n%s", what, text[max(0, len(text)-4000):])
		}
	}
}

// TestCollector sends metrics and spans through a real OpenTelemetry Collector by both protocols. What it passes on is
// the final snapshot, with the buckets of the sketch; and the spans of the server, which take the same way, are joined
// with the requests. It needs the collector that scripts/otelcol.sh builds.
func TestCollector(t *testing.T) {
	program := os.Getenv("AIPERFD_OTELCOL")
	if program == "" {
		t.Skip("AIPERFD_OTELCOL is not set; scripts/otelcol.sh builds a collector and sets it")
	}
	for _, protocol := range []string{"http/protobuf", "grpc"} {
		t.Run(protocol, func(t *testing.T) {
			ctx, stop := context.WithTimeout(t.Context(), 2*time.Minute)
			b := newDialBed(t, engine.Options{Log: zerolog.Nop()})
			passed := &forwarded{take: b.engine.ReceiveSpans, ours: map[string]string{}}
			sink := httptest.NewServer(passed)
			t.Cleanup(sink.Close)
			byHTTP, byGRPC, log := startCollector(ctx, t, program, sink.URL)
			t.Cleanup(stop) // before the collector is waited for
			o := batching(nil)
			o.Spans.Delay = time.Second
			o.Spans.Send = func(payload []byte) { post(ctx, t, "http://"+byHTTP+"/v1/traces", payload) }
			server, err := mock.New(o)
			if err != nil {
				t.Fatal(err)
			}
			b.server = server
			web := httptest.NewServer(server.Handler())
			t.Cleanup(func() { web.Close(); _ = server.Close() })
			at := map[string]string{"http/protobuf": byHTTP, "grpc": byGRPC}[protocol]
			r := b.run(fmt.Sprintf(`{randomSeed: 9, benchmark: {model: m, endpoint: {url: %q, streaming: true}, tokenizer: {name: builtin}, dataset: {isl: 100, osl: 20, entries: 40},
				otel: {metricsUrl: "http://%s", tracesUrl: "http://%s", protocol: %s, tracesSample: 1, receive: true},
				phases: [{name: warmup, requests: 4, concurrency: 2}, {name: main, kind: profiling, requests: 40, concurrency: 12}]}}`,
				web.URL, at, at, protocol))
			if r.State != bench.StateCompleted || warningOf(r, "otel-incomplete") != "" || warningOf(r, "server-spans-incomplete") != "" {
				t.Fatalf("%v %+v %+v", r.State, r.Error, r.Warnings)
			}
			b.comparePassedOn(r, passed, log)
			report, err := engine.NewHistory(b.engine).ServerSpans(t.Context(), r)
			if err != nil || report.Joined != 44 || len(report.Phases) != 2 {
				t.Fatalf("spans %+v, %v", report, err)
			}
			passed.mu.Lock()
			defer passed.mu.Unlock()
			for _, s := range passed.servers {
				if trace := hex.EncodeToString(s.Trace[:]); passed.ours[hex.EncodeToString(s.Parent[:])] != trace {
					t.Errorf("the span of the server in the trace %s has no parent among those of the client", trace)
				}
			}
			if !strings.Contains(log.String(), "gen_ai.client.operation.duration") || !strings.Contains(log.String(), "llm_request") {
				t.Error("the debug exporter did not see metrics and spans")
			}
			t.Logf("%d payloads of metrics, %d spans of the client, %d of the server; %s", len(passed.metrics), len(passed.ours),
				len(passed.servers), report.Phases[1].Line())
		})
	}
}

// post sends spans.
func post(ctx context.Context, t *testing.T, to string, payload []byte) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, to, bytes.NewReader(payload))
	if err != nil {
		t.Error(err)
		return
	}
	req.Header.Set("Content-Type", "application/x-protobuf")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Errorf("send spans: %v", err)
		return
	}
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Errorf("send spans: %s", resp.Status)
	}
}

// passedPoint is a point of metrics in OTLP/JSON: 64-bit integers are texts.
type passedPoint struct {
	AsInt      string
	Count      string
	Sum        float64
	Scale      int
	Max        float64
	Attributes []struct {
		Key   string
		Value struct{ StringValue string }
	}
	Positive struct {
		Offset       int
		BucketCounts []string
	}
}

// phase returns the phase of a point.
func (p *passedPoint) phase() string {
	for _, a := range p.Attributes {
		if a.Key == "aiperf.phase" {
			return a.Value.StringValue
		}
	}
	return ""
}

// comparePassedOn compares the last metrics that a collector has passed on with the last snapshot.
func (b *bed) comparePassedOn(r *run.Run, f *forwarded, log fmt.Stringer) {
	b.t.Helper()
	snap, err := b.engine.Snapshot(b.t.Context(), r.ID)
	if err != nil {
		b.t.Fatal(err)
	}
	c := &snap.Phases[1].Counters
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.metrics) == 0 {
		b.t.Fatalf("no metrics: %s", log)
	}
	var last struct {
		ResourceMetrics []struct {
			ScopeMetrics []struct {
				Metrics []struct {
					Name                 string
					Sum                  struct{ DataPoints []passedPoint }
					ExponentialHistogram struct{ DataPoints []passedPoint }
				}
			}
		}
	}
	if err := json.Unmarshal(f.metrics[len(f.metrics)-1], &last); err != nil {
		b.t.Fatal(err)
	}
	names := map[string]string{
		"gen_ai.client.operation.duration": "request_latency", "gen_ai.client.operation.time_to_first_chunk": "time_to_first_token",
		"gen_ai.client.operation.time_per_output_chunk": "inter_token_latency",
	}
	compared := 0
	for _, m := range last.ResourceMetrics[0].ScopeMetrics[0].Metrics {
		for _, p := range m.Sum.DataPoints {
			if m.Name == "aiperf.request_count" && p.phase() == "main" {
				if p.AsInt != strconv.FormatInt(c.Success, 10) {
					b.t.Errorf("%s requests, want %d", p.AsInt, c.Success)
				}
				compared++
			}
		}
		for i := range m.ExponentialHistogram.DataPoints {
			if p := &m.ExponentialHistogram.DataPoints[i]; names[m.Name] != "" && p.phase() == "main" {
				b.compareBuckets(m.Name, p, c.Histograms[names[m.Name]])
				compared++
			}
		}
	}
	if compared != 4 {
		b.t.Errorf("%d points compared, want 4", compared)
	}
}

// compareBuckets compares a histogram with a sketch.
func (b *bed) compareBuckets(name string, p *passedPoint, s *sketch.Sketch) {
	b.t.Helper()
	if p.Count != strconv.FormatUint(s.Count(), 10) || p.Sum != s.Sum() || p.Max != s.Max() || p.Scale != sketch.MaxSchema {
		b.t.Errorf("%s: count %s, sum %v, max %v, scale %d; want %d, %v, %v", name, p.Count, p.Sum, p.Max, p.Scale, s.Count(), s.Sum(), s.Max())
	}
	want := sketch.NewExponential(s, sketch.MaxSchema, 1<<20).Positive
	buckets := 0
	for i, text := range p.Positive.BucketCounts {
		n, err := strconv.ParseInt(text, 10, 64)
		if at := p.Positive.Offset + i + 1; err != nil || n != want[at] { // of Prometheus, whose index is one higher
			b.t.Errorf("%s: bucket %d has %q, want %d", name, at, text, want[at])
		}
		if n > 0 {
			buckets++
		}
	}
	if buckets != len(want) {
		b.t.Errorf("%s: %d buckets, want %d", name, buckets, len(want))
	}
}
