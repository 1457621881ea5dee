package report

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/config"
	"aiperfd/internal/engine/export"
	"aiperfd/internal/engine/load/spec"
	"aiperfd/internal/engine/metric/measure"
	"aiperfd/internal/engine/plan"
	"aiperfd/internal/run"
)

// Records that do not have all requests give no partial results.
func TestRecoverKept(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, export.NamesFor("").Records), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	m := &plan.Measure{}
	m.Files.Keep = export.RecordKeep{Mode: export.KeepSample, Rate: 0.5}
	_, _, err := Recover(t.Context(), dir, m, &run.Run{}, Recovery{Progress: func(int64, int64) {}})
	if err == nil || !strings.Contains(err.Error(), "does not have all requests (artifacts.keepRecords: sample)") {
		t.Errorf("Recover = %v, want an error that says why", err)
	}
}

// Partial results say which requests lack content events in the record file.
func TestRecoverLongStreams(t *testing.T) {
	clock := bench.ClockAt(time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC))
	m := &plan.Measure{
		Document: &config.Document{},
		Phases:   []spec.Phase{{Name: "profiling", Kind: bench.Profiling}},
		Metrics:  measure.Options{Streaming: true, Caps: bench.Caps{ProducesTokens: true}},
	}
	stream := func(events int) *bench.Record {
		r := &bench.Record{Status: 200, Stamps: bench.Stamps{Due: 1, Permit: 1, Start: 1, End: time.Duration(events) * time.Millisecond}}
		r.Answer.Streamed, r.OutputTokens = true, new(bench.Tokens(events))
		for i := range events {
			r.Answer.Chunks = append(r.Answer.Chunks, bench.Chunk{At: time.Duration(i+1) * time.Millisecond, Bytes: 4, Read: int32(i)})
		}
		return r
	}
	for _, tt := range []struct {
		events int
		itl    bool
		want   []string
	}{
		{export.MaxListed, true, []string{"interrupted"}},
		{export.MaxListed + 1, false, []string{"interrupted", "events-left-out"}},
	} {
		dir := t.TempDir()
		file, err := os.Create(filepath.Join(dir, export.NamesFor("").Records))
		if err != nil {
			t.Fatal(err)
		}
		w := export.NewRecordWriter(file, export.RecordOptions{
			Clock: clock, Phases: []export.PhaseName{{Name: "profiling", Kind: bench.Profiling}}, Metrics: m.Metrics,
		})
		if err := errors.Join(w.Write(stream(tt.events)), w.Flush(), file.Close()); err != nil {
			t.Fatal(err)
		}
		rep, _, err := Recover(t.Context(), dir, m, &run.Run{StateReason: "the daemon was restarted"}, Recovery{
			Keep: func(*measure.Set) error { return nil }, Progress: func(int64, int64) {},
		})
		if err != nil {
			t.Fatal(err)
		}
		var codes []string
		for _, w := range rep.Warnings {
			codes = append(codes, w.Code)
		}
		if diff := cmp.Diff(tt.want, codes); diff != "" {
			t.Errorf("%d events: warnings (-want +got):\n%s", tt.events, diff)
		}
		itl := rep.Results.Find("inter_token_latency")
		if got := itl != nil && itl.Count > 0; got != tt.itl {
			t.Errorf("%d events: inter-token latency: %v, want %v", tt.events, got, tt.itl)
		}
		if ttft := rep.Results.Find("time_to_first_token"); ttft == nil || ttft.Count != 1 {
			t.Errorf("%d events: no time to first token", tt.events)
		}
	}
}
