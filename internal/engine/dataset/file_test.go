package dataset

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"aiperfd/internal/engine/dataset/file"
	"aiperfd/internal/engine/dataset/source"
)

func TestSingleTurnFiles(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	good := write("good.jsonl", goodFile)
	if err := os.Symlink("/etc/hostname", filepath.Join(dir, "link.jsonl")); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	for name, file := range map[string]file.File{"system": {Path: good}, "root": {Path: "good.jsonl", FS: root.FS()}} {
		if s := mustOpen(t, "single_turn", Options{Options: source.Options{File: file}}); s.Len() != 5 {
			t.Errorf("%s: %d entries, want 5", name, s.Len())
		}
	}
	tests := []struct {
		name string
		file file.File
		want string
	}{
		{"nothing", file.File{}, "neither a path nor records are given"},
		{"both", file.File{Path: good, Records: []json.RawMessage{[]byte(`{}`)}}, "both a path and records are given"},
		{"missing", file.File{Path: filepath.Join(dir, "x")}, "no such file"},
		{"folder", file.File{Path: dir}, "is a directory"},
		{"folder in a root", file.File{Path: ".", FS: root.FS()}, "is a directory"},
		{"above a root", file.File{Path: "../x", FS: root.FS()}, "must be relative, with slashes, and must not leave its root"},
		{"absolute in a root", file.File{Path: good, FS: root.FS()}, "must be relative, with slashes, and must not leave its root"},
		{"link out of a root", file.File{Path: "link.jsonl", FS: root.FS()}, "escapes"},
		{"empty", file.File{Path: write("empty", "")}, "no records"},
		{"blank", file.File{Path: write("blank", "\ufeff\n \r\n")}, "no records"},
		{"broken gzip", file.File{Path: write("broken.gz", "\x1f\x8b"+strings.Repeat("\x00", 20))}, "gzip: invalid header"},
		{"half a gzip", file.File{Path: write("half.gz", zipped(t)[:30])}, "unexpected EOF"},
		{"broken zstd", file.File{Path: write("broken.zst", "\x28\xb5\x2f\xfd\xff\xff\xff\xff")}, "read broken.zst:"},
		{"too large", file.File{Path: good, MaxBytes: 100}, "the unpacked file is larger than 100 bytes"},
		{"negative limit", file.File{Path: good, MaxBytes: -1}, "size limit -1"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := openAll(t.Context(), "single_turn", Options{Options: source.Options{File: tt.file}})
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error = %v, want one with %q", err, tt.want)
			}
		})
	}
	if _, err := Open(t.Context(), "single_turn", Options{Options: source.Options{File: file.File{Path: filepath.Join(dir, "x")}}}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("error of a missing file = %v, want it to be fs.ErrNotExist", err)
	}
	if _, err := Open(t.Context(), "single_turn", Options{Options: source.Options{Entries: -1, File: file.File{Path: good}}}); err == nil {
		t.Error("a negative number of entries was accepted")
	}
}

func zipped(t *testing.T) string {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write([]byte(goodFile)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestSingleTurnHugeFile(t *testing.T) {
	var b strings.Builder
	for i := range 100_000 {
		fmt.Fprintf(&b, `{"text":"prompt %d","session_id":"s%d"}`+"\n", i, i%30_000)
	}
	long := strings.Repeat("x", 8<<20)
	fmt.Fprintf(&b, `{"text":%q}`+"\n", long)
	s := mustOpen(t, "single_turn", fromText(b.String()))
	_, turns := s.tokens()
	if s.Len() != 30_001 || turns != 100_001 {
		t.Fatalf("%d entries with %d turns, want 30001 with 100001", s.Len(), turns)
	}
	if got := s.At(9_999).Turns[3].Texts[0]; got != "prompt 99999" {
		t.Errorf("turn 3 of entry 9999 = %q, want prompt 99999", got)
	}
	if got := s.At(30_000).Turns[0].Texts[0]; got != long {
		t.Errorf("the long prompt has %d bytes, want %d", len(got), len(long))
	}
}

// A small archive can hold a line without end.
func TestSingleTurnEndlessLine(t *testing.T) {
	var b bytes.Buffer
	w, err := zstd.NewWriter(&b)
	if err != nil {
		t.Fatal(err)
	}
	block := bytes.Repeat([]byte("x"), 1<<20)
	for range file.MaxRecordBytes>>20 + 1 {
		if _, err := w.Write(block); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if _, _, err := source.Detect(t.Context(), fromText(b.String()).File, source.Known{}, Formats()); err == nil ||
		strings.Contains(err.Error(), "longer than") {
		t.Errorf("detection: error = %v, want none about the length: recorded sessions may be longer", err)
	}
	_, err = Open(t.Context(), "single_turn", fromText(b.String()))
	if err == nil || !strings.Contains(err.Error(), "chats.jsonl:1: the line is longer than 64 MiB") {
		t.Errorf("error = %v, want one about the length of line 1", err)
	}
}
