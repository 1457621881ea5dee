package study

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/config"
	"aiperfd/internal/engine/config/problem"
	"aiperfd/internal/engine/config/vary"
	"aiperfd/internal/engine/metric"
	"aiperfd/internal/engine/metric/catalogue"
	"aiperfd/internal/engine/plan"
	"aiperfd/internal/run"
	"aiperfd/internal/store"
	"aiperfd/internal/study/cell"
)

// runner performs runs in ten seconds each, without a server.
type runner struct {
	run.Store
	fails func(*run.Run) string // why a run fails; "" = it does not
	// summary returns the summary of a run that succeeds; nil = none has one.
	summary func(*run.Run) *run.Summary
	idle    time.Duration // how long a run waits before it starts

	mu     sync.Mutex
	began  time.Time
	next   int                      // guarded by mu
	done   map[string]chan struct{} // guarded by mu
	lines  []string                 // guarded by mu; what was submitted, and when
	paused bool                     // guarded by mu
}

const length = 10 * time.Second

func (r *runner) Describe(doc *config.Document, s run.Submission) (*run.Run, error) {
	if _, err := plan.Compile(doc); err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.next++
	m := &doc.Metadata
	terms := run.Terms{Priority: m.Priority, Deadline: m.Deadline.Duration()}
	if !m.StartAfter.IsZero() {
		terms.StartAfter = &m.StartAfter.Time
	}
	return &run.Run{
		ID: fmt.Sprintf("%032x", r.next), State: bench.StateQueued, CreatedAt: time.Now(), Terms: terms,
		Origin: run.Origin{Via: s.Via, SubmittedBy: s.By, Seed: *doc.RandomSeed}, Cell: s.Cell, Warnings: s.Warnings,
	}, nil
}

func (r *runner) Submit(ctx context.Context, doc *config.Document, s run.Submission) (*run.Run, error) {
	q, err := r.Describe(doc, s)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	line := fmt.Sprintf("%v %s %s seed %d", time.Since(r.began), q.Cell.Folder, q.Cell.Label, q.Seed)
	for _, p := range doc.Benchmark.Phases {
		line += fmt.Sprintf(" %s:%d", p.Name, *p.Concurrency)
	}
	if s.By != "ci" {
		line += fmt.Sprintf(" submitted by %q", s.By)
	}
	r.lines = append(r.lines, line)
	ended := make(chan struct{})
	r.done[q.ID] = ended
	r.mu.Unlock()
	if err := r.Put(ctx, q); err != nil {
		return nil, err
	}
	go func() {
		<-time.After(r.idle)
		q := *q
		q.StartedAt = new(time.Now())
		if err := r.begin(&q); err != nil {
			panic(err)
		}
		<-time.After(length)
		end := q
		end.State = bench.StateCompleted
		if r.summary != nil {
			end.Summary = r.summary(&q)
		}
		if why := r.fails(&q); why != "" {
			end.State, end.StateReason, end.Error = bench.StateFailed, why, &run.Error{Code: run.ErrorCode(strings.ReplaceAll(why, " ", "-"))}
		}
		r.finish(&end)
	}()
	return q, nil
}

// begin stores that a run has started, unless it has ended.
func (r *runner) begin(q *run.Run) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.done[q.ID] == nil {
		return nil
	}
	return r.Put(context.Background(), q)
}

// finish makes a run terminal, once.
func (r *runner) finish(q *run.Run) {
	r.mu.Lock()
	ended := r.done[q.ID]
	delete(r.done, q.ID)
	r.mu.Unlock()
	if ended == nil {
		return
	}
	if err := r.Put(context.Background(), q); err != nil {
		panic(err)
	}
	close(ended)
}

