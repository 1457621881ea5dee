package engine_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/telemetry/diagnose"
	"aiperfd/internal/mock"
	"aiperfd/internal/mock/batch"
)

// setUp is a server and a load.
type setUp struct {
	change  func(*batch.Params) // of the server
	reset   time.Duration       // after which its metrics begin again
	wrap    func(t *testing.T) func(http.Handler) http.Handler
	dataset string // empty = prompts of 200 tokens, answers of 60
	phases  string
	more    string // of the benchmark
}

// healthy is a server with room in the batch and in memory that has work at every step: requests wait for the step
// under way, and no longer.
func healthy() setUp {
	return setUp{
		change: func(p *batch.Params) { p.MaxSequences = 64 },
		phases: `[{name: profiling, concurrency: 16, duration: 30}]`,
	}
}

// run performs the load, several times if that is asked for, and returns the codes of the findings of the last run.
func (s *setUp) run(t *testing.T, seed, times int) (codes []string, p *diagnose.Phase) {
	t.Helper()
	o := batching(s.change)
	o.MetricsReset, o.Seed = s.reset, uint64(seed)
	o.Accelerator.Jitter = 0.03
	var wrap func(http.Handler) http.Handler
	if s.wrap != nil {
		wrap = s.wrap(t)
	}
	b := newBed(t, o, wrap)
	dataset := s.dataset
	if dataset == "" {
		dataset = `{isl: {mean: 200, stddev: 20}, osl: {mean: 60, stddev: 15}, entries: 4000}`
	}
	document := fmt.Sprintf(`{randomSeed: %d, benchmark: {model: m, endpoint: {url: "http://mem", streaming: true}, tokenizer: {name: builtin}, `+
		`dataset: %s, phases: %s%s}}`, seed, dataset, s.phases, s.more)
	if s.more == "" {
		document = strings.TrimSuffix(document, "}}") + ", serverMetrics: true}}"
	}
	for range times {
		r := b.run(document)
		if r.State != bench.StateCompleted {
			t.Fatalf("%v %+v", r.State, r.Error)
		}
		p = profilingPhase(t, b.serverOf(r))
	}
	for _, f := range p.Findings {
		codes = append(codes, f.Code)
	}
	return codes, p
}

// TestEachFinding: each of these set-ups has the finding that it is made for, and no other that does not depend on the
// order of what happens at one instant.
func TestEachFinding(t *testing.T) {
	base := healthy()
	with := func(change func(*setUp)) setUp {
		s := base
		change(&s)
		return s
	}
	for _, tt := range []struct {
		code  string // empty = none
		times int    // 0 = 1
		setUp
	}{
		{code: "", setUp: base},
		{code: "queueing", setUp: with(func(s *setUp) { // a prompt takes many steps, in which few others fit
			s.change = func(p *batch.Params) { p.MaxSequences, p.MaxBatched, p.Prefill = 64, 256, 0.2 }
			s.dataset = `{isl: {mean: 900, stddev: 300}, osl: {mean: 30, stddev: 20}, entries: 4000}`
			s.phases = `[{name: profiling, concurrency: 12, duration: 40}]`
		})},
		{code: "queue-growing", setUp: with(func(s *setUp) { // the batch is full after half of the time
			s.change = func(p *batch.Params) { p.MaxSequences, p.Decode, p.Prefill, p.Blocks = 64, 0.2, 0.02, 8000 }
			s.dataset = `{isl: 200, osl: 300, entries: 1000}`
			s.phases = `[{name: profiling, type: constant, rate: 13, duration: 15, gracePeriod: 1}]`
		})},
		{code: "kv-full", setUp: with(func(s *setUp) { // eight requests fill the cache, and do not grow beyond their blocks
			s.change = func(p *batch.Params) { p.MaxSequences, p.BlockSize, p.Blocks = 64, 64, 8*4 }
			s.dataset = `{isl: 200, osl: 30, entries: 4000}`
			s.phases = `[{name: profiling, concurrency: 9, duration: 30}]`
		})},
		{code: "batch-limit", setUp: with(func(s *setUp) {
			s.change = func(p *batch.Params) { p.MaxSequences = 8 }
			s.phases = `[{name: profiling, concurrency: 9, duration: 30}]`
		})},
		{code: "preempting", setUp: with(func(s *setUp) {
			s.change = func(p *batch.Params) { p.MaxSequences, p.Blocks = 64, 80 }
			s.dataset = `{isl: 100, osl: 300, entries: 4000}`
			s.phases = `[{name: profiling, concurrency: 4, duration: 60}]`
		})},
		{code: "prefix-warm", times: 2, setUp: with(func(s *setUp) {
			s.change = func(p *batch.Params) { p.MaxSequences, p.PrefixCache, p.Blocks = 64, true, 8000 }
			s.phases = `[{name: profiling, concurrency: 16, requests: 400}]`
		})},
		{code: "not-saturated", setUp: with(func(s *setUp) { s.phases = `[{name: profiling, concurrency: 1, duration: 30}]` })},
		{code: "other-traffic", setUp: with(func(s *setUp) { s.wrap = otherTraffic })},
		{code: "replica-imbalance", setUp: with(func(s *setUp) {
			s.wrap, s.more = unevenReplicas, `, serverMetrics: {urls: ["http://mem/other/metrics"]}`
		})},
		{code: "server-restarted", setUp: with(func(s *setUp) { s.reset = 15 * time.Second })},
		{code: "behind-balancer", setUp: with(func(s *setUp) {
			s.wrap, s.phases = balanced, `[{name: profiling, concurrency: 40, duration: 30}]`
		})},
		{code: "scrape-disturbs", setUp: with(func(s *setUp) {
			s.wrap, s.phases = slowPage, `[{name: profiling, concurrency: 16, duration: 90}]`
		})},
	} {
		if raceEnabled && tt.code != "" && tt.code != "behind-balancer" {
			continue // their servers and loads differ in their data alone
		}
		t.Run("finding "+tt.code, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var want []string
				if tt.code != "" {
					want = []string{tt.code}
				}
				got, p := tt.run(t, 11, max(tt.times, 1))
				got = slices.DeleteFunc(got, func(code string) bool { return code != tt.code && atItsLimit(code, p) })
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("findings (-want +got):\n%s%s", diff, describeLoad(p))
				}
			})
		})
	}
}

