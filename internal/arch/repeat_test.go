package arch

import (
	"go/ast"
	"go/format"
	"go/token"
	"strings"
	"testing"
)

// minRepeat is the number of lines from which a repeated statement is reported. Shorter
// ones, as `if err != nil { return err }`, repeat in every function.
const minRepeat = 4

// TestRepeatedBlocks: a statement of several lines that stands twice in one function is
// a merge of two branches that changed the same lines: git keeps both.
func TestRepeatedBlocks(t *testing.T) {
	for _, s := range code(t) {
		s.functions(func(fn *ast.FuncDecl) {
			for _, lines := range repeats(s.set, fn) {
				t.Errorf("%s:%d: %s repeats the statement of line %d", s.path, lines[1], fn.Name.Name, lines[0])
			}
		})
	}
}

// repeats returns the lines of equal statements of one function, in pairs. Statements
// within a repeated one are not reported again. The cases of a switch are alternatives,
// so only equal statements of the same list count.
func repeats(set *token.FileSet, fn *ast.FuncDecl) [][2]int {
	var out [][2]int
	ast.Inspect(fn, func(n ast.Node) bool {
		var list []ast.Stmt
		switch n := n.(type) {
		case *ast.BlockStmt:
			list = n.List
		case *ast.CaseClause:
			list = n.Body
		case *ast.CommClause:
			list = n.Body
		}
		first := map[string]int{}
		for _, stmt := range list {
			text := printed(set, stmt)
			if strings.Count(text, "\n")+1 < minRepeat {
				continue
			}
			line := set.Position(stmt.Pos()).Line
			if before, seen := first[text]; seen {
				out = append(out, [2]int{before, line})
				continue
			}
			first[text] = line
		}
		return true
	})
	return out
}

// printed returns the formatted text of a statement.
func printed(set *token.FileSet, stmt ast.Stmt) string {
	var b strings.Builder
	if err := format.Node(&b, set, stmt); err != nil {
		return ""
	}
	return b.String()
}
