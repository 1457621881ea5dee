package mlflow

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"aiperfd/internal/engine/allow"
)

// server is an MLflow server that notes what it gets.
type server struct {
	calls       []string // methods and paths, in order
	experiments map[string]string
	artifacts   string // of new runs
	refuse      string // a path that is answered with 500
	metrics     map[string]float64
	params      map[string]string
	tags        map[string]string
	batches     []string
	files       map[string]string
	status      string
	authorized  []string
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	name := strings.TrimPrefix(r.URL.Path, "/base/api/2.0/mlflow")
	s.calls = append(s.calls, r.Method+" "+name)
	if auth := r.Header.Get("Authorization"); !slices.Contains(s.authorized, auth) {
		s.authorized = append(s.authorized, auth)
	}
	fail := func(status int, code string) {
		w.WriteHeader(status)
		fmt.Fprintf(w, `{"error_code": %q, "message": "no"}`, code)
	}
	if name == s.refuse {
		fail(http.StatusInternalServerError, "INTERNAL_ERROR")
		return
	}
	var in struct {
		Name         string
		RunName      string `json:"run_name"`
		RunID        string `json:"run_id"`
		Status       string
		Tags, Params []Pair
		Metrics      []struct {
			Key   string
			Value float64
		}
	}
	if r.Method == http.MethodPost {
		if err := json.Unmarshal(body, &in); err != nil {
			fail(http.StatusBadRequest, "INVALID_PARAMETER_VALUE")
			return
		}
	}
	switch name {
	case "/experiments/get-by-name":
		id, ok := s.experiments[r.URL.Query().Get("experiment_name")]
		if !ok {
			fail(http.StatusNotFound, "RESOURCE_DOES_NOT_EXIST")
			return
		}
		fmt.Fprintf(w, `{"experiment": {"experiment_id": %q}}`, id)
	case "/experiments/create":
		s.experiments[in.Name] = "7"
		fmt.Fprint(w, `{"experiment_id": "7"}`)
	case "/runs/get":
		if r.URL.Query().Get("run_id") != "parent" {
			fail(http.StatusNotFound, "RESOURCE_DOES_NOT_EXIST")
		}
	case "/runs/create":
		s.note(in.Tags, nil)
		fmt.Fprintf(w, `{"run": {"info": {"run_id": "r1", "artifact_uri": %q}}}`, s.artifacts)
	case "/runs/log-batch":
		if len(in.Metrics)+len(in.Params)+len(in.Tags) > 1000 {
			fail(http.StatusBadRequest, "INVALID_PARAMETER_VALUE")
			return
		}
		s.batches = append(s.batches, fmt.Sprintf("%d metrics, %d params, %d tags", len(in.Metrics), len(in.Params), len(in.Tags)))
		s.note(in.Tags, in.Params)
		for _, m := range in.Metrics {
			s.metrics[m.Key] = m.Value
		}
	case "/runs/update":
		s.status = in.Status
	default:
		s.files[strings.TrimPrefix(name, "-artifacts/artifacts/")] = string(body)
	}
}

func (s *server) note(tags, params []Pair) {
	for _, p := range tags {
		s.tags[p.Key] = p.Value
	}
	for _, p := range params {
		s.params[p.Key] = p.Value
	}
}

// started returns a server and where it is.
func started(t *testing.T) (*server, Server) {
	t.Helper()
	s := &server{
		experiments: map[string]string{}, artifacts: "mlflow-artifacts:/7/r1/artifacts", metrics: map[string]float64{},
		params: map[string]string{}, tags: map[string]string{}, files: map[string]string{},
	}
	web := httptest.NewServer(s)
	t.Cleanup(web.Close)
	u, err := url.Parse(web.URL + "/base")
	if err != nil {
		t.Fatal(err)
	}
	u.User = url.UserPassword("user", "password")
	return s, Server{URL: u}
}

// written returns a run whose folder has some files.
func written(t *testing.T) *Run {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"a.json", "b.csv", ".hidden.json", "plots/p.png", "plots/.hidden/p.png", "log.txt", "phases/x/c.json"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte("content of "+name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = root.Close() })
	return &Run{
		Experiment: "e", Name: "n", BenchmarkID: "b1", Start: time.UnixMilli(1000), End: time.UnixMilli(2000), Status: "FINISHED",
		Metrics: []Metric{{"request_latency", 12.5}, {"request_latency.p99", 20}}, Params: []Pair{{"endpoint.type", "chat"}},
		Tags: []Pair{{"team", "a"}}, Files: root, Globs: DefaultGlobs(), ShownURI: "http://shown",
	}
}

// export writes a run to its experiment.
func export(t *testing.T, to Server, r *Run) (notes []string, err error) {
	t.Helper()
	if r.ExperimentID, err = Find(t.Context(), to, r.Experiment); err != nil {
		return nil, err
	}
	return Export(t.Context(), to, r)
}

