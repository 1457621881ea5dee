package engine_test

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parquet-go/parquet-go"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/telemetry/diagnose"
	"aiperfd/internal/mock"
	"aiperfd/internal/mock/batch"
	"aiperfd/internal/results"
	"aiperfd/internal/run"
)

// batching is a server with one accelerator whose steps have simple costs.
func batching(change func(*batch.Params)) mock.Options {
	p := batch.Params{
		Base: 5, Prefill: 0.1, Decode: 0.05, MaxSequences: 8, MaxBatched: 2048, Blocks: 4000, BlockSize: 16,
		Frontend: 2 * time.Millisecond,
	}
	if change != nil {
		change(&p)
	}
	return mock.Options{Accelerator: &p}
}

// serverOf returns what a run says of its servers.
func (b *bed) serverOf(r *run.Run) *diagnose.Server {
	b.t.Helper()
	s, err := results.Open(b.store.Dir(r.ID), "").Server()
	if err != nil || s == nil {
		b.t.Fatalf("server: %v, %v", s, err)
	}
	return s
}

func profilingPhase(t *testing.T, s *diagnose.Server) *diagnose.Phase {
	t.Helper()
	i := slices.IndexFunc(s.Phases, func(p diagnose.Phase) bool { return p.Kind == "profiling" })
	if i < 0 {
		t.Fatalf("no profiling phase: %+v", s)
	}
	return &s.Phases[i]
}

const streamedLoad = `tokenizer: {name: builtin}, dataset: {isl: 100, osl: 20, entries: 40}`

// TestServerTruth compares what is said of a simulated server with what it knows of itself, after a run of one process
// and after one of several load generators, which the controller observes.
func TestServerTruth(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := batching(nil)
		o.GPUs, o.GPURefresh = 1, 100*time.Millisecond
		compareServerTruth(t, newBed(t, o, nil), "")
		f := newFleet(t, o, 3)
		compareServerTruth(t, f.bed, "cluster: {workers: 3}, ")
		f.end()
	})
}

func compareServerTruth(t *testing.T, b *bed, cluster string) {
	t.Helper()
	r := b.run(`{benchmark: {` + cluster + `model: m, endpoint: {url: "http://mem", streaming: true}, ` + streamedLoad + `,
		artifacts: {sliceDuration: 1}, serverMetrics: {formats: [json, csv, jsonl, parquet]}, gpuTelemetry: "http://mem/dcgm",
		phases: [{name: warmup, requests: 16, concurrency: 16}, {name: profiling, requests: 200, concurrency: 24}]}}`)
	if r.State != bench.StateCompleted {
		t.Fatalf("%v %+v", r.State, r.Error)
	}
	s := b.serverOf(r)
	if len(s.Targets) != 1 || s.Targets[0].State != diagnose.OK || s.Targets[0].URL != "http://mem/metrics" || s.Targets[0].Servers[0] != "vLLM" {
		t.Errorf("targets %+v", s.Targets)
	}
	truth := b.server.Truth()
	truth = truth[len(truth)-200:]
	var prompt, output, queue float64
	for i := range truth {
		prompt, output, queue = prompt+float64(truth[i].PromptTokens), output+float64(truth[i].OutputTokens), queue+truth[i].Batch.QueueMs
	}
	p := profilingPhase(t, s)
	settled := func(name string, want float64) {
		t.Helper()
		if v := p.Value(name); v == nil || v.TotalSettled == nil || *v.TotalSettled != want {
			t.Errorf("%s: %+v, want %v", name, v, want)
		}
	}
	settled("requests", 200)
	settled("prompt_tokens", prompt)
	settled("generation_tokens", output)
	if v := p.Value("queue_time"); v == nil || math.Abs(*v.Avg*1000-queue/200) > 1 {
		t.Errorf("queue %+v, want %v ms", v, queue/200)
	}
	// Eight sequences run from the first step to the last ones.
	if v := p.Value("running"); v == nil || *v.Avg < 7.6 || *v.Max != 8 {
		t.Errorf("running %+v in %v", v, p.End.Sub(p.Start))
	}
	for _, c := range p.Checks {
		if !c.Holds {
			t.Errorf("check %+v", c)
		}
	}
	if len(p.Checks) != 4 {
		t.Errorf("%d checks", len(p.Checks))
	}
	budget := p.Budget
	if budget == nil {
		t.Fatal("no time budget")
	}
	sum := 0.0
	for _, segment := range budget.Segments {
		sum += segment.MS
	}
	if want := b.value(r.ID, "time_to_first_token", "avg"); math.Abs(sum-want) > 0.01*want {
		t.Errorf("the segments add up to %v of %v ms", sum, want)
	}
	if left, ok := budget.Frontend(); !ok || left < 1.9 || left > 10 { // a request is seen at the next step
		t.Errorf("frontend %v ms", left)
	}
	checkServerFiles(t, b.store.Dir(r.ID), output)
	text, err := os.ReadFile(filepath.Join(b.store.Dir(r.ID), "profile_export_console.txt"))
	if err != nil || !bytes.Contains(text, []byte("TTFT ")) || !bytes.Contains(text, []byte(": client 0.00, network and frontend ")) {
		t.Errorf("console: %v\n%s", err, text)
	}
	if devices := b.devicesOf(r); len(devices.Phases) != 2 || len(devices.Phases[1].Devices) != 1 {
		t.Errorf("accelerators: %+v", devices.Phases)
	}
}

