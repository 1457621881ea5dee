package api

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"aiperfd/internal/api/respond"
	apiresults "aiperfd/internal/api/results"
	"aiperfd/internal/compare"
	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/samples"
	"aiperfd/internal/engine/series"
	"aiperfd/internal/engine/telemetry/diagnose"
	"aiperfd/internal/engine/telemetry/gpu"
	"aiperfd/internal/engine/telemetry/otel"
	"aiperfd/internal/engine/telemetry/paths"
	"aiperfd/internal/results"
	"aiperfd/internal/run"
)

var _ apiresults.Recorded = (*fakeEngine)(nil)

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

// Distributions has three values in two columns.
func (f *fakeEngine) Distributions(_ context.Context, id string, q series.DistributionQuery) (*series.Distributions, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.selected = append(f.selected, q)
	d := &series.Distributions{Start: epoch, Step: 5, Times: []int64{0, 5}, Elapsed: 9, Phases: []series.Band{{Name: "profiling", Kind: "profiling"}}}
	for range q.Metrics {
		d.Of = append(d.Of, series.Spread{
			Count: 3, Avg: 2.5, Std: math.NaN(), Min: 1, Max: 4, Values: []float64{1, 4},
			Histogram: series.Histogram{Bounds: []float64{0, 1, 4}, Counts: []int64{0, 3}}, Rows: []float64{1, 4}, Columns: [][]int64{{1}, {2}},
		})
	}
	return d, f.logErr
}

// Samples has one request, which failed, and one point.
func (f *fakeEngine) Samples(string) (*samples.Samples, error) {
	const ms = time.Millisecond
	return &samples.Samples{
		Start: epoch, Seen: 7, Elapsed: 9500 * ms,
		Points: []samples.Point{{End: 1500 * ms, Input: 8, Output: math.NaN(), FirstToken: 20, InterToken: 1.25, Latency: 100, Wait: 0}},
		Latency: []*samples.Request{{
			ID: "r1", Conversation: "c1", Phase: "profiling", Session: 3, Turn: 1, Target: 5, Model: "m", Status: 503, Class: bench.Overloaded,
			Input: 8, Output: math.NaN(), Latency: 12.5, FirstToken: math.NaN(), At: 2 * time.Second, Setup: bench.Setup{Connect: ms},
			Timeline: samples.Timeline{
				Due: -ms, Connected: ms, Wrote: 2 * ms, FirstByte: samples.NoTime, End: 12500 * time.Microsecond, Chunks: []time.Duration{3 * ms}, ChunkCount: 4000,
			},
		}},
	}, f.logErr
}

// Agents returns nothing: no run of a test has recorded sessions.
func (f *fakeEngine) Agents(context.Context, *run.Run) (*results.Agents, error) {
	return new(results.Agents), nil
}

// Paths returns nothing: no run of a test has connections.
func (f *fakeEngine) Paths(context.Context, *run.Run) (*paths.Report, error) { return nil, nil }

// OTel returns nothing: no run of a test has a collector.
func (f *fakeEngine) OTel(context.Context, *run.Run) (*otel.Report, error) { return nil, nil }

// ServerSpans returns nothing: no run of a test has spans.
func (f *fakeEngine) ServerSpans(context.Context, *run.Run) (*otel.ServerSpans, error) {
	return nil, nil
}

// Devices returns nothing: no run of a test has accelerators.
func (f *fakeEngine) Devices(context.Context, *run.Run) (*gpu.Report, error) {
	return nil, nil
}

// Servers reads the result of a run.
func (f *fakeEngine) Servers(_ context.Context, r *run.Run) (*diagnose.Server, error) {
	prefix, err := results.Prefix(r.Config)
	if err != nil {
		return nil, err
	}
	return results.Open(filepath.Join(f.dir, r.ID), prefix).Server()
}

// ServerSummaries reads the file of a run.
func (f *fakeEngine) ServerSummaries(_ context.Context, r *run.Run) (map[string]diagnose.Summary, error) {
	return results.Open(filepath.Join(f.dir, r.ID), "").ServerSummaries()
}

