package api

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/results"
	"aiperfd/internal/run"
)

const idSweep = "01990f2c7d3e7a10b1c2d3e4f5a6b7d0"

// summaryOfSearch is the file of a search whose answer is 8.
const summaryOfSearch = `{"type":"adaptive_search","parameters":[{"path":"phases.profiling.concurrency","name":"concurrency"}],"confidence_level":0.95,` +
	`"limits":[{"metric":"time_to_first_token","statistic":"p95","operator":"<","threshold":45,"unit":"ms"}],"rows":[` +
	`{"name":"concurrency 8","values":{"phases.profiling.concurrency":8},"runs":[{"id":"a","client":"ok"},{"id":"b","client":"ok"}],"outcome":"pass","pareto":true,` +
	`"readings":[{"metric":"time_to_first_token","statistic":"p95","operator":"<","threshold":45,"unit":"ms","observed":31,"met":true}],` +
	`"metrics":{"request_throughput":{"unit":"requests/sec","statistics":{"avg":{"mean":40,"low":38,"high":42,"runs":2}}},"time_to_first_token":{"unit":"ms","statistics":{"p95":{"mean":31,"low":30,"high":32,"runs":2}}}}},` +
	`{"name":"concurrency 10","values":{"phases.profiling.concurrency":10},"runs":[{"id":"c","client":"ok"},{"id":"d","failure":"no request succeeded"}],"outcome":"fail","pareto":false,` +
	`"readings":[{"metric":"time_to_first_token","statistic":"p95","operator":"<","threshold":45,"unit":"ms","observed":74,"met":false}],` +
	`"metrics":{"request_throughput":{"unit":"requests/sec","statistics":{"avg":{"mean":44,"low":44,"high":44,"runs":1}}},"time_to_first_token":{"unit":"ms","statistics":{"p95":{"mean":74,"low":74,"high":74,"runs":1}}}}}],` +
	`"best_throughput":0,"best_latency":0,"latency_metric":"time_to_first_token","findings":["Highest concurrency within the limits: 8 (at 10: time_to_first_token p95 74 ms, limit < 45 ms)."],` +
	`"search":{"planner":"monotonic_sla","reason":"monotonic_sla_precision_reached","reason_text":"the boundary is known as precisely as the search asks","boundaries":[` +
	`{"parameter":{"path":"phases.profiling.concurrency","name":"concurrency"},"pass":{"value":8,"row":0,"readings":[{"metric":"time_to_first_token","statistic":"p95","operator":"<","threshold":45,"unit":"ms","observed":31,"met":true}],"valid":true},` +
	`"fail":{"value":10,"row":1,"readings":[{"metric":"time_to_first_token","statistic":"p95","operator":"<","threshold":45,"unit":"ms","observed":74,"met":false}],"valid":true},` +
	`"binding":{"metric":"time_to_first_token","statistic":"p95","operator":"<","threshold":45,"unit":"ms"},"interval":null}],"optima":[]}}`

// answerFile is the file of an answer.
const answerFile = results.AnswerFile

// answerOfSearch is the answer of a search for a capacity.
const answerOfSearch = `{"schema":"aiperfd-answer/1","kind":"capacity","final":true,"question":"How many?",` +
	`"verdict":"estimated","sentences":["Capacity: 28."],"speaks_for":"this server","doubts":[{"code":"hysteresis","message":"m"}],` +
	`"stop":{"reason":"precision","text":"t","probes":18,"load_sec":2000,"budget_used":0.56},"decide":{"needs":"n","load_sec":6000},` +
	`"provenance":{"seed":42,"version":"1"},"run_id":"x","estimate":{"value":28,"unit":"requests per second","low":27,"high":29,"level":0.95,` +
	`"unit_of_replication":"probes","n":10,"method":"fit","rounded":28,"target":0.95,"dispersion":20,"cost_of_5_percent_more":4},` +
	`"confirmed_good":null,"confirmed_bad":null,` +
	`"evidence":[{"run_id":"y","role":"refine","x":28,"value":0.95,"value_from_start":0.95,"low":0.94,"high":0.96,"requests":1000,` +
	`"effective_n":50,"window_sec":120,"flags":[]}]}`

