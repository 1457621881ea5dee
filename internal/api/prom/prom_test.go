package prom

import (
	"bytes"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/metric"
	"aiperfd/internal/engine/metric/catalogue"
	"aiperfd/internal/engine/sketch"
	"aiperfd/internal/run"
)

func TestFloat(t *testing.T) {
	// As repr() of Python 3 prints them.
	tests := map[float64]string{
		0: "0.0", 30: "30.0", -2.5: "-2.5", 0.1: "0.1", 41.2: "41.2", 1e15: "1000000000000000.0", 1e16: "1e+16", 1.5e300: "1.5e+300",
		0.0001: "0.0001", 0.00001: "1e-05", 123456789.125: "123456789.125", math.Inf(1): "+Inf", math.Inf(-1): "-Inf",
	}
	for v, want := range tests {
		if got := Float(v); got != want {
			t.Errorf("Float(%g) = %s, want %s", v, got, want)
		}
	}
	if got := Float(math.NaN()); got != "NaN" {
		t.Errorf("Float(NaN) = %s", got)
	}
}

func TestNames(t *testing.T) {
	units := map[string]string{
		"": "", "ms": "_ms", "%": "_percent", "tokens/sec": "_tps", "tokens/sec/user": "_tps_per_user",
		"requests/sec": "_requests_per_sec", "ms/token": "_ms_per_token", "KB": "_kb", "°C": "__c", "MJ": "_mj",
	}
	for unit, want := range units {
		if got := unitSuffix(unit); got != want {
			t.Errorf("unitSuffix(%q) = %q, want %q", unit, got, want)
		}
	}
	for tag, want := range map[string]string{"Time.To-First": "time_to_first", "1st": "_1st", "a:b": "a_b", "é": "_"} {
		if got := sanitize(tag); got != want {
			t.Errorf("sanitize(%q) = %q, want %q", tag, got, want)
		}
	}
	if got := escape("a\\b\"c\nd"); got != `a\\b\"c\nd` {
		t.Errorf("escape = %s", got)
	}
}

// Every class of failure has a label, and cancellations are no errors of the
// server.
func TestErrorClass(t *testing.T) {
	used := map[string]bool{}
	for _, c := range bench.Classes() {
		label := ErrorClass(c)
		if !slices.Contains(ErrorClasses(), label) {
			t.Errorf("ErrorClass(%s) = %s, which is not in the list", c, label)
		}
		used[label] = true
		if label == "other" && !c.Cancelled() && c != bench.ClientError {
			t.Errorf("class %s has no label of its own", c)
		}
	}
	if len(used) != len(ErrorClasses()) {
		t.Errorf("labels in use: %v", used)
	}
}

func TestBounds(t *testing.T) {
	var tags []string
	for _, h := range new(emitter).histograms() {
		tags = append(tags, h.tag)
		if !slices.IsSorted(h.bounds) || len(h.bounds) < 20 || len(h.bounds) > 30 {
			t.Errorf("%s: %d bounds %v", h.tag, len(h.bounds), h.bounds)
		}
		for i := 1; i < len(h.bounds); i++ {
			if f := h.bounds[i] / h.bounds[i-1]; f < 1.5 || f > 2 {
				t.Errorf("%s: %g follows %g", h.tag, h.bounds[i], h.bounds[i-1])
			}
		}
	}
	want := catalogue.Headlines(catalogue.Exposed)
	slices.Sort(want)
	if slices.Sort(tags); !slices.Equal(tags, want) {
		t.Errorf("histograms of %q, want those of %q", tags, want)
	}
	latency := decades(-3, 3, 0.63e3)
	if latency[0] != 0.001 || latency[len(latency)-1] != 630 {
		t.Errorf("latency bounds from %g to %g", latency[0], latency[len(latency)-1])
	}
	if token := decades(-4, 1, 10); token[0] != 0.0001 || token[len(token)-1] != 10 {
		t.Errorf("token bounds from %g to %g", token[0], token[len(token)-1])
	}
}

