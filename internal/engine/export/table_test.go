package export

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/parquet-go/parquet-go"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/metric/measure"
	"aiperfd/internal/engine/redact"
)

func tableOptions() RecordOptions {
	return RecordOptions{
		Clock: bench.ClockAt(time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)), Worker: "worker-0", Secrets: redact.NewSet("hunter2"),
		Phases:  []PhaseName{{Name: "warmup", Kind: bench.Warmup, ProfilingIndex: -1}, {Index: 1, Name: "profiling", Kind: bench.Profiling}},
		Metrics: measure.Options{Streaming: true, Caps: bench.Caps{ProducesTokens: true, TokenizesInput: true}},
	}
}

// streamed returns a record like those of a streamed chat response.
func streamed(r *rand.Rand, n int) *bench.Record {
	id := func() string {
		return uuid.Must(uuid.FromBytes(fmt.Appendf(nil, "%08x%08x", r.Uint32(), r.Uint32()))).String()
	}
	noise := func() time.Duration { return time.Duration(r.ExpFloat64() * 5e4) }
	start := time.Duration(n) * 3 * time.Millisecond
	rec := &bench.Record{
		Phase: 1, SessionNum: int64(n), Turns: 1, RequestID: id(), CorrelationID: id(), ConversationID: fmt.Sprintf("session_%06d", n),
		Model: "org/model", Status: 200, TokenSource: bench.TokensServer,
		InputTokens: new(bench.Tokens(500)), OutputTokens: new(bench.Tokens(20)),
		Conn: bench.Connection{Reused: true, Kernel: true, Reads: 21, Sent: 2500, Received: 6100 + bench.Bytes(r.IntN(50))},
	}
	s := &rec.Stamps
	s.Due, s.Permit, s.Start, s.Connected = start, start, start+noise(), start+noise()
	s.Wrote = s.Start + noise()
	s.FirstByte = s.Wrote + 30*time.Millisecond + noise()
	s.Headers, s.FirstBody, s.End = s.FirstByte+noise(), s.FirstByte, s.FirstByte
	a := &rec.Answer
	a.Streamed, a.FirstEvent, a.ResponseID, a.Model = true, s.FirstByte, "chatcmpl-"+id(), "org/model"
	a.Usage = &bench.Usage{Input: new(bench.Tokens(500)), Output: new(bench.Tokens(20)), Total: new(bench.Tokens(520))}
	a.Choices = []bench.Choice{{Finish: bench.FinishLength}}
	for i := range 20 {
		s.End += 5*time.Millisecond + noise()
		a.Chunks = append(a.Chunks, bench.Chunk{At: s.End, Bytes: 2 + int32(r.IntN(7)), Read: int32(i + 2)})
	}
	return rec
}

// odd returns a record with little in common with others.
func odd(r *rand.Rand, n int) *bench.Record {
	rec := streamed(r, n)
	a := &rec.Answer
	switch n % 6 {
	case 0:
		rec.Phase, rec.RequestID, rec.Stamps = 0, "not a uuid hunter2", bench.Stamps{Due: 1, Start: 5, End: 9}
		*a = bench.Answer{Failure: &bench.Failure{Class: bench.ServerError, Step: "read", Status: 500, Message: "key hunter2 \"quoted\"", RetryAfter: time.Second}}
		rec.InputTokens, rec.OutputTokens, rec.TokenSource = nil, nil, ""
	case 1:
		a.Chunks = a.Chunks[:1]
		a.Warnings = map[string]int{"late": 2, "early": 1}
	case 2:
		for i := range a.Chunks {
			a.Chunks[i].Tokens, a.Chunks[i].Kind, a.Chunks[i].Choice, a.Chunks[i].Read = int32(i), bench.Reasoning, uint16(i%2), int32(i/3)
		}
	case 3:
		rec.Lineage = &bench.Lineage{Depth: 2, Root: "root"}
		rec.Stamps.Scheduled, rec.Content.Images, rec.Content.AudioLength, rec.Items = 7, 2, time.Second, 3
		a.Job = &bench.Job{Started: 3, PeakMemory: math.Inf(1)}
		a.ServerTimes = map[string]time.Duration{"queue": 5}
	case 4:
		a.Chunks = nil
		rec.ClientInput, rec.ClientOutput, rec.ReasoningTokens = new(bench.Tokens(1)), new(bench.Tokens(0)), new(bench.Tokens(2))
	case 5:
		rec.RequestID, rec.CorrelationID = strings.ToUpper(rec.RequestID), ""
		rec.Content = bench.Content{RequestedTokens: 20, Prompt: 5, Blocks: []int64{1}, Marker: "m"}
	}
	return rec
}

