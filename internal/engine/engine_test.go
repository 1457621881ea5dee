package engine_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"aiperfd/internal/engine"
	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/config"
	"aiperfd/internal/engine/config/problem"
	"aiperfd/internal/engine/plan"
	"aiperfd/internal/mock"
	"aiperfd/internal/run"
)

// Document returns a benchmark on the in-memory server with these phases and
// further lines of the benchmark section.
func document(phases string, more ...string) string {
	return `
randomSeed: 7
benchmark:
  model: m
  endpoint: {url: "http://mem", type: chat, streaming: true, useServerTokenCount: true}
` + strings.Join(append(more, "  phases:\n    - {name: profiling, kind: profiling, "+phases+"}\n"), "\n")
}

// fileData is a dataset that needs no tokenizer.
const fileData = `  dataset: {type: file, format: single_turn, records: [{text: one, output_length: 3}, {text: two, output_length: 3}]}`

func timing(t *testing.T, ttft, itl time.Duration) mock.Options {
	t.Helper()
	return mock.Options{TTFT: mock.ConstDelay(ttft), ITL: mock.ConstDelay(itl)}
}

func check(t *testing.T, got, want string) {
	t.Helper()
	if diff := cmp.Diff(strings.TrimSpace(want), strings.TrimSpace(got)); diff != "" {
		t.Errorf("transcript differs (-want +got):\n%s", diff)
	}
}

func TestClosedLoop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, timing(t, 200*time.Millisecond, 20*time.Millisecond), nil)
		r := b.run(document("type: concurrency, concurrency: 2, requests: 5", fileData))
		// columns: phase session.turn start-end ttft latency osl
		check(t, b.transcript(r.ID, "time_to_first_token", "request_latency", "output_sequence_length"), `
profiling s0.0 0s-240ms 200 240 3
profiling s1.0 0s-240ms 200 240 3
profiling s2.0 240ms-480ms 200 240 3
profiling s3.0 240ms-480ms 200 240 3
profiling s4.0 480ms-720ms 200 240 3`)
		if r.State != bench.StateCompleted || r.Summary.Requests != 5 || *r.Summary.TTFTP50 != 200 {
			t.Errorf("run = %s, %+v", r.State, r.Summary)
		}
		if got, want := b.value(r.ID, "request_throughput", "avg"), 5/0.72; got != want {
			t.Errorf("request_throughput = %v, want %v", got, want)
		}
		b.stop()
	})
}

// An arrival that finds the server's slots taken keeps its due time: what the
// user would have felt is in the corrected latency, not hidden.
func TestOpenLoopMeasuresFromDue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, timing(t, 400*time.Millisecond, 0), nil)
		r := b.run(document("type: constant, rate: 5, concurrency: 1, requests: 4", fileData))
		check(t, b.transcript(r.ID, "schedule_lag", "request_latency", "corrected_request_latency"), `
profiling s0.0 0s-400ms 0 400 400
profiling s1.0 400ms-800ms 200 400 600
profiling s2.0 800ms-1.2s 400 400 800
profiling s3.0 1.2s-1.6s 600 400 1000`)
		b.stop()
	})
}

// The trap of closed-loop thinking on an open schedule, worked out by hand: a
// server with one place needs 100 ms a request and stalls for 3 s once. Asked 5
// times per second, the requests behind the stall report 100 ms each, while their
// users waited up to 3 s.
func TestCoordinatedOmissionIsVisible(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := timing(t, 100*time.Millisecond, 0)
		fault, err := mock.ParseFault("stall:before_headers,for=3s,first=1")
		if err != nil {
			t.Fatal(err)
		}
		o.Faults = []mock.Fault{fault}
		b := newBed(t, o, nil)
		r := b.run(document("type: constant, rate: 5, concurrency: 1, requests: 20", fileData))
		if got := b.value(r.ID, "request_latency", "p50"); got != 100 {
			t.Errorf("request_latency p50 = %v, want 100", got)
		}
		// Request k (from 0) is due at 0.2(k+1) s. The first ends at 3.3 s, request
		// k starts at 3.3+0.1(k-1) s and is 2.9-0.1(k-1)-0.2(k-1)... seconds late.
		lines := b.records(r.ID)
		for k := 1; k < len(lines); k++ {
			due := 200 * float64(k+1)
			start := max(due, 3300+100*float64(k-1))
			if got, want := lines[k].metric("corrected_request_latency"), fmt.Sprint(start-due+100); got != want {
				t.Errorf("request %d: corrected latency %s, want %s", k, got, want)
			}
		}
		b.stop()
	})
}

