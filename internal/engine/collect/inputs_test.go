package collect

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/endpoint"
	"aiperfd/internal/engine/export"
	"aiperfd/internal/engine/plan"
)

// inputs.json ends at its bound, with a warning.
func TestInputsBound(t *testing.T) {
	kind, _ := endpoint.Lookup("chat")
	for bound, want := range map[int]string{
		1 << 30: "",
		2500:    "inputs.json holds the first 3 conversations: it is bounded to 0 MiB",
	} {
		dir := t.TempDir()
		w, err := OpenInputs(InputOptions{
			Dir: dir, Plan: &plan.Plan{Measure: plan.Measure{Kind: kind}, Models: plan.Models{Names: []string{"m"}}},
		})
		if err != nil {
			t.Fatal(err)
		}
		w.bound = bound
		for i := range 5 {
			c := bench.Conversation{ID: strconv.Itoa(i), Turns: []bench.Turn{{Texts: []string{strings.Repeat("x", 1000)}}}}
			if err := w.Add(&c); err != nil {
				t.Fatal(err)
			}
		}
		got, err := w.Close()
		if err != nil || got != want {
			t.Errorf("bound %d: warning %q, want %q: %v", bound, got, want, err)
		}
		data, err := os.ReadFile(filepath.Join(dir, "inputs.json"))
		if n := bytes.Count(data, []byte("session_id")); err != nil || !json.Valid(data) || (want == "") != (n == 5) {
			t.Errorf("bound %d: %d conversations in %s: %v", bound, n, data, err)
		}
	}
}

// Large lines wait for room and release it.
func TestRecordFileRoom(t *testing.T) {
	var f recordFile[*export.Raw]
	f.bounded(func(*export.Raw) int { return maxWaiting }) // each takes all of it
	path := filepath.Join(t.TempDir(), "raw")
	encode := func(_ *export.RecordWriter, r *export.Raw) error {
		return os.WriteFile(path+string(r.Body), nil, 0o600)
	}
	if err := f.open(path, lines(export.RecordOptions{}, encode)); err != nil {
		t.Fatal(err)
	}
	for i := range 5 {
		f.write(&export.Raw{Body: fmt.Append(nil, i)})
	}
	if err := f.close(); err != nil {
		t.Fatal(err)
	}
	for i := range 5 {
		if _, err := os.Stat(fmt.Sprint(path, i)); err != nil {
			t.Error(err)
		}
	}
	if !f.room.TryAcquire(maxWaiting) {
		t.Error("the room was not given back")
	}
}