// table returns the file of records, and what a file of lines would be.
func table(t testing.TB, records []*bench.Record) (file, want []byte) {
	t.Helper()
	var out, text bytes.Buffer
	lines := NewRecordWriter(&text, tableOptions())
	w, err := NewTableWriter(&out, tableOptions())
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range records {
		if err := w.Write(r); err != nil {
			t.Fatal(err)
		}
		if err := lines.Write(r); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := lines.Flush(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes(), text.Bytes()
}

// TestLines: a file becomes the lines that the run would have written.
func TestLines(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var records []*bench.Record
	for n := range 2000 {
		if n%3 == 0 {
			records = append(records, odd(r, n/3))
		} else {
			records = append(records, streamed(r, n))
		}
	}
	for _, list := range [][]*bench.Record{nil, records[:1], records} {
		file, want := table(t, list)
		var got bytes.Buffer
		if err := WriteLines(&got, bytes.NewReader(file), int64(len(file))); err != nil {
			t.Fatal(err)
		}
		a, b := strings.Split(string(want), "\n"), strings.Split(got.String(), "\n")
		if len(a) != len(b) {
			t.Fatalf("%d lines, want %d", len(b), len(a))
		}
		for i := range a {
			if a[i] != b[i] {
				t.Fatalf("line %d:\n%s\nwant\n%s", i, b[i], a[i])
			}
		}
		if bytes.Contains(file, []byte("hunter2")) || strings.Contains(got.String(), "hunter2") {
			t.Error("a secret is in the file")
		}
	}
}

// TestSize: a request takes at most 200 bytes, a tenth of its line.
func TestSize(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	var records []*bench.Record
	for n := range 20_000 {
		records = append(records, streamed(r, n))
	}
	file, lines := table(t, records)
	each, line := len(file)/len(records), len(lines)/len(records)
	t.Logf("%d bytes per request; its line has %d", each, line)
	if each > 200 || line < 10*each {
		t.Errorf("%d bytes per request; its line has %d", each, line)
	}
}

// TestDamaged: a file that was cut off, as by a crash, or that is no file of records is
// an error.
func TestDamaged(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	file, _ := table(t, []*bench.Record{streamed(r, 1), odd(r, 2)})
	for n := 0; n < len(file); n += 97 {
		if err := WriteLines(&bytes.Buffer{}, bytes.NewReader(file[:n]), int64(n)); err == nil {
			t.Errorf("the first %d of %d bytes are read without an error", n, len(file))
		}
	}
	// The dictionary of the first column, which parquet-go does not check.
	found := false
	for i := range 100 {
		changed := bytes.Clone(file)
		changed[i] ^= 1
		err := WriteLines(&bytes.Buffer{}, bytes.NewReader(changed), int64(len(file)))
		found = found || err != nil && strings.Contains(err.Error(), "the checksum of the dictionary does not match")
	}
	if !found {
		t.Error("no change in a dictionary is found by its checksum")
	}
	var other bytes.Buffer
	w := parquet.NewGenericWriter[struct{ A int }](&other)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := WriteLines(&bytes.Buffer{}, bytes.NewReader(other.Bytes()), int64(other.Len())); err == nil || !strings.Contains(err.Error(), `no metadata "aiperfd"`) {
		t.Errorf("another file: %v", err)
	}
}

func BenchmarkWrite(b *testing.B) {
	r := rand.New(rand.NewPCG(7, 8))
	var records []*bench.Record
	for n := range 1000 {
		records = append(records, streamed(r, n))
	}
	b.Run("parquet", func(b *testing.B) {
		w, err := NewTableWriter(&bytes.Buffer{}, tableOptions())
		if err != nil {
			b.Fatal(err)
		}
		for i := 0; b.Loop(); i++ {
			if err := w.Write(records[i%len(records)]); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("lines", func(b *testing.B) {
		w := NewRecordWriter(&bytes.Buffer{}, tableOptions())
		for i := 0; b.Loop(); i++ {
			if err := w.Write(records[i%len(records)]); err != nil {
				b.Fatal(err)
			}
		}
	})
}
