package agentic

import (
	"io"
	"io/fs"
	"runtime"
	"strings"
	"testing"
	"testing/fstest"

	"aiperfd/internal/engine/dataset/file"
)

// longLine is a file with a trace, then a line of 1 GiB that begins like a trace, and another trace.
type longLine struct {
	fs.File
	parts io.Reader
}

func (f longLine) Read(p []byte) (int, error) { return f.parts.Read(p) }

// longLineFS has the file traces.jsonl.
type longLineFS struct {
	begin, fill string           // of the long line
	watch       func(left int64) // called while the long line is read, with the bytes that are left
}

// Open implements fs.FS.
func (f longLineFS) Open(name string) (fs.File, error) {
	in, err := fstest.MapFS{"traces.jsonl": {}}.Open(name)
	if err != nil {
		return nil, err
	}
	return longLine{in, io.MultiReader(
		strings.NewReader(record("A", turn(0, 64, 1, 1, 1))+"\n"+f.begin),
		&filler{text: strings.Repeat(f.fill, 1<<16), left: 1 << 30, watch: f.watch},
		strings.NewReader("\n"+record("B", turn(0, 64, 1, 1, 1))+"\n"),
	)}, nil
}

// filler is a text that repeats.
type filler struct {
	text  string
	at    int
	left  int64
	watch func(left int64)
}

func (f *filler) Read(p []byte) (int, error) {
	if f.left == 0 {
		return 0, io.EOF
	}
	n := copy(p[:min(int64(len(p)), f.left)], f.text[f.at:])
	f.at = (f.at + n) % len(f.text)
	f.left -= int64(n)
	f.watch(f.left)
	return n, nil
}

// A line of 1 GiB is refused with its file, its number and the limit, and the traces around it are read. What was read of
// it is out of memory as soon as it is too long.
func TestLongLine(t *testing.T) {
	for name, in := range map[string]longLineFS{
		"ids":  {begin: `{"id": "L", "hash_ids": [`, fill: "1000,"},
		"text": {begin: `{"id": "`, fill: "x"},
	} {
		t.Run(name, func(t *testing.T) {
			heap := func() uint64 {
				runtime.GC()
				var m runtime.MemStats
				runtime.ReadMemStats(&m)
				return m.HeapAlloc
			}
			before, after := heap(), uint64(0)
			in.watch = func(left int64) {
				if left < 1<<29 && after == 0 {
					after = heap()
				}
			}
			var ids []string
			o := usual()
			o.SkipBad = true
			repairs, err := Read(t.Context(), file.File{Path: "traces.jsonl", FS: in}, o, func(g *Graph) error {
				ids = append(ids, g.ID)
				return nil
			})
			if err != nil || repairs.SkippedTraces != 1 || strings.Join(ids, " ") != "A B" {
				t.Errorf("traces %q, %+v, %v; want A and B, and one left out", ids, repairs, err)
			}
			if after > before+16<<20 {
				t.Errorf("the rest of the line is read with %d MiB more than before it", (after-before)>>20)
			}
		})
	}
}

// The place and the limit are in the message.
func TestLongLineMessage(t *testing.T) {
	in := longLineFS{begin: `{"id": "`, fill: "x", watch: func(int64) {}}
	_, err := Read(t.Context(), file.File{Path: "traces.jsonl", FS: in}, usual(), func(*Graph) error { return nil })
	if want := "traces.jsonl:2: the line is longer than 256 MiB"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v, want %s", err, want)
	}
}
