package engine_test

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"aiperfd/internal/cluster/bus"
	"aiperfd/internal/engine"
	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/series"
	"aiperfd/internal/engine/sketch"
	"aiperfd/internal/mock"
	"aiperfd/internal/mock/random"
)

// seriesOf reads the time series of a run with all metrics.
func (b *bed) seriesOf(id string, step int64) *series.Result {
	b.t.Helper()
	s, err := engine.NewHistory(b.engine).Series(b.t.Context(), id, series.Query{Metrics: series.Metrics(), Step: step})
	if err != nil {
		b.t.Fatal(err)
	}
	return s
}

// column returns the values of a metric.
func column(s *series.Result, metric, value string) []float64 {
	at := slices.IndexFunc(series.Metrics(), func(m series.Metric) bool { return m.Name == metric })
	return s.Values[at][value]
}

// TestSeriesOfRecords: the series of a run is what its record file says, within the
// resolution of the sketches; so is that of another process, which has only the files.
func TestSeriesOfRecords(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fault, err := mock.ParseFault("status:503,rate=0.1")
		if err != nil {
			t.Fatal(err)
		}
		ttft, ttftErr := random.ParseDelay("lognormal:200ms:0.8")
		itl, itlErr := random.ParseDelay("exp:30ms")
		if ttftErr != nil || itlErr != nil {
			t.Fatal(ttftErr, itlErr)
		}
		b := newBed(t, mock.Options{TTFT: ttft, ITL: itl, Faults: []mock.Fault{fault}}, nil)
		id := b.submit(`
benchmark:
  model: m
  endpoint: {url: http://mock, streaming: true}
  dataset: {type: synthetic, isl: 8, osl: {mean: 20, stddev: 10}}
  tokenizer: {name: builtin}
  phases:
    - {name: warmup, type: concurrency, concurrency: 3, requests: 20, excludeFromResults: true}
    - {name: profiling, type: poisson, rate: 15, duration: 30, concurrency: 40}
`)
		time.Sleep(20 * time.Second)
		live := b.seriesOf(id, 1)
		if n := len(live.Times); n < 12 || live.Phases[len(live.Phases)-1].End != nil {
			t.Errorf("after 20 s the series has %d points and the phases %+v", n, live.Phases)
		}
		b.wait(id)
		for _, step := range []int64{1, 7} {
			s := b.seriesOf(id, step)
			checkSeries(t, s, b.records(id))
			stored, err := series.Read(t.Context(), b.store.Dir(id), series.Query{Metrics: series.Metrics(), Step: step})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(s.Values, stored.Values, cmp.Comparer(func(a, b float64) bool { return a == b || math.IsNaN(a) && math.IsNaN(b) })); diff != "" {
				t.Errorf("series of the files (-engine +files):\n%s", diff)
			}
		}
		s := b.seriesOf(id, 1)
		for i := range live.Times { // virtual time: nothing is processed late
			for _, m := range []string{"requests_completed", "requests_failed", "requests_sent"} {
				if a, b := column(live, m, "count")[i], column(s, m, "count")[i]; a != b {
					t.Errorf("%s at %d s was %v while the run was active, and is %v", m, i, a, b)
				}
			}
		}
	})
}

// TestSeriesOfCluster: the series of a run on several load generators is what the records of all say, and so it is while
// they send, also if messages are lost and doubled.
func TestSeriesOfCluster(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ttft, ttftErr := random.ParseDelay("lognormal:200ms:0.8")
		itl, itlErr := random.ParseDelay("exp:30ms")
		if ttftErr != nil || itlErr != nil {
			t.Fatal(ttftErr, itlErr)
		}
		f := newFleet(t, mock.Options{TTFT: ttft, ITL: itl}, 3)
		n, lost := 0, "" // beats, and whose was lost last: too many in a row would end its part
		var mu sync.Mutex
		f.bus.Disturb(func(d bus.Delivery) []time.Duration {
			mu.Lock()
			defer mu.Unlock()
			if !strings.HasSuffix(d.Subject, ".beat") {
				return []time.Duration{0}
			}
			switch n++; {
			case n%11 == 0 && d.Subject != lost:
				lost = d.Subject
				return nil
			case n%5 == 0:
				return []time.Duration{0, 30 * time.Millisecond}
			}
			return []time.Duration{0}
		})
		id := f.submit(`
benchmark:
  model: m
  endpoint: {url: http://mock, streaming: true}
  dataset: {type: synthetic, isl: 8, osl: {mean: 20, stddev: 10}}
  tokenizer: {name: builtin}
  cluster: {workers: 3}
  phases:
    - {name: warmup, type: concurrency, concurrency: 3, requests: 20, excludeFromResults: true}
    - {name: profiling, type: poisson, rate: 15, duration: 30, concurrency: 40}
`)
		time.Sleep(30 * time.Second)
		live := f.seriesOf(id, 1)
		if n := len(live.Times); n < 12 || live.Phases[len(live.Phases)-1].End != nil {
			t.Errorf("after 30 s the series has %d points and the phases %+v", n, live.Phases)
		}
		f.wait(id)
		s, records := f.seriesOf(id, 1), f.records(id)
		checkSeries(t, s, records)
		for i := range live.Times {
			for _, m := range []string{"requests_completed", "requests_failed", "requests_sent"} {
				if a, b := column(live, m, "count")[i], column(s, m, "count")[i]; a != b && !(math.IsNaN(a) && math.IsNaN(b)) {
					t.Errorf("%s at %d s was %v while the run was active, and is %v", m, i, a, b)
				}
			}
		}
		seconds, levels := 0.0, 0.0
		for i := range records {
			if l := &records[i]; l.Metadata.Phase == "profiling" {
				seconds += float64(l.Metadata.EndNs-l.Metadata.StartNs) / 1e9
			}
		}
		for i, level := range column(s, "in_flight", "avg") {
			if float64(s.Times[i]) >= s.Phases[1].Start && !math.IsNaN(level) {
				levels += level
			}
		}
		if math.Abs(levels/seconds-1) > 0.05 {
			t.Errorf("the requests in flight add up to %v s, and the latencies to %v s", levels, seconds)
		}
		if limit := column(s, "concurrency_limit", "max")[int(s.Phases[1].Start)+10]; limit != 40 {
			t.Errorf("limit %v", limit)
		}
		f.end()
	})
}

