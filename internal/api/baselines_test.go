package api

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/metric"
	"aiperfd/internal/engine/metric/catalogue"
	"aiperfd/internal/run"
)

// fakeBaselines keeps baselines in memory. The workload of a run is its model.
type fakeBaselines struct{ list []run.Baseline }

func (f *fakeBaselines) List(context.Context) ([]run.Baseline, error) { return f.list, nil }

func (f *fakeBaselines) Get(_ context.Context, name string) (*run.Baseline, error) {
	for i := range f.list {
		if f.list[i].Name == name {
			return &f.list[i], nil
		}
	}
	return nil, fmt.Errorf("%w: %s", run.ErrNoBaseline, name)
}

func (f *fakeBaselines) Add(ctx context.Context, name string, r run.Revision) (*run.Revision, error) {
	b, err := f.Get(ctx, name)
	if err != nil {
		f.list = append(f.list, run.Baseline{Name: name})
		b = &f.list[len(f.list)-1]
	}
	r.Number = len(b.Revisions) + 1
	b.Revisions = append(b.Revisions, r)
	return &r, nil
}

func (f *fakeBaselines) Remove(ctx context.Context, name string, revision int) error {
	b, err := f.Get(ctx, name)
	if err != nil {
		return err
	}
	if revision > 0 && len(b.Revisions) > 1 {
		b.Revisions = append(b.Revisions[:revision-1], b.Revisions[revision:]...)
		return nil
	}
	f.list = nil
	return nil
}

func (*fakeBaselines) Key(r *run.Run) (run.BaselineKey, error) {
	return run.BaselineKey{Workload: strings.Join(r.Models, ","), Target: r.Labels[run.TargetLabel]}, nil
}

const jsonType = "Content-Type: application/json"

// TestBaselines sets, reads and removes baselines.
func TestBaselines(t *testing.T) {
	ts := newTestServer(t, nil)
	other := testRun(idMissing[:31]+"e", bench.StateCompleted)
	other.Models = []string{"another"}
	ts.fake.runs = append(ts.fake.runs, other)
	steps := []struct {
		method, target, body string
		status               int
		want                 string // part of the body
	}{
		{"GET", "/api/baselines", "", 200, `{"items":[]}`},
		{"GET", "/api/baselines/main", "", 404, "No such baseline: main"},
		{"PUT", "/api/baselines/main", `{"runs":["` + idRunning + `"]}`, 400, "run " + idRunning + " has not ended"},
		{"PUT", "/api/baselines/main", `{"runs":["` + idMissing + `"]}`, 404, "No such run: " + idMissing},
		{"PUT", "/api/baselines/main", `{"runs":[]}`, 400, "runs has 0 runs, want 1 to 100"},
		{"PUT", "/api/baselines/main", `{"runs":[""]}`, 400, "runs has an empty element"},
		{"PUT", "/api/baselines/main", `{"run":"x"}`, 400, "The body is not the runs of a baseline: json: unknown field"},
		{"PUT", "/api/baselines/-x", `{"runs":["latest"]}`, 400, `Bad name: \"-x\": the name of a baseline has`},
		{"PUT", "/api/baselines/main", `{"runs":["` + idDone + `","` + other.ID + `"]}`, 400, "different loads"},
		{"PUT", "/api/baselines/main", `{"runs":["` + idDone + `"],"note":"` + strings.Repeat("x", 1025) + `"}`, 400, "note has 1025 bytes"},
		{"PUT", "/api/baselines/main", `{"runs":["` + idDone + `","` + idDone + `"],"note":"first"}`, 201, `{"revision":1,"runs":["` + idDone + `"]`},
		{"PUT", "/api/baselines/main", `{"runs":["` + idDone + `"],"note":"first"}`, 200, `{"revision":1,`},
		{"PUT", "/api/baselines/main", `{"runs":["` + idDone + `"],"note":"second"}`, 201, `{"revision":2,`},
		{"GET", "/api/baselines/main", "", 200, `{"name":"main","revisions":[{"revision":1,`},
		{"GET", "/api/baselines/main/2", "", 200, `"note":"second"`},
		{"GET", "/api/baselines/main/3", "", 404, "Baseline main has no revision 3"},
		{"GET", "/api/baselines/main/x", "", 400, `\"x\" is not the number of a revision`},
		{"GET", "/api/baselines?x=1", "", 400, "Unknown parameter"},
		{"DELETE", "/api/baselines/main/3", "", 404, "no revision 3"},
		{"DELETE", "/api/baselines/main/1", "", 204, ""},
		{"DELETE", "/api/baselines/main", "", 204, ""},
		{"DELETE", "/api/baselines/main", "", 404, "No such baseline: main"},
		{"POST", "/api/baselines/main", "", 405, ""},
	}
	for _, s := range steps {
		w := ts.do(s.method, s.target, s.body, jsonType)
		if w.Code != s.status || !strings.Contains(w.Body.String(), s.want) {
			t.Errorf("%s %s %.60s = %d %s, want %d and %s", s.method, s.target, s.body, w.Code, w.Body, s.status, s.want)
		}
		if location := w.Header().Get("Location"); s.status == 201 && !strings.HasPrefix(location, "/api/baselines/main/") {
			t.Errorf("Location = %q", location)
		}
	}
	if r := ts.fake.get(idDone); !r.Pinned {
		t.Error("the run of a baseline is not pinned")
	}
	allow := ts.do("OPTIONS", "/api/baselines/main", "").Header().Get("Allow")
	if diff := cmp.Diff("GET, HEAD, PUT, DELETE, OPTIONS", allow); diff != "" {
		t.Errorf("methods (-want +got):\n%s", diff)
	}
	none := newTestServer(t, func(o *Options) { o.Baselines = nil })
	for _, method := range []string{"GET", "PUT", "DELETE"} {
		if w := none.do(method, "/api/baselines/main", "{}", jsonType); w.Code != 404 || !strings.Contains(w.Body.String(), "keeps no baselines") {
			t.Errorf("%s without a data directory = %d %s", method, w.Code, w.Body)
		}
	}
}

