package archive

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var (
	modified = time.Date(2026, 5, 4, 10, 0, 0, 123456789, time.UTC)
	large    = Limits{Files: 100, Bytes: 1 << 20}
)

func header() Header {
	return Header{Kind: Selected, Created: modified, Version: "test", Runs: []string{"a", "b"}}
}

// sample is an archive of two files.
func sample(t testing.TB) []byte {
	t.Helper()
	var out bytes.Buffer
	w, err := NewWriter(context.Background(), &out, header())
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range []File{
		{Name: "runs/a/one.json", Size: 3, Mode: 0o644, Modified: modified},
		{Name: `runs/a/back\slash ü`, Size: 0, Mode: 0o600, Modified: modified},
	} {
		if err := w.Add(f, strings.NewReader("{}\nmore")); err != nil {
			t.Fatal(err)
		}
	}
	if w.Files != 2 || w.Bytes != 3 {
		t.Errorf("%d files, %d bytes, want 2 and 3", w.Files, w.Bytes)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// read returns the files of an archive as text.
func read(data []byte, limits Limits) ([]string, *Header, error) {
	var got []string
	h, err := Read(context.Background(), bytes.NewReader(data), limits, func(_ *Header, f File, in io.Reader) error {
		text, err := io.ReadAll(in)
		got = append(got, fmt.Sprintf("%s %d %s %s %q", f.Name, f.Size, f.Mode, f.Modified.UTC().Format(time.RFC3339Nano), text))
		return err
	})
	return got, h, err
}

func TestRoundTrip(t *testing.T) {
	got, h, err := read(sample(t), large)
	if err != nil {
		t.Fatal(err)
	}
	want := header()
	want.Schema = schema
	if diff := cmp.Diff(&want, h); diff != "" {
		t.Errorf("header (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{
		`runs/a/one.json 3 -rw-r--r-- 2026-05-04T10:00:00.123456789Z "{}\n"`,
		`runs/a/back\slash ü 0 -rw------- 2026-05-04T10:00:00.123456789Z ""`,
	}, got); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}

// The checksums have the format of sha256sum, so that an unpacked archive can be checked
// without aiperfd.
func TestSums(t *testing.T) {
	const empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
	digest := sha256.Sum256(nil)
	if got, want := sum(digest[:], "a b"), empty+"  a b\n"; got != want {
		t.Errorf("sum = %q, want %q", got, want)
	}
	if got, want := sum(digest[:], `a\b`), `\`+empty+`  a\\b`+"\n"; got != want {
		t.Errorf("sum = %q, want %q", got, want)
	}
}

// A shorter archive is never accepted, nor one with a changed byte or with more bytes: the
// files of what is accepted are those that were written.
func TestDamaged(t *testing.T) {
	whole := sample(t)
	want, _, _ := read(whole, large)
	for n := range whole {
		if _, _, err := read(whole[:n], large); err == nil {
			t.Errorf("the first %d of %d bytes are accepted", n, len(whole))
		}
		changed := bytes.Clone(whole)
		changed[n] ^= 0x10
		if got, _, err := read(changed, large); err == nil && !cmp.Equal(got, want) {
			t.Errorf("byte %d changed: accepted as %q", n, got)
		}
	}
	if _, _, err := read(append(bytes.Clone(whole), 0), large); err == nil {
		t.Error("a byte after the end is accepted")
	}
	if _, _, err := read(append(bytes.Clone(whole), whole...), large); err == nil {
		t.Error("a second archive after the end is accepted")
	}
}

// entry is a file of a hostile archive.
type entry struct {
	tar.Header
	text string
}

// pack makes an archive whose checksums are right.
func pack(t testing.TB, entries []entry) []byte {
	t.Helper()
	var out bytes.Buffer
	gz := gzip.NewWriter(&out)
	w := tar.NewWriter(gz)
	var sums strings.Builder
	add := func(e entry) {
		if e.Typeflag == 0 {
			e.Typeflag = tar.TypeReg
		}
		e.Size = int64(len(e.text))
		if err := w.WriteHeader(&e.Header); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, e.text); err != nil {
			t.Fatal(err)
		}
		digest := sha256.Sum256([]byte(e.text))
		sums.WriteString(sum(digest[:], e.Name))
	}
	for _, e := range entries {
		add(e)
	}
	add(entry{Header: tar.Header{Name: sumsFile}, text: sums.String()})
	for _, c := range []io.Closer{w, gz} {
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return out.Bytes()
}

func file(name string) entry { return entry{Header: tar.Header{Name: name}, text: "x"} }

func kind(name string, typ byte) entry {
	return entry{Header: tar.Header{Name: name, Typeflag: typ, Linkname: "/etc/passwd"}}
}

func TestHostile(t *testing.T) {
	begin := entry{Header: tar.Header{Name: headerFile}, text: `{"schema":"aiperfd-archive/1","kind":"runs"}`}
	if _, _, err := read(pack(t, []entry{begin, file("runs/a/x")}), large); err != nil {
		t.Fatalf("harmless archive: %v", err)
	}
	with := func(more ...entry) []entry { return append([]entry{begin}, more...) }
	for _, tt := range []struct {
		name    string
		entries []entry
		want    string
	}{
		{"traversal", with(file("../x")), `"../x" is not a relative path`},
		{"traversal inside", with(file("runs/../../x")), "is not a relative path"},
		{"absolute", with(file("/etc/cron.d/x")), "is not a relative path"},
		{"dot", with(file("./x")), "is not a relative path"},
		{"double slash", with(file("runs//x")), "is not a relative path"},
		{"not UTF-8", with(file("runs/\xff")), "is not a relative path"},
		{"escape sequence", with(file("runs/\x1b[2J")), `"runs/\x1b[2J" has control characters`},
		{"long name", with(file("runs/" + strings.Repeat("x", 1100))), "file name of 1105 bytes; the limit is 1024"},
		{"deep name", with(file(strings.Repeat("x/", 40) + "x")), "has more than 32 elements"},
		{"symbolic link", with(kind("runs/a/x", tar.TypeSymlink)), `"runs/a/x" is not a regular file (tar type '2')`},
		{"hard link", with(kind("runs/a/x", tar.TypeLink)), "is not a regular file"},
		{"device", with(kind("runs/a/x", tar.TypeChar)), "is not a regular file"},
		{"FIFO", with(kind("runs/a/x", tar.TypeFifo)), "is not a regular file"},
		{"folder", with(kind("runs/a/x", tar.TypeDir)), "is not a regular file"},
		{"twice", with(file("runs/a/x"), file("runs/a/x")), `file "runs/a/x" is there twice`},
		{"header twice", with(begin), "is there twice"},
		{"no header", []entry{file("runs/a/x")}, `its first file is "runs/a/x"`},
		{"another schema", []entry{{begin.Header, `{"schema":"aiperfd-archive/2"}`}}, `schema is "aiperfd-archive/2"`},
		{"another kind", []entry{{begin.Header, `{"schema":"aiperfd-archive/1","kind":"x"}`}}, `kind is "x"`},
		{"header is no JSON", []entry{{begin.Header, `{`}}, "unexpected end of JSON"},
		{"files after the checksums", with(file(sumsFile), file("runs/a/x")), "does not list the files"},
		{"empty", nil, `its first file is "SHA256SUMS"`},
	} {
		_, _, err := read(pack(t, tt.entries), large)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
		}
	}
	if _, _, err := read([]byte("PK\x03\x04 a zip file"), large); err == nil || !strings.Contains(err.Error(), "not compressed with gzip") {
		t.Errorf("zip file: %v", err)
	}
}

// A small file that unpacks to a large one is refused before it is unpacked.
func TestLimits(t *testing.T) {
	zeros := entry{Header: tar.Header{Name: "runs/a/zeros"}, text: strings.Repeat("\x00", 1<<20)}
	begin := entry{Header: tar.Header{Name: headerFile}, text: `{"schema":"aiperfd-archive/1","kind":"runs"}`}
	data := pack(t, []entry{begin, file("runs/a/x"), zeros})
	if len(data) > 4<<10 {
		t.Fatalf("the archive has %d bytes", len(data))
	}
	for _, tt := range []struct {
		limits Limits
		want   string
	}{
		{Limits{Files: 100, Bytes: 1 << 20}, "1048576 bytes"},
		{Limits{Files: 2, Bytes: 1 << 30}, "2 files"},
	} {
		got, _, err := read(data, tt.limits)
		var limit *LimitError
		if !errors.As(err, &limit) || limit.What != tt.want {
			t.Errorf("limits %v: %v, want a LimitError of %s", tt.limits, err, tt.want)
		}
		if len(got) != 1 {
			t.Errorf("limits %v: %d files were passed on, want 1", tt.limits, len(got))
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Read(ctx, bytes.NewReader(data), large, func(*Header, File, io.Reader) error { return nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("read with a context that has ended: %v", err)
	}
}

// What was read is never outside of the folder, is never there twice, and stays within the limits.
// The names of the files are bounded, too.
func TestNames(t *testing.T) {
	r := &reader{limits: large, names: map[string]bool{}, listed: maxSums - 100}
	if err := r.check(&tar.Header{Typeflag: tar.TypeReg, Name: "runs/a"}); err != nil {
		t.Fatal(err)
	}
	var limit *LimitError
	if err := r.check(&tar.Header{Typeflag: tar.TypeReg, Name: "runs/b"}); !errors.As(err, &limit) {
		t.Errorf("check = %v, want a LimitError", err)
	}
}

func FuzzRead(f *testing.F) {
	gz, err := gzip.NewReader(bytes.NewReader(sample(f)))
	if err != nil {
		f.Fatal(err)
	}
	plain, err := io.ReadAll(gz)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(plain)
	f.Fuzz(func(t *testing.T, data []byte) {
		var packed bytes.Buffer
		w, err := gzip.NewWriterLevel(&packed, gzip.NoCompression)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(data); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		limits := Limits{Files: 10, Bytes: 10 << 10}
		seen, size := map[string]bool{}, int64(0)
		_, err = Read(t.Context(), &packed, limits, func(_ *Header, f File, in io.Reader) error {
			n, err := io.Copy(io.Discard, in)
			size += n
			if seen[f.Name] || strings.HasPrefix(f.Name, "/") || strings.Contains("/"+f.Name+"/", "/../") {
				t.Errorf("file %q was passed on", f.Name)
			}
			seen[f.Name] = true
			return err
		})
		if size > limits.Bytes || len(seen) > limits.Files {
			t.Errorf("%d files with %d bytes were passed on: %v", len(seen), size, err)
		}
	})
}
