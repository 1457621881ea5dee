package arch

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

// area is one row of the table of areas in docs/architecture.md.
type area struct {
	name    string
	folders []string // with all folders below them, unless another area has those
	imports []string // names of other areas
	all     bool     // may import every area
}

// floorPlan is the table of areas, from the top.
type floorPlan []area

// of returns the area that a folder is in; empty if there is none.
func (p floorPlan) of(dir string) string {
	found, length := "", 0
	for _, a := range p {
		for _, folder := range a.folders {
			if len(folder) > length && (dir == folder || strings.HasPrefix(dir, folder+"/")) {
				found, length = a.name, len(folder)
			}
		}
	}
	return found
}

// allows reports whether one area may import another.
func (p floorPlan) allows(from, to string) bool {
	i := slices.IndexFunc(p, func(a area) bool { return a.name == from })
	return from == to || i >= 0 && (p[i].all || slices.Contains(p[i].imports, to))
}

// areas reads the table of areas in docs/architecture.md.
func areas(t *testing.T) floorPlan {
	t.Helper()
	var out floorPlan
	for _, cells := range table(t, "docs/architecture.md", "area") {
		if len(cells) != 4 {
			t.Fatalf("the row of area %s has %d cells, want 4", cells[0], len(cells))
		}
		a := area{name: cells[0], all: cells[3] == "all"}
		for _, name := range list(cells[2]) {
			a.folders = append(a.folders, folder(strings.Trim(name, "`")))
		}
		if !a.all {
			a.imports = list(cells[3])
		}
		out = append(out, a)
	}
	return out
}

// list returns the names of a cell; a dash means none.
func list(cell string) []string {
	var out []string
	for name := range strings.SplitSeq(cell, ",") {
		if name = strings.TrimSpace(name); name != "" && name != "–" {
			out = append(out, name)
		}
	}
	return out
}

// folder returns the folder of a package as the documentation names it.
func folder(name string) string {
	first, _, _ := strings.Cut(name, "/")
	if slices.Contains([]string{"benchmarks", "cmd", "examples", "openapi", "scripts", "web"}, first) {
		return name
	}
	return "internal/" + name
}

// TestAreas: the areas are in an order in which each imports areas below it only, so that
// there are no cycles between them, and every package is in one.
func TestAreas(t *testing.T) {
	plan := areas(t)
	line := map[string]int{}
	for i, a := range plan {
		if line[a.name] != 0 {
			t.Errorf("area %s stands twice", a.name)
		}
		line[a.name] = i + 1
	}
	for i, a := range plan {
		for _, name := range a.imports {
			if line[name] <= i+1 {
				t.Errorf("area %s may import %s, which does not stand below it", a.name, name)
			}
		}
	}
	for dir, files := range packages(t) {
		if plan.of(dir) == "" {
			t.Errorf("%s: package %s is in no area of docs/architecture.md", files[0].path, dir)
		}
	}
}

// ourImports returns the packages of ours that each package imports. Tests do not count.
func ourImports(t *testing.T) map[string][]string {
	t.Helper()
	out := map[string][]string{}
	for dir, names := range allImports(t) {
		out[dir] = nil
		for _, name := range names {
			if target, ours := strings.CutPrefix(name, module+"/"); ours {
				out[dir] = append(out[dir], target)
			}
		}
	}
	return out
}

// allImports returns the packages that each package imports. Tests do not count.
func allImports(t *testing.T) map[string][]string {
	t.Helper()
	out := map[string][]string{}
	for dir, files := range packages(t) {
		names := map[string]bool{}
		for _, s := range files {
			for _, imp := range s.file.Imports {
				names[importPath(t, imp.Path.Value)] = true
			}
		}
		out[dir] = slices.Sorted(maps.Keys(names))
	}
	return out
}

// strayImports counts the imports between areas that the table does not allow.
func strayImports(t *testing.T) map[string]int {
	t.Helper()
	plan := areas(t)
	out := map[string]int{}
	for dir, names := range ourImports(t) {
		from := plan.of(dir)
		for _, name := range names {
			if to := plan.of(name); !plan.allows(from, to) {
				out[from+">"+to]++
			}
		}
	}
	return out
}

// closureAims are the packages that may come along with one package. Each is an input of
// several others, which get all that it reaches.
func closureAims() map[string]int {
	return map[string]int{"internal/run": 8, "internal/engine/load": 15, "internal/client": 10}
}

// closures counts the packages of ours that the packages with an aim reach.
func closures(t *testing.T) map[string]int {
	t.Helper()
	imports := ourImports(t)
	out := map[string]int{}
	for name := range closureAims() {
		if _, exists := imports[name]; exists {
			out[name] = len(reached(imports, name)) - 1
		}
	}
	return out
}

// reached returns packages with all that they import, directly or not.
func reached(imports map[string][]string, from ...string) map[string]bool {
	seen := map[string]bool{}
	var visit func(name string)
	visit = func(name string) {
		if seen[name] {
			return
		}
		seen[name] = true
		for _, next := range imports[name] {
			visit(next)
		}
	}
	for _, name := range from {
		visit(name)
	}
	return seen
}

// configFolder has the configuration.
const configFolder = "internal/engine/config"

// configStrangers counts what the packages of the configuration reach and a document does
// not need: how a search decides, and its linear algebra.
func configStrangers(t *testing.T) map[string]int {
	t.Helper()
	strange := func(name string) bool {
		return strings.HasPrefix(name, "internal/study/") || strings.HasPrefix(name, "gonum.org/")
	}
	imports := allImports(t)
	for dir, names := range imports {
		for i, name := range names {
			names[i] = strings.TrimPrefix(name, module+"/")
		}
		imports[dir] = names
	}
	var from []string
	for dir := range imports {
		if dir == configFolder || strings.HasPrefix(dir, configFolder+"/") {
			from = append(from, dir)
		}
	}
	n := 0
	for name := range reached(imports, from...) {
		if strange(name) {
			n++
		}
	}
	return map[string]int{configFolder: n}
}

// TestFloorPlan: a package belongs to the area with the longest folder that holds it.
func TestFloorPlan(t *testing.T) {
	plan := floorPlan{
		{name: "top", folders: []string{"cmd"}, all: true},
		{name: "engine", folders: []string{"internal/engine"}, imports: []string{"config"}},
		{name: "config", folders: []string{"internal/engine/config"}},
	}
	for dir, want := range map[string]string{
		"internal/engine":               "engine",
		"internal/engine/load":          "engine",
		"internal/engine/config/schema": "config",
		"internal/engine/configuration": "engine",
		"internal":                      "",
	} {
		if got := plan.of(dir); got != want {
			t.Errorf("of(%s) = %q, want %q", dir, got, want)
		}
	}
	for _, row := range []struct {
		from, to string
		want     bool
	}{
		{"top", "config", true}, {"engine", "config", true}, {"config", "engine", false}, {"config", "config", true},
	} {
		if got := plan.allows(row.from, row.to); got != row.want {
			t.Errorf("allows(%s, %s) = %v", row.from, row.to, got)
		}
	}
}
