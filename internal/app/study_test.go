package app

import (
	"path/filepath"
	"testing"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/config"
	"aiperfd/internal/engine/config/flags"
	"aiperfd/internal/engine/durable"
	"aiperfd/internal/engine/plainjson"
	"aiperfd/internal/engine/plan"
	"aiperfd/internal/run"
	"aiperfd/internal/store"
)

// A study goes on in its folder only if it is the same and not complete; others get a
// folder with a number.
func TestMakeStudyFolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "s")
	document := func(more ...string) *config.Document {
		f, err := flags.Parse(append([]string{"--model", "m", "--concurrency", "1,2", "--artifact-dir", dir}, more...), nil)
		if err != nil {
			t.Fatal(err)
		}
		f.Options.Choices = plan.Choices()
		d, _, err := f.Document()
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	// leave is what a process leaves behind that dies in a state.
	leave := func(path string, d *config.Document, state bench.State) {
		tree, err := store.OpenTree(path)
		if err != nil {
			t.Fatal(err)
		}
		const id = "00000000000000000000000000000001"
		if err := tree.Put(t.Context(), &run.Run{ID: id, State: state, Study: &run.Study{Type: "grid"}}); err != nil {
			t.Fatal(err)
		}
		data, err := plainjson.Marshal(map[string]any{"schema": "aiperfd-study/1", "document": d.Study().Text()})
		if err != nil {
			t.Fatal(err)
		}
		if err := durable.WriteFile(filepath.Join(path, ".study.json"), durable.Private, data); err != nil {
			t.Fatal(err)
		}
	}
	check := func(name string, d *config.Document, want string, resumed bool) {
		t.Helper()
		f, err := MakeStudyFolder(d, true)
		if err != nil || f.Path != want || (f.resumed != "") != resumed {
			t.Errorf("%s: folder %+v, %v; want %s, resumed %v", name, f, err, want, resumed)
		}
	}
	check("empty", document(), dir, false)
	leave(dir, document(), bench.StateRunning)
	check("interrupted", document(), dir, true)
	check("interrupted, with another display", document("--ui", "none", "--log-level", "debug"), dir, true)
	leave(dir, document(), bench.StateCancelled)
	check("cancelled", document(), dir, true)
	check("another load", document("--request-count", "7"), dir+"-2", false)
	leave(dir, document(), bench.StateCompleted)
	check("complete", document(), dir+"-2", false)
	leave(dir+"-2", document(), bench.StateStopping)
	check("interrupted behind a complete one", document(), dir+"-2", true)
}

// A study that was cancelled goes on if the same command is repeated, also if its process
// was killed after the cancel.
func TestReopen(t *testing.T) {
	for _, state := range []bench.State{bench.StateCancelled, bench.StateStopping} {
		tree, err := store.OpenTree(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		const id = "0000000000000000000000000000000a"
		left := &run.Run{ID: id, State: state, Study: &run.Study{Type: "grid"}, Cancelled: &run.CancelRequest{Reason: "SIGINT"}}
		if err := tree.Put(t.Context(), left); err != nil {
			t.Fatal(err)
		}
		if err := reopen(t.Context(), tree, id); err != nil {
			t.Fatal(err)
		}
		if r, err := tree.Get(t.Context(), id); err != nil || r.State != bench.StateQueued || r.Cancelled != nil {
			t.Errorf("%s: the study is %s, request %+v, %v; want it queued, without a request", state, r.State, r.Cancelled, err)
		}
	}
}
