package study_test

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/mock"
	"aiperfd/internal/mock/options"
	"aiperfd/internal/results"
	"aiperfd/internal/run"
)

// newSlow starts the simulated server tiny, whose steps take ten times as long: it bears a tenth of the load.
func newSlow(t testing.TB, seed uint64) *duel {
	t.Helper()
	return newArena(t, t.TempDir(), map[string]http.Handler{"a": newAccelerator(t, "tiny", 10, seed)})
}

// newAccelerator returns a simulated server of a preset, whose steps take some times as long.
func newAccelerator(t testing.TB, preset string, times float64, seed uint64) http.Handler {
	t.Helper()
	p, err := options.Preset(preset)
	if err != nil {
		t.Fatal(err)
	}
	for _, cost := range []*float64{&p.Base, &p.Prefill, &p.Decode, &p.Context, &p.Attention} {
		*cost *= times
	}
	p.Frontend = time.Duration(float64(p.Frontend) * times)
	server, err := mock.New(mock.Options{Accelerator: p, Seed: seed})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Close() })
	return server.Handler()
}

// capacityOf is a search for the rate at which 95 % of the answers begin within some milliseconds.
func capacityOf(seed int64, limit, low, high, start float64, probes int) string {
	return fmt.Sprintf(`
randomSeed: %d
benchmark:
  model: m
  tokenizer: {name: builtin}
  endpoint: {url: "http://a", streaming: true}
  dataset: {isl: {mean: 128, stddev: 32}, osl: {mean: 32, stddev: 8}, entries: 500}
  serverMetrics: {enabled: false}
  gpuTelemetry: {enabled: false}
  slos: {time_to_first_token: %v}
  phases: [{name: profiling, type: poisson, rate: 1, duration: 20}]
sweep:
  type: adaptive_search
  planner: capacity
  searchSpace: [{path: phases.profiling.rate, lo: %v, hi: %v, kind: real}]
  searchStart: %v
  slaWarmupSeconds: 5
  maxIterations: %d
`, seed, limit, low, high, start, probes)
}

// TestSimulateCapacityRuns searches the capacity of a simulated accelerator by the whole program: 95 % of the answers
// begin within 250 ms at 29.9 requests per second. The interval must hold it.
func TestSimulateCapacityRuns(t *testing.T) {
	seeds := 1
	if os.Getenv("AIPERFD_SIMULATE") == "full" {
		seeds = 100
	}
	held := 0
	for seed := range seeds {
		synctest.Test(t, func(t *testing.T) {
			d := newSlow(t, uint64(seed)+1)
			ended, a := d.wait(d.submitDocument(capacityOf(int64(seed)+1, 250, 8, 200, 16, 10)))
			if ended.State != bench.StateCompleted || !a.Final || a.Kind != "capacity" || a.Estimate == nil {
				t.Fatalf("%s (%s): %+v", ended.State, ended.StateReason, a)
			}
			e := a.Estimate
			t.Logf("seed %d: %s, %.4g [%.4g, %.4g] after %d probes", seed, a.Verdict, e.Value, e.Low, e.High, len(a.Evidence))
			if a.Verdict == "estimated" && e.Low <= 29.9 && 29.9 <= e.High {
				held++
			}
			if math.Abs(e.Value/29.9-1) > 0.25 {
				t.Errorf("seed %d: the estimate is %.3g, more than a quarter off", seed, e.Value)
			}
		})
	}
	if 20*held < 19*seeds {
		t.Errorf("the interval held the capacity in %d of %d searches, want 95 %%", held, seeds)
	}
}

// TestSimulateCapacityRunsH100 is [TestSimulateCapacityRuns] for the preset h100-8b, prompts of 512 ± 128 and answers
// of 128 ± 32 tokens: 95 % begin within 500 ms and go on with 40 ms per token at 28.1 requests per second.
func TestSimulateCapacityRunsH100(t *testing.T) {
	if os.Getenv("AIPERFD_SIMULATE") != "full" {
		t.Skip("takes long; make simulate has it")
	}
	const seeds, truth = 20, 28.1
	held := 0
	for seed := range int64(seeds) {
		synctest.Test(t, func(t *testing.T) {
			d := newArena(t, t.TempDir(), map[string]http.Handler{"a": newAccelerator(t, "h100-8b", 1, uint64(seed)+1)})
			text := strings.NewReplacer(
				"isl: {mean: 128, stddev: 32}, osl: {mean: 32, stddev: 8}",
				"isl: {mean: 512, stddev: 128}, osl: {mean: 128, stddev: 32}",
				"slos: {time_to_first_token: 500}", "slos: {time_to_first_token: 500, inter_token_latency: 40}",
				"duration: 20}", "duration: 120}", "slaWarmupSeconds: 5", "slaWarmupSeconds: 20",
			).Replace(capacityOf(seed+1, 500, 4, 200, 16, 12))
			ended, a := d.wait(d.submitDocument(text))
			if ended.State != bench.StateCompleted || a.Estimate == nil {
				t.Fatalf("%s (%s): %+v", ended.State, ended.StateReason, a)
			}
			e := a.Estimate
			t.Logf("seed %d: %s, %.4g [%.4g, %.4g] after %d probes", seed, a.Verdict, e.Value, e.Low, e.High, len(a.Evidence))
			if a.Verdict == "estimated" && e.Low <= truth && truth <= e.High {
				held++
			}
		})
	}
	if 20*held < 19*seeds {
		t.Errorf("the interval held the capacity in %d of %d searches, want 95 %%", held, seeds)
	}
}

