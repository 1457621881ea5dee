package api

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"aiperfd/internal/api/prom"
	"aiperfd/internal/api/respond"
	"aiperfd/internal/run"
)

func TestScrapeCompat(t *testing.T) {
	ts := newTestServer(t, nil)
	w := ts.do("GET", "/metrics?names=compat&run="+idDone, "")
	if w.Code != 200 || w.Header().Get("Content-Type") != prom.TextFormat || w.Header().Get(respond.HeaderRunID) != idDone {
		t.Fatalf("scrape = %d %v", w.Code, w.Header())
	}
	golden(t, "compat.prom", w.Body.Bytes())
}

// AIPerf's names of a run vanish some time after its end, unless the scrape names it.
func TestScrapeLinger(t *testing.T) {
	for _, tt := range []struct {
		target string
		ago    time.Duration
		want   bool
	}{
		{"/metrics?names=compat", 9 * time.Minute, true},
		{"/metrics?names=compat", 11 * time.Minute, false},
		{"/metrics", 11 * time.Minute, false},
		{"/metrics?names=compat&run=latest", 11 * time.Minute, true},
	} {
		ts := newTestServer(t, nil)
		ts.fake.queue.Running = nil
		for _, r := range ts.fake.runs {
			if r.State.Terminal() {
				r.EndedAt = new(time.Now().Add(-tt.ago))
			}
		}
		w := ts.do("GET", tt.target, "")
		has := strings.Contains(w.Body.String(), "aiperf_request_count")
		if w.Code != 200 || has != tt.want || (w.Header().Get(respond.HeaderRunID) != "") != tt.want {
			t.Errorf("GET %s %v after the end: %d, metrics %v of run %q, want %v", tt.target, tt.ago, w.Code, has, w.Header().Get(respond.HeaderRunID), tt.want)
		}
	}
}

// Both name spaces together are one valid exposition, each family once.
func TestScrapeAll(t *testing.T) {
	ts := newTestServer(t, nil)
	for _, target := range []string{"/metrics", "/metrics?names=all", "/api/runs/" + idDone + "/metrics.prom"} {
		w := ts.do("GET", target, "")
		if w.Code != 200 {
			t.Fatalf("GET %s = %d %s", target, w.Code, w.Body)
		}
		parser := expfmt.NewTextParser(model.UTF8Validation)
		families, err := parser.TextToMetricFamilies(strings.NewReader(w.Body.String()))
		if err != nil {
			t.Fatalf("GET %s: %v", target, err)
		}
		for _, name := range []string{"aiperf_info", "aiperf_run_info", "aiperf_requests_total", "aiperf_time_to_first_token_ms", "aiperf_request_count_avg_requests"} {
			if families[name] == nil {
				t.Errorf("GET %s: no family %s", target, name)
			}
		}
		if got := families["aiperfd_build_info"] != nil; got != strings.HasPrefix(target, "/metrics") {
			t.Errorf("GET %s: metrics of the process: %t", target, got)
		}
	}
	if w := ts.do("GET", "/metrics?names=some", ""); w.Code != 400 {
		t.Errorf("names=some = %d", w.Code)
	}
}

func TestScrapeNative(t *testing.T) {
	ts := newTestServer(t, nil)
	ts.do("GET", "/api/run", "")
	w := ts.do("GET", "/metrics?names=native", "")
	problems, err := promlint.New(strings.NewReader(w.Body.String())).Lint()
	if err != nil || len(problems) > 0 {
		t.Errorf("promlint: %v %v", problems, err)
	}
	var ours []string
	for line := range strings.Lines(w.Body.String()) {
		if regexp.MustCompile(`^aiperf_|^aiperfd_(queue|runs|ws)|^aiperfd_http.*/api/run"`).MatchString(line) {
			ours = append(ours, line)
		}
	}
	golden(t, "native.prom", []byte(strings.Join(ours, "")))

	open := ts.do("GET", "/metrics?names=native", "", "Accept: application/openmetrics-text; version=1.0.0")
	if got := open.Header().Get("Content-Type"); !strings.HasPrefix(got, "application/openmetrics-text; version=1.0.0") ||
		!strings.HasSuffix(open.Body.String(), "# EOF\n") {
		t.Errorf("OpenMetrics: %s", got)
	}
}

