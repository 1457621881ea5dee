package results

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"testing/iotest"
)

// Parts are read as one file, from any place, with one of them open at a time.
func TestParts(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "x.jsonl")
	if _, err := openParts(os.Open, name); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("without a file: %v, want %v", err, fs.ErrNotExist)
	}
	var want []byte
	for i, text := range []string{"one\ntwo\n", "", "three\n", "four"} {
		if err := os.WriteFile(filepath.Join(dir, []string{"x.jsonl", "x.part0002.jsonl", "x.part0003.jsonl", "x.part0004.jsonl"}[i]), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		want = append(want, text...)
	}
	if err := os.WriteFile(filepath.Join(dir, "x.part0006.jsonl"), []byte("beyond a gap"), 0o600); err != nil {
		t.Fatal(err)
	}
	var opened []*os.File
	p, err := openParts(func(name string) (*os.File, error) {
		file, err := os.Open(name)
		if err == nil {
			opened = append(opened, file)
		}
		return file, err
	}, name)
	if err != nil {
		t.Fatal(err)
	}
	if p.Size() != int64(len(want)) || p.Count() != 4 {
		t.Errorf("%d bytes in %d parts, want %d in 4", p.Size(), p.Count(), len(want))
	}
	if err := iotest.TestReader(io.NewSectionReader(p, 0, p.Size()), want); err != nil {
		t.Error(err)
	}
	for at := range want {
		for n := range len(want) - at + 1 {
			got := make([]byte, n)
			if _, err := p.ReadAt(got, int64(at)); err != nil || !bytes.Equal(got, want[at:at+n]) {
				t.Fatalf("ReadAt(%d bytes, %d) = %q, %v; want %q", n, at, got, err, want[at:at+n])
			}
		}
	}
	if n, err := p.ReadAt(make([]byte, 9), int64(len(want))-2); n != 2 || !errors.Is(err, io.EOF) {
		t.Errorf("ReadAt over the end = %d, %v; want 2, EOF", n, err)
	}
	if err := errors.Join(p.Close(), p.Close()); err != nil {
		t.Error(err)
	}
	for _, file := range opened {
		if err := file.Close(); !errors.Is(err, os.ErrClosed) {
			t.Errorf("%s is left open", file.Name())
		}
	}
}
