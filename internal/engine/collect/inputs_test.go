package collect

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"aiperfd/internal/engine/dataset"
	"aiperfd/internal/engine/dataset/file"
	"aiperfd/internal/engine/endpoint"
	"aiperfd/internal/engine/export"
	"aiperfd/internal/engine/plan"
)

// inputs.json ends at its bound, with a warning.
func TestInputsBound(t *testing.T) {
	var records []json.RawMessage
	for i := range 5 {
		records = append(records, fmt.Appendf(nil, `{"text": "%s%d"}`, strings.Repeat("x", 1000), i))
	}
	source, err := dataset.Open(t.Context(), "single_turn", dataset.Options{File: file.File{Records: records}})
	if err != nil {
		t.Fatal(err)
	}
	kind, _ := endpoint.Lookup("chat")
	for bound, want := range map[int]string{
		1 << 30: "",
		2500:    "inputs.json holds the first 3 of 5 conversations: it is bounded to 0 MiB",
	} {
		got := ""
		o := &InputOptions{
			Plan: &plan.Plan{Measure: plan.Measure{Kind: kind}, Models: plan.Models{Names: []string{"m"}}}, Source: source,
			Warn: func(_, detail string) { got += detail },
		}
		var fault error
		n := 0
		for range o.inputs(bound, &fault) {
			n++
		}
		if fault != nil || got != want || (want == "") != (n == 5) {
			t.Errorf("bound %d: %d conversations, warnings %q: %v", bound, n, got, fault)
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
	if err := f.open(path, export.RecordOptions{}, encode); err != nil {
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
