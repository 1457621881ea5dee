package api

import (
	"bytes"
	"encoding/json"
	"flag"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"aiperfd/internal/api/respond"
	"aiperfd/internal/api/results"
	"aiperfd/internal/engine/bench"
	"aiperfd/internal/run"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func urlPath(p string) (string, error) { return url.PathUnescape(p) }

// golden compares text with a file of testdata.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
}

func indented(t *testing.T, body []byte) []byte {
	t.Helper()
	var buf bytes.Buffer
	if err := json.Indent(&buf, body, "", " "); err != nil {
		t.Fatalf("not JSON: %v\n%s", err, body)
	}
	return append(buf.Bytes(), '\n')
}

func TestShapes(t *testing.T) {
	ts := newTestServer(t, nil)
	ts.fake.writeArtifacts(t, idDone, map[string]string{
		results.MarkerReady: `{"ready":true,"was_cancelled":false,"partial":false}`, "profile_export_aiperf.json": `{"a":1}`, "logs/run.log": "x\n",
	})
	tests := []struct{ name, target string }{
		{"config.json", "/api/config?run=" + idDone},
		{"run.json", "/api/run?run=" + idDone},
		{"metrics.json", "/api/metrics?run=" + idDone},
		{"progress_running.json", "/api/progress"},
		{"progress_done.json", "/api/progress?run=latest"},
		{"workers.json", "/api/runs/" + idDone + "/workers"},
		{"server_metrics.json", "/api/server-metrics"},
		{"results_running.json", "/api/results"},
		{"results_done.json", "/api/results?run=" + idDone},
		{"results_failed.json", "/api/results?run=" + idFailed},
		{"list.json", "/api/results/list?run=" + idDone},
		{"list_not_ready.json", "/api/results/list"},
		{"run_resource.json", "/api/runs/" + idDone},
		{"run_resource_running.json", "/api/runs/current"},
		{"run_resource_queued.json", "/api/runs/" + idQueued},
		{"runs.json", "/api/runs?limit=2"},
		{"queue.json", "/api/queue"},
		{"session.json", "/api/session"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := ts.do("GET", tt.target, "")
			if w.Code != http.StatusOK || w.Header().Get("Content-Type") != "application/json" {
				t.Fatalf("GET %s = %d %s\n%s", tt.target, w.Code, w.Header().Get("Content-Type"), w.Body)
			}
			golden(t, tt.name, indented(t, w.Body.Bytes()))
		})
	}
}

// Twins answer the same bytes as the selected run's routes.
func TestTwins(t *testing.T) {
	ts := newTestServer(t, nil)
	for _, what := range []string{"config", "run", "metrics", "progress", "server-metrics", "results", "results/list"} {
		selected, twin := ts.do("GET", "/api/"+what+"?run="+idDone, ""), ts.do("GET", "/api/runs/"+idDone+"/"+what, "")
		if diff := cmp.Diff(selected.Body.String(), twin.Body.String()); diff != "" {
			t.Errorf("%s: selected and twin differ:\n%s", what, diff)
		}
		if got := twin.Header().Get(respond.HeaderRunID); got != idDone {
			t.Errorf("%s: run id header = %q, want %q", what, got, idDone)
		}
	}
}

// What a daemon without any run answers.
func TestNoRun(t *testing.T) {
	ts := newTestServer(t, nil)
	ts.fake.runs, ts.fake.queue.Running = nil, nil
	tests := []struct {
		target string
		status int
		want   string
	}{
		{"/api/run", 503, `"detail":"No active benchmark run."`},
		{"/api/config", 503, `"detail":"No active benchmark run."`},
		{"/api/results", 404, `urn:aiperfd:problem:no-run`},
		{"/api/results/list", 404, `urn:aiperfd:problem:no-run`},
		{"/api/results/files/x.json", 404, `urn:aiperfd:problem:no-run`},
		{"/api/metrics", 200, `"benchmark_id":null,"model":null,"endpoint_type":null,"streaming":null,"concurrency":null,"request_rate":null,"metrics":{}`},
		{"/api/progress", 200, `{"phases":{},"workers":{"ready":0`},
		{"/api/progress", 200, `"results_exported":false,"system_state":"ready"}`},
		{"/api/workers", 200, `{"workers":{},"worker_groups":{"local":{"group_id":"local","status":"idle"`},
		{"/metrics", 200, "aiperfd_build_info"},
		{"/api/runs/current", 404, "No run is active"},
		{"/api/runs/latest", 404, "No run has ended yet"},
	}
	for _, tt := range tests {
		w := ts.do("GET", tt.target, "")
		if w.Code != tt.status || !strings.Contains(w.Body.String(), tt.want) {
			t.Errorf("GET %s = %d %s, want %d with %s", tt.target, w.Code, w.Body, tt.status, tt.want)
		}
	}
	if body := ts.do("GET", "/metrics", "").Body.String(); strings.Contains(body, "aiperf_") {
		t.Errorf("/metrics has families of a run:\n%s", body)
	}
}

// The status of results stays "running" until the run is terminal.
func TestResultsStatus(t *testing.T) {
	tests := []struct {
		state   bench.State
		final   bool
		status  string
		system  string
		results bool
	}{
		{bench.StateQueued, false, "running", "initializing", false},
		{bench.StateStarting, false, "running", "configuring", false},
		{bench.StateRunning, false, "running", "profiling", false},
		{bench.StateStopping, false, "running", "stopping", false},
		{bench.StateExporting, true, "running", "processing", false},
		{bench.StateCompleted, true, "complete", "shutdown", true},
		{bench.StateCompleted, false, "incomplete", "shutdown", false},
		{bench.StateCancelled, true, "cancelled", "shutdown", true},
		{bench.StateCancelled, false, "cancelled", "shutdown", false},
		{bench.StateFailed, true, "incomplete", "shutdown", false},
	}
	for _, tt := range tests {
		ts := newTestServer(t, nil)
		ts.fake.runs = []*run.Run{testRun(idDone, tt.state)}
		ts.fake.snapshots[idDone] = testSnapshot(tt.final)
		var got struct {
			Status  string
			State   string
			Results *struct{}
			Error   *struct{ Code string }
		}
		if err := json.Unmarshal(ts.do("GET", "/api/runs/"+idDone+"/results", "").Body.Bytes(), &got); err != nil {
			t.Fatal(err)
		}
		if got.Status != tt.status || (got.Results != nil) != tt.results || got.State != string(tt.state) {
			t.Errorf("results of %s (final %t) = %+v, want status %s", tt.state, tt.final, got, tt.status)
		}
		if (got.Error != nil) != (tt.state == bench.StateFailed) {
			t.Errorf("results of %s: error = %v", tt.state, got.Error)
		}
		if body := ts.do("GET", "/api/runs/"+idDone+"/progress", "").Body.String(); !strings.Contains(body, `"system_state":"`+tt.system+`"`) {
			t.Errorf("progress of %s = %s, want system_state %s", tt.state, body, tt.system)
		}
	}
}