// Sweep reads the file of a sweep.
func (f *fakeEngine) Answer(id string) (*results.Answer, error) {
	return results.Open(filepath.Join(f.dir, id), "").Answer()
}

func (f *fakeEngine) Sweep(id string) (*results.Sweep, error) {
	return results.Open(filepath.Join(f.dir, id), "").Sweep()
}

// Requests knows those of no run.
func (f *fakeEngine) Requests(context.Context, *compare.Input) (*compare.Requests, error) {
	return nil, nil
}

// Log has the lines of the fake, whatever the run.
func (f *fakeEngine) Log(_ string, each func(*results.LogLine) error) error {
	f.mu.Lock()
	lines := slices.Clone(f.log)
	f.mu.Unlock()
	for i := range lines {
		if err := each(&lines[i]); err != nil {
			return err
		}
	}
	return f.logErr
}

// Active reports whether a run is not done.
func (f *fakeEngine) Active(id string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return !f.done[id]
}

// addLine adds a line to the log of the fake.
func (f *fakeEngine) addLine(level, message string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.log = append(f.log, results.LogLine{Seq: int64(len(f.log) + 1), Time: epoch, Level: level, Message: message})
}

func TestLog(t *testing.T) {
	ts := newTestServer(t, nil)
	ts.fake.addLine("info", "one")
	ts.fake.addLine("warn", "two")
	const one, two = `{"seq":1,"time":"2026-05-04T10:00:00Z","level":"info","message":"one"}` + "\n", `{"seq":2,"time":"2026-05-04T10:00:00Z","level":"warn","message":"two"}` + "\n"
	for query, want := range map[string]string{"": one + two, "?level=debug": one + two, "?level=warn": two, "?level=error": "", "?after=1": two, "?follow=false&after=2": ""} {
		w := ts.do("GET", "/api/runs/"+idDone+"/logs"+query, "")
		if w.Code != http.StatusOK || w.Body.String() != want || w.Header().Get("Content-Type") != "application/x-ndjson" {
			t.Errorf("%s = %d %v %s", query, w.Code, w.Header(), w.Body)
		}
	}
	w := ts.do("GET", "/api/runs/"+idDone+"/logs?level=loud&follow=1&after=-1", "")
	for _, want := range []string{`follow: \"1\" is neither true nor false`, `level: \"loud\" is none of debug, info, warn, error`, `after: \"-1\" is not the seq of a line`} {
		if w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), want) {
			t.Errorf("bad parameters = %d %s, want %s", w.Code, w.Body, want)
		}
	}
	ts.fake.logErr = errors.New("disk")
	if w := ts.do("GET", "/api/runs/"+idDone+"/logs", ""); w.Code != http.StatusServiceUnavailable {
		t.Errorf("log that cannot be read = %d %s", w.Code, w.Body)
	}
}

// A log is followed until the run ends, also by a client that shows nothing.
func TestFollowLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ts := newTestServer(t, nil)
		ts.fake.addLine("info", "one")
		follow := func(query string) (body *atomic.Pointer[string]) { // nil = the response has not ended
			body = new(atomic.Pointer[string])
			go func() {
				body.Store(new(ts.do("GET", "/api/runs/"+idRunning+"/logs?follow=true"+query, "").Body.String()))
			}()
			return body
		}
		all, errorsOnly := follow(""), follow("&level=error")
		time.Sleep(20 * time.Second)
		ts.fake.addLine("info", "two")
		time.Sleep(20 * time.Second)
		ts.fake.addLine("error", "three")
		ts.fake.mu.Lock()
		ts.fake.done = map[string]bool{idRunning: true}
		ts.fake.mu.Unlock()
		if all.Load() != nil {
			t.Error("the response ended before the run")
		}
		time.Sleep(time.Second)
		shown := func(body *atomic.Pointer[string]) string {
			if body.Load() == nil {
				return "no end"
			}
			var out []string
			for line := range strings.Lines(*body.Load()) {
				var l results.LogLine
				_ = json.Unmarshal([]byte(line), &l)
				out = append(out, l.Message)
			}
			return strings.Join(out, "|")
		}
		if got := shown(all); got != "one||two||three" {
			t.Errorf("followed %q, want all lines, and an empty one after 15 s without", got)
		}
		if got := shown(errorsOnly); got != "||three" {
			t.Errorf("followed errors %q", got)
		}
		late := follow("")
		synctest.Wait()
		if late.Load() == nil {
			t.Error("the log of a run that has ended is still followed")
		}
		ts.fake.mu.Lock()
		ts.fake.done = nil
		ts.fake.mu.Unlock()
		forever := follow("")
		time.Sleep(61 * time.Minute)
		if forever.Load() == nil {
			t.Error("a log is followed for more than an hour")
		}
	})
}