// atItsLimit reports whether a finding follows from the order of what happens at one instant: whether a reading sees the
// request that waits for the step under way, or the one of nine clients of a server for eight.
func atItsLimit(code string, p *diagnose.Phase) bool {
	for _, f := range p.Findings {
		if f.Code == code {
			return code == "not-saturated" || code == "queueing" && *f.Value <= 1.2
		}
	}
	return false
}

// describeLoad describes what the server did, for failed tests.
func describeLoad(p *diagnose.Phase) string {
	var out strings.Builder
	for _, f := range p.Findings {
		fmt.Fprintf(&out, "%s: %s\n", f.Code, f.Message)
	}
	for _, name := range []string{"running", "waiting", "kv_usage", "preemptions", "requests"} {
		if v := p.Value(name); v != nil && v.Avg != nil {
			fmt.Fprintf(&out, "%s %.3f, at most %.3f\n", name, *v.Avg, *v.Max)
		} else if v != nil && v.Total != nil {
			fmt.Fprintf(&out, "%s %.0f\n", name, *v.Total)
		}
	}
	return out.String()
}

// inference reports whether a request makes a model work.
func inference(r *http.Request) bool { return r.Method == http.MethodPost }

// otherTraffic adds a request of somebody else to every fourth one.
func otherTraffic(t *testing.T) func(http.Handler) http.Handler {
	var n atomic.Int64
	var others sync.WaitGroup
	t.Cleanup(others.Wait)
	return func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if inference(r) && n.Add(1)%4 == 0 {
				others.Go(func() {
					body := strings.NewReader(`{"model":"m","prompt":"somebody else","max_tokens":8}`)
					other := httptest.NewRequest(http.MethodPost, "/v1/completions", body)
					other.Header.Set("Content-Type", "application/json")
					h.ServeHTTP(httptest.NewRecorder(), other)
				})
			}
			h.ServeHTTP(w, r)
		})
	}
}

// replica returns a further server like that of [healthy].
func replica(t *testing.T) http.Handler {
	base := healthy()
	s, err := mock.New(batching(base.change))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s.Handler()
}

// unevenReplicas sends every fourth request to another server, whose metrics are at /other/metrics.
func unevenReplicas(t *testing.T) func(http.Handler) http.Handler {
	var n atomic.Int64
	other := replica(t)
	return func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch {
			case r.URL.Path == "/other/metrics":
				r.URL.Path = "/metrics"
				other.ServeHTTP(w, r)
			case inference(r) && n.Add(1)%4 == 0:
				other.ServeHTTP(w, r)
			default:
				h.ServeHTTP(w, r)
			}
		})
	}
}

// balanced sends every third request to another server, and every other reading of metrics.
func balanced(t *testing.T) func(http.Handler) http.Handler {
	var requests, pages atomic.Int64
	other := replica(t)
	return func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if inference(r) && requests.Add(1)%3 == 0 || !inference(r) && pages.Add(1)%2 == 0 {
				other.ServeHTTP(w, r)
				return
			}
			h.ServeHTTP(w, r)
		})
	}
}

// slowPage delays the page of metrics.
func slowPage(*testing.T) func(http.Handler) http.Handler {
	return func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if strings.HasSuffix(r.URL.Path, "/metrics") {
				select {
				case <-time.After(200 * time.Millisecond):
				case <-r.Context().Done():
				}
			}
			h.ServeHTTP(w, r)
		})
	}
}

// TestSimulateHealthyServers counts the findings about servers that have none.
func TestSimulateHealthyServers(t *testing.T) {
	seeds, most := 4, 1
	if os.Getenv("AIPERFD_SIMULATE") == "full" {
		seeds, most = 100, 5
	}
	if raceEnabled {
		seeds = 1
	}
	found := 0
	for seed := range seeds {
		synctest.Test(t, func(t *testing.T) {
			s := healthy()
			codes, p := s.run(t, 100+seed, 1)
			if found += len(codes); len(codes) > 0 {
				t.Logf("seed %d: %q\n%s", seed, codes, describeLoad(p))
			}
		})
	}
	t.Logf("%d findings in %d runs", found, seeds)
	if found > most {
		t.Errorf("%d findings in %d runs of a healthy server, want at most %d", found, seeds, most)
	}
}
