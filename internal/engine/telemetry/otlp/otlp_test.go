package otlp

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	metricspb "go.opentelemetry.io/proto/otlp/metrics/v1"
	"google.golang.org/protobuf/proto"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/sketch"
	"aiperfd/internal/engine/verdict"
	"aiperfd/internal/run"
)

// decoded encodes the metrics of a snapshot and reads the bytes again.
func decoded(t *testing.T, s *Source, snap *run.Snapshot) *metricspb.ResourceMetrics {
	t.Helper()
	data, err := s.Encode(snap)
	if err != nil {
		t.Fatal(err)
	}
	var m metricspb.MetricsData
	if err := proto.Unmarshal(data, &m); err != nil {
		t.Fatal(err)
	}
	if len(m.ResourceMetrics) != 1 || len(m.ResourceMetrics[0].ScopeMetrics) != 1 {
		t.Fatalf("got %v, want one resource with one scope", &m)
	}
	return m.ResourceMetrics[0]
}

// shown returns attributes as text.
func shown(all []*commonpb.KeyValue) string {
	var out []string
	for _, a := range all {
		switch v := a.Value.Value.(type) {
		case *commonpb.AnyValue_StringValue:
			out = append(out, a.Key+"="+v.StringValue)
		case *commonpb.AnyValue_IntValue:
			out = append(out, fmt.Sprintf("%s=%d", a.Key, v.IntValue))
		}
	}
	return strings.Join(out, " ")
}