// TestCandidateJudged judges runs by rules, once or while a measurement goes on; the baseline stays as it is.
func TestCandidateJudged(t *testing.T) {
	ts := newTestServer(t, nil)
	var ids []string
	for i, ttft := range []float64{41, 42, 43} {
		id := fmt.Sprintf("%s%x", idMissing[:31], i+10)
		ids = append(ids, `"`+id+`"`)
		ts.fake.runs = append(ts.fake.runs, testRun(id, bench.StateCompleted))
		m := metric.Result{Def: &catalogue.Def{Tag: "time_to_first_token", Header: "Time to First Token", Unit: "ms"}, Count: 480}
		m.Set(metric.Avg, ttft)
		ts.fake.snapshots[id] = &run.Snapshot{State: bench.StateCompleted, Metrics: metric.Results{m}}
	}
	body := func(n int, rest string) string {
		return `{"runs":[` + strings.Join(ids[:n], ",") + `],` + rest + `}`
	}
	for _, s := range []struct {
		body   string
		status int
		want   string // part of the body
	}{
		{`{"runs":[],"rules":["ttft<1"]}`, 400, "runs has 0 runs, want 1 to 100"},
		{body(3, `"rules":[]`), 400, "rules has 0 rules, want 1 to 50"},
		{body(3, `"rules":["ttft<60"],"looks":[2]`), 400, "looks: [2]: numbers of runs from 3 to 100"},
		{body(3, `"rules":["ttft<60"],"on_inconclusive":"shrug"`), 400, `on_inconclusive is \"shrug\"`},
		{body(3, `"rules":["ttft<+5%"]`), 404, "Baseline main has no revision of this workload and target"},
		{body(3, `"rules":["ttft<60"]`), 200, `"verdict":"pass"`},
		{body(3, `"rules":["ttft<30"]`), 200, `"verdict":"fail"`},
		{body(2, `"rules":["ttft<60"],"looks":[3,5]`), 200, `"final":false`},
		{body(3, `"rules":["ttft<60"],"looks":[3,5]`), 200, `"final":true`},
		{body(3, `"rules":["ttft<42"],"on_inconclusive":"pass"`), 200, `"verdict":"inconclusive","counts_as":"pass"`},
	} {
		w := ts.do("POST", "/api/baselines/main/judge", s.body, jsonType)
		if w.Code != s.status || !strings.Contains(w.Body.String(), s.want) {
			t.Errorf("%.140s = %d %s, want %d and %s", s.body, w.Code, w.Body, s.status, s.want)
		}
	}
	if w := ts.do("GET", "/api/baselines/main", ""); w.Code != 404 {
		t.Errorf("after judgements there is a baseline: %d %s", w.Code, w.Body)
	}
}

