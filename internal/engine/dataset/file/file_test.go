package file

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"
	"pgregory.net/rapid"
)

// inMemory is a file system with one file, which is read in pieces.
type inMemory struct {
	name, text string
	pieces     func(io.Reader) io.Reader
}

// Open implements fs.FS.
func (m inMemory) Open(name string) (fs.File, error) {
	f, err := fstest.MapFS{m.name: {Data: []byte(m.text)}}.Open(name)
	if err != nil || m.pieces == nil {
		return f, err
	}
	return inPieces{f, m.pieces(f)}, nil
}

// inPieces is a file with another reader.
type inPieces struct {
	fs.File
	pieces io.Reader
}

func (p inPieces) Read(to []byte) (int, error) { return p.pieces.Read(to) }

// list returns the places and data of the records of a file, and the container.
func list(t testing.TB, f File) (records []string, container string, err error) {
	t.Helper()
	r, err := Open(t.Context(), f)
	if err != nil {
		return nil, "", err
	}
	defer func() {
		if err := r.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	}()
	container = r.Container()
	for {
		record, err := r.Next()
		var wrong *RecordError
		switch {
		case errors.Is(err, io.EOF):
			return records, container, nil
		case errors.As(err, &wrong):
			records = append(records, "error "+wrong.Error())
		case err != nil:
			return records, container, err
		default:
			records = append(records, record.Place.String()+" "+string(record.Data))
		}
	}
}