// So many clients follow logs, and not more.
func TestFollowers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ts := newTestServer(t, nil)
		refused := 0
		var mu sync.Mutex
		for range 70 {
			go func() {
				if w := ts.do("GET", "/api/runs/"+idRunning+"/logs?follow=true", ""); w.Code == http.StatusServiceUnavailable {
					mu.Lock()
					refused++
					mu.Unlock()
				}
			}()
		}
		synctest.Wait()
		mu.Lock()
		if refused != 6 {
			t.Errorf("%d of 70 clients were refused, want 6", refused)
		}
		mu.Unlock()
		ts.fake.mu.Lock()
		ts.fake.done = map[string]bool{idRunning: true}
		ts.fake.mu.Unlock()
		time.Sleep(time.Second)
	})
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

func TestDistributions(t *testing.T) {
	ts := newTestServer(t, nil)
	w := ts.do("GET", "/api/runs/"+idRunning+"/distributions?metric=request_latency&points=2&from=1.5&to=9.5&phase=warmup", "")
	var got struct {
		Quantiles     []float64
		Distributions map[string]json.RawMessage
		Step          int64   `json:"step_sec"`
		Times         []int64 `json:"time_sec"`
		Elapsed       float64 `json:"elapsed_sec"`
	}
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	want := `{"unit":"ms","count":3,"avg":2.5,"std":null,"min":1,"max":4,"values":[1,4],"histogram":{"bounds":[0,1,4],"counts":[0,3]},"heatmap":{"bounds":[1,4],"counts":[[1],[2]]}}`
	if diff := cmp.Diff(want, string(got.Distributions["request_latency"])); diff != "" || got.Step != 5 || got.Elapsed != 9 || len(got.Times) != 2 || got.Quantiles[0] != 0 || len(got.Distributions) != 1 {
		t.Errorf("distributions %s (-want +got):\n%s", w.Body, diff)
	}
	q := ts.fake.selected[0]
	q.Metrics = nil
	if diff := cmp.Diff(series.DistributionQuery{Columns: 2, From: 1, To: 10, Phase: "warmup"}, q); diff != "" {
		t.Errorf("query (-want +got):\n%s", diff)
	}
	w = ts.do("GET", "/api/runs/"+idDone+"/distributions", "")
	if w.Code != http.StatusOK || w.Header().Get("Etag") == "" || strings.Count(w.Body.String(), `"histogram"`) != 5 ||
		!strings.Contains(w.Body.String(), `"elapsed_sec":null`) {
		t.Errorf("distributions of a run that has ended = %d %v %s", w.Code, w.Header(), w.Body)
	}
	for query, want := range map[string]string{
		"metric=in_flight":   `metric: unknown metric "in_flight"; accepted are time_to_first_token, inter_token_latency, inter_chunk_latency, request_latency, schedule_lag`,
		"points=0&from=-1":   `points: "0" is not a number from 1 to 500; from: "-1" is not a number of seconds from 0 to 2147483648`,
		"points=501":         `points: "501" is not a number from 1 to 500`,
		"points=many&to=x":   `points: "many" is not a number from 1 to 500; to: "x" is not a number of seconds from 0 to 2147483648`,
		"points=9&columns=3": `Unknown parameter "columns"`,
	} {
		w := ts.do("GET", "/api/runs/"+idDone+"/distributions?"+query, "")
		var problem struct{ Detail string }
		if err := json.Unmarshal(w.Body.Bytes(), &problem); err != nil {
			t.Fatal(err)
		}
		if w.Code != http.StatusBadRequest || !strings.HasPrefix(problem.Detail, want) {
			t.Errorf("%s = %d %q, want %q", query, w.Code, problem.Detail, want)
		}
	}
	ts.fake.logErr = errors.New("disk")
	if w := ts.do("GET", "/api/runs/"+idDone+"/distributions", ""); w.Code != http.StatusServiceUnavailable {
		t.Errorf("distributions that cannot be read = %d %s", w.Code, w.Body)
	}
}

