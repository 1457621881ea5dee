package engine_test

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"

	"aiperfd/internal/cluster"
	"aiperfd/internal/cluster/bus"
	"aiperfd/internal/cluster/sealed"
	"aiperfd/internal/cluster/worker"
	"aiperfd/internal/engine"
	"aiperfd/internal/engine/allow"
	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/config"
	"aiperfd/internal/engine/metric"
	"aiperfd/internal/engine/monitor"
	"aiperfd/internal/engine/plan"
	"aiperfd/internal/mock"
	"aiperfd/internal/run"
)

// fleet is a bed whose engine performs runs on workers, which have joined over a bus in memory.
type fleet struct {
	*bed
	bus     *bus.Memory
	workers []*bed
	ids     []string // of the workers
	control *cluster.Controller
	end     func()

	mu      sync.Mutex
	changes []string // guarded by mu
}

// told returns what the controller has told of workers, sorted.
func (f *fleet) told() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Sorted(slices.Values(f.changes))
}

// fleetToken is the one that workers of tests join with.
const fleetToken = "aiperfd_CANARYCANARY"

// newFleet starts a simulated server, a controller and workers w1, w2, … Call end before the test ends.
func newFleet(t *testing.T, o mock.Options, workers int) *fleet {
	t.Helper()
	return newFleetWith(t, o, workers, func(*worker.Options) {})
}

// newFleetWith does the same with a change of the options of workers.
func newFleetWith(t *testing.T, o mock.Options, workers int, change func(*worker.Options)) *fleet {
	t.Helper()
	f := &fleet{bus: &bus.Memory{}}
	ctx, cancel := context.WithCancel(context.Background())
	working, leave := context.WithCancel(ctx)
	var group, performing sync.WaitGroup
	log := zerolog.New(zerolog.NewTestWriter(t))
	own := f.bus.Connect("controller", bus.Everything())
	sum := sha256.Sum256([]byte(fleetToken))
	f.control = cluster.New(cluster.Options{
		Bus: own, Version: "test", Log: log,
		Tokens: func(holds func(sealed.Sum) bool) (string, int, bool) { return "fleet", workers, holds(sum) },
		Changed: func(c run.WorkerChange) {
			f.mu.Lock()
			defer f.mu.Unlock()
			f.changes = append(f.changes, c.What+" "+c.Worker.Name)
		},
	})
	var dialed engine.Options
	f.bed = newBedWith(t, o, nil, func(o *engine.Options) {
		dialed = *o
		o.Fleet = f.control
	})
	group.Go(func() {
		if err := f.control.Serve(ctx); err != nil {
			t.Error(err)
		}
	})
	var connections []bus.Bus
	for i := range workers {
		b := newDialBed(t, engine.Options{
			Log: log, Dial: dialed.Dial, Monitor: monitor.Options{Ticker: monitor.NewTimer, Host: still{}},
		})
		f.workers = append(f.workers, b)
		key, err := sealed.NewKey()
		if err != nil {
			t.Fatal(err)
		}
		id := sealed.Instance(key.Public())
		f.ids = append(f.ids, id)
		conn := f.bus.Connect(id, bus.OfWorker(id))
		connections = append(connections, conn)
		options := worker.Options{
			Bus: conn, Key: key, Token: fleetToken, Name: fmt.Sprintf("w%d", i+1), Version: "test", Engine: b.engine,
			Dir: b.store.Dir, Log: log, Cores: 2,
			Load: config.LoadOptions{Choices: plan.Choices()},
		}
		change(&options)
		w := worker.New(options)
		performing.Go(func() {
			if err := w.Run(working); err != nil && working.Err() == nil {
				t.Error(err)
			}
		})
	}
	f.end = sync.OnceFunc(func() {
		leave()
		performing.Wait()
		cancel()
		group.Wait()
		for _, c := range append(connections, own) {
			c.Close()
		}
		for _, w := range f.workers {
			w.stop()
		}
		f.stop()
	})
	t.Cleanup(f.end)
	return f
}