// The API has the answer of a search for a capacity.
func TestAnswerRoute(t *testing.T) {
	ts := newTestServer(t, nil)
	ts.addSweep(t, idSweep, summaryOfSearch)
	if w := ts.do("GET", "/api/runs/"+idSweep+"/answer", ""); w.Code != http.StatusNotFound {
		t.Errorf("answer of a search without one = %d %s, want 404", w.Code, w.Body)
	}
	ts.fake.writeArtifacts(t, idSweep, map[string]string{results.AnswerFile: answerOfSearch})
	w := ts.do("GET", "/api/runs/"+idSweep+"/answer", "")
	if diff := cmp.Diff(answerOfSearch, strings.TrimSpace(w.Body.String())); diff != "" || w.Code != http.StatusOK || w.Header().Get("Etag") == "" {
		t.Errorf("answer = %d %v (-want +got):\n%s", w.Code, w.Header(), diff)
	}
}

// addSweep adds a sweep with a summary, or without one.
func (ts *testServer) addSweep(t *testing.T, id, summary string) {
	t.Helper()
	ts.fake.runs = append(ts.fake.runs, &run.Run{
		ID: id, Name: "search", State: bench.StateCompleted, CreatedAt: epoch, EndedAt: &epoch, Config: []byte("{}"),
		Study: &run.Study{Type: "adaptive_search", Total: 4, Done: 4}, Origin: run.Origin{Via: "api"}, Endpoint: "chat",
	})
	if summary != "" {
		ts.fake.writeArtifacts(t, id, map[string]string{results.SweepFile: summary})
	}
}

// The API has the answer of a search.
func TestSweepRoute(t *testing.T) {
	ts := newTestServer(t, nil)
	ts.addSweep(t, idSweep, summaryOfSearch)
	w := ts.do("GET", "/api/runs/"+idSweep+"/sweep", "")
	if diff := cmp.Diff(summaryOfSearch, strings.TrimSpace(w.Body.String())); diff != "" || w.Code != http.StatusOK || w.Header().Get("Etag") == "" {
		t.Errorf("sweep = %d %v (-want +got):\n%s", w.Code, w.Header(), diff)
	}
	ts.addSweep(t, "01990f2c7d3e7a10b1c2d3e4f5a6b7d2", "")
	for id, want := range map[string]int{idDone: http.StatusNotFound, "01990f2c7d3e7a10b1c2d3e4f5a6b7d2": http.StatusNotFound} {
		if w := ts.do("GET", "/api/runs/"+id+"/sweep", ""); w.Code != want {
			t.Errorf("sweep of %s = %d %s, want %d", id, w.Code, w.Body, want)
		}
	}
	if err := os.WriteFile(filepath.Join(ts.fake.dir, idSweep, results.SweepFile), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if w := ts.do("GET", "/api/runs/"+idSweep+"/sweep", ""); w.Code != http.StatusServiceUnavailable {
		t.Errorf("a damaged summary = %d %s", w.Code, w.Body)
	}
}

// The answer of a search is the first thing of its reports, and every value is one row.
func TestReportOfSearch(t *testing.T) {
	ts := newTestServer(t, nil)
	ts.addSweep(t, idSweep, summaryOfSearch)
	const want = `## search

**Highest concurrency within the limits: 8 (at 10: time\_to\_first\_token p95 74 ms, limit &lt; 45 ms).**

**The search ended: the boundary is known as precisely as the search asks.**

sweep · 4 of 4 runs · chat

completed

**On both sides of the boundary**

| Limit | concurrency 8, within | concurrency 10, beyond |
| --- | ---: | ---: |
| Time to First Token p95 &lt; 45 ms | 31 ms | 74 ms |

**Values**

| Value | Runs | Outcome | req/s | Time to First Token p95 ms |
| --- | --- | --- | ---: | ---: |
| concurrency 8 | 2 | within the limits · best throughput · lowest latency · Pareto | 40 ±2 | 31 ±1 |
| concurrency 10 | 1 of 2 | beyond a limit | 44 | 74 |

<sub>Means over the runs of a value; ± is half the width of the 95 % confidence interval over the runs. Pareto: no other value, of those with valid numbers, has both more requests per second and a lower Time to First Token p99.</sub>
`
	got, _, _ := strings.Cut(ts.do("GET", "/api/runs/"+idSweep+"/report.md", "").Body.String(), "\n<sub>aiperfd")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("report.md (-want +got):\n%s", diff)
	}
	page := ts.do("GET", "/api/runs/"+idSweep+"/report.html", "").Body.String()
	for _, part := range []string{"<h1>search</h1>\n<p><strong>Highest concurrency within the limits: 8 ", `"api/runs/` + idSweep + `/sweep":{`} {
		if !strings.Contains(page, part) {
			t.Errorf("report.html lacks %s", part)
		}
	}
}