// serverMetricsSeries is a series in server_metrics_export.json.
type serverMetricsSeries struct {
	Stats  map[string]float64
	Slices []map[string]any `json:"timeslices"`
	Ours   map[string]any
}

// checkServerFiles checks that AIPerf's files agree with each other.
func checkServerFiles(t *testing.T, dir string, output float64) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, "server_metrics_export.json"))
	if err != nil {
		t.Fatal(err)
	}
	const name = "vllm:generation_tokens"
	var file struct {
		Schema  string `json:"schema_version"`
		Metrics map[string]struct {
			Series []serverMetricsSeries
		}
		Warmup map[string]any `json:"warmup_metrics"`
	}
	if err := json.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	series := slices.DeleteFunc(file.Metrics[name].Series, func(s serverMetricsSeries) bool { return s.Stats["total"] == 0 }) // of other names of the model
	if file.Schema != "1.1" || len(series) != 1 || series[0].Ours["total_settled"] != output || len(series[0].Slices) == 0 || file.Warmup[name] == nil {
		t.Fatalf("schema %s, series %+v", file.Schema, series)
	}
	total := series[0].Stats["total"]
	if math.Abs(total-output) > series[0].Ours["error_bound"].(float64)+20 {
		t.Errorf("total %v of %v", total, output)
	}
	text, err := os.ReadFile(filepath.Join(dir, "server_metrics_export.csv"))
	if err != nil {
		t.Fatal(err)
	}
	in := csv.NewReader(bytes.NewReader(text))
	in.Comment, in.FieldsPerRecord = '#', -1
	rows, err := in.ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(rows, func(row []string) bool { return row[2] == name && row[4] == fmt.Sprintf("%.4f", total) }) {
		t.Errorf("the CSV file lacks %s with %v", name, total)
	}
	table, err := os.Open(filepath.Join(dir, "server_metrics_export.parquet"))
	if err != nil {
		t.Fatal(err)
	}
	defer table.Close()
	type row struct {
		Name  string  `parquet:"metric_name,optional"`
		Value float64 `parquet:"value,optional"`
	}
	read, err := parquet.Read[row](table, fileSize(t, table))
	if err != nil {
		t.Fatal(err)
	}
	last := 0.0
	for _, r := range read {
		if r.Name == name {
			last = r.Value
		}
	}
	if math.Abs(last-total) > 1e-9 {
		t.Errorf("the table ends with %v, not %v", last, total)
	}
	lines, err := os.ReadFile(filepath.Join(dir, "server_metrics_export.jsonl"))
	if err != nil || !strings.Contains(string(lines), `"phase_name":"profiling"`) {
		t.Errorf("lines: %v", err)
	}
	for line := range strings.Lines(string(lines)) {
		if !json.Valid([]byte(line)) {
			t.Fatalf("no JSON: %s", line)
		}
	}
}

func fileSize(t *testing.T, f *os.File) int64 {
	t.Helper()
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}