// Several load generators together have the results of one.
func TestClusterResults(t *testing.T) {
	const document = `
randomSeed: 7
benchmark:
  model: m
  endpoint: {url: "http://simulator/", streaming: true}
  dataset: {type: synthetic, entries: 50, prompts: {isl: 40, osl: 12}}
  %s
  warmup: {type: concurrency, concurrency: 4, requests: 9}
  profiling: {type: poisson, rate: 40, requests: 400}
`
	synctest.Test(t, func(t *testing.T) {
		server := mock.Options{TTFT: mock.ConstDelay(80 * time.Millisecond), ITL: mock.ConstDelay(5 * time.Millisecond)}
		alone := newBed(t, server, nil)
		one := alone.run(fmt.Sprintf(document, ""))
		want, wantReport := alone.requests(one.ID), alone.engine.Report(one.ID)
		alone.stop()
		f := newFleet(t, server, 3)
		many := f.run(fmt.Sprintf(document, "cluster: {workers: 3}"))
		if many.State != one.State {
			t.Fatalf("%s: %s", many.State, many.StateReason)
		}
		if diff := cmp.Diff(want, f.requests(many.ID)); diff != "" {
			t.Errorf("requests (-one +several):\n%s", diff)
		}
		single, err := engine.NewHistory(f.engine).Samples(many.ID)
		if err != nil || single.Seen != 400 || len(single.FirstToken) == 0 {
			t.Errorf("samples: %+v, %v", single, err)
		}
		got := f.engine.Report(many.ID)
		wantMetrics, gotMetrics := byTag(t, wantReport.Results), byTag(t, got.Results)
		for _, all := range []map[string]string{wantMetrics, gotMetrics} {
			maps.DeleteFunc(all, func(tag, _ string) bool {
				ofConnections := strings.HasPrefix(tag, "http_")                         // each load generator has its own
				ofPrompts := tag == "repeated_input_pct" || tag == "unique_prompt_ratio" // none knows those of the others
				return ofConnections || ofPrompts
			})
		}
		if diff := cmp.Diff(wantMetrics, gotMetrics); diff != "" {
			t.Errorf("results (-one +several):\n%s", diff)
		}
		if c := got.Cluster; len(c.Workers) != 3 || !c.Conservation.Holds || c.Conservation.Sent != 409 {
			t.Errorf("cluster: %+v", c)
		}
		f.end()
	})
}

// byTag returns metrics as JSON.
func byTag(t *testing.T, rs metric.Results) map[string]string {
	t.Helper()
	out := map[string]string{}
	for i := range rs {
		data, err := json.Marshal(&rs[i])
		if err != nil {
			t.Fatal(err)
		}
		out[rs[i].Def.Tag] = string(data)
	}
	return out
}

// requests returns one line for each request of a run: its phase, session and turn, and, if it has a schedule, when it
// was due and ended since the first one of its phase.
func (b *bed) requests(id string) (out []string) {
	b.t.Helper()
	first := map[string]int64{}
	for _, l := range b.records(id) {
		m := l.Metadata
		if _, ok := first[m.Phase]; !ok {
			first[m.Phase] = m.StartNs
		}
		times := ""
		if m.Phase == "profiling" {
			times = fmt.Sprint(time.Duration(m.CreditNs-first[m.Phase]), " ", time.Duration(m.EndNs-first[m.Phase]))
		}
		out = append(out, fmt.Sprintf("%s %05d.%d %s %s %s %s", m.Phase, m.SessionNum, m.Turn, m.ConversationID, times,
			l.metric("input_sequence_length"), l.metric("output_sequence_length")))
	}
	slices.Sort(out)
	return out
}