func (r *runner) Wait(ctx context.Context, id string) (*run.Run, error) {
	r.mu.Lock()
	ended := r.done[id]
	r.mu.Unlock()
	if ended != nil {
		select {
		case <-ended:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return r.Get(ctx, id)
}

func (r *runner) Cancel(ctx context.Context, id string, c run.CancelRequest) (*run.Run, bool, error) {
	q, err := r.Get(ctx, id)
	if err != nil {
		return nil, false, err
	}
	end := *q
	end.State, end.StateReason = bench.StateCancelled, c.Reason
	r.finish(&end)
	return &end, true, nil
}

func (r *runner) Delete(ctx context.Context, id string, _ bool) error {
	return r.Store.Delete(ctx, id)
}

// Snapshot returns a throughput that grows with the variation and differs by trial.
func (r *runner) Snapshot(ctx context.Context, id string) (*run.Snapshot, error) {
	q, err := r.Get(ctx, id)
	if err != nil || q.Cell == nil {
		return &run.Snapshot{}, err
	}
	one := func(tag string, s metric.Stat, v float64) metric.Result {
		def, _ := catalogue.Lookup(tag)
		m := metric.Result{Def: def, Count: 100}
		m.Set(s, v)
		return m
	}
	x := float64(q.Cell.Variation.Index + 1)
	return &run.Snapshot{Metrics: metric.Results{
		one("request_throughput", metric.Avg, 10*x+0.01*float64(q.Cell.Trial)), one("request_latency", metric.P99, x*x),
	}}, nil
}

func newRunner(t *testing.T) *runner {
	t.Helper()
	tree, err := store.OpenTree(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return &runner{Store: tree, fails: func(*run.Run) string { return "" }, began: time.Now(), done: make(map[string]chan struct{})}
}

// begin runs a service until its function is called or the test ends.
func begin(t *testing.T, r *runner) (*Service, func()) {
	t.Helper()
	s, err := New(Options{Runner: r, Store: r.Store, Load: func(text []byte) (*config.Document, error) {
		doc, _, err := config.Load(text, config.LoadOptions{Choices: plan.Choices()})
		return doc, err
	}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		if err := s.Run(ctx); err != nil {
			t.Errorf("Run = %v", err)
		}
	}()
	return s, func() {
		cancel()
		<-stopped
	}
}

const base = `
benchmark:
  model: m
  endpoint: {url: "http://localhost:1"}
  phases:
  - {name: warmup, requests: 2, concurrency: 3}
  - {name: profiling, requests: 10, concurrency: 1}
`

// submit submits base with blocks of a study.
func submit(t *testing.T, s *Service, blocks string) *run.Run {
	t.Helper()
	doc, _, err := config.Load([]byte(base+blocks), config.LoadOptions{Choices: plan.Choices()})
	if err != nil {
		t.Fatal(err)
	}
	parent, err := s.Submit(t.Context(), doc, run.Submission{Via: "api", By: "ci"})
	if err != nil {
		t.Fatal(err)
	}
	return parent
}

func wait(t *testing.T, s *Service, id string) *run.Run {
	t.Helper()
	r, err := s.Wait(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// How a study performs its cells: their order, their folders, seeds, loads and pauses.
func TestOrder(t *testing.T) {
	for _, c := range []struct{ name, blocks, want string }{
		{"one trial each", "sweep: {type: grid, parameters: {concurrency: [1, 2]}, cooldownSeconds: 5}", `
0s concurrency_1 run_0001 seed 42 warmup:3 profiling:1
15s concurrency_2 run_0001 seed 43 warmup:3 profiling:2
completed 2/2`},
		{"repeated", "randomSeed: 7\nsweep: {type: grid, parameters: {concurrency: [1, 2]}, cooldownSeconds: 1, sameSeed: true}\nmultiRun: {numRuns: 2, cooldownSeconds: 5}", `
0s profile_runs/trial_0001/concurrency_1 run_0001 seed 7 warmup:3 profiling:1
11s profile_runs/trial_0001/concurrency_2 run_0001 seed 7 warmup:3 profiling:2
26s profile_runs/trial_0002/concurrency_1 run_0002 seed 7 profiling:1
37s profile_runs/trial_0002/concurrency_2 run_0002 seed 7 profiling:2
completed 4/4`},
		{"independent", "sweep: {type: grid, parameters: {concurrency: [1, 2]}, iterationOrder: independent}\nmultiRun: {numRuns: 2, cooldownSeconds: 5, disableWarmupAfterFirst: false}", `
0s concurrency_1/profile_runs/trial_0001 run_0001 seed 42 warmup:3 profiling:1
15s concurrency_1/profile_runs/trial_0002 run_0002 seed 42 warmup:3 profiling:1
25s concurrency_2/profile_runs/trial_0001 run_0001 seed 43 warmup:3 profiling:2
40s concurrency_2/profile_runs/trial_0002 run_0002 seed 43 warmup:3 profiling:2
completed 4/4`},
		{"repeats without a sweep", "multiRun: {numRuns: 2, varySeedPerTrial: true}", `
0s profile_runs/run_0001 run_0001 seed 6858774025263032934 warmup:3 profiling:1
10s profile_runs/run_0002 run_0002 seed 4337237111802998792 profiling:1
completed 2/2`},
		{"converged", "multiRun: {numRuns: 9, convergence: {metric: request_throughput}}", `
0s profile_runs/run_0001 run_0001 seed 42 warmup:3 profiling:1
10s profile_runs/run_0002 run_0002 seed 42 profiling:1
completed 2/2`},
		{"converged in turn", "sweep: {type: zip, parameters: {concurrency: [1, 2]}}\nmultiRun: {numRuns: 3, convergence: {metric: request_throughput, mode: cv}}", `
0s profile_runs/trial_0001/concurrency_1 run_0001 seed 42 warmup:3 profiling:1
10s profile_runs/trial_0001/concurrency_2 run_0001 seed 43 warmup:3 profiling:2
20s profile_runs/trial_0002/concurrency_1 run_0002 seed 42 profiling:1
30s profile_runs/trial_0002/concurrency_2 run_0002 seed 43 profiling:2
completed 4/4`},
		{"stops", "sweep: {type: grid, parameters: {concurrency: [1, 2, 4, 8]}, stopWhen: [{metricTag: request_latency, stat: p99, op: ge, threshold: 4}]}\nmultiRun: {numRuns: 2}", `
0s profile_runs/trial_0001/concurrency_1 run_0001 seed 42 warmup:3 profiling:1
10s profile_runs/trial_0001/concurrency_2 run_0001 seed 43 warmup:3 profiling:2
20s profile_runs/trial_0002/concurrency_1 run_0002 seed 42 profiling:1
30s profile_runs/trial_0002/concurrency_2 run_0002 seed 43 profiling:2
completed 4/4`},
		{"stops in turn", "sweep: {type: grid, parameters: {concurrency: [1, 8, 4, 16]}, iterationOrder: independent, stopWhen: [{metricTag: request_latency, stat: p99, op: ge, threshold: 4}]}", `
0s concurrency_1 run_0001 seed 42 warmup:3 profiling:1
10s concurrency_8 run_0001 seed 43 warmup:3 profiling:8
20s concurrency_4 run_0001 seed 44 warmup:3 profiling:4
completed 3/3`},
		{"templates follow", `variables: {n: 1}
sweep: {type: scenarios, runs: [{name: base}, {name: more, variables: {n: 4}, benchmark: {phases: [{name: profiling, concurrency: "{{ n * 2 }}"}]}}]}`, `
0s base run_0001 seed 42 warmup:3 profiling:1
10s more run_0001 seed 43 warmup:3 profiling:8
completed 2/2`},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRunner(t)
				s, stop := begin(t, r)
				defer stop()
				end := wait(t, s, submit(t, s, c.blocks).ID)
				got := fmt.Sprintf("\n%s\n%s %d/%d", strings.Join(r.lines, "\n"), end.State, end.Study.Done, end.Study.Total)
				if diff := cmp.Diff(c.want, got); diff != "" {
					t.Errorf("cells (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// What follows failed cells.
func TestFailures(t *testing.T) {
	const grid = "sweep: {type: grid, parameters: {concurrency: [1, 2, 3, 4]}"
	const boundary = "sweep: {type: adaptive_search, planner: monotonic_sla, maxIterations: 10, searchSpace: [{path: phases.profiling.concurrency, lo: 1, hi: 64, kind: int}], " +
		"slaFilters: [{metricTag: request_throughput, stat: avg, op: gt, threshold: 1}]}"
	for _, c := range []struct {
		name, blocks string
		fails        func(*run.Run) string
		want         string
	}{
		{"go on", grid + "}", func(r *run.Run) string { return map[int]string{1: "no success"}[r.Cell.Variation.Index] }, "completed  4/4, 1 failed"},
		{"abort", grid + ", onFailure: abort}", func(r *run.Run) string { return map[int]string{1: "no success"}[r.Cell.Variation.Index] },
			"failed phases.profiling.concurrency=2 failed: no success 2/4, 1 failed"},
		{"too many", grid + ", maxFailures: 2}", func(*run.Run) string { return "no success" },
			"failed 2 cells failed; the last one is phases.profiling.concurrency=2: no success 2/4, 2 failed"},
		{"all", grid + "}", func(*run.Run) string { return "no success" }, "failed 0 of 4 runs succeeded 4/4, 4 failed"},
		{"a search of a dead server", boundary, func(*run.Run) string { return "no success" },
			"failed the search ends at its first probe: no success 1/30, 1 failed"},
		{"a search of a server that fails later", boundary, func(r *run.Run) string {
			return map[int]string{1: "no success", 2: "no success"}[r.Cell.Variation.Index]
		},
			"completed  3/3, 2 failed"},
		{"a search of a server that is too slow", boundary, func(*run.Run) string { return "too slow" }, "failed 0 of 2 runs succeeded 2/2, 2 failed"},
		{"one repeat has no interval", "multiRun: {numRuns: 2}", func(r *run.Run) string { return map[int]string{1: "no success"}[r.Cell.Trial] },
			"failed 1 of 2 runs succeeded 2/2, 1 failed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRunner(t)
				r.fails = c.fails
				s, stop := begin(t, r)
				defer stop()
				end := wait(t, s, submit(t, s, strings.Replace(c.blocks, "concurrency:", "phases.profiling.concurrency:", 1)).ID)
				got := fmt.Sprintf("%s %s %d/%d, %d failed", end.State, end.StateReason, end.Study.Done, end.Study.Total, end.Study.Failed)
				if got != c.want {
					t.Errorf("study: %s, want %s", got, c.want)
				}
			})
		})
	}
}

// What the runs of a study say of their objectives, the study says; the probes of a search say
// nothing.
func TestObjectives(t *testing.T) {
	const search = "sweep: {type: adaptive_search, planner: monotonic_sla, maxIterations: 10, searchSpace: [{path: phases.profiling.concurrency, lo: 1, hi: 64, kind: int}], " +
		"slaFilters: [{metricTag: request_throughput, stat: avg, op: gt, threshold: 1}]}"
	for _, c := range []struct {
		name, blocks string
		missed       func(*run.Cell) bool
		want         []string
	}{
		{"sweep", "sweep: {type: grid, parameters: {phases.profiling.concurrency: [1, 2, 3]}}", func(c *run.Cell) bool { return c.Variation.Index > 0 },
			[]string{"SLO p95(ttft) < 1ms: missed by 2 of 3 runs (concurrency 2, concurrency 3)", "SLO request_throughput > 1: met by 3 of 3 runs"}},
		{"repeats", "multiRun: {numRuns: 3}", func(c *run.Cell) bool { return c.Trial == 1 },
			[]string{"SLO p95(ttft) < 1ms: missed by 1 of 3 runs (run 2)", "SLO request_throughput > 1: met by 3 of 3 runs"}},
		{"many", "multiRun: {numRuns: 10}", func(*run.Cell) bool { return true },
			[]string{
				"SLO p95(ttft) < 1ms: missed by 10 of 10 runs (run 1, run 2, run 3, run 4, run 5, run 6, run 7, run 8 and 2 more)",
				"SLO request_throughput > 1: met by 10 of 10 runs",
			}},
		{"search", search, func(*run.Cell) bool { return true }, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRunner(t)
				r.summary = func(q *run.Run) *run.Summary {
					return &run.Summary{SLOs: []metric.SLOResult{
						{Objective: "p95(ttft) < 1ms", Metric: "time_to_first_token", Operator: "<", Met: !c.missed(q.Cell)},
						{Objective: "request_throughput > 1", Metric: "request_throughput", Operator: ">", Met: true},
					}}
				}
				s, stop := begin(t, r)
				defer stop()
				end := wait(t, s, submit(t, s, c.blocks).ID)
				var got []string
				for i := range end.Study.Objectives {
					got = append(got, end.Study.Objectives[i].Line())
				}
				if diff := cmp.Diff(c.want, got); diff != "" {
					t.Errorf("objectives (-want +got):\n%s", diff)
				}
				if end.Study.MissedObjective() != (c.want != nil) {
					t.Errorf("MissedObjective = %v", end.Study.MissedObjective())
				}
			})
		})
	}
}

// A run in which the load generator leaves open if an objective is met does not count.
func TestObjectiveDistorted(t *testing.T) {
	p := &performance{doc: &config.Study{}}
	for i, side := range []int{0, 1, -1} {
		r := &run.Run{Cell: &run.Cell{Trial: i, Variation: vary.Variation{Label: "base"}}, Summary: &run.Summary{SLOs: []metric.SLOResult{
			{Objective: "p95(ttft) < 1ms", Metric: "time_to_first_token", Operator: "<"},
		}}}
		var d *cell.Doubt
		if side != 0 {
			d = &cell.Doubt{Invalid: true, Side: side}
		}
		p.judge(r, &cell.Trial{Metrics: []cell.Metric{{Tag: "time_to_first_token", Doubt: d}}})
	}
	want := "SLO p95(ttft) < 1ms: missed by 1 of 1 runs (run 1); 2 runs do not count, because the load generator distorted the metric"
	if got := p.objectives[0].Line(); got != want {
		t.Errorf("line = %q, want %q", got, want)
	}
}

// A cancelled study stops its active cell, drops the rest and writes what there is.
func TestCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRunner(t)
		s, stop := begin(t, r)
		defer stop()
		parent := submit(t, s, "sweep: {type: grid, parameters: {concurrency: [1, 2, 3]}}")
		second := submit(t, s, "multiRun: {numRuns: 2}")
		time.Sleep(15 * time.Second)
		if err := s.Delete(t.Context(), parent.ID, false); !errors.Is(err, run.ErrActive) {
			t.Errorf("Delete of an active study = %v", err)
		}
		for i, want := range []bool{true, false} {
			now, changed, err := s.Cancel(t.Context(), parent.ID, run.CancelRequest{Reason: "enough"})
			if err != nil || changed != want {
				t.Errorf("cancel %d: %v, changed %v, state %s", i, err, changed, now.State)
			}
		}
		end := wait(t, s, parent.ID)
		if got := fmt.Sprint(end.State, " ", end.StateReason, " ", end.Study.Done, " of ", end.Study.Total); got != "cancelled enough 2 of 3" {
			t.Errorf("study: %s", got)
		}
		if _, err := os.Stat(filepath.Join(r.Dir(parent.ID), "sweep_aggregate", "profile_export_aiperf_sweep.json")); err != nil {
			t.Errorf("results: %v", err)
		}
		// The one behind it is cancelled while it waits, or has just begun.
		if _, _, err := s.Cancel(t.Context(), second.ID, run.CancelRequest{}); err != nil {
			t.Error(err)
		}
		if end := wait(t, s, second.ID); end.State != bench.StateCancelled {
			t.Errorf("second study: %s", end.State)
		}
		if _, _, err := s.Cancel(t.Context(), second.ID, run.CancelRequest{}); err != nil {
			t.Errorf("cancel of a cancelled study: %v", err)
		}
		time.Sleep(length) // until the runner of this test has ended
	})
}

// A run that was cancelled with its study says so.
func TestCancelledCells(t *testing.T) {
	for reason, want := range map[string]string{"": "the study that it belongs to was cancelled", "enough": "enough"} {
		synctest.Test(t, func(t *testing.T) {
			r := newRunner(t)
			s, stop := begin(t, r)
			defer stop()
			parent := submit(t, s, "multiRun: {numRuns: 2}")
			time.Sleep(length / 2)
			if _, _, err := s.Cancel(t.Context(), parent.ID, run.CancelRequest{Reason: reason}); err != nil {
				t.Fatal(err)
			}
			wait(t, s, parent.ID)
			cells, err := cellsOf(t.Context(), r, parent.ID)
			if err != nil || len(cells) != 1 {
				t.Fatalf("%d cells, %v", len(cells), err)
			}
			for _, c := range cells {
				if c.StateReason != want {
					t.Errorf("cancelled for %q: the cell says %q, want %q", reason, c.StateReason, want)
				}
			}
			time.Sleep(length) // until the runner of this test has ended
		})
	}
}

// Another process goes on at the first cell that has not ended, and comes to the same
// results.
func TestResume(t *testing.T) {
	const blocks = "sweep: {type: grid, parameters: {concurrency: [1, 2, 3]}}\nmultiRun: {numRuns: 2}"
	synctest.Test(t, func(t *testing.T) {
		r := newRunner(t)
		s, stop := begin(t, r)
		parent := submit(t, s, blocks)
		time.Sleep(35 * time.Second) // three cells have ended
		stop()
		if now, err := r.Get(t.Context(), parent.ID); err != nil || now.State != bench.StateRunning || now.Study.Done != 3 {
			t.Fatalf("after the first process: %s, %d cells, %v", now.State, now.Study.Done, err)
		}
		time.Sleep(length) // the runner of this test goes on; that of a process would not
		left, err := cellsOf(t.Context(), r, parent.ID)
		if err != nil || len(left) != 4 {
			t.Fatalf("%d cells, %v", len(left), err)
		}
		torn := left[3]
		torn.State, torn.Error = bench.StateFailed, &run.Error{Code: run.Interrupted}
		if err := r.Put(t.Context(), &torn); err != nil {
			t.Fatal(err)
		}
		r.lines = nil

		s, stop = begin(t, r)
		defer stop()
		end := wait(t, s, parent.ID)
		var folders []string
		for _, line := range r.lines {
			folders = append(folders, strings.Fields(line)[1])
		}
		want := []string{"profile_runs/trial_0002/concurrency_1", "profile_runs/trial_0002/concurrency_2", "profile_runs/trial_0002/concurrency_3"}
		if diff := cmp.Diff(want, folders); diff != "" {
			t.Errorf("cells of the second process (-want +got):\n%s", diff)
		}
		if cells, err := cellsOf(t.Context(), r, parent.ID); err != nil || len(cells) != 6 || end.State != bench.StateCompleted || end.Study.Done != 6 {
			t.Errorf("%d cells, %v; study %s with %d", len(cells), err, end.State, end.Study.Done)
		}

		whole := newRunner(t)
		s, stopWhole := begin(t, whole)
		defer stopWhole()
		other := wait(t, s, submit(t, s, blocks).ID)
		file := filepath.Join("sweep_aggregate", "profile_export_aiperf_sweep.csv")
		a, err := os.ReadFile(filepath.Join(r.Dir(parent.ID), file))
		if err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(filepath.Join(whole.Dir(other.ID), file))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(b), string(a)); diff != "" {
			t.Errorf("results of an interrupted study (-whole +resumed):\n%s", diff)
		}
	})
}

