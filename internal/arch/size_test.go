package arch

import (
	"fmt"
	"go/ast"
	"strings"
	"testing"
)

// The limits of size. Lines are those of files that are not tests.
//
// A limit asks for a second look. It is not a reason to cut one thing in two: a package
// that exists because another was full, or a type that embeds a pointer to start a new
// count, is worse than the size that it hides. The limits of packages and types were
// 4,000 lines, 25 methods and 20 fields, and code was cut to just below each of them.
const (
	maxFunction    = 60   // lines
	maxPackage     = 6000 // lines
	maxMethods     = 32   // of a type
	maxMethodFiles = 6    // with methods of a type
	maxFields      = 26   // of a struct
)

// largeStructs lists structs over the limit with their fields. All are data: what a
// document, a file, a response or a command line has, field by field. A number grows only
// with what is mirrored.
func largeStructs() map[string]int {
	return map[string]int{
		"internal/api/wire.Phase":            41,
		"internal/api/wire.Run":              28,
		"internal/engine/export.ownMembers":  29,
		"internal/engine/bench.PhaseStats":   29,
		"internal/engine/config.Dataset":     36,
		"internal/engine/config.Phase":       28,
		"internal/engine/config.Endpoint":    44,
		"internal/engine/config/sweep.Block": 34,
		"internal/engine/export.Report":      29,
		"internal/engine/export/columns.row": 36,
		"internal/mock/options.Options":      52,
		"internal/run.Run":                   27,
		"internal/mock/truth.Record":         28,
	}
}

// size is how large a type is.
type size struct{ methods, files int }

// longFunctions lists functions over the limit with their length. It may only
// shrink: a function that got shorter lowers its number or leaves the list.
// Functions that only return a table have no limit.
func longFunctions() map[string]int {
	return map[string]int{
		"internal/engine/dataset/text/prose.go:proseWords": 62, // word lists
	}
}

func TestPackageSize(t *testing.T) {
	for dir, files := range packages(t) {
		lines := 0
		for _, s := range files {
			lines += strings.Count(read(t, s.path), "\n")
		}
		checkLimit(t, "package "+dir, "lines", lines, 0, maxPackage)
	}
}

// checkLimit checks a size against a limit, or against the larger one that is listed.
func checkLimit(t *testing.T, what, unit string, got, listed, limit int) {
	t.Helper()
	switch {
	case listed > limit && got < listed:
		t.Errorf("%s has %d %s now: lower its number, or take it out if that is at most %d", what, got, unit, limit)
	case listed != 0 && listed <= limit:
		t.Errorf("%s is listed with %d %s, which is within the limit of %d", what, listed, unit, limit)
	case got > max(listed, limit):
		t.Errorf("%s has %d %s, at most %d", what, got, unit, max(listed, limit))
	}
}

// TestTypeSize: a type is one thing. Code that is cut into small files but not into
// small things fails here.
func TestTypeSize(t *testing.T) {
	structs := largeStructs()
	for dir, files := range packages(t) {
		for name, fields := range structFields(files) {
			name = dir + "." + name
			checkLimit(t, name, "fields", fields, structs[name], maxFields)
			delete(structs, name)
		}
		for name, got := range methods(files) {
			name = dir + "." + name
			checkLimit(t, name, "methods", got.methods, 0, maxMethods)
			checkLimit(t, name, "files with methods", got.files, 0, maxMethodFiles)
		}
	}
	for name := range structs {
		t.Errorf("largeStructs lists %s, which does not exist", name)
	}
}

// structFields counts the fields of the structs that a package declares.
func structFields(files []*source) map[string]int {
	out := map[string]int{}
	for _, s := range files {
		for _, d := range s.file.Decls {
			group, ok := d.(*ast.GenDecl)
			if !ok {
				continue
			}
			for _, spec := range group.Specs {
				declared, ok := spec.(*ast.TypeSpec)
				if !ok {
					continue
				}
				if fields, ok := declared.Type.(*ast.StructType); ok {
					out[declared.Name.Name] = fields.Fields.NumFields()
				}
			}
		}
	}
	return out
}

// methods counts the methods of the types of a package, and the files that have them.
// Files for other systems count as one with the file that they stand in for.
func methods(files []*source) map[string]size {
	out := map[string]size{}
	for _, s := range files {
		here := map[string]int{}
		s.functions(func(fn *ast.FuncDecl) {
			if name := receiver(fn); name != "" {
				here[name]++
			}
		})
		if strings.HasSuffix(s.path, "_other.go") {
			continue
		}
		for name, n := range here {
			out[name] = size{out[name].methods + n, out[name].files + 1}
		}
	}
	return out
}

// receiver returns the name of the type that a method belongs to; empty for a function.
func receiver(fn *ast.FuncDecl) string {
	if fn.Recv == nil {
		return ""
	}
	e := fn.Recv.List[0].Type
	for {
		switch x := e.(type) {
		case *ast.StarExpr:
			e = x.X
		case *ast.IndexExpr:
			e = x.X
		case *ast.IndexListExpr:
			e = x.X
		case *ast.Ident:
			return x.Name
		default:
			return ""
		}
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