// A load generator that is lost ends the run, or leaves the others with what is theirs. Those that cannot be stopped
// any more stop by themselves before they are taken for lost.
func TestClusterLosesWorker(t *testing.T) {
	const document = `
randomSeed: 7
benchmark:
  model: m
  endpoint: {url: "http://simulator/", streaming: true}
  dataset: {type: synthetic, entries: 50, prompts: {isl: 40, osl: 12}}
  cluster: {workers: 3, onWorkerLost: %s}
  profiling: {type: constant, rate: 31.3, duration: 41, gracePeriod: 5}
`
	for _, policy := range []string{"abort", "continue"} {
		t.Run(policy, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := mock.Options{TTFT: mock.ConstDelay(80 * time.Millisecond), ITL: mock.ConstDelay(5 * time.Millisecond)}
				f := newFleet(t, server, 3)
				id := f.submit(fmt.Sprintf(document, policy))
				time.Sleep(15 * time.Second)
				f.bus.Cut(f.ids[1], true)
				cut := time.Now()
				time.Sleep(10 * time.Second)
				mine := f.workers[1].requestTimes()
				if last := mine[len(mine)-1]; last.Sub(cut) > 9*time.Second {
					t.Errorf("a load generator that nobody can stop went on for %v", last.Sub(cut))
				}
				r := f.wait(id)
				rep := f.engine.Report(id)
				c := rep.Cluster
				var reduced []string
				for _, reason := range rep.Client.Reasons {
					if reason.Code == "load-reduced" {
						reduced = append(reduced, reason.Message)
					}
				}
				failed := r.Error != nil && r.Error.Code == run.WorkerLost
				if failed != (policy == "abort") || len(reduced) != 1 || rep.Client.Verdict != "invalid" {
					t.Errorf("%s: %s, %+v; reasons %q, verdict %s", policy, r.State, r.Error, reduced, rep.Client.Verdict)
				}
				k := c.Conservation
				if !k.Holds || k.Unknown == 0 || k.Unrecorded == 0 || c.Workers[1].State != "lost" {
					t.Errorf("%s: %+v", policy, c)
				}
				const arrivals = 1283 // none of them at a time when something else happens
				if policy == "continue" && k.Sent+k.Unknown+k.NotSent != arrivals {
					t.Errorf("of %d arrivals %+v", arrivals, k)
				}
				f.end()
			})
		})
	}
}

// requestTimes returns when the requests of the only run of an engine started, as its record file says so far.
func (b *bed) requestTimes() (out []time.Time) {
	b.t.Helper()
	b.store.mu.Lock()
	ids := slices.Collect(maps.Keys(b.store.runs))
	b.store.mu.Unlock()
	for _, l := range b.records(ids[0]) {
		out = append(out, time.Unix(0, l.Metadata.StartNs))
	}
	return out
}