// Sweeps are compared value by value.
func TestReportOfSweeps(t *testing.T) {
	ts := newTestServer(t, nil)
	const other = "01990f2c7d3e7a10b1c2d3e4f5a6b7d2"
	ts.addSweep(t, idSweep, summaryOfSearch)
	ts.addSweep(t, other, strings.ReplaceAll(strings.ReplaceAll(summaryOfSearch, `"mean":40`, `"mean":80`), "concurrency 10", "concurrency 12"))
	got := ts.do("GET", "/api/compare/report.md?ids="+idSweep+","+other, "").Body.String()
	const want = `| Value | Metric | A | B |
| --- | --- | ---: | ---: |
| concurrency 8 | req/s | 40 ±2 | 80 ±2 |
| concurrency 10 | req/s | 44 | – |
| concurrency 12 | req/s | – | 44 |
`
	if !strings.Contains(got, want) {
		t.Errorf("report.md = %s\nwant %s", got, want)
	}
}

// answerOfPairs is the answer of a comparison of two servers.
const answerOfPairs = `{"schema":"aiperfd-answer/1","kind":"ab","final":true,"question":"?","speaks_for":"these two servers",
"doubts":[{"code":"order","message":"it *depends* on the order"}],"run_id":"x","verdict":"better",
"sentences":["B is better than A: request latency -4.1 % (-5.0 to -3.2 %)."],"evidence":[],
"stop":{"reason":"decided","text":"the answer was known after 31 blocks"},"decide":{"needs":""},"provenance":{},
"paired":{"design":"mirror","pairs":620,"first_look":30,"level":0.95,"block_sec":5,
"metrics":[{"tag":"request_latency","verdict":"better","unit":"%","blocks":31,"change":-4.1,"low":-5,"high":-3.2,"margin":3}],
"sides":[{"name":"A","run_id":"a","targets":["http://a"],"models":["m"]},{"name":"B","targets":["http://b"],"models":["m"],"failed":2}],
"blocks":[{"from_sec":0,"to_sec":5,"pairs":20,"change":{"request_latency":-4.1},"so_far":{"request_latency":{"change":-4.1}}}]}}`

// Reports of a comparison of two servers begin with its answer, and have what it rests on.
func TestReportOfPairs(t *testing.T) {
	ts := newTestServer(t, nil)
	ts.addSweep(t, idSweep, `{"type":"ab","rows":[],"findings":["B is better than A: request latency -4.1 % (-5.0 to -3.2 %)."]}`)
	ts.fake.writeArtifacts(t, idSweep, map[string]string{results.AnswerFile: answerOfPairs})
	text := ts.do("GET", "/api/runs/"+idSweep+"/report.md", "").Body.String()
	for _, part := range []string{
		"**B is better than A: request latency -4.1 % (-5.0 to -3.2 %).**\n",
		"| request\\_latency | better | -4.1 % | -5.0 to -3.2 % | 3.0 % |",
		"- 620 pairs in 1 block. The chance that any of the intervals misses its true change is at most 5 %, however often they are looked at.\n",
		"- The measurement ended: the answer was known after 31 blocks.\n",
		"- Doubt: it \\*depends\\* on the order.\n",
		"b, model m, 2 requests failed",
	} {
		if !strings.Contains(text, part) {
			t.Errorf("the report lacks %q:\n%s", part, text)
		}
	}
	page := ts.do("GET", "/api/runs/"+idSweep+"/report.html", "").Body.String()
	if part := `"api/runs/` + idSweep + `/answer":{`; !strings.Contains(page, part) {
		t.Errorf("the page of the report lacks %s", part)
	}
}
