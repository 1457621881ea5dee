package config

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"aiperfd/internal/engine/config/problem"
	"aiperfd/internal/engine/config/schema"
)

// An endpoint type that ranks gets queries and passages, whether or not their
// shape is given.
func TestRankingDefaults(t *testing.T) {
	o := LoadOptions{Choices: someChoices()}
	in := &input{Decoder: newDecoder(&problem.Report{}, o, false), options: o, doc: &Document{}}
	in.doc.Benchmark.Endpoint.Type = "cohere_rankings"
	mean := 3.0
	for _, tt := range []struct {
		given *Rankings
		want  string
	}{
		{nil, "10 128 32"}, {&Rankings{Passages: Distribution{Mean: &mean}}, "3 128 32"},
	} {
		d := Dataset{Rankings: tt.given}
		mediaDefaults(in, &d, "benchmark.datasets.0")
		r := d.Rankings
		if got := schema.FormatNumber(*r.Passages.Mean) + " " + schema.FormatNumber(*r.PassageTokens.Mean) + " " + schema.FormatNumber(*r.QueryTokens.Mean); got != tt.want {
			t.Errorf("rankings = %s, want %s", got, tt.want)
		}
	}
	if given := in.doc.Defaulted(); len(given) != 1 || given[0].Pointer != "#/benchmark/datasets/0/rankings" {
		t.Errorf("Defaulted() = %+v, want the rankings that were not given", given)
	}
}

func TestFolder(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"b.png", "a.jpg", "sub/c.png"} {
		path := filepath.Join(dir, "p", name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	trusted, bounded := &Document{}, &Document{untrusted: true, roots: []string{t.TempDir(), dir}}
	for _, row := range []struct {
		d    *Document
		name string
		want []string
	}{
		{trusted, filepath.Join(dir, "p"), []string{filepath.Join(dir, "p", "a.jpg"), filepath.Join(dir, "p", "b.png")}},
		{bounded, "p", []string{"p/a.jpg", "p/b.png"}},
		{bounded, filepath.Join(dir, "p"), []string{filepath.Join(dir, "p", "a.jpg"), filepath.Join(dir, "p", "b.png")}},
	} {
		got, err := row.d.Folder(row.name)
		if diff := cmp.Diff(row.want, got); diff != "" || err != nil {
			t.Errorf("Folder(%s) (-want +got):\n%s%v", row.name, diff, err)
		}
		for _, name := range got {
			f, err := row.d.Open(name)
			if err != nil {
				t.Errorf("Open(%s): %v", name, err)
				continue
			}
			if err := f.Close(); err != nil {
				t.Error(err)
			}
		}
	}
	for _, row := range []struct {
		d    *Document
		name string
		want error
	}{
		{trusted, filepath.Join(dir, "none"), fs.ErrNotExist}, {trusted, filepath.Join(dir, "p", "a.jpg"), errNotFolder},
		{bounded, "..", fs.ErrPermission}, {bounded, "/", fs.ErrPermission}, {&Document{untrusted: true}, "p", fs.ErrPermission},
	} {
		if got, err := row.d.Folder(row.name); !errors.Is(err, row.want) {
			t.Errorf("Folder(%s) = %q, %v; want %v", row.name, got, err, row.want)
		}
	}
}