// A load generator that is drained finishes its part and takes no further run. Who joins, leaves and is lost is told.
func TestClusterMembers(t *testing.T) {
	const document = `
randomSeed: 7
benchmark:
  model: m
  endpoint: {url: "http://simulator/", streaming: true}
  dataset: {type: synthetic, entries: 50, prompts: {isl: 40, osl: 12}}
  cluster: {workers: %d, joinTimeout: 20}
  profiling: {type: constant, rate: 20, duration: 15.33, gracePeriod: 5}
`
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, mock.Options{TTFT: mock.ConstDelay(80 * time.Millisecond)}, 3)
		id := f.submit(fmt.Sprintf(document, 3))
		time.Sleep(10500 * time.Millisecond)
		if w, err := f.control.Drain("w2"); err != nil || w.State != "running" || !w.Draining {
			t.Errorf("drain: %+v, %v", w, err)
		}
		if _, err := f.control.Drain("w9"); !errors.Is(err, run.ErrNoWorker) {
			t.Errorf("drain one that has not joined: %v", err)
		}
		for _, w := range f.control.Workers() {
			if w.State != "running" || *w.RunID != id || *w.ClockBound > 1 || *w.StartSkew > 1 || w.Lanes < 21844 || w.Requests == 0 {
				t.Errorf("during the run: %+v", w)
			}
		}
		live, err := f.engine.Snapshot(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		shown := live.Workers
		for i := range shown {
			w := &shown[i]
			if w.State != "running" || math.Abs(*w.AskedRate-20.0/3) > 0.01 || math.Abs(*w.Rate-*w.AskedRate) > 1.5 {
				t.Errorf("%s: %s, %v of %v per second", w.Name, w.State, *w.Rate, *w.AskedRate)
			}
		}
		if r := f.wait(id); r.State != bench.StateCompleted {
			t.Errorf("%s: %s", r.State, r.StateReason)
		}
		final, err := f.engine.Snapshot(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		for i := range final.Workers {
			if w := &final.Workers[i]; w.State != "completed" || w.Verdict == "" || *w.LatencyP50 < 80 {
				t.Errorf("after the run: %+v", w)
			}
		}
		if k := final.Conservation; k == nil || !k.Holds || k.Sent != 306 {
			t.Errorf("conservation: %+v", k)
		}
		r := f.wait(f.submit(fmt.Sprintf(document, 3)))
		if r.Error == nil || !strings.HasPrefix(r.Error.Message, "2 of 3 load generators were ready") {
			t.Errorf("a run that needs the one that is drained: %+v", r.Error)
		}
		if r := f.wait(f.submit(fmt.Sprintf(document, 2))); r.State != bench.StateCompleted {
			t.Errorf("a run that does not: %s: %s", r.State, r.StateReason)
		}
		f.bus.Cut(f.ids[0], true)
		time.Sleep(15 * time.Second)
		states := map[string]string{}
		for _, w := range f.control.Workers() {
			states[w.Name] = w.State
		}
		want := map[string]string{"w1": "lost", "w2": "drained", "w3": "idle"}
		if diff := cmp.Diff(want, states); diff != "" {
			t.Errorf("states (-want +got):\n%s", diff)
		}
		kinds := map[string]bool{}
		for _, of := range f.control.Traffic() {
			kinds[of.Kind] = of.Messages > 0 && of.Bytes > of.Messages
		}
		for _, kind := range []string{"beat", "clock", "file", "join", "prepare", "ready", "release"} {
			if !kinds[kind] {
				t.Errorf("no messages %s: %v", kind, kinds)
			}
		}
		f.bus.Cut(f.ids[0], false)
		time.Sleep(15 * time.Second)
		f.end()
		told := []string{"joined w1", "joined w1", "joined w2", "joined w3", "left w1", "left w2", "left w3", "lost w1"}
		if diff := cmp.Diff(told, f.told()); diff != "" {
			t.Errorf("told (-want +got):\n%s", diff)
		}
	})
}

// Nothing that crosses the bus has a secret: neither those of the document nor the token, and not its hash either, with
// which a worker is spoken to.
func TestClusterCanary(t *testing.T) {
	const document = `
benchmark:
  model: m
  endpoint:
    url: "http://simulator/"
    apiKey: sk-CANARYCANARY-KEY
    headers: {X-Secret: CANARYCANARY-HEADER}
  dataset: {type: synthetic, entries: 5, prompts: {isl: 40, osl: 12}}
  cluster: {workers: 2}
  profiling: {type: constant, rate: 20, requests: %d}
`
	sum := sha256.Sum256([]byte(fleetToken))
	secrets := []string{"CANARY", string(sum[:]), hex.EncodeToString(sum[:]), base64.StdEncoding.EncodeToString(sum[:])}
	for shift := range 3 { // the parts of an encoding that do not depend on what stands before and after
		text := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("x", shift) + "CANARYCANARY"))
		secrets = append(secrets, text[(shift*8+5)/6:len(text)-4])
	}
	synctest.Test(t, func(t *testing.T) {
		for _, refuses := range []bool{false, true} {
			server := mock.Options{TTFT: mock.ConstDelay(80 * time.Millisecond)}
			server.APIKey = "sk-CANARYCANARY-KEY"
			if refuses {
				server.APIKey = "another"
			}
			f := newFleet(t, server, 2)
			var mu sync.Mutex
			seen := map[string]int{}
			f.bus.Disturb(func(d bus.Delivery) []time.Duration {
				mu.Lock()
				defer mu.Unlock()
				seen[d.Subject[strings.LastIndexByte(d.Subject, '.')+1:]]++
				for _, secret := range secrets {
					if strings.Contains(string(d.Payload), secret) {
						t.Errorf("a message of %s has %q: %.300q", d.Subject, secret, d.Payload)
					}
				}
				return []time.Duration{0}
			})
			r := f.run(fmt.Sprintf(document, 60))
			if completed := r.Error == nil; completed == refuses {
				t.Errorf("refuses %v: %s, %+v", refuses, r.State, r.Error)
			}
			f.end()
			if seen["prepare"] < 4 || seen["beat"] == 0 || seen["file"] == 0 {
				t.Errorf("messages: %v", seen)
			}
		}
	})
}

