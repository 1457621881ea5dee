package upkeep_test

import (
	"context"
	"flag"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
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
	"aiperfd/internal/run"
	"aiperfd/internal/store"
	"aiperfd/internal/study"
	"aiperfd/internal/upkeep"
)

// yearRuns is how many runs of the year are performed; all of it takes a quarter of an hour.
var yearRuns = flag.Int("year-runs", 100, "runs to perform in TestYear; 20000 are a year")

// between is the time from one run to the next: 20,000 are a year.
const between = 365 * 24 * time.Hour / 20_000

// keptRuns is how many runs the rules keep.
const keptRuns = 20

const yearDocument = `
randomSeed: 1
metadata: {name: nightly}
benchmark:
  model: m
  endpoint: {url: http://server, type: chat, useServerTokenCount: true}
  dataset: {type: file, format: single_turn, records: [{text: one}]}
  tokenizer: {name: builtin}
  phases: [{name: profiling, kind: profiling, type: concurrency, concurrency: 1, requests: 3}]
`

// idle is a machine without load, in virtual time.
type idle struct{}

func (idle) Read() monitor.Totals {
	at := time.Duration(time.Now().UnixNano())
	return monitor.Totals{At: at, Cores: 1, CPU: new(time.Duration), Machine: &monitor.Machine{Cores: 1, Idle: at}}
}

// sparing is a store that checks its disk only for every hundredth Ping: a year has three
// million.
type sparing struct {
	*store.Store
	pings int
}

func (s *sparing) Ping(ctx context.Context) error {
	if s.pings++; s.pings%100 != 1 {
		return nil
	}
	return s.Store.Ping(ctx)
}

// daemon is an engine with studies and upkeep, on a real store and a server in memory.
type daemon struct {
	t      *testing.T
	dir    string
	engine *engine.Engine
	stop   func()
}

func startDaemon(t *testing.T, answer http.HandlerFunc) *daemon {
	t.Helper()
	d := &daemon{t: t, dir: t.TempDir()}
	db, err := store.Open(t.Context(), d.dir)
	if err != nil {
		t.Fatal(err)
	}
	network := memnet.Listen()
	server := &http.Server{Handler: answer}
	kept := &sparing{Store: db}
	d.engine, err = engine.New(engine.Options{
		Store: kept, Log: zerolog.Nop(), Dial: network.DialContext, Monitor: monitor.Options{Ticker: monitor.NewTimer, Host: idle{}},
	})
	if err != nil {
		t.Fatal(err)
	}
	load := func(text []byte) (*config.Document, error) {
		doc, _, err := config.Load(text, config.LoadOptions{Choices: plan.Choices()})
		return doc, err
	}
	studies, err := study.New(study.Options{Runner: d.engine, Store: kept, Load: load, Log: zerolog.Nop()})
	if err != nil {
		t.Fatal(err)
	}
	u, err := upkeep.New(upkeep.Options{Rules: upkeep.Rules{MaxRuns: keptRuns}, Runs: studies, Disk: db, Log: zerolog.Nop()})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	all.Go(func() { server.Serve(network) })
	all.Go(func() {
		if err := d.engine.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	all.Go(func() { u.Run(ctx) })
	d.stop = func() {
		cancel()
		server.Close()
		all.Wait()
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}
	return d
}

// perform performs one run.
func (d *daemon) perform() {
	d.t.Helper()
	doc, _, err := config.Load([]byte(yearDocument), config.LoadOptions{Choices: plan.Choices()})
	if err != nil {
		d.t.Fatal(err)
	}
	r, err := d.engine.Submit(d.t.Context(), doc, run.Submission{Via: "api"})
	if err != nil {
		d.t.Fatal(err)
	}
	if r, err = d.engine.Wait(d.t.Context(), r.ID); err != nil || r.State != bench.StateCompleted {
		d.t.Fatalf("run = %s, %v; want it completed", r.StateReason, err)
	}
}

// usage is what a daemon uses.
type usage struct {
	heap, disk     int64
	folders, trash int
	goroutines     int
}

func (d *daemon) usage() (u usage) {
	d.t.Helper()
	runtime.GC()
	runtime.GC() // what pools have kept goes with the second
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	u.heap, u.goroutines = int64(m.HeapAlloc), runtime.NumGoroutine()
	err := filepath.WalkDir(d.dir, func(_ string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err == nil && e.Type().IsRegular() {
			u.disk += info.Size()
		}
		return err
	})
	if err != nil {
		d.t.Fatal(err)
	}
	for name, n := range map[string]*int{"runs": &u.folders, "trash": &u.trash} {
		entries, err := os.ReadDir(filepath.Join(d.dir, name))
		if err != nil {
			d.t.Fatal(err)
		}
		*n = len(entries)
	}
	return u
}

// A daemon that performs a run every 26 minutes uses after a year what it used after the
// first days: the rules bound the disk, and nothing grows in memory.
func TestYear(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes seconds")
	}
	synctest.Test(t, func(t *testing.T) {
		d := startDaemon(t, func(w http.ResponseWriter, _ *http.Request) {
			time.Sleep(100 * time.Millisecond)
			w.Header().Set("Content-Type", "application/json")
			w.Write([]byte(`{"id":"1","object":"chat.completion","model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"two"},
				"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}`))
		})
		defer d.stop()
		var early, late usage
		start := time.Now()
		for n := range *yearRuns {
			d.perform()
			time.Sleep(between)
			if n+1 == 2*keptRuns {
				synctest.Wait()
				early = d.usage()
			}
			if (n+1)%1000 == 0 {
				t.Logf("%d runs, %v: %+v", n+1, time.Since(start).Round(time.Hour), d.usage())
			}
		}
		synctest.Wait()
		late = d.usage()
		t.Logf("after %d runs: %+v; after %d runs, %v: %+v", 2*keptRuns, early, *yearRuns, time.Since(start).Round(time.Hour), late)
		if late.folders != keptRuns || late.trash != 0 {
			t.Errorf("%d folders of runs and %d in the trash, want %d and none", late.folders, late.trash, keptRuns)
		}
		if late.heap > early.heap+1<<20 || late.goroutines > early.goroutines {
			t.Errorf("memory grew from %d to %d bytes, goroutines from %d to %d", early.heap, late.heap, early.goroutines, late.goroutines)
		}
		if late.disk > early.disk+early.disk/10 {
			t.Errorf("the disk grew from %d to %d bytes", early.disk, late.disk)
		}
	})
}