// TestCapacityEnds: searches that find no capacity by the whole program, or stop before they do.
func TestCapacityEnds(t *testing.T) {
	for _, tt := range []struct {
		name             string
		limit, low, high float64
		probes           int
		verdict, reason  string
	}{
		{"nothing is good", 1, 2, 40, 10, "not_found", "not_found"},
		{"everything is good", 60_000, 2, 8, 10, "lower_bound", "range"},
		{"three probes", 250, 2, 200, 3, "lower_bound", "budget_probes"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newSlow(t, 1)
				ended, a := d.wait(d.submitDocument(capacityOf(1, tt.limit, tt.low, tt.high, 2*tt.low, tt.probes)))
				if ended.State != bench.StateCompleted || string(a.Verdict) != tt.verdict || a.Stop.Reason != tt.reason || !a.Final {
					t.Errorf("%s (%s): %s, %+v; want %s (%s)", ended.State, ended.StateReason, a.Verdict, a.Stop, tt.verdict, tt.reason)
				}
				if len(a.Evidence) > tt.probes {
					t.Errorf("%d probes, want at most %d", len(a.Evidence), tt.probes)
				}
			})
		})
	}
}

// TestCapacityCancelled: a search that is cancelled in a probe ends it, and answers from those before.
func TestCapacityCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newSlow(t, 1)
		parent := d.submitDocument(capacityOf(1, 250, 2, 200, 4, 10))
		time.Sleep(8 * time.Minute) // in the fourth probe
		if _, _, err := d.service.Cancel(t.Context(), parent.ID, run.CancelRequest{Reason: "enough"}); err != nil {
			t.Fatal(err)
		}
		ended, a := d.wait(parent)
		if ended.State != bench.StateCancelled || a.Stop.Reason != "cancelled" || !a.Final || len(a.Evidence) < 2 {
			t.Errorf("%s, %+v, %d probes", ended.State, a.Stop, len(a.Evidence))
		}
	})
}

// TestCapacityOverloaded: a probe far above the capacity is ended before the server drowns in it, and the search goes on
// below.
func TestCapacityOverloaded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newSlow(t, 1)
		ended, a := d.wait(d.submitDocument(capacityOf(1, 250, 8, 400, 200, 4)))
		if ended.State != bench.StateCompleted || len(a.Evidence) != 4 {
			t.Fatalf("%s (%s), %d probes", ended.State, ended.StateReason, len(a.Evidence))
		}
		lines, err := os.ReadFile(filepath.Join(d.tree.Dir(ended.ID), results.ProbesFile))
		if n := strings.Count(string(lines), "\n"); err != nil || n != len(a.Evidence) {
			t.Errorf("%d lines of probes, %v", n, err)
		}
		over := &a.Evidence[1]
		if over.X != 200 || !slices.Contains(over.Flags, "overload") || over.Value > 0.5 {
			t.Errorf("the second probe: %+v", over)
		}
		children, err := d.service.List(t.Context(), run.Query{Parent: ended.ID, Sort: run.SortCreated})
		if err != nil || len(children.Runs) < 2 {
			t.Fatalf("%d runs, %v", len(children.Runs), err)
		}
		if took := children.Runs[1].EndedAt.Sub(*children.Runs[1].StartedAt); took > 20*time.Second {
			t.Errorf("the overloaded server was under load for %v", took)
		}
		for i := 2; i < len(a.Evidence); i++ {
			if x := a.Evidence[i].X; x >= 200 || x <= 8 {
				t.Errorf("probe %d is at %v", i+1, x)
			}
		}
		t.Logf("%s: %v", a.Verdict, a.Sentences)
	})
}

