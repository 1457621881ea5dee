package study

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/config"
	"aiperfd/internal/engine/plan"
	"aiperfd/internal/results"
	"aiperfd/internal/run"
	"aiperfd/internal/study/capacity"
)

// loaded is a runner whose probes have records: of a server that bears 20 requests at a time.
type loaded struct{ *runner }

// Snapshot writes the records of a probe, as the engine has done before a run ends, and returns
// its phase.
func (r *loaded) Snapshot(ctx context.Context, id string) (*run.Snapshot, error) {
	snap, err := r.runner.Snapshot(ctx, id)
	q, missing := r.Get(ctx, id)
	if err != nil || missing != nil || q.Cell == nil {
		return snap, err
	}
	level, _ := q.Cell.Variation.Number("concurrency")
	epoch := time.Unix(1_000_000, 0)
	random := rand.New(rand.NewPCG(uint64(q.Seed), 1))
	good := math.Exp(-math.Exp(math.Log(-math.Log(0.95)) + 8*(level/20-1)))
	var lines strings.Builder
	const requests, seconds = 600, 25
	for i := range requests {
		latency := 100.0
		if random.Float64() > good {
			latency = 900
		}
		start := epoch.Add(time.Duration(i) * seconds * time.Second / requests).UnixNano()
		fmt.Fprintf(&lines, `{"metadata":{"benchmark_phase":"profiling","request_start_ns":%d,"request_end_ns":%d},"metrics":{"request_latency":{"value":%v,"unit":"ms"}},"error":null}`+"\n",
			start, start+int64(latency*1e6), latency)
	}
	path := filepath.Join(r.Dir(id), "profile_export.jsonl")
	if err := os.WriteFile(path, []byte(lines.String()), 0o600); err != nil {
		return nil, err
	}
	snap.Phases = []run.Phase{{Epoch: epoch, Stats: bench.PhaseStats{Kind: bench.Profiling, SentEnd: seconds * time.Second}}}
	return snap, nil
}

const capacityDocument = `
randomSeed: 42
benchmark:
  model: m
  endpoint: {url: "http://localhost:1"}
  slos: {request_latency: 500}
  phases:
  - {name: profiling, duration: 20, concurrency: 1}
sweep:
  type: adaptive_search
  planner: capacity
  searchSpace: [{path: concurrency, lo: 2, hi: 200, kind: int}]
  slaWarmupSeconds: 5
  maxIterations: 11
`

// newLoaded returns a service for searches for a capacity; nil = events are discarded.
func newLoaded(t *testing.T, r *runner, publisher run.Publisher) *Service {
	t.Helper()
	load := func(text []byte) (*config.Document, error) {
		doc, _, err := config.Load(text, config.LoadOptions{Choices: plan.Choices()})
		return doc, err
	}
	s, err := New(Options{Runner: &loaded{r}, Store: r.Store, Publisher: publisher, Load: load})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// beginLoaded runs a service for searches for a capacity.
func beginLoaded(t *testing.T, r *runner) (*Service, func()) {
	t.Helper()
	s := newLoaded(t, r, nil)
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

func submitCapacity(t *testing.T, s *Service) *run.Run {
	t.Helper()
	doc, _, err := config.Load([]byte(capacityDocument), config.LoadOptions{Choices: plan.Choices()})
	if err != nil {
		t.Fatal(err)
	}
	parent, err := s.Submit(t.Context(), doc, run.Submission{Via: "api", By: "ci"})
	if err != nil {
		t.Fatal(err)
	}
	return parent
}

// answerOf returns the final answer of a search, without what differs by process.
func answerOf(t *testing.T, r *runner, id string) *results.Answer {
	t.Helper()
	a, err := results.Open(r.Dir(id), "").Answer()
	if err != nil {
		t.Fatal(err)
	}
	a.RunID = ""
	for i := range a.Evidence {
		a.Evidence[i].RunID = ""
	}
	for _, p := range []*results.AnswerProbe{a.ConfirmedGood, a.ConfirmedBad} {
		if p != nil {
			p.RunID = ""
		}
	}
	return a
}

// TestCapacity: a search for a capacity finds it, and one that is killed at any moment goes on with
// the same level, loses no probe, and has the same answer.
func TestCapacity(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRunner(t)
		s, stop := beginLoaded(t, r)
		id := submitCapacity(t, s).ID
		if end := wait(t, s, id); end.State != bench.StateCompleted {
			t.Fatalf("search is %s: %s", end.State, end.StateReason)
		}
		stop()
		whole := answerOf(t, r, id)
		e := whole.Estimate
		if string(whole.Verdict) != string(capacity.Estimated) || e == nil || !(e.Low <= 20 && 20 <= e.High) || !whole.Final {
			t.Fatalf("answer: %s, %+v, final %v; want an interval around 20", whole.Verdict, e, whole.Final)
		}
		if whole.ConfirmedGood == nil || whole.ConfirmedBad == nil || whole.ConfirmedGood.X >= whole.ConfirmedBad.X {
			t.Errorf("confirmed: %+v, %+v", whole.ConfirmedGood, whole.ConfirmedBad)
		}
		for _, after := range []time.Duration{3 * time.Second, 40 * time.Second, 75 * time.Second} {
			first := newRunner(t)
			s, stop := beginLoaded(t, first)
			id := submitCapacity(t, s).ID
			time.Sleep(after)
			stop()
			time.Sleep(length)
			next := newRunner(t)
			next.Store, next.next = first.Store, 100
			s, stop = beginLoaded(t, next)
			end := wait(t, s, id)
			stop()
			if end.State != bench.StateCompleted {
				t.Errorf("killed after %v: %s: %s", after, end.State, end.StateReason)
			}
			if diff := cmp.Diff(whole, answerOf(t, next, id)); diff != "" {
				t.Errorf("killed after %v (-whole +resumed):\n%s", after, diff)
			}
		}
		time.Sleep(10 * length)
	})
}

