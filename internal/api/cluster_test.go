package api

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"aiperfd/internal/api/access"
	"aiperfd/internal/run"
)

// fakeCluster has two load generators, of which one performs a run.
type fakeCluster struct{ workers []run.Worker }

func newFakeCluster() *fakeCluster {
	id := idRunning
	return &fakeCluster{[]run.Worker{
		{
			ID: "k3v9q2xak3v9q2xak3v9q2xak3", Name: "one", Version: "0.1.0", State: "running", RunID: &id, Joined: epoch,
			Heard: epoch.Add(time.Minute), Cores: 4, Memory: new(int64(8e9)), Labels: map[string]string{"region": "eu"},
			ClockOffset: new(-2500.25), ClockBound: new(0.04), RoundTrip: 0.1, Lanes: 65536, StartSkew: new(0.02), Requests: 7,
		},
		{
			ID: "zzzzzzzzzzzzzzzz", Name: "two", Version: "0.1.0", State: "idle", Joined: epoch, Heard: epoch, Cores: 2,
			Labels: map[string]string{},
		},
	}}
}

func (f *fakeCluster) Workers() []run.Worker { return slices.Clone(f.workers) }

func (f *fakeCluster) Drain(name string) (run.Worker, error) {
	for i := range f.workers {
		if w := &f.workers[i]; w.Name == name || w.ID == name {
			w.Draining = true
			return *w, nil
		}
	}
	return run.Worker{}, run.ErrNoWorker
}

func (f *fakeCluster) Traffic() []run.BusTraffic {
	return []run.BusTraffic{{Kind: "beat", Messages: 20, Bytes: 4000}, {Kind: "clock", Messages: 40, Bytes: 900}}
}

func TestCluster(t *testing.T) {
	ts := newTestServer(t, nil)
	golden(t, "cluster.json", indented(t, ts.do("GET", "/api/cluster", "").Body.Bytes()))
	for _, tt := range []struct {
		method, target string
		status         int
		want           string
	}{
		{"GET", "/api/cluster/workers/one", 200, `"name":"one"`},
		{"GET", "/api/cluster/workers/zzzzzzzzzzzzzzzz", 200, `"name":"two"`},
		{"GET", "/api/cluster/workers/three", 404, "No worker of this name or id has joined"},
		{"POST", "/api/cluster/workers/one/drain", 200, `"state":"running","draining":true`},
		{"POST", "/api/cluster/workers/one/drain", 200, `"state":"running","draining":true`},
		{"POST", "/api/cluster/workers/three/drain", 404, "No worker of this name or id has joined"},
		{"GET", "/api/cluster?x=1", 400, "bad-parameter"},
	} {
		w := ts.do(tt.method, tt.target, "")
		if w.Code != tt.status || !strings.Contains(w.Body.String(), tt.want) {
			t.Errorf("%s %s = %d %s, want %d with %s", tt.method, tt.target, w.Code, w.Body, tt.status, tt.want)
		}
	}
}

// The load generators of a run can be read one by one, also after it.
func TestWorkersOfRun(t *testing.T) {
	ts := newTestServer(t, nil)
	snap := testSnapshot(true)
	snap.Workers = []run.WorkerState{{Name: "one", State: "completed", Requests: 7}, {Name: "two", State: "lost"}}
	ts.fake.snapshots[idDone] = snap
	for _, tt := range []struct {
		target string
		status int
		want   string
	}{
		{"/api/runs/" + idDone + "/workers/one", 200, `"part":{"name":"one","state":"completed"`},
		{"/api/runs/" + idDone + "/workers/two", 200, `"part":{"name":"two","state":"lost"`},
		{"/api/runs/" + idDone + "/workers/three", 404, "The run has no worker of this name"},
		{"/api/runs/" + idRunning + "/workers/worker-0", 200, `"worker_id":"worker-0"`},
		{"/api/runs/" + idMissing + "/workers/one", 404, "not-found"},
	} {
		if w := ts.do("GET", tt.target, ""); w.Code != tt.status || !strings.Contains(w.Body.String(), tt.want) {
			t.Errorf("GET %s = %d %s, want %d with %s", tt.target, w.Code, w.Body, tt.status, tt.want)
		}
	}
}