func TestConversationsCarryHistory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var roles []string
		b := newBed(t, timing(t, 100*time.Millisecond, 0), recordBodies(func(body map[string]any) {
			var line []string
			for _, m := range body["messages"].([]any) {
				line = append(line, m.(map[string]any)["role"].(string))
			}
			mu.Lock()
			defer mu.Unlock()
			roles = append(roles, strings.Join(line, " "))
		}))
		r := b.run(document("type: concurrency, concurrency: 1, sessions: 2",
			`  tokenizer: {name: builtin}
  dataset: {type: synthetic, entries: 2, isl: 16, osl: 4, turns: 3, turnDelay: 1000, prefixPrompts: {sharedSystemLength: 8}}`))
		check(t, b.transcript(r.ID), `
profiling s0.0 0s-100ms
profiling s0.1 1.1s-1.2s
profiling s0.2 2.2s-2.3s
profiling s1.0 2.3s-2.4s
profiling s1.1 3.4s-3.5s
profiling s1.2 4.5s-4.6s`)
		want := []string{"system user", "system user assistant user", "system user assistant user assistant user"}
		if diff := cmp.Diff(append(want, want...), roles); diff != "" {
			t.Errorf("roles sent differ (-want +got):\n%s", diff)
		}
		b.stop()
	})
}

// recordBodies calls f with every request body before the server sees it.
func recordBodies(f func(map[string]any)) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			data, _ := io.ReadAll(r.Body)
			var body map[string]any
			if json.Unmarshal(data, &body) == nil {
				f(body)
			}
			r.Body = io.NopCloser(strings.NewReader(string(data)))
			next.ServeHTTP(w, r)
		})
	}
}

func TestSameSeedSameScheduleAndBodies(t *testing.T) {
	measure := func(t *testing.T, seed string) (schedule string, bodies []string) {
		synctest.Test(t, func(t *testing.T) {
			var mu sync.Mutex
			b := newBed(t, timing(t, 10*time.Millisecond, 0), recordBodies(func(body map[string]any) {
				text, _ := json.Marshal(body)
				mu.Lock()
				defer mu.Unlock()
				bodies = append(bodies, string(text))
			}))
			doc := document("type: poisson, rate: 20, requests: 30",
				`  tokenizer: {name: builtin}
  dataset: {type: synthetic, entries: 30, isl: {mean: 20, stddev: 5}, osl: {mean: 4, stddev: 2}, sampling: shuffle}`)
			r := b.run(strings.Replace(doc, "randomSeed: 7", "randomSeed: "+seed, 1))
			schedule = b.transcript(r.ID)
			b.stop()
		})
		slices.Sort(bodies)
		return schedule, bodies
	}
	s1, b1 := measure(t, "7")
	s2, b2 := measure(t, "7")
	if s1 != s2 || !slices.Equal(b1, b2) {
		t.Error("the same seed gave another schedule or other bodies")
	}
	if s3, b3 := measure(t, "8"); s1 == s3 || slices.Equal(b1, b3) {
		t.Error("another seed gave the same schedule or bodies")
	}
}

func TestDurationAndGrace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, timing(t, 4*time.Second, 0), nil)
		r := b.run(document("type: concurrency, concurrency: 1, duration: 10s, gracePeriod: 1s", fileData))
		check(t, b.transcript(r.ID), `
profiling s0.0 0s-4s
profiling s1.0 4s-8s
profiling s2.0 8s-11s !RequestCancellationError`)
		snap, err := b.engine.Snapshot(t.Context(), r.ID)
		if err != nil {
			t.Fatal(err)
		}
		st := snap.Phases[0].Stats
		if st.End != bench.PhaseGraceTimeout || !st.DurationReached || st.Cancelled != 1 || st.Completed != 2 {
			t.Errorf("phase = %+v", st)
		}
		if r.State != bench.StateCompleted || !hasWarning(r, "cut-by-grace") {
			t.Errorf("run %s, warnings %+v; want completed with cut-by-grace", r.State, r.Warnings)
		}
		if got := b.value(r.ID, "unfinished_at_end", "avg"); got != 1 {
			t.Errorf("%v requests were unfinished, want 1", got)
		}
		if got, want := b.value(r.ID, "lower_bound_request_latency", "avg"), 11000.0/3; math.Abs(got-want) > 1e-6 {
			t.Errorf("the mean latency is at least %v ms, want %v", got, want)
		}
		b.stop()
	})
}

