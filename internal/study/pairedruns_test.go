package study_test

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
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
	kill    func() // ends the daemon
	meters  *meters
}

// meters count the requests of two servers.
type meters struct {
	active, sent [2]atomic.Int64
	together     atomic.Int64 // that began while the other server had one
}

// begin counts a request of a side until the function that it returns is called.
func (m *meters) begin(side int) (end func()) {
	m.sent[side].Add(1)
	m.active[side].Add(1)
	if m.active[1-side].Load() > 0 {
		m.together.Add(1)
	}
	return func() { m.active[side].Add(-1) }
}

// newDuel starts two servers. slower is by how much B is slower than A; both get slower by a tenth in two minutes.
func newDuel(t testing.TB, seed int64, slower float64) *duel {
	t.Helper()
	return newDuelIn(t, t.TempDir(), seed, slower)
}

// newDuelIn is newDuel with the data of an earlier process.
func newDuelIn(t testing.TB, dir string, seed int64, slower float64) *duel {
	t.Helper()
	began := time.Now()
	counted := new(meters)
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
			defer counted.begin(side)()
			drift := 1 + 0.1*time.Since(began).Minutes()/2
			r.Header.Set("X-Mock-TTFT", fmt.Sprintf("normal:%.4fms:2ms", 20*scale*drift))
			r.Header.Set("X-Mock-ITL", fmt.Sprintf("const:%.4fms", 2*scale*drift))
			server.Handler().ServeHTTP(w, r)
		})
	}
	d := newArena(t, dir, handlers)
	d.meters = counted
	return d
}

// newArena starts servers by their names, and a daemon with data in dir.
func newArena(t testing.TB, dir string, handlers map[string]http.Handler) *duel {
	t.Helper()
	d := &duel{t: t, dir: dir}
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
	recovered := make(chan struct{})
	e, err := engine.New(engine.Options{
		Store: tree, Log: zerolog.Nop(), Version: "test", Recovered: sync.OnceFunc(func() { close(recovered) }),
		Monitor: monitor.Options{Ticker: monitor.NewTimer, Host: still{}},
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
	<-recovered
	group.Go(func() {
		if err := d.service.Run(ctx); err != nil {
			t.Errorf("studies: %v", err)
		}
	})
	d.kill = sync.OnceFunc(func() {
		cancel()
		group.Wait()
	})
	t.Cleanup(d.kill)
	return d
}

// submit queues a comparison of http://a with another server.
func (d *duel) submit(seed int64, other string) *run.Run {
	d.t.Helper()
	return d.submitDocument(pairedDocument(seed, other))
}

// pairedDocument compares http://a with another server.
func pairedDocument(seed int64, other string) string {
	return fmt.Sprintf(`
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

// TestPairedKilled: a daemon that is killed goes on behind the last block, with other prompts, and spends no more than the
// budget and a block.
func TestPairedKilled(t *testing.T) {
	kills := []time.Duration{1500 * time.Millisecond, 14 * time.Second, 1500 * time.Millisecond} // after each start
	synctest.Test(t, func(t *testing.T) {
		const slower = 0.03
		d := newDuel(t, 3, slower)
		document := pairedDocument(3, "http://b") // without keys, which are not stored
		parent := d.submitDocument(strings.NewReplacer(", apiKey: key-of-a", "", ", apiKey: key-of-b", "").Replace(document))
		var blocks []results.PairedBlock // before the last kill
		prompts := map[string]bool{}
		for _, after := range kills {
			time.Sleep(after)
			synctest.Wait()
			if a, err := results.Open(d.tree.Dir(parent.ID), "").Answer(); err == nil {
				if !startsWith(a.Paired.Blocks, blocks) {
					t.Errorf("after %v more the first %d blocks are other ones", after, len(blocks))
				}
				blocks = a.Paired.Blocks
			}
			prompts[d.prompts(parent)] = true
			dir := filepath.Join(t.TempDir(), "data")
			for err := errors.New("not copied"); err != nil; { // a file may be replaced meanwhile
				if err = os.RemoveAll(dir); err == nil {
					err = os.CopyFS(dir, os.DirFS(d.dir))
				}
			}
			d.kill()
			d = newDuelIn(t, dir, 3, slower)
		}
		ended, a := d.wait(parent)
		prompts[d.prompts(parent)] = true
		if len(prompts) != len(kills)+1 {
			t.Errorf("%d different prompts of %d processes", len(prompts), len(kills)+1)
		}
		if ended.State != bench.StateCompleted || a.Verdict != "worse" || !a.Final || ended.Study.Interruptions != len(kills) {
			t.Errorf("%s (%s), %s, %d interruptions", ended.State, ended.StateReason, a.Verdict, ended.Study.Interruptions)
		}
		if !startsWith(a.Paired.Blocks, blocks) {
			t.Errorf("the %d blocks before the kill are lost, or other ones", len(blocks))
		}
		if len(a.Doubts) != 1 || a.Doubts[0].Code != "interrupted" {
			t.Errorf("doubts: %v", a.Doubts)
		}
		rows := d.rows(ended)
		for k := range a.Paired.Blocks {
			b := &a.Paired.Blocks[k]
			if k > 0 && b.From < a.Paired.Blocks[k-1].To || b.To > 121 || rows[strconv.Itoa(k)] != b.Pairs {
				t.Errorf("block %d from %v to %v s has %d pairs, and %d in the file", k, b.From, b.To, b.Pairs, rows[strconv.Itoa(k)])
			}
		}
		t.Logf("%d blocks before the last kill, %d in all, %.1f s of load: %s", len(blocks), len(a.Paired.Blocks), a.Stop.Load, a.Sentences[0])
	})
}

// startsWith reports whether a list of blocks begins with another one.
func startsWith(all, first []results.PairedBlock) bool {
	return len(all) >= len(first) && slices.EqualFunc(all[:len(first)], first, func(a, b results.PairedBlock) bool {
		return reflect.DeepEqual(a, b)
	})
}

// prompts returns the seed of the runs of a comparison.
func (d *duel) prompts(parent *run.Run) string {
	d.t.Helper()
	page, err := d.service.List(d.t.Context(), run.Query{Parent: parent.ID})
	if err != nil || len(page.Runs) != 2 || page.Runs[0].Seed != page.Runs[1].Seed {
		d.t.Fatalf("runs of both sides: %+v, %v", page.Runs, err)
	}
	return fmt.Sprint(page.Runs[0].Seed)
}

// rows returns how many pairs of each block the file of the pairs has.
func (d *duel) rows(parent *run.Run) map[string]int {
	d.t.Helper()
	file, err := os.Open(filepath.Join(d.tree.Dir(parent.ID), results.PairsFile))
	if err != nil {
		d.t.Fatal(err)
	}
	defer file.Close()
	lines, err := csv.NewReader(file).ReadAll()
	if err != nil {
		d.t.Fatal(err)
	}
	out := map[string]int{}
	for _, line := range lines[1:] {
		out[line[0]]++
	}
	return out
}