// Each value lies in the bucket that the definition of exponential histograms gives it.
func TestExponential(t *testing.T) {
	values := []float64{0, 1, 2, 4, 0.5, 1.0000001, 3, 0.1, -0.25, 1e-9, 7.2e6}
	r := rand.New(rand.NewPCG(1, 2))
	for range 5000 {
		values = append(values, math.Exp(r.NormFloat64()*3-2))
	}
	s := sketch.New()
	want := map[string]uint64{}
	sum := 0.0
	for _, v := range values {
		s.Add(v)
		sum += v
		if v == 0 {
			want["zero"]++
			continue
		}
		// Bucket i holds (2^(i/128), 2^((i+1)/128)].
		i := int(math.Ceil(math.Log2(math.Abs(v))*128)) - 1
		want[fmt.Sprintf("%t %d", v > 0, i)]++
	}
	data, err := proto.Marshal(Exponential(s))
	if err != nil {
		t.Fatal(err)
	}
	var p metricspb.ExponentialHistogramDataPoint
	if err := proto.Unmarshal(data, &p); err != nil {
		t.Fatal(err)
	}
	got := map[string]uint64{"zero": p.ZeroCount}
	for positive, b := range map[bool]*metricspb.ExponentialHistogramDataPoint_Buckets{true: p.Positive, false: p.Negative} {
		for i, n := range b.BucketCounts {
			if n > 0 {
				got[fmt.Sprintf("%t %d", positive, int(b.Offset)+i)] = n
			}
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("buckets (-want +got):\n%s", diff)
	}
	if p.Scale != 7 || p.Count != uint64(len(values)) || math.Abs(p.GetSum()-sum) > 1e-6 || p.GetMin() != -0.25 || p.GetMax() != 7.2e6 {
		t.Errorf("scale %d, count %d, sum %v, min %v, max %v; want 7, %d, %v, -0.25, 7.2e6",
			p.Scale, p.Count, p.GetSum(), p.GetMin(), p.GetMax(), len(values), sum)
	}
}

func TestExponentialOfOddSketches(t *testing.T) {
	if p := Exponential(sketch.New()); p.Count != 0 || p.Sum != nil || p.Min != nil || p.Positive != nil || p.Negative != nil {
		t.Errorf("empty: got %v, want no statistics and no buckets", p)
	}
	s := sketch.New()
	s.Add(1)
	s.Add(math.Inf(1))
	p := Exponential(s)
	counted := uint64(0)
	for _, n := range p.Positive.BucketCounts {
		counted += n
	}
	if counted != 2 || p.Count != 2 || p.Sum != nil || p.Max != nil || len(p.Positive.BucketCounts) > 61*128 {
		t.Errorf("infinite: %d of %d in %d buckets, sum %v; want 2 of 2, and no sum", counted, p.Count, len(p.Positive.BucketCounts), p.Sum)
	}
}

// snapshot is that of a run with a warm-up that has ended and an active phase.
func snapshot() *run.Snapshot {
	epoch := time.Unix(1_700_000_000, 0)
	latency, length := sketch.New(), sketch.New()
	for _, v := range []float64{0.1, 0.2, 0.4} {
		latency.Add(v)
	}
	length.Add(128)
	return &run.Snapshot{
		Wall:   epoch.Add(20 * time.Second),
		Client: &verdict.Report{Verdict: verdict.Suspect},
		Phases: []run.Phase{
			{Epoch: epoch, Stats: bench.PhaseStats{
				Name: "warmup", Kind: bench.Warmup, Start: time.Second, RequestsEnd: 4 * time.Second, Sent: 5, Completed: 5,
				End: bench.PhaseGraceTimeout, LastUpdate: 5 * time.Second,
			}},
			{Epoch: epoch, Stats: bench.PhaseStats{
				Name: "main", Kind: bench.Profiling, Start: 10 * time.Second, Sent: 9, Completed: 5, Errors: 2, Cancelled: 1,
				SentSessions: 8, CompletedSessions: 4, CancelledSessions: 1, SessionTurns: 8, LastUpdate: 20 * time.Second,
			}, Counters: run.Counters{
				Success:    3,
				Errors:     map[bench.Class]int64{bench.Overloaded: 1, bench.ServerError: 1, bench.TimeoutIdle: 1},
				Histograms: map[string]*sketch.Sketch{"request_latency": latency, "output_sequence_length": length},
			}},
			{Epoch: epoch, Stats: bench.PhaseStats{Name: "not begun", Kind: bench.Profiling}},
		},
	}
}

func TestMetrics(t *testing.T) {
	s := &Source{
		RunID: "0123", Version: "1.2.3", Labels: map[string]string{"team": "a"}, Attributes: map[string]string{"service.name": "mine"},
		Endpoint: "completions", Model: "m", Provider: "openai", Server: &url.URL{Scheme: "https", Host: "h"}, Records: true, Timing: true,
	}
	m := decoded(t, s, snapshot())
	if got, want := shown(m.Resource.Attributes), "aiperf.benchmark.id=0123 aiperf.endpoint.type=completions aiperf.label.team=a "+
		"aiperf.model.name=m service.instance.id=0123 service.name=mine service.version=1.2.3"; got != want {
		t.Errorf("resource\n%s, want\n%s", got, want)
	}
	var lines []string
	for _, metric := range m.ScopeMetrics[0].Metrics {
		lines = append(lines, points(metric)...)
	}
	const common = " gen_ai.operation.name=text_completion gen_ai.provider.name=openai gen_ai.request.model=m server.address=h server.port=443"
	warmup := common + " aiperf.benchmark_phase=warmup aiperf.phase=warmup"
	main := common + " aiperf.benchmark_phase=profiling aiperf.phase=main"
	want := []string{
		"aiperf.client.verdict gauge 0 aiperf.verdict=invalid",
		"aiperf.client.verdict gauge 0 aiperf.verdict=ok",
		"aiperf.client.verdict gauge 0 aiperf.verdict=unknown",
		"aiperf.client.verdict gauge 1 aiperf.verdict=suspect",
		"aiperf.error_request_count counter from 10 1" + main + " error.type=timeout",
		"aiperf.error_request_count counter from 10 2" + main + " error.type=http_5xx",
		"aiperf.request_count counter from 1 0" + warmup,
		"aiperf.request_count counter from 10 3" + main,
		"gen_ai.client.operation.duration histogram s from 10 3 0.7000" + main,
		"gen_ai.client.token.usage histogram {token} from 10 1 128.0000" + main + " gen_ai.token.type=output",
	}
	for _, v := range []struct {
		name           string
		kind           string
		warmup, active float64
	}{
		{"requests.sent", "counter", 5, 9}, {"requests.completed", "counter", 5, 5}, {"requests.cancelled", "counter", 0, 1},
		{"requests.errors", "counter", 0, 2}, {"sessions.sent", "counter", 0, 8}, {"sessions.completed", "counter", 0, 4},
		{"sessions.cancelled", "counter", 0, 1}, {"sessions.turns_total", "counter", 0, 8},
		{"requests.in_flight", "sum", 0, 3}, {"sessions.in_flight", "sum", 0, 3}, {"phase.timeout_triggered", "sum", 0, 0},
		{"phase.grace_timeout_triggered", "sum", 1, 0}, {"phase.was_cancelled", "sum", 0, 0}, {"phase.elapsed_sec", "sum", 3, 10},
	} {
		want = append(want, fmt.Sprintf("aiperf.timing.%s %s from 1 %v%s", v.name, v.kind, v.warmup, warmup),
			fmt.Sprintf("aiperf.timing.%s %s from 10 %v%s", v.name, v.kind, v.active, main))
	}
	slices.Sort(lines)
	slices.Sort(want)
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Errorf("points (-want +got):\n%s", diff)
	}
}

