package arch

import (
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// allowed says which packages of ours a package may import, both relative to the
// module. A package without a row fails the test: whoever adds one decides here
// where it belongs. Tests are free, within what the compiler lets them.
//
//	cmd ─▶ api ─▶ engine ◀─ store
//	engine ─▶ config · arrival · dataset · endpoint · transport · metric · export
//	       ─▶ tokenizer · sketch · redact ─▶ bench
func allowed() map[string][]string {
	const e = "internal/engine/"
	return map[string][]string{
		// The vocabulary and what needs at most it.
		e + "bench":  nil,
		e + "sketch": nil,
		e + "redact": nil,
		e + "memnet": nil,
		e + "media":  nil,
		e + "pace":   nil,
		e + "jinja":  nil,
		// The test of fit of arrivals, for tests and for scripts/arrivals.
		e + "arrival/goodness": nil,
		e + "tokenizer":        nil,
		e + "hub":              nil,
		e + "chattemplate":     {e + "jinja"},
		e + "sockstamp":        nil,
		// One table of kinds each; none knows another, with two exceptions:
		// frames, HTTP/1.1 and the event loop are the transport's own, and reports are made of metrics.
		e + "arrival": {e + "bench"},
		e + "dataset": {e + "bench", e + "media", e + "tokenizer"},
		// Endpoint types: what they share below, a package for each family, the table above.
		e + "endpoint": {
			e + "bench", e + "endpoint/anthropic", e + "endpoint/codec", e + "endpoint/native", e + "endpoint/openai",
			e + "endpoint/polling", e + "endpoint/pooling", e + "endpoint/runpod", e + "endpoint/template", e + "redact",
		},
		e + "endpoint/wav":       nil,
		e + "endpoint/answer":    {e + "bench", e + "redact"},
		e + "endpoint/polling":   {e + "bench", e + "endpoint/answer"},
		e + "endpoint/codec":     {e + "bench", e + "endpoint/polling", e + "endpoint/wav"},
		e + "endpoint/anthropic": {e + "bench", e + "endpoint/answer", e + "endpoint/codec"},
		e + "endpoint/pooling":   {e + "bench", e + "endpoint/answer", e + "endpoint/codec"},
		e + "endpoint/openai":    {e + "bench", e + "endpoint/answer", e + "endpoint/codec", e + "endpoint/polling", e + "endpoint/wav"},
		// These serve the APIs of OpenAI too, or wrap them.
		e + "endpoint/native":   {e + "bench", e + "endpoint/answer", e + "endpoint/codec", e + "endpoint/openai"},
		e + "endpoint/runpod":   {e + "bench", e + "endpoint/answer", e + "endpoint/codec", e + "endpoint/openai", e + "endpoint/polling"},
		e + "endpoint/template": {e + "bench", e + "endpoint/answer", e + "endpoint/codec", e + "endpoint/openai", e + "jinja"},
		e + "transport": {
			e + "bench", e + "sockstamp", e + "transport/frame", e + "transport/http1", e + "transport/loop",
		},
		e + "transport/frame":    {e + "bench"},
		e + "transport/testcert": nil, // for tests
		e + "transport/http1":    nil,
		e + "transport/loop":     {e + "bench", e + "sockstamp"},
		e + "metric":             {e + "bench", e + "sketch"},
		e + "export":             {e + "bench", e + "metric", e + "redact", e + "verdict"},
		// Judgements are made of records and results; the monitor observes for them.
		e + "verdict": {e + "bench", e + "metric"},
		e + "monitor": {e + "verdict"},
		e + "config":  {e + "bench", e + "redact"},
		// The certificate drives a server of its own through what runs use.
		e + "certify": {
			e + "arrival", e + "bench", e + "endpoint", e + "pace", e + "sockstamp", e + "transport", e + "verdict",
		},
		// The simulated server stands alone: it must not share a mistake with
		// the code that it tests. Only the receive times of sockets are common.
		"internal/mock":           {"internal/mock/batch", "internal/mock/embedding", e + "sockstamp"},
		"internal/mock/embedding": nil,
		"internal/mock/batch":     nil,
		"internal/engine": {
			e + "arrival", e + "bench", e + "certify", e + "chattemplate", e + "config", e + "dataset", e + "endpoint", e + "export",
			e + "hub", e + "metric", e + "monitor", e + "pace", e + "redact", e + "sketch", e + "tokenizer", e + "transport", e + "verdict",
		},
		"internal/store": {"internal/engine", e + "bench", e + "export"}, // export writes files atomically
		// The API shows what the engine says; it does not open stores.
		"internal/api": {
			"internal/api/feed", "internal/api/prom", "internal/api/wire", "internal/engine",
			e + "bench", e + "config", e + "export", e + "metric", e + "redact", "openapi", "web",
		},
		"internal/api/feed": {"internal/api/wire", "internal/engine", e + "bench", e + "metric", e + "verdict"},
		"internal/api/prom": {"internal/api/wire", "internal/engine", e + "bench", e + "metric", e + "sketch", e + "verdict"},
		"internal/api/wire": {"internal/engine", e + "bench", e + "config", e + "metric", e + "verdict"},
		"cmd/aiperfd": {
			"internal/api", "internal/api/feed", "internal/engine", "internal/store",
			e + "bench", e + "certify", e + "config", e + "export", e + "hub", e + "metric", "internal/mock", e + "pace", e + "redact", e + "tokenizer",
			e + "transport", e + "verdict",
		},
		// Generators and embedded files.
		"openapi":          nil,
		"web":              nil,
		"openapi/gen":      {"internal/api/wire", e + "config"},
		"scripts/arrivals": {e + "arrival/goodness"},
		"scripts/docs":     {e + "arrival", e + "config", e + "dataset", e + "endpoint", e + "export", e + "metric"},
		"internal/arch":    nil,
		// A stopwatch beside the programs that it measures.
		"benchmarks/limits": nil,
	}
}

func TestImports(t *testing.T) {
	rows := allowed()
	seen := map[string]bool{}
	for _, s := range code(t) {
		seen[s.dir] = true
		row, ok := rows[s.dir]
		if !ok {
			t.Errorf("%s: package %s has no row in allowed", s.path, s.dir)
			continue
		}
		for _, imp := range s.file.Imports {
			target, ours := strings.CutPrefix(importPath(t, imp.Path.Value), module+"/")
			if ours && !slices.Contains(row, target) {
				t.Errorf("%s:%d: %s must not import %s", s.path, s.line(imp.Pos()), s.dir, target)
			}
		}
	}
	for dir := range maps.Keys(rows) {
		if !seen[dir] {
			t.Errorf("allowed has a row for %s, which does not exist", dir)
		}
	}
}

// TestBlankImports: registration by import is hidden state.
func TestBlankImports(t *testing.T) {
	reasons := map[string]string{
		"embed":              "go:embed needs it",
		"modernc.org/sqlite": "database/sql finds drivers in no other way",
	}
	for _, s := range code(t) {
		for _, imp := range s.file.Imports {
			name := importPath(t, imp.Path.Value)
			if imp.Name != nil && imp.Name.Name == "_" && reasons[name] == "" {
				t.Errorf("%s:%d: blank import of %s", s.path, s.line(imp.Pos()), name)
			}
			if imp.Name != nil && imp.Name.Name == "." {
				t.Errorf("%s:%d: dot import of %s", s.path, s.line(imp.Pos()), name)
			}
		}
	}
}

// TestPackageNames: a package is named for what it holds.
func TestPackageNames(t *testing.T) {
	vague := []string{"util", "utils", "common", "types", "lib", "models", "helpers", "misc", "base", "shared"}
	for _, s := range sources(t) {
		for _, name := range []string{s.file.Name.Name, path.Base(s.dir)} {
			if slices.Contains(vague, name) {
				t.Errorf("%s: package %s says nothing about what it holds", s.path, name)
			}
		}
	}
}

// TestDependencies: docs/dependencies.md has one row for every module that our
// code or our tests import, and no other.
func TestDependencies(t *testing.T) {
	modules := requirements(t)
	used := map[string]string{}
	for _, s := range sources(t) {
		for _, imp := range s.file.Imports {
			name := importPath(t, imp.Path.Value)
			first, _, _ := strings.Cut(name, "/")
			if !strings.Contains(first, ".") {
				continue // the standard library, or ours
			}
			m := owner(modules, name)
			if m == "" {
				t.Errorf("%s: no module of go.mod holds %s", s.path, name)
				continue
			}
			used[m] = s.path
		}
	}
	rows := map[string]bool{}
	for _, cells := range table(t, "docs/dependencies.md", "module") {
		rows[code1(cells[0])] = true
	}
	for m, file := range used {
		if !rows[m] {
			t.Errorf("docs/dependencies.md has no row for %s, which %s imports", m, file)
		}
	}
	for m := range rows {
		if used[m] == "" {
			t.Errorf("docs/dependencies.md has a row for %s, which nothing imports", m)
		}
	}
}

// requirements lists the modules of go.mod.
func requirements(t *testing.T) []string {
	t.Helper()
	var out []string
	for line := range strings.Lines(read(t, "go.mod")) {
		fields := strings.Fields(strings.TrimPrefix(strings.TrimSpace(line), "require "))
		if len(fields) >= 2 && strings.HasPrefix(fields[1], "v") && strings.Contains(fields[0], ".") {
			out = append(out, fields[0])
		}
	}
	return out
}

// owner returns the module with the longest path that holds a package; empty if
// there is none.
func owner(modules []string, pkg string) string {
	best := ""
	for _, m := range modules {
		if len(m) > len(best) && (pkg == m || strings.HasPrefix(pkg, m+"/")) {
			best = m
		}
	}
	return best
}

func importPath(t *testing.T, literal string) string {
	t.Helper()
	p, err := strconv.Unquote(literal)
	if err != nil {
		t.Fatalf("import path %s: %v", literal, err)
	}
	return p
}
