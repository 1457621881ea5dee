package runs

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/config/problem"
	"aiperfd/internal/engine/config/tree"
	"aiperfd/internal/run"
)

func queued() *run.Run {
	return &run.Run{
		ID: "r1", Name: "old", Notes: "kept", Labels: map[string]string{"gpu": "h100", "x": "1"}, State: bench.StateQueued,
		Terms: run.Terms{Priority: 3, TTL: time.Hour, Deadline: time.Minute},
	}
}

func TestPatch(t *testing.T) {
	for patch, change := range map[string]func(*run.Run){
		`{}`:                            func(*run.Run) {},
		`{"name": "new"}`:               func(r *run.Run) { r.Name = "new" },
		`{"name": null, "notes": null}`: func(r *run.Run) { r.Name, r.Notes = "", "" },
		`{"labels": {"gpu": null, "y": "2", "z": null}}`: func(r *run.Run) { r.Labels = map[string]string{"x": "1", "y": "2"} },
		`{"labels": null}`:               func(r *run.Run) { r.Labels = map[string]string{} },
		`{"labels": {}}`:                 func(*run.Run) {},
		`{"pinned": true, "ttl": "7d"}`:  func(r *run.Run) { r.Pinned, r.TTL = true, 7*24*time.Hour },
		`{"ttl": 90.5, "priority": -4}`:  func(r *run.Run) { r.TTL, r.Priority = 90500*time.Millisecond, -4 },
		`{"ttl": null,"priority": null}`: func(r *run.Run) { r.TTL, r.Priority = 0, 0 },
		`{"labels": {"api_key": "sk-1"}, "notes": "see https://u:secret@h/"}`: func(r *run.Run) {
			r.Labels = map[string]string{"gpu": "h100", "x": "1", "api_key": "<redacted>"}
			r.Notes = "see https://<redacted>@h/"
		},
	} {
		p, err := readPatch([]byte(patch))
		if err != nil {
			t.Errorf("%s: %v", patch, err)
			continue
		}
		original, got, want := queued(), queued(), queued()
		got.Labels = original.Labels // shared, as with the run of the engine
		change(want)
		if err := p.apply(got); err != nil {
			t.Errorf("%s: %v", patch, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", patch, diff)
		}
		if diff := cmp.Diff(queued(), original); diff != "" {
			t.Errorf("%s has changed the labels of the original (-want +got):\n%s", patch, diff)
		}
	}
}

// All problems are reported at once.
func TestProblems(t *testing.T) {
	for patch, want := range map[string]string{
		`{"nmae": 1, "labels": {"a": 5, "b": null, "": "x"}, "notes": 3, "pinned": "yes", "priority": 101, "ttl": 0}`: "#/nmae unknown-field, #/labels/a wrong-type, " +
			"#/labels/ out-of-range, #/notes wrong-type, #/pinned wrong-type, #/priority out-of-range, #/ttl out-of-range",
		`{"name": "` + strings.Repeat("x", 129) + `", "state": null}`: "#/name out-of-range, #/state unknown-field",
		`{"kind": "run", "deadline": 5}`:                              "#/kind unknown-field, #/deadline unknown-field",
		`{"priority": 1.5, "ttl": "1 year", "labels": []}`:            "#/priority wrong-type, #/ttl wrong-type, #/labels wrong-type",
		`{"name": "a", "name": "b"}`:                                  "# conflict",
		`{"ttl": 1e300}`:                                              "#/ttl out-of-range",
	} {
		_, err := readPatch([]byte(patch))
		if got := codes(err); got != want {
			t.Errorf("%s:\n got %s\nwant %s", patch, got, want)
		}
	}
	for _, text := range []string{``, `[]`, `null`, `{`, `{} {}`, `"x"`, strings.Repeat(`[`, 100)} {
		if _, err := readPatch([]byte(text)); err == nil || codes(err) != "" {
			t.Errorf("Read(%q) = %v, want *tree.Malformed", text, err)
		} else if malformed := (*tree.Malformed)(nil); !errors.As(err, &malformed) {
			t.Errorf("Read(%q) = %T, want *tree.Malformed", text, err)
		}
	}
}

func codes(err error) string {
	var invalid *problem.Invalid
	if !errors.As(err, &invalid) {
		return ""
	}
	all := make([]string, len(invalid.Problems))
	for i, p := range invalid.Problems {
		all[i] = p.Pointer + " " + p.Code
	}
	return strings.Join(all, ", ")
}

// What a run cannot have depends on the run.
func TestRefusals(t *testing.T) {
	read := func(text string) *patch {
		p, err := readPatch([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	running := queued()
	running.State = bench.StateRunning
	if err := read(`{"priority": 0, "name": "x"}`).apply(running); !errors.Is(err, run.ErrNotQueued) {
		t.Errorf("priority of a running run: %v", err)
	}
	if err := read(`{"name": "x", "pinned": true, "ttl": 5}`).apply(running); err != nil {
		t.Error(err)
	}
	cell := queued()
	cell.Cell = &run.Cell{ParentID: "s1"}
	err := read(`{"ttl": null, "name": "x", "pinned": false, "priority": 1}`).apply(cell)
	if got := codes(err); got != "#/ttl conflict, #/pinned conflict, #/priority conflict" || !strings.Contains(err.Error(), "study s1") {
		t.Errorf("terms of a cell: %v", err)
	}
	if err := read(`{"name": "x", "labels": {"a": "b"}}`).apply(cell); err != nil || cell.Name != "x" {
		t.Errorf("name of a cell: %v", err)
	}
	many := queued()
	var add []string
	for i := range 31 {
		add = append(add, fmt.Sprintf(`"l%d": "v"`, i))
	}
	if err := read(`{"labels": {` + strings.Join(add, ",") + `}}`).apply(many); codes(err) != "#/labels out-of-range" {
		t.Errorf("33 labels: %v", err)
	}
}
