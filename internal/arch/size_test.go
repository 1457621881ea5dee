package arch

import (
	"fmt"
	"go/ast"
	"go/types"
	"strings"
	"testing"
	"unicode/utf8"
)

// Sizes from which a function or a type is listed in ratchetFile. A limit asks for a second
// look. It is not a reason to cut one thing in two: a type that embeds a pointer to start a
// new count counts as a part of what it embeds.
const (
	maxFunction = 60  // lines
	maxMethods  = 32  // of a type with its parts
	maxFields   = 26  // of a struct with its parts
	maxColumns  = 120 // of a line, with a tab as one
)

// lineAims are hundreds of lines that the areas need in hands that know them.
func lineAims() map[string]int {
	return map[string]int{
		"simulator": 100, "config": 90, "engine": 115, "api": 95, "metric": 95, "dataset": 85, "endpoint": 90,
		"transport": 65, "study": 40, "results": 42, "ctl": 20, "client": 8, "app": 30, "cmd": 20, "store": 32, "redact": 12,
		"tools": 40, "plot": 9, "tokenizer": 60,
	}
}

// areaLines counts the lines of each area, in hundreds.
func areaLines(t *testing.T) map[string]int {
	return countLines(t, 100, func(string) bool { return true })
}

// wideLines counts the lines of each area that are too wide, in tens.
func wideLines(t *testing.T) map[string]int {
	return countLines(t, 10, func(line string) bool {
		return utf8.RuneCountInString(strings.TrimSuffix(line, "\n")) > maxColumns
	})
}

// countLines counts lines by area, in a unit, of which a part counts as a whole one.
func countLines(t *testing.T, unit int, counts func(line string) bool) map[string]int {
	t.Helper()
	plan := areas(t)
	out := map[string]int{}
	for _, s := range code(t) {
		n := 0
		for line := range strings.Lines(read(t, s.path)) {
			if counts(line) {
				n++
			}
		}
		out[plan.of(s.dir)] += n
	}
	for area, n := range out {
		out[area] = (n + unit - 1) / unit
	}
	return out
}

// functionLines counts the lines of functions. Those that only return a table are left out.
func functionLines(t *testing.T) map[string]int {
	t.Helper()
	out := map[string]int{}
	for _, s := range code(t) {
		s.functions(func(fn *ast.FuncDecl) {
			if !isTable(fn) {
				out[fmt.Sprintf("%s:%s", s.path, fn.Name.Name)] = s.line(fn.End()) - s.line(fn.Pos()) + 1
			}
		})
	}
	return out
}

// whole is the size of a type with its parts.
type whole struct{ methods, fields int }

// wholes counts what one has to know to change a type, by folder and name.
func wholes(t *testing.T, size func(whole) int) map[string]int {
	t.Helper()
	out := map[string]int{}
	for dir, files := range packages(t) {
		for name, w := range countWholes(dir, files) {
			out[dir+"."+name] = size(w)
		}
	}
	return out
}

// countWholes counts the methods and fields of the types of a package. A type has as parts
//   - the structs of this package that it embeds by value;
//   - the structs that embed a pointer to it: their methods are methods of it;
//   - the private structs that one field alone has, and that field is its own, unless they
//     keep to themselves: only their own methods use their fields, and they do not know it.
//
// A type that embeds a pointer has a count of its own, too, without what the pointer leads to.
func countWholes(dir string, files []*source) map[string]whole {
	p := newStructs(dir, files)
	out := map[string]whole{}
	for name := range p.own {
		var sum whole
		seen := map[string]bool{}
		var add func(name string)
		add = func(name string) {
			if seen[name] {
				return
			}
			seen[name] = true
			sum.methods += p.own[name].methods
			sum.fields += p.own[name].fields
			for _, part := range p.parts[name] {
				add(part)
			}
		}
		add(name)
		sum.fields -= len(seen) - 1 // the fields that hold the parts
		out[name] = whole{sum.methods, max(sum.fields, p.own[name].fields)}
	}
	return out
}