// A daemon without a bus says that nothing can join.
func TestNoCluster(t *testing.T) {
	ts := newTestServer(t, func(o *Options) { o.Cluster = nil })
	if got := ts.do("GET", "/api/cluster", "").Body.String(); strings.TrimSpace(got) != `{"enabled":false,"workers":[]}` {
		t.Errorf("cluster = %s", got)
	}
	for _, q := range [][2]string{{"GET", "/api/cluster/workers/one"}, {"POST", "/api/cluster/workers/one/drain"}} {
		if w := ts.do(q[0], q[1], ""); w.Code != http.StatusNotFound {
			t.Errorf("%s %s = %d", q[0], q[1], w.Code)
		}
	}
	if body := ts.do("GET", "/metrics", "").Body.String(); strings.Contains(body, "aiperfd_cluster") || strings.Contains(body, "aiperfd_bus") {
		t.Error("metrics of a cluster that there is not")
	}
}

// Reading is for all who read, draining for administrators.
func TestClusterScopes(t *testing.T) {
	scopes := Scopes()
	for route, want := range map[string]access.Scope{
		"GET /api/cluster": access.Read, "GET /api/cluster/workers/{worker}": access.Read,
		"POST /api/cluster/workers/{worker}/drain": access.Admin,
	} {
		if got := scopes[route]; got != want {
			t.Errorf("%s needs %v, want %v", route, got, want)
		}
	}
}

func TestClusterMetrics(t *testing.T) {
	ts := newTestServer(t, nil)
	var got []string
	for line := range strings.Lines(ts.do("GET", "/metrics?names=native", "").Body.String()) {
		family := strings.TrimPrefix(strings.TrimPrefix(line, "# HELP "), "# TYPE ")
		mine := strings.HasPrefix(family, "aiperfd_cluster") || strings.HasPrefix(family, "aiperfd_bus") || strings.HasPrefix(family, "aiperfd_worker")
		if mine && !strings.HasPrefix(family, "aiperfd_worker_snapshot_age_seconds{") { // it depends on the clock
			got = append(got, strings.TrimSpace(line))
		}
	}
	want := []string{
		"# HELP aiperfd_bus_bytes_total Bytes of the messages between the controller and workers, with answers.",
		"# TYPE aiperfd_bus_bytes_total counter",
		`aiperfd_bus_bytes_total{kind="beat"} 4000`,
		`aiperfd_bus_bytes_total{kind="clock"} 900`,
		"# HELP aiperfd_bus_messages_total Messages between the controller and workers, with answers.",
		"# TYPE aiperfd_bus_messages_total counter",
		`aiperfd_bus_messages_total{kind="beat"} 20`,
		`aiperfd_bus_messages_total{kind="clock"} 40`,
		"# HELP aiperfd_cluster_lanes Lanes of the load of its run that a worker performs, of 65,536; 0 if it performs none.",
		"# TYPE aiperfd_cluster_lanes gauge",
		`aiperfd_cluster_lanes{worker="one"} 65536`,
		`aiperfd_cluster_lanes{worker="two"} 0`,
		"# HELP aiperfd_cluster_workers Workers that have joined, by state.",
		"# TYPE aiperfd_cluster_workers gauge",
		`aiperfd_cluster_workers{state="drained"} 0`,
		`aiperfd_cluster_workers{state="idle"} 1`,
		`aiperfd_cluster_workers{state="late"} 0`,
		`aiperfd_cluster_workers{state="lost"} 0`,
		`aiperfd_cluster_workers{state="preparing"} 0`,
		`aiperfd_cluster_workers{state="ready"} 0`,
		`aiperfd_cluster_workers{state="reporting"} 0`,
		`aiperfd_cluster_workers{state="running"} 1`,
		"# HELP aiperfd_worker_clock_bound_seconds How far the clock of a worker may be from what the controller takes it for.",
		"# TYPE aiperfd_worker_clock_bound_seconds gauge",
		`aiperfd_worker_clock_bound_seconds{worker="one"} 4e-05`,
		"# HELP aiperfd_worker_snapshot_age_seconds Time since the last message of a worker.",
		"# TYPE aiperfd_worker_snapshot_age_seconds gauge",
		"# HELP aiperfd_worker_start_skew_seconds By how much a worker began a phase of its run before or after the time that was agreed on, at most.",
		"# TYPE aiperfd_worker_start_skew_seconds gauge",
		`aiperfd_worker_start_skew_seconds{worker="one"} 2e-05`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("metrics (-want +got):\n%s", diff)
	}
}
