package api

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"aiperfd/internal/api/feed"
	"aiperfd/internal/api/respond"
	"aiperfd/internal/api/runs"
	"aiperfd/internal/api/wire"
	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/config"
	"aiperfd/internal/engine/config/problem"
	"aiperfd/internal/engine/config/secret"
	"aiperfd/internal/engine/metric"
	"aiperfd/internal/engine/metric/catalogue"
	"aiperfd/internal/engine/series"
	"aiperfd/internal/engine/sketch"
	"aiperfd/internal/engine/verdict"
	"aiperfd/internal/results"
	"aiperfd/internal/run"
)

// The runs of the tests.
const (
	idDone    = "01990f2c7d3e7a10b1c2d3e4f5a6b7c8"
	idRunning = "01990f2c7d3e7a10b1c2d3e4f5a6b7c9"
	idQueued  = "01990f2c7d3e7a10b1c2d3e4f5a6b7ca"
	idFailed  = "01990f2c7d3e7a10b1c2d3e4f5a6b7cb"
	idMissing = "ffffffffffffffffffffffffffffffff"
)

// epoch is the wall time of everything in the tests.
var epoch = time.Date(2026, 5, 4, 10, 0, 0, 0, time.UTC)

// fakeEngine is an engine that has runs but runs nothing.
type fakeEngine struct {
	mu        sync.Mutex
	runs      []*run.Run
	snapshots map[string]*run.Snapshot
	queue     run.Queue
	health    run.Health
	dir       string
	submitted []run.Submission
	documents []*config.Document
	cancelled []run.CancelRequest
	err       error // of every method that has one
	next      string
	hold      func() // called by List, unless nil
	queries   []series.Query
	selected  []series.DistributionQuery // of Distributions
	log       []results.LogLine
	logErr    error           // of what was recorded
	done      map[string]bool // runs whose log gets no line any more
}

var (
	_ Runs = (*fakeEngine)(nil)
	_ Live = (*fakeEngine)(nil)
)

func (f *fakeEngine) get(id string) *run.Run {
	i := slices.IndexFunc(f.runs, func(r *run.Run) bool { return r.ID == id })
	if i < 0 {
		return nil
	}
	return f.runs[i]
}

func (f *fakeEngine) Submit(_ context.Context, doc *config.Document, s run.Submission) (*run.Run, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err != nil {
		return nil, f.err
	}
	f.submitted = append(f.submitted, s)
	f.documents = append(f.documents, doc)
	r := testRun("01990f2c7d3e7a10b1c2d3e4f5a6b7d0", bench.StateQueued)
	r.Warnings, r.Idempotency, r.CreatedAt = s.Warnings, s.Idempotency, time.Now()
	f.runs = append(f.runs, r)
	f.queue.IDs = append(f.queue.IDs, r.ID)
	return r, nil
}

func (f *fakeEngine) Get(_ context.Context, id string) (*run.Run, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err != nil {
		return nil, f.err
	}
	if r := f.get(id); r != nil {
		return new(*r), nil
	}
	return nil, run.ErrNotFound
}

func (f *fakeEngine) List(_ context.Context, q run.Query) (run.Page, error) {
	if f.hold != nil {
		f.hold()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err != nil {
		return run.Page{}, f.err
	}
	if q.Cursor == "foreign" {
		return run.Page{}, run.ErrBadCursor
	}
	var page run.Page
	for _, r := range slices.Backward(f.runs) {
		if q.Kind != "" && q.Kind != r.Kind() || q.Parent != "" && q.Parent != r.ParentID() {
			continue
		}
		if q.TopLevel && r.Cell != nil {
			continue
		}
		if q.Idempotency != nil && (r.Idempotency == nil || r.Idempotency.Key != q.Idempotency.Key || !r.CreatedAt.After(q.CreatedAfter)) {
			continue
		}
		if len(q.States) == 0 || slices.Contains(q.States, r.State) {
			listed := *r
			listed.Config = nil // as in lists of a store
			page.Runs = append(page.Runs, listed)
		}
	}
	if q.Sort == run.SortEnded {
		slices.SortStableFunc(page.Runs, func(a, b run.Run) int { return b.EndedAt.Compare(*a.EndedAt) })
	}
	page.Total = len(page.Runs)
	if q.Limit > 0 && q.Limit < len(page.Runs) {
		page.Runs, page.Next = page.Runs[:q.Limit], f.next
	}
	return page, nil
}

func (f *fakeEngine) Cancel(_ context.Context, id string, c run.CancelRequest) (*run.Run, bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	r := f.get(id)
	if r == nil {
		return nil, false, run.ErrNotFound
	}
	f.cancelled = append(f.cancelled, c)
	switch r.State {
	case bench.StateCompleted, bench.StateFailed:
		return nil, false, run.ErrAlreadyFinished
	case bench.StateStopping, bench.StateCancelled:
		return new(*r), c.Force, nil
	case bench.StateQueued:
		r.State = bench.StateCancelled
	case bench.StateStarting, bench.StateRunning, bench.StateExporting:
		r.State = bench.StateStopping
	}
	r.Revision++
	return new(*r), true, nil
}

func (f *fakeEngine) Update(_ context.Context, id string, change func(*run.Run) error) (*run.Run, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err != nil {
		return nil, f.err
	}
	r := f.get(id)
	if r == nil {
		return nil, run.ErrNotFound
	}
	now := *r
	if err := change(&now); err != nil {
		return nil, err
	}
	now.Revision++
	*r = now
	return &now, nil
}

func (f *fakeEngine) Pause(_ context.Context, paused bool) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.queue.Paused = paused && f.err == nil
	return f.err
}

