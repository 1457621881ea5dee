package engine_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	metricspb "go.opentelemetry.io/proto/otlp/metrics/v1"
	"google.golang.org/protobuf/proto"

	"aiperfd/internal/engine"
	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/memnet"
	"aiperfd/internal/mock"
	"aiperfd/internal/run"
)

// otlpCollector is a collector in memory beside the server of a bed.
type otlpCollector struct {
	status int

	mu       sync.Mutex
	payloads []*metricspb.MetricsData
	plain    []byte // all payloads
	header   http.Header
}

func (c *otlpCollector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	z, err := gzip.NewReader(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	data, _ := io.ReadAll(z)
	m := new(metricspb.MetricsData)
	if err := proto.Unmarshal(data, m); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.payloads, c.plain, c.header = append(c.payloads, m), append(c.plain, data...), r.Header.Clone()
	w.WriteHeader(c.status)
	_, _ = io.WriteString(w, "no, "+r.Header.Get("X-Team"))
}

// beside lets connections to the host "collector" reach c.
func beside(t *testing.T, c http.Handler) func(*engine.Options) {
	ln := memnet.Listen()
	web := &http.Server{Handler: c}
	var serving sync.WaitGroup
	serving.Go(func() { _ = web.Serve(ln) })
	t.Cleanup(func() {
		_ = web.Close()
		serving.Wait()
	})
	return func(o *engine.Options) {
		server := o.Dial
		o.Dial = func(ctx context.Context, network, addr string) (net.Conn, error) {
			if strings.HasPrefix(addr, "collector:") {
				return ln.DialContext(ctx, network, addr)
			}
			return server(ctx, network, addr)
		}
	}
}

const sentDocument = `
randomSeed: 1
metadata: {labels: {team: a}}
benchmark:
  model: m
  endpoint: {url: "http://server", streaming: true}
  datasets: [{prompts: {isl: 20, osl: 10}}]
  phases: [{name: warmup, requests: 4, concurrency: 2}, {name: main, kind: profiling, duration: 5, concurrency: 4}]
  otel:
    metricsUrl: "http://user:CANARY-PASSWORD@collector:4318"
    headers: {X-Team: CANARY-HEADER}
    customResourceAttributes: {api_key: CANARY-ATTRIBUTE, zone: z}
`

// The last payload has what the results have, and the run goes on whatever the collector does.
func TestSendMetrics(t *testing.T) {
	for _, status := range []int{http.StatusOK, http.StatusForbidden} {
		synctest.Test(t, func(t *testing.T) {
			c := &otlpCollector{status: status}
			b := newBedWith(t, mock.Options{}, nil, beside(t, c))
			r := b.run(sentDocument)
			if r.State != bench.StateCompleted {
				t.Fatalf("state %s: %+v", r.State, r.Error)
			}
			warning := ""
			for _, w := range r.Warnings {
				if w.Code == "otel-incomplete" {
					warning = w.Detail
				}
			}
			want := ""
			if status != http.StatusOK {
				want = "no metrics reached the OpenTelemetry collector collector:4318: collector:4318: 403 Forbidden: no, <redacted>"
			}
			if warning != want {
				t.Errorf("warning %q, want %q", warning, want)
			}
			sent, err := engine.NewHistory(b.engine).OTel(t.Context(), r)
			if err != nil || sent == nil || sent.Metrics == nil || sent.Traces != nil {
				t.Fatalf("otel %+v, %v", sent, err)
			}
			if m := sent.Metrics; status == http.StatusOK && (m.Payloads != len(c.payloads) || m.Dropped != 0 || m.LastError != "") ||
				status != http.StatusOK && (m.Payloads != 0 || m.Dropped != len(c.payloads) || !strings.HasSuffix(m.LastError, "no, <redacted>")) {
				t.Errorf("otel %+v, of %d payloads", m, len(c.payloads))
			}
			last := c.payloads[len(c.payloads)-1].ResourceMetrics[0]
			b.comparePayload(r, last)
			if len(c.payloads) < 5 || len(c.payloads) > 8 {
				t.Errorf("%d payloads in a run of about 5 s, want one per second", len(c.payloads))
			}
			if c.header.Get("X-Team") != "CANARY-HEADER" || !strings.HasPrefix(c.header.Get("Authorization"), "Basic ") {
				t.Errorf("headers %v, want those of the document and the password of the URL", c.header)
			}
			if bytes.Contains(c.plain, []byte("CANARY")) || !bytes.Contains(c.plain, []byte("<redacted>")) {
				t.Error("a payload has a secret")
			}
			b.noCanary(r.ID)
		})
	}
}

// A server of MLflow that fails costs a warning, not the run, and no secret gets into it.
func TestSendToMLflow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &otlpCollector{status: http.StatusOK}
		b := newBedWith(t, mock.Options{}, nil, beside(t, c))
		r := b.run(strings.Replace(sentDocument, "  otel:", `
  mlflow: {trackingUri: "http://user:CANARY-PASSWORD@mlflow", token: CANARY-TOKEN, tags: {api_key: CANARY-TAG}}
  otel:`, 1))
		warning := ""
		for _, w := range r.Warnings {
			if w.Code == "mlflow-incomplete" {
				warning = w.Detail
			}
		}
		const want = "the results are not in MLflow at mlflow: find the experiment aiperf: HTTP 404"
		if r.State != bench.StateCompleted || !strings.HasPrefix(warning, want) {
			t.Errorf("state %s, warning %q; want %s, and %q", r.State, warning, bench.StateCompleted, want)
		}
		b.noCanary(r.ID)
	})
}

// comparePayload compares the points of the phase main with the last snapshot.
func (b *bed) comparePayload(r *run.Run, m *metricspb.ResourceMetrics) {
	b.t.Helper()
	snap, err := b.engine.Snapshot(b.t.Context(), r.ID)
	if err != nil {
		b.t.Fatal(err)
	}
	c := &snap.Phases[1].Counters
	latency, seen := c.Histograms["request_latency"], 0
	for _, metric := range m.ScopeMetrics[0].Metrics {
		switch metric.Name {
		case "gen_ai.client.operation.duration":
			p := metric.GetExponentialHistogram().DataPoints[1]
			if p.Count != latency.Count() || p.GetSum() != latency.Sum() || p.GetMax() != latency.Max() {
				b.t.Errorf("latency: count %d, sum %v, max %v; want %d, %v, %v", p.Count, p.GetSum(), p.GetMax(), latency.Count(), latency.Sum(), latency.Max())
			}
			seen++
		case "aiperf.request_count":
			if got := metric.GetSum().DataPoints[1].GetAsInt(); got != c.Success || got == 0 {
				b.t.Errorf("%d requests, want %d", got, c.Success)
			}
			seen++
		}
	}
	if seen != 2 {
		b.t.Errorf("%d of the metrics to compare, want 2", seen)
	}
}

// noCanary checks that no file of a run has a secret.
func (b *bed) noCanary(id string) {
	b.t.Helper()
	err := filepath.WalkDir(b.store.Dir(id), func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if bytes.Contains(data, []byte("CANARY")) {
			b.t.Errorf("%s has a secret", path)
		}
		return err
	})
	if err != nil {
		b.t.Error(err)
	}
}
