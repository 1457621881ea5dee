package source

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/dataset/file"
)

// lineFormat reads records {"s": session, "t": text, "at": ms, "mode": number}; skip is
// the reason why a record is not used. A text of bad is a problem.
func lineFormat() *Format {
	return &Format{
		Name: "lines",
		New: func(*Options) Decoder {
			return func(record file.Record) (Row, error) {
				var r struct {
					S, T, Skip string
					At         *int
					Mode       bench.ContextMode
				}
				if err := json.Unmarshal(record.Data, &r); err != nil {
					return Row{}, err
				}
				if r.Skip != "" {
					return Row{Skip: r.Skip}, nil
				}
				if r.T == "bad" {
					return Row{}, Problems{"t: must not be bad"}
				}
				turn := bench.Turn{Texts: []string{r.T}}
				if r.At != nil {
					turn.At, turn.Timed = time.Duration(*r.At)*time.Millisecond, true
				}
				return Row{Session: r.S, Conversation: bench.Conversation{Mode: r.Mode, Turns: []bench.Turn{turn}}}, nil
			}
		},
	}
}

// from returns options that read a text; large ones are not kept.
func from(text string) Options {
	return Options{File: file.File{Path: "data.jsonl", FS: fstest.MapFS{"data.jsonl": {Data: []byte(text)}}}}
}

// streamed opens a file as a stream, whatever its size.
func streamed(t *testing.T, f *Format, o Options) Source {
	t.Helper()
	s := newStream(f, o)
	if err := s.start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// pass returns the conversations of a pass, as "number id: text text", and its error.
func pass(t *testing.T, s Source) (out []string, err error) {
	t.Helper()
	for {
		entry, err := s.Next(t.Context())
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return out, err
		}
		c, err := entry.Make()
		if err != nil {
			return out, err
		}
		line := fmt.Sprintf("%d %s:", entry.Number, c.ID)
		for i := range c.Turns {
			line += " " + c.Turns[i].Texts[0]
		}
		out = append(out, line)
	}
}