func (f *fakeEngine) Delete(_ context.Context, id string, force bool) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	r := f.get(id)
	if r == nil {
		return run.ErrNotFound
	}
	if !r.State.Terminal() && !force {
		return run.ErrActive
	}
	f.runs = slices.DeleteFunc(f.runs, func(r *run.Run) bool { return r.ID == id })
	return nil
}

func (f *fakeEngine) Selected(context.Context) (string, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if n := len(f.queue.Running); n > 0 {
		return f.queue.Running[n-1], true
	}
	for _, r := range slices.Backward(f.runs) {
		if r.State.Terminal() {
			return r.ID, true
		}
	}
	return "", false
}

func (f *fakeEngine) Snapshot(_ context.Context, id string) (*run.Snapshot, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if s := f.snapshots[id]; s != nil {
		return s, nil
	}
	return nil, run.ErrNotFound
}

func (f *fakeEngine) Queue() run.Queue {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.queue
}

func (f *fakeEngine) Artifacts(id string) (*os.Root, error) {
	return os.OpenRoot(filepath.Join(f.dir, id))
}

func (f *fakeEngine) Health() run.Health { return f.health }

func testRun(id string, state bench.State) *run.Run {
	r := &run.Run{
		ID: id, Name: "qwen nightly", Labels: map[string]string{"gpu": "h100"}, State: state,
		CreatedAt: epoch, Origin: run.Origin{Via: "api", Version: "0.1.0", Seed: 7}, Models: []string{"qwen-7b"},
		Targets: []string{"https://<redacted>@gw.lab:8443"}, Endpoint: "chat", Streaming: true,
		Concurrency: new(64), Rate: new(30.0), Credentials: run.Credentials{APIKey: true, Headers: []string{"Authorization"}},
		Revision: 3, Config: json.RawMessage(`{"endpoint":{"urls":["https://<redacted>@gw.lab:8443"],"headers":{"Authorization":"<redacted>"}},"phases":[{"gracePeriod":null}]}`),
	}
	if state != bench.StateQueued {
		r.StartedAt = new(epoch.Add(time.Second))
	}
	if state.Terminal() {
		r.EndedAt = new(epoch.Add(44 * time.Second))
		r.Summary = &run.Summary{
			Requests: 500, Errors: 3, ErrorRate: new(0.6), TTFTP50: new(38.9), Windows: []run.Window{{Name: "steady"}},
		}
	}
	if state == bench.StateFailed {
		r.Error = &run.Error{Code: run.NoSuccess, Message: "not one request succeeded"}
	}
	return r
}

// testMetrics are one record metric, two scalars and one for developers only.
func testMetrics() metric.Results {
	ttft := metric.Result{Def: &catalogue.Def{Tag: "time_to_first_token", Header: "Time to First Token", Unit: "ms"}, Count: 480}
	for stat, v := range map[metric.Stat]float64{
		metric.Avg: 41.2, metric.P50: 38.9, metric.P99: 97, metric.Min: 30.1, metric.Max: 120.4, metric.Std: 9.7, metric.Sum: 19776,
	} {
		ttft.Set(stat, v)
	}
	count := metric.Result{Def: &catalogue.Def{Tag: "request_count", Header: "Request Count", Unit: "requests", Flags: catalogue.LargerIsBetter}}
	count.Set(metric.Avg, 500)
	rate := metric.Result{Def: &catalogue.Def{Tag: "request_throughput", Better: catalogue.Higher, Header: "Request Throughput", Unit: "requests/sec", Flags: catalogue.LargerIsBetter}}
	rate.Set(metric.Avg, 11.87)
	secret := metric.Result{Def: &catalogue.Def{Tag: "internal_thing", Header: "Internal", Unit: "ms", Flags: catalogue.Internal}}
	secret.Set(metric.Avg, 1)
	return metric.Results{count, ttft, rate, secret}
}