func TestSamples(t *testing.T) {
	ts := newTestServer(t, nil)
	w := ts.do("GET", "/api/runs/"+idDone+"/samples", "")
	want := `{"run_id":"` + idDone + `","state":"completed","start_time":"2026-05-04T10:00:00Z","elapsed_sec":null,"slowest":{"request_latency":[` +
		`{"request_id":"r1","conversation_id":"c1","phase":"profiling","session":3,"turn":1,"target":"","model":"m","status":503,"error_class":"overloaded",` +
		`"input_tokens":8,"output_tokens":null,"request_latency":12.5,"time_to_first_token":null,"start_sec":2,` +
		`"connection":{"reused":false,"dns_ms":0,"connect_ms":1,"tls_ms":0},"timeline":{"due_ms":-1,"connected_ms":1,"sent_ms":2,"first_byte_ms":null,"end_ms":12.5,"chunks_ms":[3],"chunk_count":4000}}],` +
		`"time_to_first_token":[]},"sample":{"of":7,"end_sec":[1.5],"input_tokens":[8],"output_tokens":[null],"time_to_first_token":[20],` +
		`"inter_token_latency":[1.25],"request_latency":[100],"schedule_lag":[0]}}`
	if diff := cmp.Diff(want, strings.TrimSpace(w.Body.String())); diff != "" || w.Header().Get("Etag") == "" {
		t.Errorf("samples %v (-want +got):\n%s", w.Header(), diff)
	}
	if w := ts.do("GET", "/api/runs/"+idRunning+"/samples", ""); !strings.Contains(w.Body.String(), `"elapsed_sec":9.5,`) {
		t.Errorf("samples of a run that goes on: %s", w.Body)
	}
	if w := ts.do("GET", "/api/runs/"+idDone+"/samples?limit=3", ""); w.Code != http.StatusBadRequest {
		t.Errorf("samples with a parameter = %d", w.Code)
	}
	ts.fake.logErr = errors.New("disk")
	if w := ts.do("GET", "/api/runs/"+idDone+"/samples", ""); w.Code != http.StatusServiceUnavailable {
		t.Errorf("samples that cannot be read = %d %s", w.Code, w.Body)
	}
}

// The document lists the metrics that the series has.
func TestDocumentHasMetrics(t *testing.T) {
	for path, choose := range map[string]func([]string) ([]series.Metric, error){"timeseries": series.Select, "distributions": series.DistributionMetrics} {
		var documented, served []string
		for _, p := range document(t).Paths.Value("/api/runs/{id}/" + path).Get.Parameters {
			if p.Value.Name == "metric" {
				for _, name := range p.Value.Schema.Value.Items.Value.Enum {
					documented = append(documented, name.(string))
				}
			}
		}
		metrics, err := choose(nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range metrics {
			served = append(served, m.Name)
		}
		if !slices.Equal(documented, served) {
			t.Errorf("%s: documented %q, served %q", path, documented, served)
		}
	}
}

// A store that cannot be read is logged once per minute, however many requests find that.
func TestRarely(t *testing.T) {
	var r respond.Rarely
	now, lines := time.Date(2026, 5, 4, 10, 0, 0, 0, time.UTC), ""
	for range 150 {
		lines += map[bool]string{true: "x", false: "."}[r.Due(now)]
		now = now.Add(time.Second)
	}
	if want := "x" + strings.Repeat(".", 59) + "x" + strings.Repeat(".", 59) + "x" + strings.Repeat(".", 29); lines != want {
		t.Errorf("lines %s", lines)
	}
}