// A scrape that names a run has no other, whatever the names are.
func TestScrapeOneRun(t *testing.T) {
	ts := newTestServer(t, nil)
	for _, names := range []string{prom.NamesCompat, prom.NamesNative, prom.NamesAll} {
		for _, id := range []string{idDone, idRunning} {
			w := ts.do("GET", "/metrics?names="+names+"&run="+id, "")
			for _, other := range []string{idDone, idRunning} {
				if got := strings.Contains(w.Body.String(), `="`+other+`"`); got != (other == id) {
					t.Errorf("names=%s of run %s: metrics of %s: %v", names, id, other, got)
				}
			}
			if w.Code != 200 || w.Header().Get(respond.HeaderRunID) != id {
				t.Errorf("names=%s of run %s = %d of %s", names, id, w.Code, w.Header().Get(respond.HeaderRunID))
			}
		}
	}
}

// A scrape sees active runs; without one, the last that finished, for a while.
func TestScrapedRuns(t *testing.T) {
	ts := newTestServer(t, nil)
	tests := []struct {
		name    string
		running []string
		ago     time.Duration // since the run has finished
		want    []string
	}{
		{"active", []string{idRunning}, 0, []string{idRunning}},
		{"deleted in between", []string{idMissing}, 0, []string{idDone}},
		{"just finished", nil, DefaultMetricsLinger - time.Minute, []string{idDone}},
		{"long ago", nil, DefaultMetricsLinger + time.Minute, nil},
	}
	for _, tt := range tests {
		ts.fake.queue.Running = tt.running
		ts.fake.get(idDone).EndedAt = new(time.Now().Add(-tt.ago))
		w := ts.do("GET", "/metrics?names=native", "")
		var got []string
		for _, id := range []string{idDone, idFailed, idQueued, idRunning} {
			if strings.Contains(w.Body.String(), `run_id="`+id+`"`) {
				got = append(got, id)
			}
		}
		if w.Code != 200 || !slices.Equal(got, tt.want) {
			t.Errorf("%s: scraped %v, %d, want %v", tt.name, got, w.Code, tt.want)
		}
	}
}

// A scrape has what the servers said of the run that finished last.
func TestScrapeServers(t *testing.T) {
	ts := newTestServer(t, nil)
	ts.fake.queue.Running = nil
	ts.fake.get(idDone).EndedAt = new(time.Now())
	report := `{"schema": "aiperfd/1", "server": {"targets": [{"url": "http://h/metrics", "fetches": 3, "up": true}], "phases": []}}`
	name := filepath.Join(ts.fake.dir, idDone, "result.json")
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(report), 0o600); err != nil {
		t.Fatal(err)
	}
	want := `aiperf_server_up{run_id="` + idDone + `",target="http://h/metrics"} 1`
	for _, path := range []string{"/metrics?names=native", "/metrics?run=latest", "/api/runs/" + idDone + "/metrics.prom"} {
		if w := ts.do("GET", path, ""); !strings.Contains(w.Body.String(), want) {
			t.Errorf("GET %s: %d without %s", path, w.Code, want)
		}
	}
}

// The counters of the process count what happens.
func TestSelfMetrics(t *testing.T) {
	ts := newTestServer(t, func(o *Options) { o.Cluster = nil })
	ts.do("GET", "/api/runs/"+idDone, "")
	ts.do("GET", "/api/runs/"+idMissing, "")
	ts.do("GET", "/nope", "")
	ts.Hub.Publish(run.Event{Type: run.EventComplete, RunID: idDone, At: epoch, Run: ts.fake.runs[1]})
	families, err := prometheus.Gatherers{ts.registry}.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range families {
		if !strings.HasPrefix(f.GetName(), "aiperfd_") || f.GetName() == "aiperfd_build_info" {
			continue
		}
		var b strings.Builder
		if _, err := expfmt.MetricFamilyToText(&b, f); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(b.String()) {
			if line[0] != '#' {
				got = append(got, strings.TrimSpace(line))
			}
		}
	}
	want := []string{
		`aiperfd_event_streams 0`,
		`aiperfd_http_requests_total{code="200",route="/api/runs/{id}"} 1`,
		`aiperfd_http_requests_total{code="404",route="/api/runs/{id}"} 1`,
		`aiperfd_http_requests_total{code="404",route="unmatched"} 1`,
		`aiperfd_queue_depth 1`,
		`aiperfd_recovered_runs_total 0`, `aiperfd_recovery_pending_runs 0`, `aiperfd_recovery_read_bytes_total 0`,
		`aiperfd_runs_total{state="cancelled"} 0`, `aiperfd_runs_total{state="completed"} 1`, `aiperfd_runs_total{state="failed"} 0`,
		`aiperfd_ws_clients 0`, `aiperfd_ws_dropped_messages_total 0`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("metrics (-want +got):\n%s", diff)
	}
}