func packed(t testing.TB, text string) map[string]string {
	t.Helper()
	var g, z bytes.Buffer
	gw := gzip.NewWriter(&g)
	zw, err := zstd.NewWriter(&z)
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range []io.WriteCloser{gw, zw} {
		if _, err := io.WriteString(w, text); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return map[string]string{"": text, ".gz": g.String(), ".zst": z.String()}
}

func TestContainers(t *testing.T) {
	tests := []struct {
		name, file, text, container string
		options                     File
		want                        []string
	}{
		{"lines", "a.jsonl", "{\"a\":1}\n\n  {\"a\":2}\r\n{\"a\":3}", "jsonl", File{}, []string{`a.jsonl:1 {"a":1}`, `a.jsonl:3 {"a":2}`, `a.jsonl:4 {"a":3}`}},
		{"byte order mark", "a.txt", "\ufeff{}\n{}\n", "jsonl", File{}, []string{`a.txt:1 {}`, `a.txt:2 {}`}},
		{"blank lines first", "a.jsonl", "\n \n{}\n", "jsonl", File{}, []string{`a.jsonl:3 {}`}},
		{"empty", "a.jsonl", "", "jsonl", File{}, nil},
		{"bad lines are records too", "a.jsonl", "oops\n[1]\n", "jsonl", File{}, []string{`a.jsonl:1 oops`, `a.jsonl:2 [1]`}},
		{"array", "a.json", `[{"a":"]},{"},` + "\n" + ` {"b":[{}, "\"]"]}, 7 ,true, "x"]` + "\n", "json", File{}, []string{`a.json: record 1 {"a":"]},{"}`, `a.json: record 2 {"b":[{}, "\"]"]}`, `a.json: record 3 7`, `a.json: record 4 true`, `a.json: record 5 "x"`}},
		{"empty array", "a.json", " [ ] ", "json", File{}, nil},
		{"member", "a.json", `{"v":{"data":[1]},"data":[{"a":1},{"a":2}],"rest":[{}]}`, "json", File{Key: "data"}, []string{`a.json: record 1 {"a":1}`, `a.json: record 2 {"a":2}`}},
		{"lines where a member may be", "a.json", `{"data":1}` + "\n{}", "jsonl", File{Key: "data"}, []string{`a.json:1 {"data":1}`, `a.json:2 {}`}},
		{"indented object", "a.json", "{\n \"a\": [\n1]}\n{}", "json", File{}, []string{"a.json: record 1 {\n \"a\": [\n1]}", "a.json: record 2 {}"}},
		{"CSV", "a.csv", "\ufeffprompt,n,\"a \"\"b\"\"\"\r\n\"x, \"\"y\"\"\nz\",1.50,-\n\n<é>,,007\n", "csv", File{Numbers: []string{"n", "a \"b\""}}, []string{
			`a.csv:2 {"prompt":"x, \"y\"\nz","n":1.50,"a \"b\"":"-"}`, `a.csv:5 {"prompt":"<é>","n":"","a \"b\"":"007"}`,
		}},
		{"CSV faults", "a.csv", "a,b\n1\n2,3\n4,x\"y\n5,6,7\n8,9\n", "csv", File{}, []string{
			`error a.csv:2: the row has 1 values, the header 2`, `a.csv:3 {"a":"2","b":"3"}`, `error a.csv:4: column 4: bare " in non-quoted-field`,
			`error a.csv:5: the row has 3 values, the header 2`, `a.csv:6 {"a":"8","b":"9"}`,
		}},
		{"TSV", "a.tsv", "a\tb\n1,2\t3\n", "tsv", File{}, []string{`a.tsv:2 {"a":"1,2","b":"3"}`}},
		{"texts", "a.txt", "one\n\n  \"two\"\r\nthree", "text", File{}, []string{`a.txt:1 {"text":"one"}`, `a.txt:3 {"text":"\"two\""}`, `a.txt:4 {"text":"three"}`}},
		{"text with a bracket", "a.txt", "[INST] a\n", "text", File{}, []string{`a.txt:1 {"text":"[INST] a"}`}},
		{"text with braces", "a.txt", "{{a}}\n", "text", File{}, []string{`a.txt:1 {"text":"{{a}}"}`}},
		{"text that is not UTF-8", "a.txt", "a\xff\nb", "text", File{}, []string{"error a.txt:1: the line is not valid UTF-8", `a.txt:2 {"text":"b"}`}},
		{"JSONL by another name", "a.txt", " { \"a\": 1}\n", "jsonl", File{}, []string{`a.txt:1 { "a": 1}`}},
		{"JSON by another name", "a.txt", "[\n {\"a\": 1}]\n", "json", File{}, []string{`a.txt: record 1 {"a": 1}`}},
		{"CSV without rows", "a.csv", "", "csv", File{}, nil},
	}
	for _, tt := range tests {
		for extension, text := range packed(t, tt.text) {
			for how, pieces := range map[string]func(io.Reader) io.Reader{"whole": nil, "bytes": iotest.OneByteReader, "with the end": iotest.DataErrReader} {
				t.Run(tt.name+extension+" "+how, func(t *testing.T) {
					f := tt.options
					f.Path = tt.file + extension
					f.FS = inMemory{f.Path, text, pieces}
					got, container, err := list(t, f)
					if err != nil || container != tt.container {
						t.Errorf("container %s, error %v; want %s", container, err, tt.container)
					}
					want := make([]string, len(tt.want))
					for i, w := range tt.want {
						want[i] = strings.Replace(w, tt.file, f.Path, 1)
					}
					if diff := cmp.Diff(want, append([]string{}, got...)); diff != "" {
						t.Errorf("records (-want +got):\n%s", diff)
					}
				})
			}
		}
	}
}

func TestTables(t *testing.T) {
	for name, want := range map[string]string{"views.arrow": "arrow", "views.parquet": "parquet"} {
		got, container, err := list(t, File{Path: filepath.Join("testdata", name)})
		if err != nil || container != want {
			t.Fatalf("%s: container %s, error %v", name, container, err)
		}
		if len(got) != 3 || got[0] != name+`: row 1 {"text":"short","n":1,"list":["a"]}` {
			t.Errorf("%s: records %q", name, got)
		}
	}
}

func TestRefusals(t *testing.T) {
	parquet, err := os.ReadFile(filepath.Join("testdata", "views.parquet"))
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct{ name, file, text, want string }{
		{"truncated array", "a.json", "[{},\n{\"a\":", "read a.json: record 2: line 2: the document ends in the middle"},
		{"array without an end", "a.json", "[{}", "read a.json: record 2: line 1: the document ends in the middle"},
		{"no comma", "a.json", "[{}\n{}]", "read a.json: record 2: line 2: unexpected '{' between the elements"},
		{"no element", "a.json", "[{},]", "read a.json: record 2: line 1: unexpected ']'; an element of the array was expected"},
		{"two documents", "a.json", "[{}]\n[{}]", "read a.json: record 2: line 2: unexpected '[' after the end of the document"},
		{"member without an end", "a.json", `{"data":[{}]`, "the document ends in the middle"},
		{"text after an object", "a.json", "{\n}\nx", "read a.json: record 2: line 3: unexpected 'x'; an object was expected"},
		{"UTF-16", "a.jsonl", "\xff\xfe{\x00", "read a.jsonl: the text is UTF-16"},
		{"packed Parquet", "a.parquet.gz", packed(t, string(parquet))[".gz"], "read a.parquet.gz: a Parquet file must not be packed"},
		{"half a Parquet file", "a.parquet", string(parquet[:100]), "read a.parquet: the Parquet file is truncated"},
		{"half a gzip file", "a.jsonl.gz", packed(t, strings.Repeat("{}\n", 1000))[".gz"][:30], "read a.jsonl.gz:"},
		{"Feather 1", "a.feather", "FEA1....", "Feather version 1"},
		{"double column", "a.csv", "a,b,a\n", `the header has the column "a" twice`},
		{"open quote", "a.csv", "a,b\n1,\"x\n", `error a.csv:2: column 6: extraneous or missing " in quoted-field`},
		{"broken Arrow", "a.arrow", "ARROW1\x00\x00\xff\xff\xff\xff\x08\x00\x00\x00\xff\xff\xff\x7f....", "read a.arrow: the file is damaged"},
		{"too large", "a.jsonl", strings.Repeat("{}\n", 1000), "read a.jsonl:334: the unpacked file is larger than 1000 bytes"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := File{Path: tt.file, FS: inMemory{tt.file, tt.text, nil}, Key: "data"}
			if tt.name == "too large" {
				f.MaxBytes, f.FS = 1000, inMemory{tt.file, tt.text, iotest.OneByteReader}
			}
			got, _, err := list(t, f)
			text := strings.Join(got, "\n")
			if err != nil {
				text = err.Error()
			}
			if !strings.Contains(text, tt.want) {
				t.Errorf("result = %s, want one with %q", text, tt.want)
			}
		})
	}
}

