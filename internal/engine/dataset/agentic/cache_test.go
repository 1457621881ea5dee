package agentic

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"aiperfd/internal/engine/dataset/file"
	"aiperfd/internal/engine/dataset/source"
	"aiperfd/internal/engine/tokenizer"
)

// cachedFiles returns the files of a cache by their ends.
func cachedFiles(t *testing.T, folder, end string) (paths []string) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(folder, "*"+end))
	if err != nil {
		t.Fatal(err)
	}
	return paths
}

func TestCache(t *testing.T) {
	path, size := generated(t, Corpus{Traces: 6, Requests: 60, Context: 600_000})
	if size < cachedFrom {
		t.Fatalf("the file has %d bytes, too few for the cache", size)
	}
	long := time.Now().Add(-time.Hour)
	if err := os.Chtimes(path, long, long); err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(t.TempDir(), "cache")
	read := func(path string, o Options) (graphs []*Graph) {
		t.Helper()
		_, err := Read(t.Context(), file.File{Path: path}, o, func(g *Graph) error {
			graphs = append(graphs, g)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, g := range graphs {
			g.countSeen() // which the cache has
		}
		return graphs
	}
	o := Options{Rules: DefaultRules(), Cache: folder}
	want := read(path, Options{Rules: DefaultRules()})

	// A reading that ends early keeps nothing.
	stop := errors.New("enough")
	if _, err := Read(t.Context(), file.File{Path: path}, o, func(*Graph) error { return stop }); !errors.Is(err, stop) {
		t.Fatal(err)
	}
	if all, _ := os.ReadDir(folder); len(all) != 0 {
		t.Errorf("%v after a reading that ended early", all)
	}

	read(path, o)
	kept := cachedFiles(t, folder, graphsEnd)
	if len(kept) != 1 || len(cachedFiles(t, folder, referEnd)) != 1 {
		t.Fatalf("kept %v", kept)
	}
	in, err := readTraces(t.Context(), file.File{Path: path}, o)
	if err != nil || in.cached == nil {
		t.Fatalf("the second reading does not use the cache: %v", err)
	}
	if err := in.Close(); err != nil {
		t.Fatal(err)
	}
	if got := read(path, o); !reflect.DeepEqual(got, want) {
		t.Error("the cache has other graphs")
	}

	// Other rules, and a file that was changed, are read.
	split := o
	split.Rules.Split = false
	read(path, split)
	if n := len(cachedFiles(t, folder, graphsEnd)); n != 2 {
		t.Errorf("%d files for two sets of rules", n)
	}
	later := long.Add(time.Minute)
	if err := os.Chtimes(path, later, later); err != nil {
		t.Fatal(err)
	}
	read(path, o) // the same content: the same graphs by another name
	if n, m := len(cachedFiles(t, folder, graphsEnd)), len(cachedFiles(t, folder, referEnd)); n != 2 || m != 3 {
		t.Errorf("%d files with graphs, %d names", n, m)
	}

	// What is damaged is removed, and read again.
	data, err := os.ReadFile(kept[0])
	if err != nil {
		t.Fatal(err)
	}
	data[len(data)/2]++
	if err := os.WriteFile(kept[0], data, 0o600); err != nil {
		t.Fatal(err)
	}
	if (cache{folder}).open((cache{folder}).key(&file.File{Path: path}, &o)) != nil {
		t.Error("a damaged file was used")
	}
	if _, err := os.Stat(kept[0]); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the damaged file: %v", err)
	}
	if got := read(path, o); !reflect.DeepEqual(got, want) {
		t.Error("other graphs after the cache was damaged")
	}

	// The files that were not used for longest are removed.
	if err := os.Chtimes(kept[0], long, long); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(kept[0])
	if err != nil {
		t.Fatal(err)
	}
	cache{folder}.prune(info.Size() + 6*referCost)
	if _, err := os.Stat(kept[0]); !errors.Is(err, os.ErrNotExist) || len(cachedFiles(t, folder, graphsEnd)) != 1 {
		t.Errorf("after removing: %v, %v", err, cachedFiles(t, folder, graphsEnd))
	}

	// A folder that cannot be written does not disturb.
	o.Cache = filepath.Join(path, "below-a-file")
	if got := read(path, o); !reflect.DeepEqual(got, want) {
		t.Error("other graphs without a cache")
	}
}

// TestCacheOfFlaws: a file with problems is not kept, and neither is one that was just written.
func TestCacheOfFlaws(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(t.TempDir(), "traces.jsonl")
	text := strings.Repeat("{}\n", 1<<21) + record("A", turn(0, 64, 1, 1, 1))
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	o := Options{Rules: DefaultRules(), SkipBad: true, Cache: folder}
	if (cache{folder}).key(&file.File{Path: path}, &o) != "" {
		t.Error("a file that may still change is cached")
	}
	long := time.Now().Add(-time.Hour)
	if err := os.Chtimes(path, long, long); err != nil {
		t.Fatal(err)
	}
	if (cache{folder}).key(&file.File{Path: path}, &o) == "" {
		t.Fatal("the file is not cached")
	}
	if _, err := Read(t.Context(), file.File{Path: path}, o, func(*Graph) error { return nil }); err != nil {
		t.Fatal(err)
	}
	if all, _ := os.ReadDir(folder); len(all) != 0 {
		t.Errorf("%v of a file with problems", all)
	}
}

func FuzzUnpackTrace(f *testing.F) {
	g, problems := parseText(new(usual()), []byte(traceA()))
	if len(problems) > 0 {
		f.Fatal(problems)
	}
	p := packer{}
	f.Add(bytes.Clone(p.pack(&packedTrace{file.Place{File: "a.jsonl", Line: 3}, g, Repairs{EmptyAnswers: 2}})))
	f.Fuzz(func(t *testing.T, data []byte) {
		one, err := unpackTrace(data)
		if err != nil {
			return
		}
		again, err := unpackTrace(p.pack(one))
		if err != nil || again.place != one.place || again.repairs != one.repairs || again.graph.ID != one.graph.ID {
			t.Fatalf("%v: %+v became %+v", err, one, again)
		}
	})
}

// BenchmarkReadCached reads the same traces as BenchmarkReadCorpus from the cache.
func BenchmarkReadCached(b *testing.B) {
	path, size := generated(b, Corpus{Traces: 24, Requests: 145, Context: 990_016})
	long := time.Now().Add(-time.Hour)
	if err := os.Chtimes(path, long, long); err != nil {
		b.Fatal(err)
	}
	o := Options{Rules: DefaultRules(), Cache: b.TempDir()}
	if _, err := Read(b.Context(), file.File{Path: path}, o, func(*Graph) error { return nil }); err != nil {
		b.Fatal(err)
	}
	b.SetBytes(size)
	b.ReportAllocs()
	for b.Loop() {
		in, err := readTraces(b.Context(), file.File{Path: path}, o)
		if err != nil || in.cached == nil {
			b.Fatal("not cached", err)
		}
		for err == nil {
			_, err = in.Next()
		}
		if !errors.Is(err, io.EOF) || in.Close() != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkSessions makes the conversations of traces that are in the cache.
func BenchmarkSessions(b *testing.B) {
	path, size := generated(b, Corpus{Traces: 24, Requests: 145, Context: 990_016})
	long := time.Now().Add(-time.Hour)
	if err := os.Chtimes(path, long, long); err != nil {
		b.Fatal(err)
	}
	cached := b.TempDir()
	b.SetBytes(size)
	b.ReportAllocs()
	for b.Loop() {
		s, err := Open(b.Context(), source.Options{Tokenizer: tokenizer.Builtin(), File: file.File{Path: path}}, Spec{Cache: cached})
		if err != nil {
			b.Fatal(err)
		}
		for err == nil {
			var e source.Entry
			if e, err = s.Next(b.Context()); err == nil {
				_, err = e.Make()
			}
		}
		if !errors.Is(err, io.EOF) || s.Close() != nil {
			b.Fatal(err)
		}
	}
}