// The load of a run is a label only if it is that of all profiling phases. AIPerf's labels are those of the first one,
// as AIPerf has them.
func TestRunInfoLoad(t *testing.T) {
	at := func(loads ...string) *run.Run {
		r := &run.Run{ID: "a", Concurrency: new(4), Rate: new(2.5)}
		for _, l := range loads {
			r.Loads = append(r.Loads, run.PhaseLoad{Load: l})
		}
		return r
	}
	for name, tt := range map[string]struct {
		run               *run.Run
		concurrency, rate string
	}{
		"one phase":   {at(), "4", "2.5"},
		"equal":       {at("4 concurrent", "4 concurrent"), "4", "2.5"},
		"different":   {at("4 concurrent", "4 concurrent", "8 concurrent"), "", ""},
		"nothing set": {&run.Run{ID: "a"}, "", ""},
	} {
		out := make(chan prometheus.Metric, 100)
		(&emitter{out: out}).run(tt.run, "1")
		var m dto.Metric
		if err := (<-out).Write(&m); err != nil {
			t.Fatal(err)
		}
		got := map[string]string{}
		for _, l := range m.Label {
			got[l.GetName()] = l.GetValue()
		}
		if got["concurrency"] != tt.concurrency || got["request_rate"] != tt.rate {
			t.Errorf("%s: concurrency %q, request_rate %q", name, got["concurrency"], got["request_rate"])
		}
	}
	if got := compatLabels(at("4 concurrent", "8 concurrent")); !strings.HasSuffix(got, `concurrency="4",request_rate="2.5"`) {
		t.Errorf("AIPerf's labels %s", got)
	}
}

// A native histogram has the buckets that client_golang gives the same values at
// the factor 1.1.
func TestNativeHistogram(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for name, value := range map[string]func() float64{
		"latencies": func() float64 { return math.Exp(r.NormFloat64() - 3) },
		"tokens":    func() float64 { return float64(r.IntN(5000)) },
		"powers":    func() float64 { return math.Ldexp(1, r.IntN(20)-10) },
		"negative":  func() float64 { return r.NormFloat64() },
		"zero":      func() float64 { return 0 },
		"infinite":  func() float64 { return math.Inf(1) },
	} {
		oracle := prometheus.NewHistogram(prometheus.HistogramOpts{Name: "x", NativeHistogramBucketFactor: 1.1, NativeHistogramZeroThreshold: sketch.MinValue})
		s := sketch.New()
		for range 2000 {
			v := value()
			s.Add(v)
			oracle.Observe(v)
		}
		h := histogram{desc: family("x", ""), bounds: []float64{0.1, 1}}
		var got, want dto.Metric
		if err := errors.Join(h.metric(s, time.Unix(1, 0)).Write(&got), oracle.Write(&want)); err != nil {
			t.Fatal(err)
		}
		want.Histogram.CreatedTimestamp, want.Histogram.SampleSum = got.Histogram.CreatedTimestamp, got.Histogram.SampleSum
		if len(got.Histogram.Bucket) != 2 || got.Histogram.CreatedTimestamp.GetSeconds() != 1 {
			t.Errorf("%s: %v", name, got.Histogram)
		}
		got.Histogram.Bucket, want.Histogram.Bucket = nil, nil
		if got.Histogram.String() != want.Histogram.String() {
			t.Errorf("%s:\n%v\nwant\n%v", name, got.Histogram, want.Histogram)
		}
	}
}

// A histogram of very different values has wider buckets, not more of them.
func TestNativeHistogramLimit(t *testing.T) {
	s := sketch.New()
	for i := range 30 * 8 {
		s.Add(math.Exp2(float64(i) / 8))
	}
	h := histogram{desc: family("x", "")}
	var got dto.Metric
	if err := h.metric(s, time.Unix(1, 0)).Write(&got); err != nil {
		t.Fatal(err)
	}
	if n := len(got.Histogram.PositiveDelta); got.Histogram.GetSchema() != 2 || n != 121 {
		t.Errorf("schema %d with %d buckets, want 2 with 121", got.Histogram.GetSchema(), n)
	}
}