func TestStreamGroupsSessions(t *testing.T) {
	s := streamed(t, lineFormat(), from(`{"s":"a","t":"1"}
{"t":"2"}
{"s":"session_000000","t":"3"}
{"s":"a","t":"4"}
{"t":"5"}`))
	want := []string{"0 a: 1 4", "1 session_000001: 2", "2 session_000000: 3", "3 session_000002: 5"}
	for range 2 {
		got, err := pass(t, s)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("conversations (-want +got), error %v:\n%s", err, diff)
		}
		if d := s.Describe(); d.Entries != 4 {
			t.Errorf("entries = %d, want 4", d.Entries)
		}
		if err := s.Rewind(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

func TestStreamTakesTheFirstEntries(t *testing.T) {
	o := from(`{"t":"1"}` + "\n" + `{"t":"2"}` + "\n" + `{"t":"bad"}`)
	o.Entries = 2
	got, err := pass(t, streamed(t, lineFormat(), o))
	if diff := cmp.Diff([]string{"0 session_000000: 1", "1 session_000001: 2"}, got); diff != "" || err != nil {
		t.Errorf("conversations, error %v:\n%s", err, diff)
	}
}

// A sample has all records of a session, or none, wherever they are in the input.
func TestStreamSample(t *testing.T) {
	sample := func(first, step int) map[string]string {
		var text strings.Builder
		for _, turn := range []string{"1", "2"} {
			for i := range 200 {
				fmt.Fprintf(&text, `{"s":"s%d","t":%q}`+"\n", (first+i*step)%200, turn)
			}
		}
		o := from(text.String())
		o.Sample, o.Seed = new(0.3), 7
		got, err := pass(t, streamed(t, lineFormat(), o))
		if err != nil {
			t.Fatal(err)
		}
		out := map[string]string{}
		for _, line := range got {
			_, session, _ := strings.Cut(line, " ")
			id, turns, _ := strings.Cut(session, ":")
			out[id] = turns
		}
		return out
	}
	forward := sample(0, 1)
	if diff := cmp.Diff(forward, sample(199, -1)); diff != "" {
		t.Errorf("another order has another sample:\n%s", diff)
	}
	for id, turns := range forward {
		if turns != " 1 2" {
			t.Errorf("session %s has the turns%s", id, turns)
		}
	}
	if n := len(forward); n < 45 || n > 75 { // 60 ± 2.3 standard deviations
		t.Errorf("%d of 200 sessions, want about 60", n)
	}
}

// filler are records of this many bytes in all.
func filler(bytes int) string {
	line := fmt.Sprintf(`{"t":%q}`+"\n", strings.Repeat("x", 1<<16))
	return strings.Repeat(line, bytes/len(line)+1)
}

// A record that comes after its conversation has left the window is a problem.
func TestStreamLateRecord(t *testing.T) {
	first := `{"s":"a","t":"1"}` + "\n"
	near := first + filler(windowBytes/2) + `{"s":"a","t":"2"}`
	if got, err := pass(t, streamed(t, lineFormat(), from(near))); err != nil || got[0] != "0 a: 1 2" {
		t.Errorf("near records: %.40q, error %v", got[0], err)
	}
	far := first + filler(2*windowBytes) + `{"s":"a","t":"2"}`
	_, err := pass(t, streamed(t, lineFormat(), from(far)))
	if err == nil || !strings.Contains(err.Error(), `session_id "a": its other records are more than 8 MiB before this one`) {
		t.Errorf("error of a late record = %v", err)
	}
}

func TestStreamOrdersTimes(t *testing.T) {
	const text = `{"t":"c","at":30}
{"t":"a","at":10}
{"s":"s","t":"b","at":20}
{"t":"d","at":30}
{"s":"s","t":"e","at":5}`
	o := from(text)
	o.Timed = true
	got, err := pass(t, streamed(t, lineFormat(), o))
	want := []string{"0 session_000000: a", "1 s: b e", "2 session_000001: c", "3 session_000002: d"}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("conversations, error %v:\n%s", err, diff)
	}
	f := lineFormat()
	f.Clock = true
	s := streamed(t, f, o)
	entry, err := s.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if c, err := entry.Make(); err != nil || c.Turns[0].At != 0 {
		t.Errorf("first time of a clock = %v, %v, want 0", c.Turns[0].At, err)
	}
	entry, err = s.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if c, err := entry.Make(); err != nil || c.Turns[0].At != 10*time.Millisecond || c.Turns[1].At != 0 {
		t.Errorf("times after it = %v, %v, %v; want 10ms, and 0 of an earlier one", c.Turns[0].At, c.Turns[1].At, err)
	}
}

// Times are ordered within a window of conversations.
func TestStreamTimedWindow(t *testing.T) {
	var b strings.Builder
	const n = 3 * windowTimed
	for i := range n {
		fmt.Fprintf(&b, `{"t":"x","at":%d}`+"\n", i^1023) // each at most 1023 from its place
	}
	o := from(b.String())
	o.Timed = true
	s := streamed(t, lineFormat(), o)
	for i := range n {
		entry, err := s.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		c, err := entry.Make()
		if want := time.Duration(i) * time.Millisecond; err != nil || c.Turns[0].At != want {
			t.Fatalf("conversation %d is at %v, %v, want %v", i, c.Turns[0].At, err, want)
		}
	}
}

func TestStreamBadLines(t *testing.T) {
	const text = `{"t":"1"}
{"t":"bad"}
{"t":2}
{"t":"3"}`
	o := from(text)
	_, err := pass(t, streamed(t, lineFormat(), o))
	if err == nil || err.Error() != "data.jsonl:2: t: must not be bad" {
		t.Errorf("error = %v, want the first problem", err)
	}
	o.SkipBad = 1
	if _, err := pass(t, streamed(t, lineFormat(), o)); err == nil || !strings.HasPrefix(err.Error(), "data.jsonl:3: ") {
		t.Errorf("error = %v, want the second problem", err)
	}
	o.SkipBad = 2
	s := streamed(t, lineFormat(), o)
	if _, err := s.Next(t.Context()); err != nil {
		t.Fatal(err)
	}
	for range 3 { // in the middle of a pass, and after complete ones
		if err := s.Rewind(t.Context()); err != nil {
			t.Fatal(err)
		}
		got, err := pass(t, s)
		if diff := cmp.Diff([]string{"0 session_000000: 1", "1 session_000001: 3"}, got); diff != "" || err != nil {
			t.Errorf("conversations, error %v:\n%s", err, diff)
		}
	}
	if diff := cmp.Diff([]string{"2 records with problems were skipped, for example data.jsonl:2: t: must not be bad"}, s.Describe().Warnings); diff != "" {
		t.Errorf("warnings:\n%s", diff)
	}
	if _, err := OpenFile(t.Context(), lineFormat(), from(text)); err == nil || !strings.Contains(err.Error(), "data.jsonl:2: t: must not be bad\ndata.jsonl:3: ") {
		t.Errorf("a small file reports %v, want both problems", err)
	}
}

func TestStreamOfNothing(t *testing.T) {
	tests := []struct {
		text, want string
		skip       int
	}{
		{"\n", "no records", 0},
		{`{"t":"bad"}`, "no records without problems; the first: data.jsonl:1: t: must not be bad", 1},
		{`{"skip":"too long"}` + "\n" + `{"skip":"empty"}` + "\n" + `{"skip":"empty"}`, "none of 3 records is used: 2 empty, 1 too long", 0},
	}
	for _, tt := range tests {
		o := from(tt.text)
		o.SkipBad = tt.skip
		if _, err := pass(t, streamed(t, lineFormat(), o)); err == nil || err.Error() != tt.want {
			t.Errorf("error = %v, want %s", err, tt.want)
		}
	}
}

func TestStreamModesOfASession(t *testing.T) {
	_, err := pass(t, streamed(t, lineFormat(), from(`{"s":"a","t":"1"}`+"\n"+`{"s":"a","t":"2","mode":2}`)))
	if err == nil || !strings.Contains(err.Error(), `data.jsonl:2: session_id "a": its earlier records have the context mode deltas_without_responses`) {
		t.Errorf("error = %v", err)
	}
}

// A pipe is read once, while it is written.
func TestStreamOfAPipe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Skip(err)
	}
	written := make(chan error, 1)
	more := make(chan struct{})
	go func() {
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err == nil {
			_, err = io.WriteString(f, `{"t":"1"}`+"\n"+`{"t":"2"}`+"\n")
			<-more
			err = errors.Join(err, f.Close())
		}
		written <- err
	}()
	s, err := OpenFile(t.Context(), lineFormat(), Options{File: file.File{Path: path}})
	if err != nil {
		t.Fatal(err)
	}
	if entry, err := s.Next(t.Context()); err != nil || entry.Number != 0 {
		t.Errorf("first entry of an open pipe: %v, %v", entry.Number, err)
	}
	close(more)
	if got, err := pass(t, s); err != nil || len(got) != 1 {
		t.Errorf("rest of the pipe: %q, %v", got, err)
	}
	if err := errors.Join(s.Close(), <-written); err != nil {
		t.Error(err)
	}
	if err := s.Rewind(t.Context()); !errors.Is(err, ErrOnce) {
		t.Errorf("Rewind = %v, want ErrOnce", err)
	}
}