func TestExport(t *testing.T) {
	s, to := started(t)
	r := written(t)
	for i := range 2500 {
		r.Metrics = append(r.Metrics, Metric{fmt.Sprintf("m%04d", i), float64(i)})
	}
	notes, err := export(t, to, r)
	if err != nil || len(notes) > 0 {
		t.Fatalf("Export: %v, notes %q", err, notes)
	}
	wantCalls := []string{
		"GET /experiments/get-by-name", "POST /experiments/create", "POST /runs/create", "POST /runs/log-batch",
		"POST /runs/log-batch", "POST /runs/log-batch", "PUT -artifacts/artifacts/7/r1/artifacts/exports/a.json",
		"PUT -artifacts/artifacts/7/r1/artifacts/exports/b.csv", "PUT -artifacts/artifacts/7/r1/artifacts/plots/p.png",
		"PUT -artifacts/artifacts/7/r1/artifacts/exports/mlflow_export.json", "POST /runs/update",
	}
	if diff := cmp.Diff(wantCalls, s.calls); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"998 metrics, 1 params, 1 tags", "1000 metrics, 0 params, 0 tags", "504 metrics, 0 params, 0 tags"}, s.batches); diff != "" {
		t.Errorf("batches (-want +got):\n%s", diff)
	}
	if s.metrics["request_latency.p99"] != 20 || s.metrics["m2499"] != 2499 || s.params["endpoint.type"] != "chat" || s.tags["team"] != "a" || s.status != "FINISHED" {
		t.Errorf("got %d metrics, params %v, tags %v, status %s", len(s.metrics), s.params, s.tags, s.status)
	}
	if got := s.files["7/r1/artifacts/exports/a.json"]; got != "content of a.json" {
		t.Errorf("a.json has %q", got)
	}
	if len(s.authorized) != 1 || !strings.HasPrefix(s.authorized[0], "Basic ") {
		t.Errorf("Authorization %q, want the user of the URL", s.authorized)
	}
	content, err := os.ReadFile(filepath.Join(r.Files.Name(), MetadataFile))
	if err != nil || string(content) != s.files["7/r1/artifacts/exports/mlflow_export.json"] {
		t.Errorf("%s: %v; the uploaded one differs, or there is none", MetadataFile, err)
	}
	var m metadata
	if err := json.Unmarshal(content, &m); err != nil {
		t.Fatal(err)
	}
	if m.RunID != "r1" || m.TrackingURI != "http://shown" || len(m.MetricKeys) != 2502 ||
		fmt.Sprint(m.Uploaded) != "[a.json b.csv plots/p.png mlflow_export.json]" || m.ParentRunID != nil {
		t.Errorf("metadata %+v", m)
	}
}

func TestExportVariants(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(s *server, to *Server, r *Run)
		notes  string
		err    string
		status string
		parent string
		files  int
	}{
		{"an experiment that exists", func(s *server, _ *Server, _ *Run) { s.experiments["e"] = "9" }, "", "", "FINISHED", "", 4},
		{"a parent", func(_ *server, _ *Server, r *Run) { r.ParentID = "parent" }, "", "", "FINISHED", "parent", 4},
		{"no such parent", func(_ *server, _ *Server, r *Run) { r.ParentID = "x" }, "there is no run x to be the parent: the run stands alone", "", "FINISHED", "", 4},
		{"no proxy of artifacts", func(s *server, _ *Server, _ *Run) { s.artifacts = "s3://bucket/7" },
			"the server does not proxy artifacts (mlflow server --serve-artifacts), so no files were uploaded", "", "FINISHED", "", 0},
		{"a failed run", func(_ *server, _ *Server, r *Run) { r.Status = "FAILED" }, "", "", "FAILED", "", 4},
		{"metrics refused", func(s *server, _ *Server, _ *Run) { s.refuse = "/runs/log-batch" }, "", "log metrics: HTTP 500: INTERNAL_ERROR: no", "FAILED", "", 0},
		{"files refused", func(s *server, _ *Server, _ *Run) { s.refuse = "-artifacts/artifacts/7/r1/artifacts/exports/b.csv" }, "",
			"upload b.csv: HTTP 500: INTERNAL_ERROR: no", "FAILED", "", 1},
		{"globs", func(_ *server, _ *Server, r *Run) { r.Globs = []string{"**/*.json"} }, "", "", "FINISHED", "", 3},
		{"token", func(_ *server, to *Server, _ *Run) { to.Token = "t" }, "", "", "FINISHED", "", 4},
		{"not allowed", func(_ *server, to *Server, _ *Run) {
			at, _ := netip.ParseAddrPort(to.URL.Host)
			to.Allow = allow.New(allow.Options{Open: true, Own: []netip.AddrPort{at}})
		}, "", "find the experiment e: ", "", "", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, to := started(t)
			r := written(t)
			tt.change(s, &to, r)
			notes, err := export(t, to, r)
			switch {
			case (err != nil) != (tt.err != "") || err != nil && !strings.HasPrefix(err.Error(), tt.err):
				t.Errorf("error %v, want %q", err, tt.err)
			case strings.Join(notes, "; ") != tt.notes || s.status != tt.status || s.tags["mlflow.parentRunId"] != tt.parent || len(s.files) != tt.files:
				t.Errorf("notes %q, status %q, parent %q, %d files; want %q, %q, %q, %d", notes, s.status, s.tags["mlflow.parentRunId"], len(s.files),
					tt.notes, tt.status, tt.parent, tt.files)
			}
			if to.Token != "" && fmt.Sprint(s.authorized) != "[Bearer t]" {
				t.Errorf("Authorization %q, want the token", s.authorized)
			}
		})
	}
}