// A line without end is one bad record and does not fill the memory.
func TestEndlessLine(t *testing.T) {
	text := io.MultiReader(strings.NewReader("{}\n"), io.LimitReader(endless{}, MaxRecordBytes+1), strings.NewReader("\n{\"a\":1}"))
	got, _, err := list(t, File{Path: "a.jsonl", FS: inMemory{"a.jsonl", "", func(io.Reader) io.Reader { return text }}})
	want := []string{"a.jsonl:1 {}", "error a.jsonl:2: the line is longer than 64 MiB", `a.jsonl:3 {"a":1}`}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("error %v, records (-want +got):\n%s", err, diff)
	}
	for name, start := range map[string]string{"a.json": "[\"", "a.csv": "a\n\""} {
		text := io.MultiReader(strings.NewReader(start), endless{})
		_, _, err := list(t, File{Path: name, FS: inMemory{name, "", func(io.Reader) io.Reader { return text }}})
		if err == nil || !strings.Contains(err.Error(), "is longer than 64 MiB") {
			t.Errorf("%s: error = %v", name, err)
		}
	}
}

// endless is text without end.
type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

func TestFolder(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"b.jsonl": "{\"b\":1}\n{\"b\":2}", "a/2.csv": "x\n1\n", "a/1.json": `[{"a":1}]`, ".hidden": "{", ".git/x": "{", "c.jsonl": ""} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{`a/1.json: record 1 {"a":1}`, `a/2.csv:2 {"x":"1"}`, `b.jsonl:1 {"b":1}`, `b.jsonl:2 {"b":2}`}
	for _, f := range []File{{Path: dir, Folder: true}, {Path: dir + "/", Folder: true}, {Path: ".", FS: os.DirFS(dir), Folder: true}} {
		got, _, err := list(t, f)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: error %v, records (-want +got):\n%s", f.Path, err, diff)
		}
		if !f.Rewindable() {
			t.Errorf("%s is not rewindable", f.Path)
		}
	}
	if _, _, err := list(t, File{Path: dir}); err == nil || !strings.Contains(err.Error(), "is a directory") {
		t.Errorf("a folder where a file is meant: error = %v", err)
	}
	if _, _, err := list(t, File{Path: t.TempDir(), Folder: true}); err == nil || !strings.Contains(err.Error(), "has no files") {
		t.Errorf("an empty folder: error = %v", err)
	}
}

func TestInline(t *testing.T) {
	f := File{Records: []json.RawMessage{[]byte(`{"a":1}`), []byte(`{"a":2}`)}}
	got, container, err := list(t, f)
	if diff := cmp.Diff([]string{`records[0] {"a":1}`, `records[1] {"a":2}`}, got); diff != "" || err != nil || container != "inline" {
		t.Errorf("container %s, error %v, records (-want +got):\n%s", container, err, diff)
	}
	if _, ok := f.Size(); ok || !f.Rewindable() {
		t.Error("inline records have a size, or are not rewindable")
	}
}

