package study_test

import (
	"context"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"aiperfd/internal/engine"
	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/config"
	"aiperfd/internal/engine/memnet"
	"aiperfd/internal/engine/monitor"
	"aiperfd/internal/engine/plan"
	"aiperfd/internal/mock"
	"aiperfd/internal/mock/random"
	"aiperfd/internal/results"
	"aiperfd/internal/run"
	"aiperfd/internal/store"
	"aiperfd/internal/study"
)

// still is a host without load.
type still struct{}

func (still) Read() monitor.Totals {
	idle := time.Duration(time.Now().UnixNano())
	return monitor.Totals{At: idle, Cores: 1, CPU: new(time.Duration), Machine: &monitor.Machine{Cores: 1, Idle: idle}}
}

// duel is an engine and a service of studies with simulated servers, in memory and virtual time.
type duel struct {
	t       testing.TB
	service *study.Service
	tree    *store.Tree
	dir     string
}

// newDuel starts two servers. slower is by how much B is slower than A; both get slower by a tenth in two minutes.
func newDuel(t testing.TB, seed int64, slower float64) *duel {
	t.Helper()
	began := time.Now()
	handlers := map[string]http.Handler{}
	for side, name := range []string{"a", "b"} {
		delay, err := random.ParseDelay("normal:20ms:2ms")
		if err != nil {
			t.Fatal(err)
		}
		server, err := mock.New(mock.Options{TTFT: delay, ITL: mock.ConstDelay(2 * time.Millisecond), Seed: uint64(2*seed) + uint64(side) + 1})
		if err != nil {
			t.Fatal(err)
		}
		scale := 1 + slower*float64(side)
		t.Cleanup(func() { server.Close() })
		handlers[name] = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			drift := 1 + 0.1*time.Since(began).Minutes()/2
			r.Header.Set("X-Mock-TTFT", fmt.Sprintf("normal:%.4fms:2ms", 20*scale*drift))
			r.Header.Set("X-Mock-ITL", fmt.Sprintf("const:%.4fms", 2*scale*drift))
			server.Handler().ServeHTTP(w, r)
		})
	}
	return newArena(t, handlers)
}

