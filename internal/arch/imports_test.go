package arch

import (
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// forbidden says what a package must not import, although its area may.
func forbidden(plan floorPlan, from, to string) (reason string) {
	switch {
	case plan.of(from) == "simulator" && plan.of(to) == "transport" && to != "internal/engine/sockstamp":
		return "the simulator must not share a mistake with the code that it tests"
	case plan.of(from) == "ctl" && plan.of(to) == "app" && !slices.Contains(screens(), to):
		return "a client of the daemon does not contain it"
	}
	return ""
}

// screens are the packages that draw on a terminal, and what they draw.
func screens() []string {
	return []string{"internal/app/dashboard", "internal/app/terminal"}
}

// TestImports: what the table of areas cannot say. TestRatchets has what it says.
func TestImports(t *testing.T) {
	plan := areas(t)
	for dir, names := range ourImports(t) {
		for _, name := range names {
			if reason := forbidden(plan, dir, name); reason != "" {
				t.Errorf("%s must not import %s: %s", dir, name, reason)
			}
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
