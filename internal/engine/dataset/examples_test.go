package dataset

import (
	"errors"
	"io"
	"path/filepath"
	"testing"

	"aiperfd/internal/engine/dataset/file"
	"aiperfd/internal/engine/dataset/source"
	"aiperfd/internal/engine/tokenizer"
)

// Every format has an example for each of its containers, of which it alone recognises the
// first record, and which it reads without problems.
func TestExamplesOfFormats(t *testing.T) {
	for _, k := range Kinds() {
		if !k.File {
			continue
		}
		paths, err := filepath.Glob(filepath.Join("..", "..", "..", "examples", "data", k.Name+"*"))
		if err != nil || len(paths) == 0 {
			t.Fatalf("examples %v, %v; want one or more", paths, err)
		}
		for _, path := range paths {
			t.Run(filepath.Base(path), func(t *testing.T) { testExample(t, k, path) })
		}
	}
}

func testExample(t *testing.T, k Kind, path string) {
	f := file.File{Path: path}
	if got, _, err := source.Detect(t.Context(), f, source.Known{}, Formats()); err != nil || got != k.Name {
		t.Errorf("Detect = %q, %v", got, err)
	}
	o := Options{Options: source.Options{File: f, Tokenizer: tokenizer.Builtin()}}
	if _, err := Check(t.Context(), k, o); err != nil {
		t.Error(err)
	}
	s, err := k.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for ; err == nil; n++ {
		var entry source.Entry
		if entry, err = s.Next(t.Context()); err == nil {
			_, err = entry.Make()
		}
	}
	if err = errors.Join(err, s.Close()); !errors.Is(err, io.EOF) || n < 3 {
		t.Errorf("%d conversations, error %v; want several", n-1, err)
	}
}
