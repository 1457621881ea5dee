package arch

import (
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// layers returns the line of each package in the drawing of docs/architecture.md, from
// the top.
func layers(t *testing.T) map[string]int {
	t.Helper()
	_, text, _ := strings.Cut(read(t, "docs/architecture.md"), "## Packages")
	_, text, _ = strings.Cut(text, "```\n")
	text, _, found := strings.Cut(text, "```")
	if !found {
		t.Fatal("docs/architecture.md has no drawing under Packages")
	}
	out := map[string]int{}
	line := 0
	for names := range strings.Lines(text) {
		line++
		for name := range strings.SplitSeq(names, "·") {
			name = strings.TrimSpace(name)
			if first, _, _ := strings.Cut(name, "/"); !slices.Contains([]string{"cmd", "web", "openapi"}, first) {
				name = "internal/" + name
			}
			if out[name] != 0 {
				t.Errorf("the drawing has %s twice", name)
			}
			out[name] = line
		}
	}
	return out
}

// outside are packages that the drawing does not have: programs that nothing imports.
func outside() []string {
	return []string{"openapi/gen", "scripts/arrivals", "scripts/crash", "scripts/docs", "scripts/hostile", "scripts/promcheck", "scripts/sbom", "scripts/soak", "benchmarks/limits", "internal/arch"}
}

// forbidden says what a package must not import, although it stands below.
func forbidden(from, to string) (reason string) {
	simulator := func(name string) bool { return name == "internal/mock" || strings.HasPrefix(name, "internal/mock/") }
	switch {
	case simulator(from) && !simulator(to) && to != "internal/engine/sockstamp":
		return "the simulator must not share a mistake with the code that it tests"
	case simulator(to) && !simulator(from) && !strings.HasPrefix(from, "cmd/") && from != "internal/app" && from != "scripts/hostile": // a command, which plays the server
		return "only commands start the simulator"
	case to == "internal/engine" && (strings.HasPrefix(from, "internal/api") || from == "internal/store"):
		return "the API and the store know runs, not the engine"
	}
	return ""
}

// TestImports: a package imports only what stands below it in the drawing of
// docs/architecture.md. Tests are free, within what the compiler lets them.
func TestImports(t *testing.T) {
	rows := layers(t)
	seen := map[string]bool{}
	for _, s := range code(t) {
		seen[s.dir] = true
		line := rows[s.dir]
		if line == 0 && !slices.Contains(outside(), s.dir) {
			t.Errorf("%s: package %s is not in the drawing of docs/architecture.md", s.path, s.dir)
			continue
		}
		for _, imp := range s.file.Imports {
			target, ours := strings.CutPrefix(importPath(t, imp.Path.Value), module+"/")
			switch {
			case !ours:
			case rows[target] <= line:
				t.Errorf("%s:%d: %s must not import %s, which does not stand below it", s.path, s.line(imp.Pos()), s.dir, target)
			case forbidden(s.dir, target) != "":
				t.Errorf("%s:%d: %s must not import %s: %s", s.path, s.line(imp.Pos()), s.dir, target, forbidden(s.dir, target))
			}
		}
	}
	for dir := range rows {
		if !seen[dir] {
			t.Errorf("the drawing has %s, which does not exist", dir)
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
