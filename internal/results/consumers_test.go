package results_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	records "aiperfd/internal/api/results"
	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/config"
	"aiperfd/internal/engine/export"
	"aiperfd/internal/engine/load/spec"
	"aiperfd/internal/engine/metric/measure"
	"aiperfd/internal/engine/plan"
	"aiperfd/internal/engine/redact"
	"aiperfd/internal/engine/report"
	"aiperfd/internal/plot"
	"aiperfd/internal/results"
	"aiperfd/internal/run"
)

// form is how the files of a run are written.
type form struct {
	name   string
	prefix string
	table  bool // records as Parquet
	parts  bool // lines in two parts
}

func forms() []form {
	return []form{
		{name: "lines"}, {name: "lines in parts", parts: true}, {name: "Parquet", table: true},
		{name: "lines with a prefix", prefix: "nightly"}, {name: "Parquet with a prefix", prefix: "nightly", table: true},
	}
}

// warmedPlan is the plan of a run with a warm-up.
func warmedPlan(prefix string) *plan.Measure {
	m := &plan.Measure{
		Document: &config.Document{},
		Phases:   []spec.Phase{{Name: "warmup", Kind: bench.Warmup}, {Index: 1, Name: "main", Kind: bench.Profiling}},
		Metrics:  measure.Options{Streaming: true, Caps: bench.Caps{ProducesTokens: true}},
	}
	m.Files.Layout.Prefix = prefix
	return m
}

// requests returns the records of a run: a warm-up, successes, a failure and a cancelled one.
func requests() []*bench.Record {
	const ms = time.Millisecond
	var out []*bench.Record
	for i := range 40 {
		start := time.Duration(i+1) * 10 * ms
		r := &bench.Record{Phase: min(i, 1), SessionNum: int64(i), Turns: 1, RequestID: fmt.Sprint("request ", i), Status: 200}
		r.Stamps = bench.Stamps{Due: start, Permit: start, Start: start + 1, End: start + time.Duration(5+i)*ms}
		r.Answer.Streamed, r.OutputTokens = true, new(bench.Tokens(3))
		for j := range 3 {
			at := start + time.Duration(1+j*(i+4)/2)*ms
			r.Answer.Chunks = append(r.Answer.Chunks, bench.Chunk{At: at, Bytes: 4, Tokens: 1, Read: int32(j)})
		}
		switch i {
		case 7:
			r.Answer = bench.Answer{Failure: &bench.Failure{Class: bench.ServerError, Status: 500, Message: "busy"}}
		case 8:
			r.Answer = bench.Answer{Failure: &bench.Failure{Class: bench.Cancelled, Code: bench.CutByGrace, Message: "over"}}
		}
		out = append(out, r)
	}
	return out
}