// newArena starts servers by their names.
func newArena(t testing.TB, handlers map[string]http.Handler) *duel {
	t.Helper()
	d := &duel{t: t, dir: t.TempDir()}
	listeners := map[string]*memnet.Listener{}
	for name, handler := range handlers {
		web := &http.Server{Handler: handler}
		ln := memnet.Listen()
		listeners[name] = ln
		var serving sync.WaitGroup
		serving.Go(func() { web.Serve(ln) })
		t.Cleanup(func() {
			web.Close()
			serving.Wait()
		})
	}
	tree, err := store.OpenTree(d.dir)
	if err != nil {
		t.Fatal(err)
	}
	d.tree = tree
	e, err := engine.New(engine.Options{
		Store: tree, Log: zerolog.Nop(), Version: "test", Monitor: monitor.Options{Ticker: monitor.NewTimer, Host: still{}},
		Dial: func(ctx context.Context, network, addr string) (net.Conn, error) {
			host, _, _ := net.SplitHostPort(addr)
			if ln := listeners[host]; ln != nil {
				return ln.DialContext(ctx, network, addr)
			}
			return nil, &net.OpError{Op: "dial", Net: network, Err: os.ErrNotExist}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	d.service, err = study.New(study.Options{Runner: e, Store: tree, Load: func(text []byte) (*config.Document, error) {
		doc, _, err := config.Load(text, config.LoadOptions{Choices: plan.Choices()})
		return doc, err
	}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var group sync.WaitGroup
	group.Go(func() {
		if err := e.Run(ctx); err != nil {
			t.Errorf("engine: %v", err)
		}
	})
	group.Go(func() {
		if err := d.service.Run(ctx); err != nil {
			t.Errorf("studies: %v", err)
		}
	})
	t.Cleanup(func() {
		cancel()
		group.Wait()
	})
	return d
}

// submit queues a comparison of http://a with another server.
func (d *duel) submit(seed int64, other string) *run.Run {
	d.t.Helper()
	text := fmt.Sprintf(`
randomSeed: %d
benchmark:
  model: m
  tokenizer: {name: builtin}
  endpoint: {url: "http://a", streaming: true, apiKey: key-of-a}
  dataset: {isl: 16, osl: 4, entries: 50}
  serverMetrics: {enabled: false}
  gpuTelemetry: {enabled: false}
  warmup: {requests: 7, concurrency: 2}
  profiling: {type: poisson, rate: 25}
sweep:
  type: ab
  b: {endpoint: {url: "%s", apiKey: key-of-b}}
  blockSeconds: 1
  maxLoadSeconds: 120
`, seed, other)
	return d.submitDocument(text)
}

// submitDocument queues a study.
func (d *duel) submitDocument(text string) *run.Run {
	d.t.Helper()
	doc, _, err := config.Load([]byte(text), config.LoadOptions{Choices: plan.Choices()})
	if err != nil {
		d.t.Fatal(err)
	}
	parent, err := d.service.Submit(d.t.Context(), doc, run.Submission{Via: "api"})
	if err != nil {
		d.t.Fatal(err)
	}
	return parent
}

// wait returns a comparison that has ended, with its answer.
func (d *duel) wait(parent *run.Run) (*run.Run, *results.Answer) {
	d.t.Helper()
	ended, err := d.service.Wait(d.t.Context(), parent.ID)
	if err != nil {
		d.t.Fatal(err)
	}
	a, err := results.Open(d.tree.Dir(parent.ID), "").Answer()
	if err != nil {
		d.t.Fatal(err)
	}
	return ended, a
}

// TestSimulatePairedRuns: both servers drift by a tenth. Equal ones are not called different, and a server that is 3 % slower
// is found. Both get the same prompts, and no file has a secret of either.
func TestSimulatePairedRuns(t *testing.T) {
	seeds := int64(1)
	if os.Getenv("AIPERFD_SIMULATE") == "full" {
		seeds = 40
	}
	alarms, missed := int64(0), int64(0)
	for seed := range seeds {
		for _, slower := range []float64{0, 0.03} {
			synctest.Test(t, func(t *testing.T) {
				d := newDuel(t, seed, slower)
				ended, a := d.wait(d.submit(seed, "http://b"))
				if ended.State != bench.StateCompleted || !a.Final || a.Kind != "ab" || a.RunID != ended.ID {
					t.Fatalf("seed %d: %s (%s), answer %+v", seed, ended.State, ended.StateReason, a)
				}
				p := a.Paired
				if p == nil || len(p.Sides) != 2 || p.Sides[0].Targets[0] != "http://a" || p.Sides[1].Targets[0] != "http://b" {
					t.Fatalf("sides: %+v", p)
				}
				if a.Verdict == "invalid" || len(a.Doubts) > 0 {
					t.Errorf("seed %d: %s, doubts %v", seed, a.Verdict, a.Doubts)
				}
				different := a.Verdict == "better" || a.Verdict == "worse"
				switch {
				case slower == 0 && different:
					alarms++
				case slower > 0 && a.Verdict != "worse":
					missed++
				}
				t.Logf("seed %d, B slower by %v: %s after %d blocks, %d pairs: %s", seed, slower, a.Verdict, len(p.Blocks), p.Pairs, a.Sentences[0])
				if seed > 0 {
					return
				}
				pairs, err := os.ReadFile(filepath.Join(d.tree.Dir(ended.ID), results.PairsFile))
				if err != nil {
					t.Fatal(err)
				}
				if n := int64(strings.Count(string(pairs), "\n")) - 1; n < p.Pairs {
					t.Errorf("%d pairs in the file, %d in the answer", n, p.Pairs)
				}
				first := strings.Count(string(pairs), ",A,")
				if share := float64(first) / float64(strings.Count(string(pairs), "\n")-1); share < 0.4 || share > 0.6 {
					t.Errorf("A was first in %.0f %% of pairs", 100*share)
				}
				d.noSecrets("key-of-a", "key-of-b")
			})
		}
	}
	if alarms*20 > seeds || missed*10 > seeds {
		t.Errorf("of %d: %d false alarms, %d slower servers missed", seeds, alarms, missed)
	}
}

// noSecrets reports files that have one of some texts.
func (d *duel) noSecrets(secrets ...string) {
	d.t.Helper()
	err := filepath.WalkDir(d.dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		for _, s := range secrets {
			if strings.Contains(string(data), s) {
				d.t.Errorf("%s has %s", path, s)
			}
		}
		return err
	})
	if err != nil {
		d.t.Error(err)
	}
}

// A server that cannot be measured ends the comparison with its name, and the other run at once.
func TestPairedServerDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDuel(t, 1, 0)
		began := time.Now()
		ended, a := d.wait(d.submit(1, "http://nowhere"))
		if ended.State != bench.StateFailed || !strings.HasPrefix(ended.StateReason, "the server B was not measured: ") {
			t.Errorf("%s: %s", ended.State, ended.StateReason)
		}
		if a.Verdict == "better" || a.Stop.Reason != "failed" || !a.Final {
			t.Errorf("answer: %s, %+v", a.Verdict, a.Stop)
		}
		if took := time.Since(began); took > time.Minute {
			t.Errorf("took %v", took)
		}
	})
}

// A cancelled comparison ends both runs, and keeps the answer from the blocks that are there.
func TestPairedCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDuel(t, 1, 0)
		parent := d.submit(1, "http://b")
		time.Sleep(20 * time.Second)
		if _, _, err := d.service.Cancel(t.Context(), parent.ID, run.CancelRequest{Reason: "enough"}); err != nil {
			t.Fatal(err)
		}
		ended, a := d.wait(parent)
		if ended.State != bench.StateCancelled || a.Stop.Reason != "cancelled" || !a.Final || len(a.Paired.Blocks) < 10 {
			t.Errorf("%s, %+v, %d blocks", ended.State, a.Stop, len(a.Paired.Blocks))
		}
		if !strings.Contains(a.Decide.Needs, "30 blocks") {
			t.Errorf("decide: %q", a.Decide.Needs)
		}
	})
}