// With several models, what records counted has the label model; nothing else has.
func TestModels(t *testing.T) {
	ttft := sketch.New()
	ttft.Add(0.1)
	counters := func(success int64) run.Counters {
		return run.Counters{
			Success: success, SLOMet: map[string]int64{"request_latency": success}, SLOMissed: map[string]int64{"request_latency": 1},
			Histograms: map[string]*sketch.Sketch{"time_to_first_token": ttft},
		}
	}
	several, one := counters(5), counters(7)
	several.Models = map[string]run.Counters{"a": counters(2), "b": counters(3)}
	snapshot := func(c run.Counters) *run.Snapshot {
		return &run.Snapshot{Phases: []run.Phase{{Stats: bench.PhaseStats{Name: "p", Kind: bench.Profiling}, Counters: c}}}
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(NewCollector("v", Run{Run: &run.Run{ID: "1"}, Snapshot: snapshot(several)}, Run{Run: &run.Run{ID: "2"}, Snapshot: snapshot(one)}))
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	if _, err := Write(&text, nil, families, nil); err != nil {
		t.Fatal(err)
	}
	want := map[string]bool{}
	for _, line := range []string{
		`aiperf_requests_total{model="a",outcome="success",phase="p",run_id="1"} 2`,
		`aiperf_requests_total{model="b",outcome="success",phase="p",run_id="1"} 3`,
		`aiperf_requests_total{outcome="success",phase="p",run_id="2"} 7`,
		`aiperf_request_errors_total{class="timeout",model="a",phase="p",run_id="1"} 0`,
		`aiperf_slo_requests_total{model="b",result="met",run_id="1",slo="request_latency"} 3`,
		`aiperf_slo_requests_total{model="b",result="missed",run_id="1",slo="request_latency"} 1`,
		`aiperf_slo_requests_total{result="met",run_id="2",slo="request_latency"} 7`,
		`aiperf_time_to_first_token_seconds_count{model="a",phase="p",run_id="1"} 1`,
		`aiperf_time_to_first_token_seconds_count{phase="p",run_id="2"} 1`,
		`aiperf_input_tokens_total{model="a",phase="p",run_id="1"} 0`,
		`aiperf_requests_sent_total{phase="p",run_id="1"} 0`,
		`aiperf_bytes_sent_total{run_id="1"} 0`,
	} {
		want[line] = false
	}
	for line := range strings.Lines(text.String()) {
		if _, ok := want[strings.TrimSpace(line)]; ok {
			want[strings.TrimSpace(line)] = true
		}
		if strings.HasPrefix(line, "aiperf_requests_total") && strings.Contains(line, `run_id="1"`) != strings.Contains(line, "model=") {
			t.Errorf("unexpected: %s", line)
		}
	}
	for line, found := range want {
		if !found {
			t.Errorf("no %s in\n%s", line, text.String())
		}
	}
}

// Requests that met all objectives are counted if there are objectives, and the progress
// of a phase is exposed if its end is known.
func TestGoodAndProgress(t *testing.T) {
	var good metric.Result
	good.Def = &catalogue.Def{Tag: "good_request_count"}
	good.Set(metric.Avg, 3)
	phase := func(name string, expected int64) run.Phase {
		return run.Phase{Stats: bench.PhaseStats{Name: name, Kind: bench.Profiling, Sent: 5, Completed: 5, ExpectedRequests: expected}}
	}
	with := &run.Snapshot{Metrics: metric.Results{good}, Phases: []run.Phase{phase("counted", 20), phase("endless", 0)}}
	registry := prometheus.NewRegistry()
	registry.MustRegister(NewCollector("v", Run{Run: &run.Run{ID: "1"}, Snapshot: with}, Run{Run: &run.Run{ID: "2"}, Snapshot: &run.Snapshot{}}))
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	if _, err := Write(&text, nil, families, nil); err != nil {
		t.Fatal(err)
	}
	var got []string
	for line := range strings.Lines(text.String()) {
		if strings.HasPrefix(line, "aiperf_good_requests_total") || strings.HasPrefix(line, "aiperf_phase_progress_ratio") {
			got = append(got, strings.TrimSpace(line))
		}
	}
	want := []string{`aiperf_good_requests_total{run_id="1"} 3`, `aiperf_phase_progress_ratio{phase="counted",run_id="1"} 0.25`}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