// write writes the files of the run in a form into a folder.
func (f form) write(t *testing.T, dir string) {
	t.Helper()
	m := warmedPlan(f.prefix)
	names := export.NamesFor(f.prefix)
	options := export.RecordOptions{
		Clock: bench.ClockAt(time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)), Secrets: redact.NewSet(), Metrics: m.Metrics,
		Phases: []export.PhaseName{
			{Name: "warmup", Kind: bench.Warmup, ProfilingIndex: -1}, {Index: 1, Name: "main", Kind: bench.Profiling},
		},
	}
	var lines, table bytes.Buffer
	asLines := export.NewRecordWriter(&lines, options)
	asTable, err := export.NewTableWriter(&table, options)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range requests() {
		if err := errors.Join(asLines.Write(r), asTable.Write(r)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(asLines.Flush(), asTable.Close()); err != nil {
		t.Fatal(err)
	}
	store := func(name string, data []byte) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	store(names.Records, lines.Bytes())
	rep, _, err := report.Recover(t.Context(), dir, m, &run.Run{}, report.Recovery{
		Keep: func(*measure.Set) error { return nil }, Progress: func(int64, int64) {},
	})
	if err != nil {
		t.Fatal(err)
	}
	rep.InputConfig = map[string]any{"artifacts": map[string]any{"prefix": f.prefix}}
	if failed, err := export.Write(dir, rep, redact.NewSet()); err != nil || failed != nil {
		t.Fatal(err, failed)
	}
	switch {
	case f.table:
		store(names.Tables, table.Bytes())
		if err := os.Remove(filepath.Join(dir, names.Records)); err != nil {
			t.Fatal(err)
		}
	case f.parts:
		half := bytes.IndexByte(lines.Bytes()[lines.Len()/2:], '\n') + lines.Len()/2 + 1
		store(names.Records, lines.Bytes()[:half])
		store(export.PartName(names.Records, 2), lines.Bytes()[half:])
	}
}

// Everybody who reads a finished run reads the same, in whatever form its files are.
func TestConsumers(t *testing.T) {
	consumers := []struct {
		name  string
		lines bool // needs lines
		read  func(t *testing.T, dir, prefix string) (any, error)
	}{
		{"records", false, recordsOf},
		{"summary", false, func(_ *testing.T, dir, _ string) (any, error) {
			found, err := results.Find(dir)
			if err != nil || len(found) != 1 {
				return nil, fmt.Errorf("%d runs: %w", len(found), err)
			}
			s, err := found[0].Summary()
			return s.Metrics, err
		}},
		{"report", false, func(_ *testing.T, dir, prefix string) (any, error) {
			rep, machine, err := results.Open(dir, prefix).Report()
			if err != nil {
				return nil, err
			}
			return textOf(rep, machine)
		}},
		{"plots", false, plotsOf},
		{"recovery", true, func(t *testing.T, dir, prefix string) (any, error) {
			rep, _, err := report.Recover(t.Context(), dir, warmedPlan(prefix), &run.Run{}, report.Recovery{
				Keep: func(*measure.Set) error { return nil }, Progress: func(int64, int64) {},
			})
			if err != nil {
				return nil, err
			}
			return textOf(rep, export.Environment{})
		}},
		{"page of the API", true, pageOf},
	}
	dirs := map[form]string{}
	for _, f := range forms() {
		dirs[f] = filepath.Join(t.TempDir(), "run")
		if err := os.Mkdir(dirs[f], 0o700); err != nil {
			t.Fatal(err)
		}
		f.write(t, dirs[f])
	}
	for _, c := range consumers {
		t.Run(c.name, func(t *testing.T) {
			want, err := c.read(t, dirs[forms()[0]], "")
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range forms()[1:] {
				got, err := c.read(t, dirs[f], f.prefix)
				if f.table && c.lines {
					if !errors.Is(err, os.ErrNotExist) {
						t.Errorf("%s: %v, want an error that there are no lines", f.name, err)
					}
					continue
				}
				if err != nil {
					t.Fatalf("%s: %v", f.name, err)
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("%s (-lines +%s):\n%s", f.name, f.name, diff)
				}
			}
		})
	}
}

// textOf returns the results of a report as text.
func textOf(rep *export.Report, machine export.Environment) (any, error) {
	text, err := json.Marshal([]any{rep.Results, rep.Errors, rep.Start, machine})
	return string(text), err
}

// recordsOf reads the requests, by the run and by the path of its record file.
func recordsOf(t *testing.T, dir, prefix string) (any, error) {
	t.Helper()
	all := func(files *results.Results) (out []string, err error) {
		for r, err := range files.Records() {
			if err != nil {
				return nil, err
			}
			latency, ok := r.Value("request_latency")
			if _, list := r.Value("inter_chunk_latency"); list {
				t.Error("a list is a number")
			}
			m := &r.Metadata
			line := fmt.Sprint(m.SessionNum, m.RequestID, m.Kind, m.PhaseName, m.Start, m.End, r.Succeeded(), latency, ok)
			out = append(out, line)
		}
		return out, nil
	}
	files := results.Open(dir, prefix)
	out, err := all(files)
	if err != nil {
		return nil, err
	}
	if len(out) != len(requests()) {
		t.Errorf("%d records, want %d", len(out), len(requests()))
	}
	path, err := files.RecordFile()
	if err != nil {
		return nil, err
	}
	again, err := all(results.OpenRecords(path))
	if diff := cmp.Diff(out, again); diff != "" {
		t.Errorf("by path (-by run +by path):\n%s", diff)
	}
	return out, err
}

// plotsOf draws a run.
func plotsOf(t *testing.T, dir, _ string) (any, error) {
	t.Helper()
	out, err := plot.Make(plot.Options{
		Paths: []string{dir}, Output: t.TempDir(), Theme: plot.Light, Formats: []plot.Format{plot.SVG},
		Names: []string{"ttft_over_time", "latency_distribution", "throughput_over_time"},
	})
	if err != nil {
		return nil, err
	}
	var all []string
	for _, name := range out.Files {
		data, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		all = append(all, string(data))
	}
	return all, nil
}

// pageOf reads the records of a run as the API serves them.
func pageOf(t *testing.T, dir, prefix string) (any, error) {
	t.Helper()
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	r := &run.Run{ID: "r", State: bench.StateCompleted, Config: fmt.Appendf(nil, `{"artifacts":{"prefix":%q}}`, prefix)}
	q := &records.RecordQuery{Run: "r", Limit: 30, Outcome: records.Success, Phase: "profiling"}
	page, err := records.OpenRecords(t.Context(), root, r, q)
	if err != nil {
		return nil, err
	}
	defer page.Close()
	var out bytes.Buffer
	err = page.WriteLines(io.Writer(&out))
	return out.String(), err
}
