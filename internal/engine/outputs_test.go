package engine_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/export"
)

// TestOutputs: the texts of all responses are in outputs.json, in the order of sessions
// and turns, also if the process died before it could write the file.
func TestOutputs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, timing(t, 100*time.Millisecond, time.Millisecond), nil)
		r := b.run(strings.Replace(document("type: concurrency, concurrency: 3, requests: 7", fileData), "  phases:\n",
			"  artifacts: {level: summary, exportOutputsJson: true}\n  phases:\n    - {name: warmup, kind: warmup, type: concurrency, concurrency: 2, requests: 2}\n", 1))
		b.stop()
		dir := b.store.Dir(r.ID)
		path := filepath.Join(dir, export.NamesFor("").Outputs)
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		checkOutputs(t, data)
		if _, err := os.Stat(filepath.Join(dir, export.FragmentsFile)); !os.IsNotExist(err) {
			t.Errorf("fragments: %v, want none", err)
		}

		fragments := "1 0 false {\"session_num\":1}\n0 0 false {\"session_num\":0}\n2 0"
		if err := os.WriteFile(filepath.Join(dir, export.FragmentsFile), []byte(fragments), 0o600); err != nil {
			t.Fatal(err)
		}
		left := *r
		left.State, left.Summary, left.Error = bench.StateRunning, nil, nil
		if err := b.store.Put(t.Context(), &left); err != nil {
			t.Fatal(err)
		}
		restarted(t, b.store, r.ID)
		var got struct {
			Data []struct {
				Session int `json:"session_num"`
			} `json:"data"`
		}
		if data, err = os.ReadFile(path); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(data, &got); err != nil || len(got.Data) != 2 || got.Data[1].Session != 1 {
			t.Errorf("after a crash: %s, %v", data, err)
		}
	})
}

func checkOutputs(t *testing.T, data []byte) {
	t.Helper()
	type entry struct {
		Session int    `json:"session_num"`
		Phase   string `json:"benchmark_phase"`
		Text    string `json:"response_text"`
		Finish  string `json:"finish_reason"`
		Metrics map[string]float64
	}
	var got struct{ Data, Warmup []entry }
	if err := json.Unmarshal(data, &got); err != nil {
		t.Fatal(err)
	}
	if len(got.Data) != 7 || len(got.Warmup) != 2 {
		t.Fatalf("%d and %d entries, want 7 and 2: %s", len(got.Data), len(got.Warmup), data)
	}
	for i, e := range append(got.Warmup, got.Data...) {
		if e.Session != i || e.Text == "" || e.Finish == "" || e.Metrics["time_to_first_token"] != 100 || e.Phase == "" {
			t.Errorf("entry %d: %+v", i, e)
		}
	}
}