// TestCapacity_cancelled: a probe that a user cancels has no result, so that its level is probed again,
// also by the process that goes on with the search; one that the load ended has one.
func TestCapacity_cancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first := newRunner(t)
		s, stop := beginLoaded(t, first)
		id := submitCapacity(t, s).ID
		cancel := func(after time.Duration) {
			time.Sleep(after)
			cells, err := cellsOf(t.Context(), first, id)
			if err != nil {
				t.Fatal(err)
			}
			if _, _, err := s.Cancel(t.Context(), cells[len(cells)-1].ID, run.CancelRequest{Force: true}); err != nil {
				t.Fatal(err)
			}
		}
		cancel(3 * time.Second)
		time.Sleep(24 * time.Second) // the third probe has begun
		before := answerOf(t, first, id)
		if before.Final || before.Stop.Reason != "" {
			t.Errorf("answer of a search that goes on: final %v, %+v", before.Final, before.Stop)
		}
		if len(before.Evidence) != 2 || before.Evidence[0].Failure != "cancelled" || before.Evidence[1].X != before.Evidence[0].X {
			t.Fatalf("evidence after a cancelled probe: %+v, want a failure and the same level again", before.Evidence)
		}
		stop()
		time.Sleep(length)

		next := newRunner(t)
		next.Store, next.next = first.Store, 100
		s, stop = beginLoaded(t, next)
		wait(t, s, id)
		stop()
		for i, e := range answerOf(t, next, id).Evidence[:2] {
			if was := before.Evidence[i]; e.X != was.X || e.Failure != was.Failure || e.Requests != was.Requests {
				t.Errorf("probe %d after a restart is %+v, want %+v", i, e, was)
			}
		}
		time.Sleep(10 * length)
	})
	for code, want := range map[run.ErrorCode]string{run.Saturated: capacity.Overload, run.ErrorThreshold: capacity.Hopeless, run.DeadlinePassed: ""} {
		if got := cutShort(&run.Run{State: bench.StateFailed, Error: &run.Error{Code: code}}); got != want {
			t.Errorf("a run that failed with %s was cut short by %q, want %q", code, got, want)
		}
	}
}

// TestCapacity_ended: the answer of a search that its study ends is final, and says so.
func TestCapacity_ended(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, want := range []capacity.Reason{capacity.Cancelled, capacity.Failed} {
			r := newRunner(t)
			if want == capacity.Failed {
				r.fails = func(*run.Run) string { return "no success" }
			}
			s, stop := beginLoaded(t, r)
			id := submitCapacity(t, s).ID
			if want == capacity.Cancelled {
				time.Sleep(3 * time.Second)
				if _, _, err := s.Cancel(t.Context(), id, run.CancelRequest{Force: true}); err != nil {
					t.Fatal(err)
				}
			}
			wait(t, s, id)
			stop()
			if a := answerOf(t, r, id); !a.Final || a.Stop.Reason != string(want) || a.Stop.Text == "" {
				t.Errorf("answer is final %v, %+v; want true and %s", a.Final, a.Stop, want)
			}
			time.Sleep(10 * length)
		}
	})
}