// TestCapacityNotIdle: a probe begins when the server is idle, by its own metrics and by short requests. One that is not
// is waited for, and the answer says which probes began all the same.
func TestCapacityNotIdle(t *testing.T) {
	const usual = 6 // short requests before the first probe
	for _, tt := range []struct {
		name    string
		slow    time.Duration                     // by which later short requests are answered
		running func(since time.Duration) float64 // requests that the server says it has
		busy    []bool                            // by probe
		why     string
	}{
		{"idle", 0, func(time.Duration) float64 { return 0 }, []bool{false, false, false}, ""},
		{"slow", time.Second, func(time.Duration) float64 { return 0 }, []bool{false, true, true}, "answered a short request more slowly"},
		{"other load for a minute", 0, func(since time.Duration) float64 {
			if since < time.Minute {
				return 1
			}
			return 0
		}, []bool{false, false, false}, ""},
		{"other load", 0, func(time.Duration) float64 { return 3 }, []bool{true, true, true}, "by its own metrics, the server still had requests"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				begun := time.Now()
				var canaries atomic.Int64
				server := newAccelerator(t, "tiny", 10, 1)
				d := newArena(t, t.TempDir(), map[string]http.Handler{"a": http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if r.URL.Path == "/metrics" {
						fmt.Fprintf(w, "# TYPE vllm:num_requests_running gauge\nvllm:num_requests_running %v\n"+
							"# TYPE vllm:num_requests_waiting gauge\nvllm:num_requests_waiting 0\n", tt.running(time.Since(begun)))
						return
					}
					body, err := io.ReadAll(r.Body)
					if err != nil {
						t.Error(err)
					}
					if strings.Contains(string(body), `"Hello"`) && canaries.Add(1) > usual {
						time.Sleep(tt.slow)
					}
					r.Body = io.NopCloser(bytes.NewReader(body))
					server.ServeHTTP(w, r)
				})})
				text := strings.Replace(capacityOf(1, 250, 8, 200, 16, len(tt.busy)), "serverMetrics: {enabled: false}",
					"serverMetrics: {enabled: true}", 1)
				ended, a := d.wait(d.submitDocument(text))
				if ended.State != bench.StateCompleted || len(a.Evidence) != len(tt.busy) {
					t.Fatalf("%s (%s), %d probes", ended.State, ended.StateReason, len(a.Evidence))
				}
				children, err := d.service.List(t.Context(), run.Query{Parent: ended.ID, Sort: run.SortCreated})
				if err != nil || len(children.Runs) != len(tt.busy) {
					t.Fatalf("%d runs, %v", len(children.Runs), err)
				}
				doubts := 0
				for i, busy := range tt.busy {
					warned := slices.ContainsFunc(children.Runs[i].Warnings, func(w bench.Warning) bool {
						return w.Code == run.NotIdle && strings.Contains(w.Detail, tt.why)
					})
					if warned != busy || slices.Contains(a.Evidence[i].Flags, "not-idle") != busy {
						t.Errorf("probe %d: flags %v, warnings %v, want not-idle: %v", i, a.Evidence[i].Flags, children.Runs[i].Warnings, busy)
					}
					if busy {
						doubts++
					}
				}
				doubted := slices.ContainsFunc(a.Doubts, func(d results.AnswerDoubt) bool {
					return d.Code == "not-idle" && strings.HasPrefix(d.Message, fmt.Sprint(doubts)+" probe")
				})
				if doubted != (doubts > 0) {
					t.Errorf("doubts: %v", a.Doubts)
				}
			})
		})
	}
}

// TestCapacityCollapsed: a server that stays slow for minutes after it was overloaded bears less on the way down than on
// the way up, and the answer says that.
func TestCapacityCollapsed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const most = 60 // requests at a time that it bears
		var inFlight, recovers atomic.Int64
		server, err := mock.New(mock.Options{ITL: mock.ConstDelay(10 * time.Millisecond), Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { server.Close() })
		handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			n := inFlight.Add(1)
			defer inFlight.Add(-1)
			each := int64(2)
			if n > most {
				recovers.Store(time.Now().Add(8 * time.Minute).UnixNano())
			}
			if time.Now().UnixNano() < recovers.Load() {
				each = 30
			}
			r.Header.Set("X-Mock-TTFT", fmt.Sprintf("const:%dms", 100+each*n))
			server.Handler().ServeHTTP(w, r)
		})
		d := newArena(t, t.TempDir(), map[string]http.Handler{"a": handler})
		ended, a := d.wait(d.submitDocument(capacityOf(1, 220, 8, 400, 64, 10)))
		doubted := slices.ContainsFunc(a.Doubts, func(d results.AnswerDoubt) bool { return d.Code == "hysteresis" })
		if ended.State != bench.StateCompleted || !doubted {
			t.Errorf("%s: %s, doubts %v", ended.State, a.Sentences[0], a.Doubts)
			for _, e := range a.Evidence {
				t.Logf("  %s at %v: %.3f %v", e.Role, e.X, e.Value, e.Flags)
			}
		}
	})
}
