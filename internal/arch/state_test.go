package arch

import (
	"errors"
	"go/ast"
	"go/token"
	"go/types"
	"strings"
	"testing"
)

// TestNoInit: work that hides in an import cannot be ordered, tested or refused.
func TestNoInit(t *testing.T) {
	for _, s := range code(t) {
		s.functions(func(fn *ast.FuncDecl) {
			if fn.Recv == nil && fn.Name.Name == "init" {
				t.Errorf("%s:%d: init function", s.path, s.line(fn.Pos()))
			}
		})
	}
}

// initialised lists package-level variables whose value is computed when the
// program starts and then never changes, each with the reason.
func initialised() map[string]string {
	reasons := map[string]string{
		"cmd/aiperfd.version":                      "the linker can set nothing but a variable",
		"cmd/aiperfd.revision":                     "the linker can set nothing but a variable",
		"cmd/aiperfd.commitDate":                   "the linker can set nothing but a variable",
		"internal/engine/metric/catalogue.all":     "the catalogue with its defaults filled in; nothing writes to its rows",
		"internal/engine/metric/catalogue.noUsage": "a zero value to read from",
		"internal/engine/metric/measure.quantiles": "computed from the constant table of percentiles",
		"internal/engine/sketch.growth":            "math.Exp2 of a constant is no constant in Go",
		"internal/engine/sketch.center":            "computed from growth",
		"internal/engine/sketch.bounds":            "table computed from growth",
		"internal/engine/sketch.starts":            "table computed from bounds",
	}
	for _, unit := range []string{"Tokens", "Percent", "Ratio", "Requests", "Count", "Seconds", "TPS", "TPSUser", "RPS", "Items", "ItemRate", "IPS"} {
		reasons["internal/engine/metric/catalogue.in"+unit] = "a unit, made by a constructor"
	}
	return reasons
}

// TestNoMutableState: a package-level variable is a table, an error, a compiled
// expression, an embedded file or a value made once; nobody assigns to one.
func TestNoMutableState(t *testing.T) {
	reasons := initialised()
	used := map[string]bool{}
	for dir, files := range packages(t) {
		info := resolve(dir, files)
		for _, s := range files {
			for _, v := range variables(s.file) {
				name := dir + "." + v.name
				if reasons[name] != "" {
					used[name] = true
				} else if !v.frozen() {
					t.Errorf("%s:%d: package-level variable %s", s.path, s.line(v.pos), v.name)
				}
			}
			assignments(s.file, func(target ast.Expr) {
				if v := global(info, target); v != nil {
					t.Errorf("%s:%d: package-level variable %s is changed", s.path, s.line(target.Pos()), v.Name())
				}
			})
		}
	}
	for name := range reasons {
		if !used[name] {
			t.Errorf("initialised lists %s, which does not exist", name)
		}
	}
}

// packages groups the files that are not tests by folder.
func packages(t *testing.T) map[string][]*source {
	t.Helper()
	out := map[string][]*source{}
	for _, s := range code(t) {
		out[s.dir] = append(out[s.dir], s)
	}
	return out
}

// variable is one package-level variable.
type variable struct {
	name  string
	pos   token.Pos
	value ast.Expr // nil = none
	embed bool
}

func variables(file *ast.File) []variable {
	var out []variable
	for _, d := range file.Decls {
		group, ok := d.(*ast.GenDecl)
		if !ok || group.Tok != token.VAR {
			continue
		}
		for _, spec := range group.Specs {
			spec := spec.(*ast.ValueSpec)
			for i, id := range spec.Names {
				v := variable{name: id.Name, pos: id.Pos(), embed: embeds(group.Doc) || embeds(spec.Doc)}
				if i < len(spec.Values) {
					v.value = spec.Values[i]
				}
				out = append(out, v)
			}
		}
	}
	return out
}

func embeds(doc *ast.CommentGroup) bool {
	if doc == nil {
		return false
	}
	for _, c := range doc.List {
		if strings.HasPrefix(c.Text, "//go:embed ") {
			return true
		}
	}
	return false
}

// frozen reports whether a variable is of a kind that needs no reason.
func (v *variable) frozen() bool {
	if v.name == "_" || v.embed {
		return true
	}
	value := v.value
	if ref, ok := value.(*ast.UnaryExpr); ok && ref.Op == token.AND {
		value = ref.X // &problem{…}
	}
	switch value := value.(type) {
	case *ast.CompositeLit:
		return true
	case *ast.CallExpr:
		return selects(value, "errors", "New") || selects(value, "fmt", "Errorf") ||
			selects(value, "regexp", "MustCompile") || selects(value, "sync", "OnceValue")
	}
	return false
}

// resolve finds out which names of a package mean which of its declarations.
// Imports are left open: only names of this package matter here.
func resolve(dir string, files []*source) *types.Info {
	info := &types.Info{Uses: map[*ast.Ident]types.Object{}, Defs: map[*ast.Ident]types.Object{}}
	conf := types.Config{Error: func(error) {}, Importer: noImports{}}
	asts := make([]*ast.File, len(files))
	for i, s := range files {
		asts[i] = s.file
	}
	_, _ = conf.Check(dir, files[0].set, asts, info) // fails for want of imports
	return info
}

type noImports struct{}

func (noImports) Import(string) (*types.Package, error) {
	return nil, errors.New("imports are not needed")
}

// assignments calls f for everything that is assigned to, counted up or down, or
// whose address is taken.
func assignments(file *ast.File, f func(ast.Expr)) {
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			for _, target := range n.Lhs {
				f(target)
			}
		case *ast.IncDecStmt:
			f(n.X)
		case *ast.RangeStmt:
			if n.Tok == token.ASSIGN {
				f(n.Key)
			}
		}
		return true
	})
}

// global returns the package-level variable that an expression is or is a part
// of; nil if there is none.
func global(info *types.Info, e ast.Expr) *types.Var {
	for {
		switch x := e.(type) {
		case *ast.ParenExpr:
			e = x.X
		case *ast.IndexExpr:
			e = x.X
		case *ast.SelectorExpr:
			e = x.X
		case *ast.StarExpr:
			e = x.X
		case *ast.Ident:
			v, ok := info.Uses[x].(*types.Var)
			if ok && v.Pkg() != nil && v.Parent() == v.Pkg().Scope() {
				return v
			}
			return nil
		default:
			return nil
		}
	}
}