// structs knows how the types of a package contain one another.
type structs struct {
	own   map[string]whole
	parts map[string][]string
}

func newStructs(dir string, files []*source) *structs {
	p := &structs{own: map[string]whole{}, parts: map[string][]string{}}
	declared := map[string]*ast.StructType{}
	for _, s := range files {
		ast.Inspect(s.file, func(n ast.Node) bool {
			spec, ok := n.(*ast.TypeSpec)
			if !ok {
				return true
			}
			if fields, ok := spec.Type.(*ast.StructType); ok {
				declared[spec.Name.Name] = fields
				p.own[spec.Name.Name] = whole{fields: fields.Fields.NumFields()}
			}
			return true
		})
	}
	for _, s := range files {
		if standIn(s.path) {
			continue
		}
		s.functions(func(fn *ast.FuncDecl) {
			if name := receiver(fn); name != "" {
				w := p.own[name]
				w.methods++
				p.own[name] = w
			}
		})
	}
	mentions := map[string]int{} // in types of fields
	owner := map[string]string{} // of a private struct: the struct with a field of that type
	for name, fields := range declared {
		for _, field := range fields.Fields.List {
			ast.Inspect(field.Type, func(n ast.Node) bool {
				if id, ok := n.(*ast.Ident); ok {
					mentions[id.Name] += max(1, len(field.Names))
				}
				return true
			})
			of, pointer := typeName(field.Type)
			switch {
			case declared[of] == nil:
			case len(field.Names) > 0:
				if !ast.IsExported(of) {
					owner[of] = name
				}
			case pointer:
				p.parts[of] = append(p.parts[of], name)
			default:
				p.parts[name] = append(p.parts[name], of)
			}
		}
	}
	touched := foreignUses(dir, files)
	for part, name := range owner {
		if mentions[part] == 1 && (touched[part] || names(declared[part], name)) {
			p.parts[name] = append(p.parts[name], part)
		}
	}
	return p
}

// names reports whether the type of a field has a name.
func names(fields *ast.StructType, name string) bool {
	found := false
	for _, field := range fields.Fields.List {
		if of, _ := typeName(field.Type); of == name {
			found = true
		}
	}
	return found
}

// foreignUses finds the structs of a package with a field that is used by other code than
// the methods of the struct. To set it in a literal is no use.
func foreignUses(dir string, files []*source) map[string]bool {
	info := resolve(dir, files)
	holders := map[types.Object]string{} // struct of a field
	for id, object := range info.Defs {
		declared, ok := object.(*types.TypeName)
		if !ok || declared.Type() == nil {
			continue
		}
		fields, ok := declared.Type().Underlying().(*types.Struct)
		if !ok {
			continue
		}
		for field := range fields.Fields() {
			holders[field] = id.Name
		}
	}
	out := map[string]bool{}
	for _, s := range files {
		s.functions(func(fn *ast.FuncDecl) {
			ast.Inspect(fn.Body, func(n ast.Node) bool {
				if selector, ok := n.(*ast.SelectorExpr); ok {
					holder := holders[info.Uses[selector.Sel]]
					if holder != "" && holder != receiver(fn) {
						out[holder] = true
					}
				}
				return true
			})
		})
	}
	return out
}

// standIn reports whether a file stands in for others on other systems.
func standIn(name string) bool { return strings.HasSuffix(name, "_other.go") }

// receiver returns the name of the type that a method belongs to; empty for a function.
func receiver(fn *ast.FuncDecl) string {
	if fn.Recv == nil {
		return ""
	}
	name, _ := typeName(fn.Recv.List[0].Type)
	return name
}

// typeName returns the name of a type of this package, and whether it is behind a pointer;
// empty for other types.
func typeName(e ast.Expr) (name string, pointer bool) {
	for {
		switch x := e.(type) {
		case *ast.StarExpr:
			e, pointer = x.X, true
		case *ast.IndexExpr:
			e = x.X
		case *ast.IndexListExpr:
			e = x.X
		case *ast.Ident:
			return x.Name, pointer
		default:
			return "", false
		}
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