func TestPipe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe.jsonl")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Skipf("no named pipes: %v", err)
	}
	f := File{Path: path}
	if _, ok := f.Size(); ok || f.Rewindable() {
		t.Error("a pipe has a size, or is rewindable")
	}
	ctx, cancel := context.WithCancel(t.Context())
	stopped := make(chan error, 1)
	go func() { _, err := Open(ctx, f); stopped <- err }()
	cancel()
	if err := <-stopped; !errors.Is(err, context.Canceled) {
		t.Errorf("opening a pipe without a writer: error = %v, want canceled", err)
	}

	ctx, cancel = context.WithCancel(t.Context())
	defer cancel()
	written := make(chan *os.File, 1)
	go func() {
		w, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err == nil {
			_, err = fmt.Fprintln(w, `{"a":1}`)
		}
		if err != nil {
			t.Error(err)
		}
		written <- w
	}()
	r, err := Open(ctx, f)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	w := <-written
	defer w.Close()
	// The record is there although the pipe has no end yet.
	if record, err := r.Next(); err != nil || string(record.Data) != `{"a":1}` {
		t.Fatalf("record %s, error %v", record.Data, err)
	}
	go cancel()
	if _, err := r.Next(); !errors.Is(err, context.Canceled) {
		t.Errorf("a pipe without more: error = %v, want canceled", err)
	}
}

// The records do not depend on how the file arrives.
func TestChunking(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.String(), 0, 8).Draw(t, "values")
		var array, jsonl bytes.Buffer
		var want []string
		array.WriteString("[")
		for i, v := range values {
			object, err := json.Marshal(map[string]any{"v": v, "n": []any{v, i, nil}})
			if err != nil {
				t.Fatal(err)
			}
			if i > 0 {
				array.WriteString(" ,")
			}
			array.Write(object)
			jsonl.Write(append(object, '\n'))
			want = append(want, string(object))
		}
		array.WriteString("]\n")
		sizes := rapid.SliceOfN(rapid.IntRange(1, 50), 1, 5).Draw(t, "sizes")
		for name, text := range map[string]string{"a.json": array.String(), "a.jsonl": jsonl.String()} {
			r, err := Open(context.Background(), File{Path: name, FS: inMemory{name, text, func(r io.Reader) io.Reader { return &chunked{r, sizes, 0} }}})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for {
				record, err := r.Next()
				if errors.Is(err, io.EOF) {
					break
				}
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, string(record.Data))
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("%s (-want +got):\n%s", name, diff)
			}
		}
	})
}

// chunked returns at most so many bytes from each read, in turn.
type chunked struct {
	r     io.Reader
	sizes []int
	next  int
}

func (c *chunked) Read(p []byte) (int, error) {
	n := c.sizes[c.next%len(c.sizes)]
	c.next++
	return c.r.Read(p[:min(n, len(p))])
}

func FuzzText(f *testing.F) {
	for _, seed := range []string{"{\"a\":1}\n{}\n", `[{"a":"]"},{}]`, `{"data":[{},{}],"x":1}`, "a,b\n1,\"2\n3\"\n", "{\n}\n{\n}", "\ufeff[]", "[1 2]"} {
		for _, text := range packed(f, seed) {
			f.Add("a.jsonl", []byte(text))
			f.Add("a.csv", []byte(text))
			f.Add("a.tsv.gz", []byte(text))
		}
	}
	f.Fuzz(func(t *testing.T, name string, data []byte) {
		if !fs.ValidPath(name) || strings.Contains(name, "/") || name == "." {
			t.Skip()
		}
		file := File{Path: name, MaxBytes: 1 << 20, Key: "data", Numbers: []string{"a"}}
		file.FS = inMemory{name, string(data), nil}
		whole, container, err := list(t, file)
		file.FS = inMemory{name, string(data), iotest.OneByteReader}
		pieces, _, other := list(t, file)
		if diff := cmp.Diff(whole, pieces); diff != "" || fmt.Sprint(err) != fmt.Sprint(other) {
			t.Errorf("read in pieces: error %v and %v, records (-whole +pieces):\n%s", err, other, diff)
		}
		for _, record := range whole {
			_, object, ok := strings.Cut(record, " ")
			if (container == "csv" || container == "tsv") && !strings.HasPrefix(record, "error ") && (!ok || !json.Valid([]byte(object))) {
				t.Errorf("record %q is not JSON", record)
			}
		}
	})
}