func hasWarning(r *run.Run, code string) bool {
	return slices.ContainsFunc(r.Warnings, func(w bench.Warning) bool { return w.Code == code })
}

func TestWarmupIsNotInTheResult(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, timing(t, 100*time.Millisecond, 0), nil)
		r := b.run(strings.Replace(document("type: concurrency, concurrency: 1, requests: 2", fileData), "  phases:\n",
			"  phases:\n    - {name: warmup, kind: warmup, type: concurrency, concurrency: 2, requests: 3}\n", 1))
		check(t, b.transcript(r.ID), `
warmup s0.0 0s-100ms
warmup s1.0 0s-100ms
warmup s2.0 100ms-200ms
profiling s3.0 200ms-300ms
profiling s4.0 300ms-400ms`)
		if got := b.value(r.ID, "request_count", "avg"); got != 2 {
			t.Errorf("request_count = %v, want 2", got)
		}
		b.stop()
	})
}

func TestCancel(t *testing.T) {
	tests := []struct {
		name   string
		cancel run.CancelRequest
		want   string
	}{
		{"gracefully: requests in flight may end", run.CancelRequest{}, `
profiling s0.0 0s-4s
profiling s1.0 4s-8s`},
		{"with a short grace period", run.CancelRequest{Grace: new(time.Second)}, `
profiling s0.0 0s-4s
profiling s1.0 4s-6s !RequestCancellationError`},
		{"by force", run.CancelRequest{Force: true}, `
profiling s0.0 0s-4s
profiling s1.0 4s-5s !RequestCancellationError`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBed(t, timing(t, 4*time.Second, 0), nil)
				id := b.submit(document("type: concurrency, concurrency: 1, requests: 100", fileData))
				synctest.Wait()
				time.Sleep(5 * time.Second)
				if _, changed, err := b.engine.Cancel(t.Context(), id, tt.cancel); err != nil || !changed {
					t.Fatalf("Cancel = %v, %v; want a change", changed, err)
				}
				r := b.wait(id)
				check(t, b.transcript(id), tt.want)
				if r.State != bench.StateCancelled || r.Summary == nil || r.Summary.Requests == 0 {
					t.Errorf("run %s, summary %+v; want cancelled with partial results", r.State, r.Summary)
				}
				if _, _, err := b.engine.Cancel(t.Context(), id, tt.cancel); err != nil {
					t.Errorf("second Cancel = %v, want nil", err)
				}
				b.stop()
			})
		})
	}
}

func TestQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, timing(t, time.Second, 0), nil)
		doc := document("type: concurrency, concurrency: 1, requests: 2", fileData)
		first, second, third := b.submit(doc), b.submit(doc), b.submit(doc)
		synctest.Wait()
		want := run.Queue{IDs: []string{second, third}, Running: []string{first}, Max: 100, MaxRuns: 1}
		if diff := cmp.Diff(want, b.engine.Queue()); diff != "" {
			t.Errorf("queue differs (-want +got):\n%s", diff)
		}
		if r, _, err := b.engine.Cancel(t.Context(), second, run.CancelRequest{}); err != nil || r.State != bench.StateCancelled {
			t.Errorf("cancel of a queued run = %v, %v", r.State, err)
		}
		if got := b.wait(third); got.State != bench.StateCompleted {
			t.Errorf("third run %s, want completed", got.State)
		}
		if id, ok := b.engine.Selected(t.Context()); !ok || id != third {
			t.Errorf("selected %q, want the last finished run %q", id, third)
		}
		if err := b.engine.Delete(t.Context(), first, false); err != nil {
			t.Errorf("Delete = %v", err)
		}
		if _, err := b.engine.Get(t.Context(), first); !errors.Is(err, run.ErrNotFound) {
			t.Errorf("Get after Delete = %v, want not found", err)
		}
		b.stop()
	})
}

// Submissions at the same time take exactly the places that the queue has.
func TestQueueBound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBedWith(t, timing(t, time.Second, 0), nil, func(o *engine.Options) { o.MaxQueued = 5 })
		doc := document("type: concurrency, concurrency: 1, requests: 2", fileData)
		b.submit(doc)
		synctest.Wait()
		b.store.slow = 10 * time.Millisecond
		var accepted, refused atomic.Int64
		var clients sync.WaitGroup
		for range 60 {
			d, _, err := config.Load([]byte(doc), config.LoadOptions{Choices: plan.Choices()})
			if err != nil {
				t.Fatal(err)
			}
			clients.Go(func() {
				switch _, err := b.engine.Submit(t.Context(), d, run.Submission{}); {
				case err == nil:
					accepted.Add(1)
				case errors.Is(err, run.ErrQueueFull):
					refused.Add(1)
				default:
					t.Errorf("Submit = %v", err)
				}
			})
		}
		clients.Wait()
		if accepted.Load() != 5 || refused.Load() != 55 || len(b.engine.Queue().IDs) != 5 {
			t.Errorf("%d accepted, %d refused, %d queued; want 5, 55 and 5", accepted.Load(), refused.Load(), len(b.engine.Queue().IDs))
		}
		b.stop()
	})
}

