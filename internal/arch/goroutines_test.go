package arch

import (
	"go/ast"
	"maps"
	"slices"
	"strings"
	"testing"
)

// TestGoroutines: the table of goroutines in docs/goroutines.md has one row for
// each place in the code that starts one, so that nobody adds a goroutine without
// saying who owns it and who waits for it.
func TestGoroutines(t *testing.T) {
	starts := map[string]int{}
	for _, s := range code(t) {
		ast.Inspect(s.file, func(n ast.Node) bool {
			if startsGoroutine(n) {
				starts[s.path]++
			}
			return true
		})
	}
	if len(starts) == 0 {
		t.Fatal("no goroutine was found; the search is broken")
	}
	rows := map[string]int{}
	for i, cells := range table(t, "docs/goroutines.md", "file") {
		if len(cells) != 6 {
			t.Fatalf("row %d of the goroutine table has %d cells, want 6", i+1, len(cells))
		}
		for j, cell := range cells {
			if cell == "" {
				t.Errorf("row %d of the goroutine table: cell %d is empty", i+1, j+1)
			}
		}
		rows[code1(cells[0])]++
	}
	all := maps.Clone(starts)
	maps.Copy(all, rows)
	for _, file := range slices.Sorted(maps.Keys(all)) {
		if starts[file] != rows[file] {
			t.Errorf("%s starts goroutines in %d places and has %d rows in docs/goroutines.md", file, starts[file], rows[file])
		}
	}
}

// startsGoroutine reports whether a node is a go statement, a call of a method Go
// (sync.WaitGroup, errgroup.Group) or of AfterFunc (time, context), whose function
// runs in a goroutine of its own.
func startsGoroutine(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.GoStmt:
		return true
	case *ast.CallExpr:
		sel, ok := n.Fun.(*ast.SelectorExpr)
		if !ok {
			return false
		}
		return (sel.Sel.Name == "Go" && len(n.Args) == 1) ||
			selects(n, "time", "AfterFunc") || selects(n, "context", "AfterFunc")
	}
	return false
}

// table returns the cells of the Markdown table of a file whose first heading
// cell is head.
func table(t *testing.T, file, head string) [][]string {
	t.Helper()
	var rows [][]string
	inside := false
	for line := range strings.Lines(read(t, file)) {
		line = strings.TrimSpace(line)
		if !strings.HasPrefix(line, "|") {
			inside = false
			continue
		}
		var cells []string
		for cell := range strings.SplitSeq(strings.Trim(line, "|"), "|") {
			cells = append(cells, strings.TrimSpace(cell))
		}
		switch {
		case cells[0] == head:
			inside = true
		case inside && !strings.HasPrefix(cells[0], "--"):
			rows = append(rows, cells)
		}
	}
	if len(rows) == 0 {
		t.Fatalf("%s has no table that begins with a column %q", file, head)
	}
	return rows
}

// code1 returns a cell without the marks of code.
func code1(cell string) string { return strings.Trim(cell, "`") }
