package arch

import (
	"fmt"
	"go/ast"
	"strings"
	"testing"
)

// The limits of size, in lines.
const (
	maxFile     = 500
	maxFunction = 60
)

// longFiles lists files over the limit, each with the reason: tables of data that
// are worse in two pieces.
func longFiles() map[string]string { return map[string]string{} }

// longFunctions lists functions over the limit with their length. It may only
// shrink: a function that got shorter lowers its number or leaves the list.
// Functions that only return a table have no limit.
func longFunctions() map[string]int {
	return map[string]int{
		"internal/engine/dataset/prose.go:proseWords": 62, // word lists
	}
}

func TestFileSize(t *testing.T) {
	reasons := longFiles()
	for _, s := range code(t) {
		lines := strings.Count(read(t, s.path), "\n")
		reason, listed := reasons[s.path]
		delete(reasons, s.path)
		switch {
		case lines > maxFile && reason == "":
			t.Errorf("%s has %d lines, at most %d", s.path, lines, maxFile)
		case lines <= maxFile && listed:
			t.Errorf("%s has %d lines and may leave longFiles", s.path, lines)
		}
	}
	for file := range reasons {
		t.Errorf("longFiles lists %s, which does not exist", file)
	}
}

func TestFunctionSize(t *testing.T) {
	known := longFunctions()
	for _, s := range code(t) {
		s.functions(func(fn *ast.FuncDecl) {
			name := fmt.Sprintf("%s:%s", s.path, fn.Name.Name)
			length := s.line(fn.End()) - s.line(fn.Pos()) + 1
			limit, listed := known[name]
			delete(known, name)
			switch {
			case isTable(fn):
			case listed && length < limit:
				t.Errorf("%s has %d lines now: lower its number in longFunctions, or take it out if that is at most %d", name, length, maxFunction)
			case length > max(limit, maxFunction):
				t.Errorf("%s has %d lines, at most %d", name, length, max(limit, maxFunction))
			}
		})
	}
	for name := range known {
		t.Errorf("longFunctions lists %s, which does not exist", name)
	}
}

// isTable reports whether a function does nothing but return a literal, perhaps
// after naming parts of it.
func isTable(fn *ast.FuncDecl) bool {
	last := len(fn.Body.List) - 1
	for i, stmt := range fn.Body.List {
		switch stmt := stmt.(type) {
		case *ast.DeclStmt:
		case *ast.ReturnStmt:
			if i != last || len(stmt.Results) != 1 {
				return false
			}
			_, literal := stmt.Results[0].(*ast.CompositeLit)
			return literal
		default:
			return false
		}
	}
	return false
}