// Every selection of names comes in every format, and all formats have the same
// families. Only protobuf has native histograms.
func TestScrapeFormats(t *testing.T) {
	ts := newTestServer(t, nil)
	ts.do("GET", "/healthz", "") // so that requests are counted in the first exposition, too
	const protobuf = "application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily; encoding=delimited"
	for target, least := range map[string]int{
		"/metrics?names=compat&run=" + idDone: 10, "/metrics?names=native": 60, "/metrics?names=all&run=" + idDone: 75,
		"/api/runs/" + idDone + "/metrics.prom": 35, "/metrics?names=compat": 10,
	} {
		text, open, binary := ts.do("GET", target, ""),
			ts.do("GET", target, "", "Accept: application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5"),
			ts.do("GET", target, "", "Accept: "+protobuf)
		if got := text.Header().Get("Content-Type"); got != prom.TextFormat {
			t.Errorf("GET %s = %s", target, got)
		}
		if got := open.Header().Get("Content-Type"); !strings.HasPrefix(got, "application/openmetrics-text; version=1.0.0") ||
			!strings.HasSuffix(open.Body.String(), "# EOF\n") {
			t.Errorf("GET %s = %s", target, got)
		}
		want, opened := typed(text.Body.String()), typed(open.Body.String())
		if len(want) < least {
			t.Errorf("GET %s has %d families", target, len(want))
		}
		if diff := cmp.Diff(want, opened); diff != "" {
			t.Errorf("GET %s (-text +OpenMetrics):\n%s", target, diff)
		}
		var got []string
		decoder := expfmt.NewDecoder(binary.Body, expfmt.ResponseFormat(binary.Header()))
		for {
			var f dto.MetricFamily
			if err := decoder.Decode(&f); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("GET %s: %v", target, err)
			}
			got = append(got, strings.TrimSuffix(f.GetName(), "_total")+" "+strings.ToLower(f.GetType().String()))
			if h := f.Metric[0].GetHistogram(); strings.HasPrefix(f.GetName(), "aiperf_") && h != nil && (len(h.Bucket) == 0 || len(h.PositiveSpan) == 0) {
				t.Errorf("GET %s: %s has %d classic buckets and %d spans", target, f.GetName(), len(h.Bucket), len(h.PositiveSpan))
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("GET %s (-text +protobuf):\n%s", target, diff)
		}
	}
}

// typed returns the names and types of the families of an exposition, without the
// suffix that OpenMetrics takes from the names of counters.
func typed(exposition string) (out []string) {
	for line := range strings.Lines(exposition) {
		if f := strings.Fields(line); len(f) == 4 && f[1] == "TYPE" {
			out = append(out, strings.TrimSuffix(f[2], "_total")+" "+f[3])
		}
	}
	return out
}

// Counters and histograms say since when they count.
func TestScrapeCreated(t *testing.T) {
	ts := newTestServer(t, nil)
	body := ts.do("GET", "/metrics", "", "Accept: application/openmetrics-text; version=1.0.0").Body.String()
	phase, began := `{phase="profiling",run_id="`+idRunning+`"}`, strconv.FormatFloat(float64(epoch.Add(time.Second).UnixNano())/1e9, 'g', -1, 64)
	for _, want := range []string{
		"aiperf_requests_sent_created" + phase + " " + began,
		"aiperf_request_duration_seconds_created" + phase + " " + began,
		"aiperf_bytes_sent_created{",
	} {
		if !strings.Contains(body, want) {
			t.Errorf("no %s in\n%s", want, body)
		}
	}
}