// testClient is the verdict on a client that was late at times.
func testClient() *verdict.Report {
	const msec = time.Millisecond
	o := verdict.Observation{
		Phase: "profiling",
		Self: verdict.Self{
			Window: 10 * time.Second, CPU: &verdict.CPU{Used: 2 * time.Second, Cores: 2, Busy: time.Second}, RSS: 58720256,
			Machine: &verdict.Machine{Cores: 2, Idle: 12 * time.Second, Others: 6 * time.Second},
		},
		Load: verdict.Load{Requests: 121, Delivered: 12.1, Lost: 0.02, Turnaround: 20 * msec, TTFT: 200 * msec, Kernel: 121},
	}
	o.Self.Ticks.AddN(msec/10, 1950)
	o.Self.Ticks.AddN(4*msec, 50)
	o.Load.Send.AddN(msec/20, 121)
	o.Load.Schedule.AddN(msec/5, 121)
	r := verdict.Judge(&o)
	return &r
}

// testSnapshot is a run in the middle of its profiling phase, or at its end.
func testSnapshot(final bool) *run.Snapshot {
	latency := sketch.New()
	for i := range 100 {
		latency.Add(0.010 * float64(i+1))
	}
	st := bench.PhaseStats{
		ProfilingIndex: 0, Name: "profiling", Kind: bench.Profiling, Start: time.Second, ExpectedRequests: 500,
		Grace: -1, Sent: 128, Completed: 121, Errors: 2, SentSessions: 128, CompletedSessions: 121, SessionTurns: 128,
		Records: bench.RecordCounts{Success: 118, Errors: 2}, LastUpdate: 11 * time.Second,
	}
	s := &run.Snapshot{
		Wall: epoch.Add(11 * time.Second), Elapsed: 10 * time.Second, State: bench.StateRunning, Metrics: testMetrics(),
		MetricsAt: epoch.Add(11 * time.Second), Start: epoch.Add(time.Second),
		Process: run.Process{
			PID: 4711, Created: epoch.Add(-time.Second), CPUUser: 3100 * time.Millisecond, CPUSystem: 400 * time.Millisecond,
			CPUPercent: 31, RSS: 58720256, Threads: 14, VoluntarySwitches: 410, InvoluntarySwitches: 33,
		},
	}
	counters := run.Counters{
		Sent: 128, Success: 119, Errors: map[bench.Class]int64{bench.Overloaded: 1, bench.TimeoutTotal: 1},
		InputTokens: 1000, OutputTokens: 2000, ReasoningTokens: 10, BytesSent: 5, BytesReceived: 6,
		SLOMet: map[string]int64{"time_to_first_token": 100}, SLOMissed: map[string]int64{"time_to_first_token": 19},
		Histograms: map[string]*sketch.Sketch{"request_latency": latency},
	}
	if final {
		st.Sent, st.Completed, st.Errors, st.SentSessions, st.CompletedSessions = 500, 500, 3, 500, 500
		st.Records.Success, st.Records.Errors, st.End = 497, 3, bench.PhaseCompleted
		st.SentEnd, st.RequestsEnd, st.RecordsEnd = 40*time.Second, 43*time.Second, 43*time.Second
		counters.Success, counters.Errors = 497, map[bench.Class]int64{bench.Overloaded: 3}
		s.Wall, s.State, s.Final, s.Exported, s.End = epoch.Add(44*time.Second), bench.StateCompleted, true, true, epoch.Add(43*time.Second)
		s.Errors = []metric.ErrorGroup{{Class: bench.Overloaded, Status: 503, Type: "Service Unavailable", Example: "overloaded", Count: 3}}
	}
	s.Client, s.Stream = testClient(), &verdict.Stream{
		Class: verdict.PerToken, Message: "about one token an event", Streams: 119, Events: 2000, Gaps: 1881, EventsPerRead: 1,
		Withheld: map[string]verdict.Withheld{},
	}
	s.Phases = []run.Phase{{Stats: st, Epoch: epoch, Counters: counters, Concurrency: new(64)}}
	return s
}