// points describes the points of a metric: kind, start since the epoch of the run, values, attributes.
func points(m *metricspb.Metric) (out []string) {
	const epoch = 1_700_000_000
	start := func(ns uint64) float64 { return float64(ns)/1e9 - epoch }
	switch d := m.Data.(type) {
	case *metricspb.Metric_ExponentialHistogram:
		for _, p := range d.ExponentialHistogram.DataPoints {
			out = append(out, fmt.Sprintf("%s histogram %s from %v %d %.4f %s", m.Name, m.Unit, start(p.StartTimeUnixNano), p.Count, p.GetSum(), shown(p.Attributes)))
		}
	case *metricspb.Metric_Sum:
		kind := map[bool]string{true: "counter", false: "sum"}[d.Sum.IsMonotonic]
		for _, p := range d.Sum.DataPoints {
			out = append(out, fmt.Sprintf("%s %s from %v %v %s", m.Name, kind, start(p.StartTimeUnixNano), float64(p.GetAsInt())+p.GetAsDouble(), shown(p.Attributes)))
		}
	case *metricspb.Metric_Gauge:
		for _, p := range d.Gauge.DataPoints {
			out = append(out, fmt.Sprintf("%s gauge %v %s", m.Name, p.GetAsDouble(), shown(p.Attributes)))
		}
	}
	return out
}

func names(m *metricspb.ResourceMetrics) (out []string) {
	for _, metric := range m.ScopeMetrics[0].Metrics {
		out = append(out, metric.Name)
	}
	return out
}

// The selection of what is sent, and models that are told apart.
func TestSelection(t *testing.T) {
	if got := names(decoded(t, &Source{Timing: true}, snapshot())); len(got) != 14 || !strings.HasPrefix(got[0], "aiperf.timing.") {
		t.Errorf("timing only: %q, want the 14 metrics of timing", got)
	}
	got := names(decoded(t, &Source{Records: true}, snapshot()))
	if slices.ContainsFunc(got, func(name string) bool { return strings.HasPrefix(name, "aiperf.timing.") }) || len(got) != 5 {
		t.Errorf("records only: %q, want five metrics and none of timing", got)
	}
	snap := snapshot()
	c := &snap.Phases[1].Counters
	c.Models = map[string]run.Counters{"a": {Success: 1}, "b": {Success: 2}}
	counts := map[string]string{}
	for _, metric := range decoded(t, &Source{Records: true}, snap).ScopeMetrics[0].Metrics {
		if sum := metric.GetSum(); sum != nil && metric.Name == "aiperf.request_count" {
			for _, p := range sum.DataPoints {
				counts[shown(p.Attributes)] = fmt.Sprint(p.GetAsInt())
			}
		}
	}
	all := strings.Join(slices.Sorted(maps.Keys(counts)), "\n")
	if len(counts) != 3 || !strings.Contains(all, "gen_ai.request.model=a") || !strings.Contains(all, "gen_ai.request.model=b") {
		t.Errorf("points by model:\n%s", all)
	}
}

func TestExplicit(t *testing.T) {
	for _, metric := range decoded(t, &Source{Records: true, Explicit: true}, snapshot()).ScopeMetrics[0].Metrics {
		if metric.Name != "gen_ai.client.operation.duration" {
			continue
		}
		p := metric.GetHistogram().DataPoints[0]
		if got, want := fmt.Sprint(p.BucketCounts), "[0 0 0 0 1 1 1 0 0 0 0 0 0 0 0]"; got != want || p.Count != 3 || len(p.ExplicitBounds) != 14 {
			t.Errorf("counts %s of %v, want %s", got, p.ExplicitBounds, want)
		}
		return
	}
	t.Error("there is no histogram of latencies")
}

func TestProvider(t *testing.T) {
	for _, tt := range []struct{ given, server, endpoint, want string }{
		{"", "http://localhost:8000", "chat", "openai"},
		{"", "http://localhost:8000", "messages", "anthropic"},
		{"", "http://localhost:8000", "rerank", "_OTHER"},
		{"", "https://API.Anthropic.com", "chat", "anthropic"},
		{"", "https://bedrock-runtime.eu-west-1.amazonaws.com", "chat", "aws.bedrock"},
		{"", "https://x.openai.azure.com/v1", "chat", "azure.ai.openai"},
		{"vllm", "https://api.openai.com", "chat", "vllm"},
	} {
		u, err := url.Parse(tt.server)
		if err != nil {
			t.Fatal(err)
		}
		if got := Provider(tt.given, []*url.URL{u}, tt.endpoint); got != tt.want {
			t.Errorf("Provider(%q, %s, %s) = %s, want %s", tt.given, tt.server, tt.endpoint, got, tt.want)
		}
	}
}