// A study whose document cannot be read again fails; secrets are not stored.
func TestResumeFails(t *testing.T) {
	for _, c := range []struct {
		err  error
		want run.ErrorCode
	}{
		{&problem.Invalid{Problems: []problem.Problem{{Code: problem.CodeRedacted}}}, run.SecretLost},
		{errors.New("torn"), run.Internal},
		{nil, run.Interrupted},
	} {
		synctest.Test(t, func(t *testing.T) {
			r := newRunner(t)
			s, stop := begin(t, r)
			parent := submit(t, s, "multiRun: {numRuns: 2}")
			time.Sleep(time.Second)
			stop()
			s, err := New(Options{Runner: r, Store: r.Store, Load: func([]byte) (*config.Document, error) { return nil, c.err }})
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			if c.want == run.Interrupted { // as a kill between the two steps of the submit leaves it
				if err := os.Remove(filepath.Join(r.Dir(parent.ID), planFile)); err != nil {
					t.Fatal(err)
				}
			}
			if err := s.queue.Recover(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := s.Run(ctx); err != nil {
				t.Fatal(err)
			}
			if end, err := r.Get(t.Context(), parent.ID); err != nil || end.State != bench.StateFailed || end.Error.Code != c.want {
				t.Errorf("study: %s, %+v, %v; want %s", end.State, end.Error, err, c.want)
			}
			time.Sleep(length)
		})
	}
}

// Update implements Runner.
func (r *runner) Update(ctx context.Context, id string, change func(*run.Run) error) (*run.Run, error) {
	q, err := r.Get(ctx, id)
	if err != nil {
		return nil, err
	}
	if err := change(q); err != nil {
		return nil, err
	}
	q.Revision++
	return q, r.Put(ctx, q)
}

// Queue implements Runner.
func (r *runner) Queue() run.Queue {
	r.mu.Lock()
	defer r.mu.Unlock()
	return run.Queue{Paused: r.paused}
}

// Pause implements Runner.
func (r *runner) Pause(_ context.Context, paused bool) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.paused = paused
	return nil
}
