package results

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/export"
	"aiperfd/internal/engine/metric/measure"
)

// testEpoch is the epoch of records in tests.
var testEpoch = time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)

func testOptions() export.RecordOptions {
	return export.RecordOptions{
		Clock: bench.ClockAt(testEpoch), Worker: "worker-0",
		Phases: []export.PhaseName{
			{Name: "warmup", Kind: bench.Warmup, ProfilingIndex: -1}, {Index: 1, Name: "main", Kind: bench.Profiling},
		},
		Metrics: measure.Options{
			Streaming: true, OpenLoop: true,
			Caps: bench.Caps{ProducesTokens: true, TokenizesInput: true, Reasoning: true},
			SLOs: map[string]float64{"time_to_first_token": 30, "request_latency": 100},
		},
	}
}

// streamed returns a success with some content events, one token each.
func streamed(session int64, events int) *bench.Record {
	const ms = time.Millisecond
	start := time.Duration(session) * ms
	r := &bench.Record{
		Phase: 1, SessionNum: session, Turns: 1, RequestID: "r", Model: "m", Status: 200,
		Stamps: bench.Stamps{
			Due: start, Permit: start, Start: start + 1, FirstByte: start + ms, Headers: start + ms, FirstBody: start + ms,
			End: start + time.Duration(events+1)*ms,
		},
		InputTokens: new(bench.Tokens(9)), OutputTokens: new(bench.Tokens(events)), TokenSource: bench.TokensServer,
	}
	r.Answer.Streamed, r.Answer.FirstEvent = true, start+ms
	for i := range events {
		at := start + time.Duration(i+1)*ms
		r.Answer.Chunks = append(r.Answer.Chunks, bench.Chunk{At: at, Bytes: 4, Tokens: 1, Read: int32(i)})
	}
	return r
}

// tester is a test, also one of rapid.
type tester interface {
	Helper()
	Fatal(args ...any)
}

// written returns the file that has the records.
func written(t tester, o export.RecordOptions, records ...*bench.Record) []byte {
	t.Helper()
	var out bytes.Buffer
	w := export.NewRecordWriter(&out, o)
	for _, r := range records {
		if err := w.Write(r); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// measuredOf returns the records of a file of lines, which it puts into a folder.
func measuredOf(t tester, dir string, file []byte) *Measured {
	t.Helper()
	r := Open(dir, "")
	if err := os.WriteFile(filepath.Join(dir, r.Names.Records), file, 0o600); err != nil {
		t.Fatal(err)
	}
	return r.Measured(func(int64, int64) {})
}

// A last line that came to the disk in part is left out; damage before it is an error.
func TestMeasuredTorn(t *testing.T) {
	a, b := streamed(7, 3), streamed(8, 3)
	whole := written(t, testOptions(), a, b)
	first := bytes.IndexByte(whole, '\n') + 1
	dir := t.TempDir()
	read := func(data []byte) (sessions []int64, err error) {
		for r, err := range measuredOf(t, dir, data).Records(t.Context()) {
			if err != nil {
				return sessions, err
			}
			sessions = append(sessions, r.SessionNum)
		}
		return sessions, nil
	}
	for cut := range len(whole) + 1 {
		want := []int64{7, 8}
		switch {
		case cut < first:
			want = nil
		case cut < len(whole):
			want = want[:1]
		}
		got, err := read(whole[:cut])
		if err != nil || !slices.Equal(got, want) {
			t.Fatalf("cut after %d bytes: sessions %v, error %v; want %v", cut, got, err, want)
		}
	}
	zeros := slices.Concat(whole, make([]byte, 4096))
	if got, err := read(zeros); err != nil || len(got) != 2 {
		t.Errorf("blocks of zeros at the end: %v, %v; want 2 records", got, err)
	}
	holed := slices.Concat(whole, make([]byte, 100), []byte("}\n"))
	if got, err := read(holed); err != nil || len(got) != 2 {
		t.Errorf("a last line with a hole: %v, %v; want 2 records", got, err)
	}
	middle := slices.Concat(whole[:first], []byte("{]\n"), whole[first:])
	if got, err := read(middle); err == nil || !strings.Contains(err.Error(), "line 2") || len(got) != 1 {
		t.Errorf("a broken line in the middle: %v, %v; want 1 record and an error about line 2", got, err)
	}
	o := testOptions()
	o.Clock = bench.ClockAt(testEpoch.Add(1))
	if _, err := read(slices.Concat(whole, written(t, o, a))); err == nil || !strings.Contains(err.Error(), "epoch") {
		t.Errorf("records of two runs: error %v, want one about the epoch", err)
	}
	if _, err := read([]byte("{\"metadata\":{}}\n")); err == nil {
		t.Error("a file that AIPerf wrote was read")
	}
}

func BenchmarkMeasured(b *testing.B) {
	records := slices.Repeat([]*bench.Record{streamed(1, 100)}, 100)
	file := written(b, testOptions(), records...)
	dir := b.TempDir()
	log := measuredOf(b, dir, file)
	b.SetBytes(int64(len(file)))
	for b.Loop() {
		for _, err := range log.Records(b.Context()) {
			if err != nil {
				b.Fatal(err)
			}
		}
	}
}