// TestWindow: which requests are good, by the clock of due times and by that of starts.
func TestWindow(t *testing.T) {
	w := window{
		start: 0, length: 16 * time.Second, limits: map[string]float64{"request_latency": 500}, open: true,
		missed: make(map[string]int),
	}
	request := func(second, lag, latency float64, failed bool) {
		start := int64((second + lag/1000) * 1e9)
		r := &results.Record{
			Metadata: results.Metadata{Start: start, End: start + int64(latency*1e6)},
			Metrics: map[string]results.Value{
				"schedule_lag": {Value: fmt.Appendf(nil, "%v", lag)}, "request_latency": {Value: fmt.Appendf(nil, "%v", latency)},
				"corrected_request_latency": {Value: fmt.Appendf(nil, "%v", lag+latency)},
			},
		}
		if failed {
			r.Error = []byte(`{"code":500}`)
			delete(r.Metrics, "request_latency")
		}
		w.add(r)
	}
	request(-1, 0, 100, false)  // in the warm-up
	request(0.5, 0, 100, false) // good
	request(1.5, 450, 100, false)
	request(2.5, 0, 600, false)
	request(3.5, 0, 100, true)
	request(16.5, 0, 100, false) // behind the window
	p := w.probe()
	if p.Share.N != 4 || p.Share.Good != 1 || p.FromStart != 0.5 || p.Missed["request_latency"] != 3 || p.Missed["errors"] != 1 {
		t.Errorf("window: %v of %v good, %v from the start, missed %v; want 1 of 4, 0.5, 3 latencies and 1 error",
			p.Share.Good, p.Share.N, p.FromStart, p.Missed)
	}
	w.drop(10, 20*time.Second) // 8 of them in the window: one in each pair of blocks
	if p := w.probe(); math.Abs(p.Share.N-12) > 1e-9 || math.Abs(w.all[0]-1.5) > 1e-9 || math.Abs(w.all[15]-0.5) > 1e-9 {
		t.Errorf("with 10 dropped arrivals: %v requests, by block %v; want 12, the dropped ones evenly", p.Share.N, w.all)
	}
}

// TestProbeWatch: when a probe ends before its time.
func TestProbeWatch(t *testing.T) {
	snap := func(seconds float64, sent, done, missed int64) *run.Snapshot {
		return &run.Snapshot{Phases: []run.Phase{{
			Stats: bench.PhaseStats{
				Kind: bench.Profiling, LastUpdate: time.Duration(seconds * float64(time.Second)), Sent: sent, Completed: done,
				Records: bench.RecordCounts{Success: done},
			},
			Counters: run.Counters{SLOMissed: map[string]int64{"ttft": missed}},
		}}}
	}
	for _, c := range []struct {
		name  string
		plan  capacity.Plan
		looks []*run.Snapshot
		want  string
	}{
		{"kept", capacity.Plan{Curtail: true, MaxInFlight: 100}, []*run.Snapshot{snap(6, 50, 50, 0), snap(9, 150, 100, 5)}, ""},
		{"overload", capacity.Plan{MaxInFlight: 100}, []*run.Snapshot{snap(6, 151, 50, 0)}, capacity.Overload},
		{"hopeless", capacity.Plan{Curtail: true}, []*run.Snapshot{snap(6, 50, 50, 0), snap(9, 150, 90, 39)}, capacity.Hopeless},
		{"bad in the warm-up only", capacity.Plan{Curtail: true}, []*run.Snapshot{snap(6, 50, 50, 50), snap(9, 150, 90, 51)}, ""},
		{"not while refining", capacity.Plan{}, []*run.Snapshot{snap(6, 50, 50, 0), snap(9, 150, 90, 39)}, ""},
	} {
		c.plan.Warmup = 5 * time.Second
		w := probeWatch{plan: c.plan, tolerated: 30}
		got := ""
		for _, s := range c.looks {
			if got == "" {
				got = w.look(s)
			}
		}
		if got != c.want {
			t.Errorf("%s: ended %q, want %q", c.name, got, c.want)
		}
	}
}