// What the controller alone does is no part of what load generators get: they need not be allowed to reach the pages of
// metrics, do not learn their passwords, and leave it to the controller to judge the run.
func TestClusterControllerAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleetWith(t, mock.Options{}, 2, func(o *worker.Options) {
			patterns, err := allow.ParseAll([]string{"simulator"})
			if err != nil {
				t.Fatal(err)
			}
			o.Load.Reach.Targets = allow.New(allow.Options{Patterns: patterns})
		})
		r := f.run(`
benchmark:
  model: m
  endpoint: {url: "http://simulator/"}
  dataset: {type: synthetic, entries: 5, prompts: {isl: 40, osl: 12}}
  cluster: {workers: 2}
  serverMetrics: {urls: ["http://operator:CANARY-PASSWORD@metrics:9090/metrics"]}
  gpuTelemetry: {urls: ["http://gpus:9400/metrics"]}
  gates: {failOnFinding: [kv-full]}
  profiling: {type: concurrency, concurrency: 4, requests: 30}
`)
		if r.State != bench.StateCompleted {
			t.Errorf("%s: %+v", r.State, r.Error)
		}
		f.end()
	})
}

// A load generator refuses what its own operator does not allow, whatever the controller asks for, and says all of it.
func TestClusterCaps(t *testing.T) {
	const document = `
benchmark:
  model: m
  endpoint: {url: "http://simulator/"}
  dataset: {type: synthetic, entries: 5, prompts: {isl: 40, osl: 12}}
  cluster: {workers: 2}
  warmup: {type: concurrency, concurrency: %d, requests: 30}
  profiling: {type: constant, rate: %d, requests: 30}
`
	synctest.Test(t, func(t *testing.T) {
		var server string
		f := newFleetWith(t, mock.Options{}, 2, func(o *worker.Options) {
			o.Caps = worker.Caps{Rate: 21, Concurrency: 5}
			if server != "" {
				patterns, err := allow.ParseAll([]string{server})
				if err != nil {
					t.Fatal(err)
				}
				o.Load.Reach.Targets = allow.New(allow.Options{Patterns: patterns})
			}
			server = "other" // of the second one
		})
		r := f.run(fmt.Sprintf(document, 10, 40))
		if r.Error == nil || strings.Contains(r.Error.Message, "worker w1") || !strings.Contains(r.Error.Message, "worker w2: load the document") ||
			!strings.Contains(r.Error.Message, "simulator") {
			t.Errorf("a target that is not allowed: %+v", r.Error)
		}
		f.end()
	})
	synctest.Test(t, func(t *testing.T) {
		f := newFleetWith(t, mock.Options{}, 2, func(o *worker.Options) { o.Caps = worker.Caps{Rate: 21, Concurrency: 5} })
		if r := f.run(fmt.Sprintf(document, 10, 40)); r.Error != nil {
			t.Errorf("within the caps: %+v", r.Error)
		}
		r := f.run(fmt.Sprintf(document, 12, 44))
		for _, want := range []string{
			"worker w1", "worker w2", "phase warmup: the share of this load generator is a concurrency of 6; it performs at most 5",
			"arrivals per second; it performs at most 21 (--max-rate)",
		} {
			if r.Error == nil || !strings.Contains(r.Error.Message, want) {
				t.Errorf("beyond the caps: %+v, want %q", r.Error, want)
			}
		}
		f.end()
	})
}
