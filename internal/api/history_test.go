package api

import (
	"context"
	"encoding/json"
	"math"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"aiperfd/internal/api/history"
	"aiperfd/internal/engine/series"
)

var _ history.Source = (*fakeEngine)(nil)

// Series returns two points.
func (f *fakeEngine) Series(_ context.Context, id string, q series.Query) (*series.Result, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.queries = append(f.queries, q)
	s := &series.Result{Start: epoch, Step: max(q.Step, 1), Next: 2, Times: []int64{0, 1}, Phases: []series.Band{{Name: "profiling", Kind: "profiling"}}}
	for _, m := range q.Metrics {
		values := map[string][]float64{"avg": {1.5, math.NaN()}}
		if m.Kind == series.Classes {
			values = map[string][]float64{}
		}
		s.Values = append(s.Values, values)
	}
	return s, f.err
}

func TestTimeseries(t *testing.T) {
	ts := newTestServer(t, nil)
	w := ts.do("GET", "/api/runs/"+idRunning+"/timeseries?metric=in_flight,errors&step=1m&from=59.5&to=120", "")
	want := `{"run_id":"` + idRunning + `","state":"running","start_time":"2026-05-04T10:00:00Z","step_sec":60,"next_sec":2,` +
		`"phases":[{"index":0,"name":"profiling","kind":"profiling","start_sec":0,"end_sec":null}],"time_sec":[0,1],` +
		`"series":{"errors":{"unit":"requests","values":{}},"in_flight":{"unit":"requests","values":{"avg":[1.5,null]}}}}`
	if diff := cmp.Diff(want, strings.TrimSpace(w.Body.String())); diff != "" || w.Header().Get("Cache-Control") != "no-store" {
		t.Errorf("series of an active run, %v (-want +got):\n%s", w.Header(), diff)
	}
	if q := ts.fake.queries[0]; q.Step != 60 || q.From != 59 || q.To != 120 {
		t.Errorf("query %+v", q)
	}
	w = ts.do("GET", "/api/runs/"+idDone+"/timeseries", "")
	tag := w.Header().Get("Etag")
	if w.Code != http.StatusOK || tag == "" || !strings.Contains(w.Header().Get("Cache-Control"), "immutable") {
		t.Errorf("series of a run that has ended = %d, %v", w.Code, w.Header())
	}
	if w := ts.do("GET", "/api/runs/"+idDone+"/timeseries", "", "If-None-Match: "+tag); w.Code != http.StatusNotModified {
		t.Errorf("series that the client has = %d", w.Code)
	}
	for query, want := range map[string]string{
		"metric=ttft":         `metric: unknown metric "ttft"; accepted are time_to_first_token, `,
		"step=0s":             `step: "0s" is not a duration in whole seconds from 1s to 24h`,
		"step=1500ms&from=-1": `step: "1500ms" is not a duration in whole seconds from 1s to 24h; from: "-1" is not a number of seconds from 0 to 2147483648`,
		"to=NaN":              `to: "NaN" is not a number of seconds from 0 to 2147483648`,
		"from=5&to=5":         `to: 5 is not after from`,
		"from=1&from=2":       `Parameter "from" is given more than once`,
		"step=1s&width=3":     `Unknown parameter "width"`,
	} {
		w := ts.do("GET", "/api/runs/"+idDone+"/timeseries?"+query, "")
		var problem struct{ Detail string }
		if err := json.Unmarshal(w.Body.Bytes(), &problem); err != nil {
			t.Fatal(err)
		}
		if w.Code != http.StatusBadRequest || !strings.HasPrefix(problem.Detail, want) {
			t.Errorf("%s = %d %q, want %q", query, w.Code, problem.Detail, want)
		}
	}
}

// The document lists the metrics that the series has.
func TestDocumentHasMetrics(t *testing.T) {
	var documented, served []string
	for _, p := range document(t).Paths.Value("/api/runs/{id}/timeseries").Get.Parameters {
		if p.Value.Name == "metric" {
			for _, name := range p.Value.Schema.Value.Items.Value.Enum {
				documented = append(documented, name.(string))
			}
		}
	}
	for _, m := range series.Metrics() {
		served = append(served, m.Name)
	}
	if !slices.Equal(documented, served) {
		t.Errorf("documented %q, served %q", documented, served)
	}
}