// TestServerTroubles: whatever a server answers, the run completes with the results that it would have
// without, and does not last longer than settling takes.
func TestServerTroubles(t *testing.T) {
	page := func(kind, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", kind)
			io.WriteString(w, body)
		}
	}
	for _, tt := range []struct {
		name  string
		serve http.HandlerFunc
		state diagnose.State
	}{
		{"missing", http.NotFound, diagnose.NotPrometheus},
		{"failing", func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusInternalServerError) }, diagnose.Unreachable},
		{"HTML", page("text/html", "<html></html>"), diagnose.NotPrometheus},
		{"garbled", page("text/plain", "\x00{{{ nonsense"), diagnose.NotPrometheus},
		{"enormous", page("text/plain", strings.Repeat("some_rather_long_name_of_a_metric 1\n", 20<<20/36)), diagnose.TooLarge},
		{"silent", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, diagnose.Unreachable},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBed(t, timing(t, 100*time.Millisecond, 10*time.Millisecond), pageInstead(tt.serve))
				before := time.Now()
				r := b.run(`{benchmark: {model: m, endpoint: {url: "http://mem"}, serverMetrics: true, ` + streamedLoad + `, phases: {requests: 20, concurrency: 2}}}`)
				if took := time.Since(before); took > 4*time.Second { // of which the load takes 3
					t.Errorf("it took %v", took)
				}
				if r.State != bench.StateCompleted || r.Summary.Errors != 0 {
					t.Errorf("%v, %+v", r.State, r.Error)
				}
				for _, w := range r.Warnings {
					if strings.HasPrefix(w.Code, "server-metrics") {
						t.Errorf("a page that nobody asked for causes the warning %s: %s", w.Code, w.Detail)
					}
				}
				s := b.serverOf(r)
				if one := s.Targets[0]; one.State != tt.state || one.Fetches != 0 || len(s.Phases) != 0 {
					t.Errorf("target %+v", one)
				}
				for _, name := range []string{"json", "csv", "jsonl", "parquet"} {
					if _, err := os.Stat(filepath.Join(b.store.Dir(r.ID), "server_metrics_export."+name)); err == nil {
						t.Errorf("there is a file of type %s", name)
					}
				}
			})
		})
	}
}

// pageInstead replaces the page of metrics of a server.
func pageInstead(serve http.HandlerFunc) func(http.Handler) http.Handler {
	return func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if strings.HasSuffix(r.URL.Path, "/metrics") {
				serve(w, r)
				return
			}
			h.ServeHTTP(w, r)
		})
	}
}

// TestServerMetricsOff: nothing is read then, and the report has nothing of it.
func TestServerMetricsOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var read atomic.Int64
		b := newBed(t, timing(t, time.Millisecond, time.Millisecond), pageInstead(func(http.ResponseWriter, *http.Request) { read.Add(1) }))
		r := b.run(`{benchmark: {model: m, endpoint: {url: "http://mem"}, serverMetrics: false, phases: {requests: 2}, tokenizer: {name: builtin}}}`)
		s, err := results.Open(b.store.Dir(r.ID), "").Server()
		if read.Load() != 0 || s != nil || err != nil {
			t.Errorf("%d pages were read, %+v, %v", read.Load(), s, err)
		}
	})
}

// TestGivenPage: a page that the user names is read without the credentials of the servers under test, and
// one that does not answer is a warning.
func TestGivenPage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var seen atomic.Value
		seen.Store("")
		b := newBed(t, timing(t, time.Millisecond, time.Millisecond), func(h http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				switch r.Host + r.URL.Path {
				case "other:9/metrics":
					seen.Store(r.Header.Get("Authorization"))
					http.NotFound(w, r)
				case "other:9/prometheus/metrics":
					http.NotFound(w, r)
				case "mem/metrics":
					if r.Header.Get("Authorization") != "Bearer canary4711xyz" {
						t.Errorf("the server under test got %q", r.Header.Get("Authorization"))
					}
					h.ServeHTTP(w, r)
				default:
					h.ServeHTTP(w, r)
				}
			})
		})
		r := b.run(`{benchmark: {model: m, endpoint: {url: "http://mem", apiKey: canary4711xyz}, serverMetrics: "other:9", phases: {requests: 2}, tokenizer: {name: builtin}}}`)
		if got := seen.Load(); got != "" {
			t.Errorf("the other server got %q", got)
		}
		want := "no server metrics of http://other:9/prometheus/metrics (not-prometheus): HTTP 404 without metrics"
		if !slices.ContainsFunc(r.Warnings, func(w bench.Warning) bool { return w.Code == "server-metrics" && w.Detail == want }) {
			t.Errorf("warnings %+v", r.Warnings)
		}
	})
}
