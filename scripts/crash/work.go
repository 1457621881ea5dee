package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"time"

	"aiperfd/scripts/lab"
)

// fate is what must be true of a run.
type fate int

const (
	there   fate = iota // it was accepted, or imported
	unknown             // a change was begun, and its answer never came
	gone                // its deletion was answered
)

// ledger has the fate of every run. It is safe for concurrent use.
type ledger struct {
	mu      sync.Mutex
	fates   map[string]fate
	ended   map[string]bool // runs whose files were checked
	cancels map[string]bool // runs that were asked to stop; true = that was answered in time
}

func newLedger() ledger {
	return ledger{fates: map[string]fate{}, ended: map[string]bool{}, cancels: map[string]bool{}}
}

// cancel notes that a run was asked to stop. An answer counts for good.
func (l *ledger) cancel(id string, answered bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cancels[id] = l.cancels[id] || answered
}

// cancelled reports whether a run was asked to stop, and whether that was answered.
func (l *ledger) cancelled(id string) (asked, answered bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	answered, asked = l.cancels[id]
	return asked, answered
}

func (l *ledger) set(id string, f fate) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.fates[id] = f
	if f != there {
		delete(l.ended, id)
	}
}

// ids returns the runs of a fate, in order.
func (l *ledger) ids(f fate) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []string
	for id, is := range l.fates {
		if is == f {
			out = append(out, id)
		}
	}
	slices.Sort(out)
	return out
}

// claim makes the fate of a run unknown; false = it is not there.
func (l *ledger) claim(id string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if f, known := l.fates[id]; !known || f != there {
		return false
	}
	l.fates[id] = unknown
	delete(l.ended, id)
	return true
}

// known reports whether the ledger has a run.
func (l *ledger) known(id string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, ok := l.fates[id]
	return ok
}

// checked reports whether the files of a run were checked, and notes that they are now.
func (l *ledger) checked(id string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	was := l.ended[id]
	l.ended[id] = true
	return was
}

const single = `metadata: {name: crash}
benchmark:
  model: m
  endpoint: {url: "http://%s", streaming: true}
  dataset: {type: synthetic, isl: 16, osl: 4}
  tokenizer: {name: builtin}
  phases: [{name: profiling, type: concurrency, concurrency: 2, requests: %d}]
`

const sweep = `metadata: {name: crash}
sweep: {type: grid, parameters: {"benchmark.phases.profiling.concurrency": [1, 2]}}
` + "benchmark:\n" + `  model: m
  endpoint: {url: "http://%s", streaming: true}
  dataset: {type: synthetic, isl: 16, osl: 4}
  tokenizer: {name: builtin}
  phases: [{name: profiling, type: concurrency, concurrency: 1, requests: %d}]
`

// enough is the number of runs above which none is submitted.
const enough = 40

// long is a number of requests that take longer than a round.
const long = 1000

// submit submits runs and studies.
func (t *test) submit(ctx, _ context.Context, random *rand.Rand) {
	for ctx.Err() == nil {
		document, requests := single, 1+random.IntN(60)
		if random.IntN(6) == 0 {
			document, requests = sweep, 1+random.IntN(10)
		}
		if len(t.runs.ids(there)) < enough {
			t.post(ctx, document, requests)
		}
		lab.Pause(ctx, time.Duration(random.IntN(120))*time.Millisecond)
	}
}

// post submits a document and returns the id of its run; "" = it was not accepted.
func (t *test) post(ctx context.Context, document string, requests int) string {
	status, answer, _ := t.daemon.Call(ctx, http.MethodPost, "/api/runs", fmt.Sprintf(document, t.target, requests))
	var run struct{ ID string }
	if status != http.StatusCreated || json.Unmarshal(answer, &run) != nil {
		return ""
	}
	t.runs.set(run.ID, there)
	t.count.add(&t.count.submits)
	return run.ID
}

// cancel submits runs and studies that are too long, and cancels them, or a run that waits
// or is active.
func (t *test) cancel(ctx, _ context.Context, random *rand.Rand) {
	for ctx.Err() == nil {
		id, ids := "", t.runs.ids(there)
		switch {
		case len(ids) < enough && random.IntN(2) == 0:
			id = t.post(ctx, []string{single, sweep}[random.IntN(2)], long)
		case len(ids) > 0:
			id = ids[random.IntN(len(ids))]
		}
		lab.Pause(ctx, time.Duration(random.IntN(200))*time.Millisecond)
		var now resource
		if id == "" || t.daemon.Get(ctx, "/api/runs/"+id, &now) != nil || lab.Terminal(now.State) {
			continue
		}
		t.runs.cancel(id, false)
		status, answer, _ := t.daemon.Call(ctx, http.MethodPost, "/api/runs/"+id+"/cancel", "")
		// A run that is writing its results has sent everything.
		if status == http.StatusAccepted && json.Unmarshal(answer, &now) == nil && now.State != "exporting" {
			t.runs.cancel(id, true)
			t.count.add(&t.count.cancels)
		}
	}
}

// victim claims a run that has ended; "" = there is none. Until its fate is set it is
// unknown, and nobody else gets it.
func (t *test) victim(ctx context.Context, random *rand.Rand) string {
	ids := t.runs.ids(there)
	if len(ids) < enough/4 {
		return ""
	}
	id := ids[random.IntN(len(ids))]
	var run struct{ State string }
	if t.daemon.Get(ctx, "/api/runs/"+id, &run) != nil || !lab.Terminal(run.State) || !t.runs.claim(id) {
		return ""
	}
	return id
}

// delete deletes a claimed run and reports whether that was answered.
func (t *test) delete(ctx context.Context, id string) bool {
	status, _, _ := t.daemon.Call(ctx, http.MethodDelete, "/api/runs/"+id, "")
	if status != http.StatusNoContent {
		return false
	}
	t.runs.set(id, gone)
	t.count.add(&t.count.deletes)
	return true
}

// remove deletes runs.
func (t *test) remove(ctx, _ context.Context, random *rand.Rand) {
	for ctx.Err() == nil {
		if id := t.victim(ctx, random); id != "" {
			t.delete(ctx, id)
		}
		lab.Pause(ctx, time.Duration(50+random.IntN(400))*time.Millisecond)
	}
}

// backup writes backups.
func (t *test) backup(ctx, tools context.Context, random *rand.Rand) {
	for ctx.Err() == nil {
		lab.Pause(ctx, time.Duration(random.IntN(300))*time.Millisecond)
		file := t.path("out", fmt.Sprintf("backup-%d.tar.gz", random.IntN(4)))
		if t.dataTool(tools, "backup", "--output", file) == nil {
			t.count.add(&t.count.backups)
		}
	}
}

// move exports runs, deletes them and imports them again, beside the daemon.
func (t *test) move(ctx, tools context.Context, random *rand.Rand) {
	for ctx.Err() == nil {
		lab.Pause(ctx, time.Duration(random.IntN(100))*time.Millisecond)
		id := t.victim(ctx, random)
		if id == "" {
			continue
		}
		file := t.path("moved", id+".tar.gz")
		if t.dataTool(tools, "runs", "export", id, "--output", file) != nil {
			t.runs.set(id, there)
			continue
		}
		t.count.add(&t.count.exports)
		if !t.delete(ctx, id) {
			continue
		}
		t.runs.set(id, unknown)
		if t.dataTool(tools, "runs", "import", file) == nil {
			t.runs.set(id, there)
			t.count.add(&t.count.imports)
		}
	}
}
