package plan_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"aiperfd/internal/engine/config"
	"aiperfd/internal/engine/config/flags"
	"aiperfd/internal/engine/config/problem"
	"aiperfd/internal/engine/plan"
)

// surroundings are documents in which fields have a meaning, with the sections that they
// need.
func surroundings() []string {
	return []string{
		`{"benchmark":{"models":{"items":[{"name":"m"}]},"endpoint":{"urls":["https://h"]},"datasets":[{"name":"d","type":"synthetic"}],"phases":[{"name":"profiling","requests":200}]}}`,
		`{"benchmark":{"models":{"items":[{"name":"m"}]},"endpoint":{"urls":["http://h"]},"datasets":[{"name":"d","type":"file","format":"single_turn"}],"phases":[{"name":"profiling","requests":200}]}}`,
		`{"benchmark":{"models":{"items":[{"name":"m"}]},"endpoint":{"urls":["http://h"]},"datasets":[{"name":"d","type":"public","format":"single_turn"}],"phases":[{"name":"profiling","requests":200}]}}`,
		`{"benchmark":{"models":{"items":[{"name":"m"}]},"endpoint":{"urls":["http://h"],"type":"template","template":{"body":"{}"}},"datasets":[{"name":"d","type":"synthetic"}],"phases":[{"name":"profiling","type":"poisson","duration":10}]}}`,
		`{"benchmark":{"models":{"items":[{"name":"m"}]},"endpoint":{"urls":["http://h"]},"datasets":[{"name":"d","type":"synthetic","images":{"width":{"mean":8},"height":{"mean":8},"batchSize":1}}],"phases":[{"name":"profiling","requests":200}]}}`,
	}
}

// set puts a value at a path of a document.
func set(doc any, path []string, value any) any {
	if len(path) == 0 {
		return value
	}
	if path[0] == "*" {
		list, _ := doc.([]any)
		if len(list) == 0 {
			list = []any{nil}
		}
		list = slices.Clone(list)
		list[0] = set(list[0], path[1:], value)
		return list
	}
	object, _ := doc.(map[string]any)
	out := map[string]any{}
	maps.Copy(out, object)
	out[path[0]] = set(out[path[0]], path[1:], value)
	return out
}

// texts returns the paths of all fields that can be a text, and of the texts in lists and
// maps.
func texts(t *testing.T) (paths []string) {
	choices := plan.Choices()
	root := flags.Reference(&choices)
	root.Walk(func(f *flags.Field) {
		switch f.Kind {
		case flags.KindString, flags.KindAny, flags.KindDistribution, flags.KindDuration:
			paths = append(paths, f.Path)
		case flags.KindList:
			paths = append(paths, f.Path, f.Path+".*")
		case flags.KindMap, flags.KindJSON, flags.KindObject:
			paths = append(paths, f.Path, f.Path+".path")
		case flags.KindBoolean, flags.KindInteger, flags.KindNumber, flags.KindTime:
		}
	})
	for _, known := range []string{ // if the walk were wrong, nothing would be tested
		"benchmark.endpoint.apiKeyFile", "benchmark.endpoint.tls.caFile", "benchmark.endpoint.unixSocket", "benchmark.endpoint.template.body",
		"benchmark.datasets.*.path", "benchmark.datasets.*.systemPromptFile", "benchmark.tokenizer.name",
	} {
		if !slices.Contains(paths, known) {
			t.Errorf("the field %s is not found", known)
		}
	}
	return paths
}

// TestNoFileOutside: whichever field of a submitted document names a file, only files below
// the data roots are opened, and the answer does not tell whether another one exists.
func TestNoFileOutside(t *testing.T) {
	top := t.TempDir()
	root, outside := filepath.Join(top, "root"), filepath.Join(top, "outside")
	if err := os.MkdirAll(root, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(outside, "exists.dir"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"exists.jsonl", "exists.dir/a.png"} {
		if err := os.WriteFile(filepath.Join(outside, name), []byte(`{"text":"canary-of-the-file"}`), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(outside, filepath.Join(root, "link")); err != nil {
		t.Fatal(err)
	}
	opened := watchOpens(t, outside, filepath.Join(outside, "exists.dir"))
	fields := texts(t)
	for _, c := range []struct {
		name  string
		roots []string
	}{
		{outside + "/%s.jsonl", nil}, {outside + "/%s.jsonl", []string{root}}, {"../outside/%s.jsonl", []string{root}}, {"link/%s.jsonl", []string{root}}, {"link/%s.dir", []string{root}},
	} {
		for i, base := range surroundings() {
			var doc any
			if err := json.Unmarshal([]byte(base), &doc); err != nil {
				t.Fatal(err)
			}
			for _, field := range fields {
				path := strings.Split(field, ".")
				if i > 0 && !slices.Contains([]string{"datasets", "phases", "endpoint"}, path[min(1, len(path)-1)]) {
					continue // the other sections do not depend on these
				}
				there, absent := outcome(t, set(doc, path, fmt.Sprintf(c.name, "exists")), c.roots), outcome(t, set(doc, path, fmt.Sprintf(c.name, "absent")), c.roots)
				if there != strings.ReplaceAll(absent, "absent", "exists") {
					t.Errorf("%s: %s, roots %v: the file that is there gives %s, the other one %s", field, c.name, c.roots, there, absent)
				}
				if names := opened(); len(names) > 0 {
					t.Errorf("%s: %s, roots %v: opened %q", field, c.name, c.roots, names)
				}
			}
		}
	}
}

// outcome returns the problems of a document.
func outcome(t *testing.T, doc any, roots []string) string {
	t.Helper()
	text, err := json.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	d, _, err := config.Load(text, config.LoadOptions{Untrusted: true, DataRoots: roots, Choices: plan.Choices(), LookupEnv: os.LookupEnv})
	if err == nil {
		_, err = plan.Compile(d)
	}
	if err == nil {
		return "no problem"
	}
	out := err.Error()
	if invalid, ok := errors.AsType[*problem.Invalid](err); ok {
		out = fmt.Sprint(invalid.Problems)
	}
	if strings.Contains(out, "canary") {
		t.Errorf("%s shows the file: %s", text, out)
	}
	return out
}

// watchOpens returns a function that returns the files of folders which have been opened
// since its last call.
func watchOpens(t *testing.T, folders ...string) func() []string {
	t.Helper()
	fd, err := unix.InotifyInit1(unix.IN_NONBLOCK | unix.IN_CLOEXEC)
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { unix.Close(fd) })
	for _, dir := range folders {
		if _, err := unix.InotifyAddWatch(fd, dir, unix.IN_OPEN); err != nil {
			t.Fatal(err)
		}
	}
	read := func() (names []string) {
		buf := make([]byte, 64<<10)
		n, err := unix.Read(fd, buf)
		for at := 0; err == nil && at < n; {
			length := int(buf[at+12]) | int(buf[at+13])<<8
			names = append(names, strings.TrimRight(string(buf[at+unix.SizeofInotifyEvent:at+unix.SizeofInotifyEvent+length]), "\x00"))
			at += unix.SizeofInotifyEvent + length
		}
		return names
	}
	f, err := os.Open(filepath.Join(folders[0], "exists.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
	if names := read(); !slices.Equal(names, []string{"exists.jsonl"}) {
		t.Fatalf("the watch sees %q", names)
	}
	return read
}