// TestPromote judges runs by rules, and makes those that pass the newest revision.
func TestPromote(t *testing.T) {
	ts := newTestServer(t, nil)
	var ids []string
	for i, ttft := range []float64{41, 42, 43} {
		id := fmt.Sprintf("%s%x", idMissing[:31], i+10)
		ids = append(ids, `"`+id+`"`)
		ts.fake.runs = append(ts.fake.runs, testRun(id, bench.StateCompleted))
		m := metric.Result{Def: &catalogue.Def{Tag: "time_to_first_token", Header: "Time to First Token", Unit: "ms"}, Count: 480}
		m.Set(metric.Avg, ttft)
		ts.fake.snapshots[id] = &run.Snapshot{State: bench.StateCompleted, Metrics: metric.Results{m}}
	}
	candidate := func(rules string) string {
		return `{"runs":[` + strings.Join(ids, ",") + `],"rules":[` + rules + `],"note":"nightly"}`
	}
	for _, s := range []struct {
		body   string
		status int
		want   string // part of the body
	}{
		{`{"runs":[],"rules":["request_latency<1"]}`, 400, "runs has 0 runs, want 1 to 100"},
		{candidate(``), 400, "rules has 0 rules, want 1 to 50"},
		{candidate(`"ttft","request_latency<+x%"`), 400, "rules[1]: "},
		{candidate(`"ttft<+5%"`), 404, "Baseline main has no revision of this workload and target"},
		{candidate(`"ttft<30"`), 409, `"type":"urn:aiperfd:problem:gate-not-passed"`},
		{candidate(`"ttft<60"`), 201, `"promoted":true`},
		{candidate(`"ttft<60","ttft<+5%"`), 409, "Not promoted. Not decided: time_to_first_token<+5%."},
		{candidate(`"ttft<60","ttft<+50%"`), 201, `"revision":2`},
	} {
		w := ts.do("POST", "/api/baselines/main/promote", s.body, jsonType)
		if w.Code != s.status || !strings.Contains(w.Body.String(), s.want) {
			t.Errorf("%.80s = %d %s, want %d and %s", s.body, w.Code, w.Body, s.status, s.want)
		}
	}
	families, err := ts.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	rules := map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			if f.GetName() == "aiperfd_gate_rules" {
				rules[m.GetLabel()[0].GetValue()+" "+m.GetLabel()[1].GetValue()] = m.GetGauge().GetValue()
			}
		}
	}
	want := map[string]float64{"main pass": 2, "main fail": 0, "main inconclusive": 0, "main invalid": 0}
	if diff := cmp.Diff(want, rules); diff != "" {
		t.Errorf("rules (-want +got):\n%s", diff)
	}
}

// TestBaselineOwners: a token may pin and remove its own; of others, only with the scope admin.
func TestBaselineOwners(t *testing.T) {
	g := newGuarded(t, nil)
	done := g.fake.get(idDone)
	set := func(caller string) int {
		return g.do("PUT", "/api/baselines/main", `{"runs":["`+idDone+`"],"note":"`+caller+`"}`, jsonType, g.bearer[caller]).Code
	}
	if got := set("reader"); got != http.StatusForbidden {
		t.Errorf("a reader sets a baseline: %d", got)
	}
	if got := set("ci"); got != http.StatusForbidden || g.fake.get(idDone).Pinned {
		t.Errorf("ci pins a run of nobody: %d", got)
	}
	done.SubmittedBy = "ci"
	if got := set("ci"); got != http.StatusCreated {
		t.Errorf("ci sets a baseline of its run: %d", got)
	}
	if got := set("root"); got != http.StatusCreated {
		t.Errorf("root sets a baseline: %d", got)
	}
	var b run.Baseline
	if err := json.Unmarshal(g.do("GET", "/api/baselines/main", "", g.bearer["reader"]).Body.Bytes(), &b); err != nil {
		t.Fatal(err)
	}
	if len(b.Revisions) != 2 || b.Revisions[0].By != "ci" || b.Revisions[1].By != "root" {
		t.Errorf("revisions %+v, want one of ci and one of root", b.Revisions)
	}
	for _, tt := range []struct {
		caller, target string
		status         int
	}{
		{"reader", "/api/baselines/main/1", 403}, {"ci", "/api/baselines/main/2", 403}, {"ci", "/api/baselines/main", 403},
		{"ci", "/api/baselines/main/1", 204}, {"root", "/api/baselines/main", 204},
	} {
		if w := g.do("DELETE", tt.target, "", g.bearer[tt.caller]); w.Code != tt.status {
			t.Errorf("%s deletes %s: %d %s, want %d", tt.caller, tt.target, w.Code, w.Body, tt.status)
		}
	}
}