// TestSeriesOfShortCluster: the series has all seconds of a run on several load generators that ends before they are
// looked at twice.
func TestSeriesOfShortCluster(t *testing.T) {
	for _, requests := range []int{8, 40, 48, 56, 64, 80, 96, 120} {
		synctest.Test(t, func(t *testing.T) {
			f := newFleet(t, mock.Options{TTFT: mock.ConstDelay(90 * time.Millisecond)}, 2)
			id := f.submit(fmt.Sprintf(`
benchmark:
  model: m
  endpoint: {url: http://mock, streaming: true}
  dataset: {type: synthetic, isl: 8, osl: 4}
  tokenizer: {name: builtin}
  cluster: {workers: 2}
  phases: [{name: profiling, type: concurrency, concurrency: 4, requests: %d}]
`, requests))
			f.wait(id)
			checkSeries(t, f.seriesOf(id, 1), f.records(id))
			f.end()
		})
	}
}

// checkSeries compares a series with the records of its run.
func checkSeries(t *testing.T, s *series.Result, records []line) {
	t.Helper()
	points := len(s.Times)
	values := map[string][]*sketch.Sketch{}
	counts := map[string][]float64{"requests_completed": make([]float64, points), "requests_failed": make([]float64, points), "output_tokens": make([]float64, points)}
	latencies := []string{"request_latency", "time_to_first_token", "inter_token_latency"}
	for _, m := range latencies {
		for range points {
			values[m] = append(values[m], sketch.New())
		}
	}
	for i := range records {
		l := &records[i]
		at := (l.Metadata.EndNs - s.Start.UnixNano()) / int64(time.Second) / s.Step
		if l.Error != nil {
			counts["requests_failed"][at]++
			continue
		}
		counts["requests_completed"][at]++
		number := func(tag string) float64 {
			v, err := strconv.ParseFloat(l.metric(tag), 64)
			if err != nil {
				t.Fatalf("%s: %v", tag, err)
			}
			return v
		}
		counts["output_tokens"][at] += number("output_sequence_length")
		for _, m := range latencies {
			if l.metric(m) != "-" {
				values[m][at].Add(number(m))
			}
		}
	}
	for m, want := range counts {
		for i := range want {
			if got := column(s, m, "count")[i]; got != want[i] && !(math.IsNaN(got) && want[i] == 0) {
				t.Errorf("step %d: count of %s at %d s is %v, records say %v", s.Step, m, s.Times[i], got, want[i])
			}
		}
	}
	for m, want := range values {
		for i := range want {
			for value, q := range map[string]float64{"min": 0, "p50": 0.5, "p90": 0.9, "p99": 0.99, "max": 1} {
				got, exact := column(s, m, value)[i], want[i].Quantile(q)
				if math.IsNaN(got) != math.IsNaN(exact) || math.Abs(got-exact) > 2.1*sketch.RelativeError*exact {
					t.Errorf("step %d: %s of %s at %d s is %v, records say %v", s.Step, value, m, s.Times[i], got, exact)
				}
			}
		}
	}
	sent, total := 0.0, float64(len(records))
	for _, n := range column(s, "requests_sent", "count") {
		if !math.IsNaN(n) {
			sent += n
		}
	}
	if sent != total {
		t.Errorf("step %d: %v requests were sent, records say %v", s.Step, sent, total)
	}
}

// TestSeriesOfInterruptedRun: what was recorded before the process died stays.
func TestSeriesOfInterruptedRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, mock.Options{TTFT: mock.ConstDelay(100 * time.Millisecond)}, nil)
		id := b.submit(`
benchmark:
  model: m
  endpoint: {url: http://mock}
  dataset: {type: synthetic, isl: 8, osl: 4}
  tokenizer: {name: builtin}
  phases: [{name: profiling, type: concurrency, concurrency: 2, duration: 10}]
`)
		time.Sleep(6 * time.Second)
		synctest.Wait()
		path := filepath.Join(b.store.Dir(id), series.File)
		written, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		left, err := b.engine.Get(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		b.wait(id)
		b.stop()
		if err := os.WriteFile(path, written, 0o600); err != nil { // as it was when the process died
			t.Fatal(err)
		}
		left.State, left.Summary = bench.StateRunning, nil
		if err := b.store.Put(t.Context(), left); err != nil {
			t.Fatal(err)
		}
		if r := restarted(t, b.store, id); r.State != bench.StateFailed || r.Summary == nil {
			t.Fatalf("the run is %s with the summary %+v", r.State, r.Summary)
		}
		s := b.seriesOf(id, 1)
		if len(s.Times) < 4 || len(s.Times) > 6 || len(s.Phases) != 1 || s.Phases[0].End == nil || *s.Phases[0].End != float64(len(s.Times)) {
			t.Errorf("series of an interrupted run: times %v, phases %+v", s.Times, s.Phases)
		}
		if n := column(s, "requests_completed", "count")[2]; n < 15 {
			t.Errorf("its third second has %v requests", n)
		}
	})
}