func TestFailedRuns(t *testing.T) {
	tests := []struct {
		name, fault, phases string
		code                run.ErrorCode
		records             int
	}{
		{"nothing succeeds", "status:503", "type: concurrency, concurrency: 2, requests: 5", run.NoSuccess, 5},
		{"an outage does not end the run", "status:503", "type: concurrency, concurrency: 1, requests: 1000", run.NoSuccess, 1000},
		{"too many failures", "status:500,every=2", "type: concurrency, concurrency: 1, requests: 1000, failedRequestThreshold: 0.2", run.ErrorThreshold, 10},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := timing(t, time.Second, 0)
				fault, err := mock.ParseFault(tt.fault)
				if err != nil {
					t.Fatal(err)
				}
				o.Faults = []mock.Fault{fault}
				b := newBed(t, o, nil)
				r := b.run(document(tt.phases, fileData))
				if r.State != bench.StateFailed || r.Error == nil || r.Error.Code != tt.code {
					t.Fatalf("run %s, error %+v; want failed with %s", r.State, r.Error, tt.code)
				}
				if !strings.Contains(r.Error.Message, "HTTP 50") {
					t.Errorf("message %q does not quote the error", r.Error.Message)
				}
				// Records are judged behind the load, so a few more may be sent.
				if got := len(b.records(r.ID)); got < tt.records || got > tt.records+200 {
					t.Errorf("%d records, want about %d", got, tt.records)
				}
				if _, err := os.Stat(filepath.Join(b.store.Dir(r.ID), "profile_export_aiperf.json")); err != nil {
					t.Errorf("a failed run left no summary: %v", err)
				}
				b.stop()
			})
		})
	}
}

// A failed turn ends its session; the turns that were not sent are counted.
func TestFailedTurnEndsTheSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := timing(t, 100*time.Millisecond, 0)
		fault, err := mock.ParseFault("close:after_tokens:1,every=2")
		if err != nil {
			t.Fatal(err)
		}
		o.Faults = []mock.Fault{fault}
		b := newBed(t, o, nil)
		r := b.run(document("type: concurrency, concurrency: 1, sessions: 2",
			`  tokenizer: {name: builtin}
  dataset: {type: synthetic, entries: 2, isl: 16, osl: 4, turns: 3}`))
		snap, err := b.engine.Snapshot(t.Context(), r.ID)
		if err != nil {
			t.Fatal(err)
		}
		st := snap.Phases[0].Stats
		if st.Sent != 4 || st.Errors != 2 || st.SkippedTurns != 2 || st.CancelledSessions != 2 || st.SessionTurns != 6 {
			t.Errorf("phase = %+v", st)
		}
		b.stop()
	})
}

func TestExactRequestCountUnderConcurrency(t *testing.T) {
	for _, load := range []string{"type: concurrency, concurrency: 64", "type: poisson, rate: 5000, concurrency: 16", "type: gamma, rate: 3000, smoothness: 0.3"} {
		t.Run(load, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBed(t, timing(t, time.Millisecond, 0), nil)
				r := b.run(document(load+", requests: 1000", fileData))
				if got := len(b.records(r.ID)); got != 1000 || r.Summary.Requests != 1000 {
					t.Errorf("%d records, %d in the summary; want exactly 1000; %+v", got, r.Summary.Requests, r.Warnings)
				}
				b.stop()
			})
		})
	}
}

func TestCompileReportsAllProblems(t *testing.T) {
	d, _, err := config.Load([]byte(document("type: concurrency, requests: 1", fileData, "  slos: {no_such_metric: 1}")), config.LoadOptions{Choices: plan.Choices()})
	if err == nil {
		_, err = plan.Compile(d)
	}
	var invalid *problem.Invalid
	if !errors.As(err, &invalid) || !strings.Contains(err.Error(), "no_such_metric") {
		t.Errorf("error = %v, want one that names no_such_metric", err)
	}
}