// newFake has a finished, a failed, a running and a queued run.
func newFake(t testing.TB) *fakeEngine {
	t.Helper()
	f := &fakeEngine{
		runs: []*run.Run{
			testRun(idFailed, bench.StateFailed), testRun(idDone, bench.StateCompleted), testRun(idRunning, bench.StateRunning), testRun(idQueued, bench.StateQueued),
		},
		snapshots: map[string]*run.Snapshot{idDone: testSnapshot(true), idRunning: testSnapshot(false), idQueued: {}},
		queue:     run.Queue{IDs: []string{idQueued}, Running: []string{idRunning}, Max: 100, MaxRuns: 1},
		health:    run.Health{State: run.HealthRunning, Since: epoch, Checks: map[string]string{"store": "ok"}},
		dir:       t.TempDir(), next: "page2",
	}
	f.runs[0].EndedAt = new(epoch.Add(10 * time.Second))
	return f
}

// writeArtifacts writes the files of a run.
func (f *fakeEngine) writeArtifacts(t testing.TB, id string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(f.dir, id, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, epoch, epoch); err != nil {
			t.Fatal(err)
		}
	}
}

// fakeLoad loads three documents.
func fakeLoad(_ context.Context, data []byte, format config.Format) (runs.Loaded, error) {
	switch text := string(data); {
	case strings.Contains(text, "[:"):
		return runs.Loaded{}, &config.Malformed{Line: 1, Column: 2, Detail: "unexpected token"}
	case strings.Contains(text, "rate: -5"):
		return runs.Loaded{Warnings: []problem.Problem{{Pointer: "#/benchmark", Code: "short-run", Detail: "short"}}}, &problem.Invalid{Problems: []problem.Problem{
			{Pointer: "#/benchmark/phases/0/rate", Code: "out-of-range", Detail: "must be greater than 0", Value: -5, Line: 14, Column: 11},
			{Pointer: "#/benchmark/endpoint/apiKey", Code: "redacted-placeholder", Detail: "holds <redacted>"},
		}}
	}
	doc := &config.Document{Metadata: config.Metadata{Name: string(format)}}
	doc.Benchmark.Endpoint.APIKey = secret.New(canary)
	return runs.Loaded{Document: doc, Warnings: []problem.Problem{{Pointer: "#/benchmark/artifacts/dir", Code: "server-owned", Detail: "ignored"}}}, nil
}

// canary is a secret that no answer may show.
const canary = "sk-canary-5f1d0a77"

// testServer is a server over a fake engine.
type testServer struct {
	*Server
	fake      *fakeEngine
	shutdowns int
}

func newTestServer(t testing.TB, change func(*Options)) *testServer {
	t.Helper()
	ts := &testServer{fake: newFake(t)}
	o := Options{
		Runs: ts.fake, Live: ts.fake, History: ts.fake, Hub: feed.NewHub(2), Load: fakeLoad, Version: "0.1.0",
		Compat:    func(d *config.Document) any { return d },
		Baselines: &fakeBaselines{}, ProbeTelemetry: fakeProbe, Cluster: newFakeCluster(),
		Simulator: func() (wire.Simulator, error) { return wire.Simulator{URL: "http://127.0.0.1:4000", Model: "m"}, nil },
		Shutdown:  func() { ts.shutdowns++ }, Features: []string{"feed"},
	}
	if change != nil {
		change(&o)
	}
	var err error
	if ts.Server, err = New(o); err != nil {
		t.Fatal(err)
	}
	return ts
}

// do sends a request to the handler. Headers are "Name: value".
func (ts *testServer) do(method, target, body string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, "http://localhost", strings.NewReader(body))
	r.URL.Path, r.URL.RawQuery, _ = strings.Cut(target, "?")
	r.URL.RawPath = ""
	if path, err := urlPath(r.URL.Path); err == nil && path != r.URL.Path {
		r.URL.RawPath, r.URL.Path = r.URL.Path, path
	}
	if body == "" {
		r.Body = http.NoBody
	}
	r.RemoteAddr = "127.0.0.1:4242"
	if !slices.ContainsFunc(headers, func(h string) bool { return strings.HasPrefix(h, respond.HeaderRequestID+":") }) {
		r.Header.Set(respond.HeaderRequestID, "req-1")
	}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		if name == "Host" {
			r.Host = value
			continue
		}
		r.Header.Add(name, value)
	}
	w := httptest.NewRecorder()
	ts.Handler().ServeHTTP(w, r)
	return w
}