// endless is a file of records that is made while it is read.
type endless struct {
	fs.File
	left int64
	line string
	at   int
}

func (e *endless) Open(string) (fs.File, error) { return e, nil }
func (e *endless) Stat() (fs.FileInfo, error)   { return e, nil }
func (e *endless) Close() error                 { return nil }
func (e *endless) Name() string                 { return "data.jsonl" }
func (e *endless) Size() int64                  { return e.left }
func (e *endless) Mode() fs.FileMode            { return 0 }
func (e *endless) ModTime() (t time.Time)       { return t }
func (e *endless) IsDir() bool                  { return false }
func (e *endless) Sys() any                     { return nil }

func (e *endless) Read(p []byte) (n int, err error) {
	if e.left <= 0 {
		return 0, io.EOF
	}
	for n < len(p) {
		k := copy(p[n:], e.line[e.at:])
		n, e.at = n+k, (e.at+k)%len(e.line)
	}
	e.left -= int64(n)
	return n, nil
}

// A large file is read in memory that does not depend on its size.
func TestStreamOfAHugeFile(t *testing.T) {
	const size, most = 192 << 20, 32 << 20
	huge := &endless{left: size, line: fmt.Sprintf(`{"t":%q}`+"\n", strings.Repeat("x", 32<<10))}
	s, err := OpenFile(context.Background(), lineFormat(), Options{File: file.File{Path: "data.jsonl", FS: huge}})
	if err != nil {
		t.Fatal(err)
	}
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before, largest, n := heap(), uint64(0), 0
	for ; ; n++ {
		if _, err := s.Next(t.Context()); err != nil {
			break // the last line may be cut
		}
		if n%4096 == 0 {
			largest = max(largest, heap())
		}
	}
	if n < size/(33<<10) {
		t.Errorf("%d conversations, want all of the file", n)
	}
	if largest > before+most {
		t.Errorf("reading takes %d MiB, want at most %d", (largest-before)>>20, most>>20)
	}
}
