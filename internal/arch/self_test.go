package arch

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"testing"
)

// parse returns a source with the text of one file.
func parse(t *testing.T, text string) *source {
	t.Helper()
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, "a.go", text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	return &source{path: "a.go", dir: "a", set: set, file: file}
}

// TestFinds checks that the searches of this package find what they look for.
func TestFinds(t *testing.T) {
	t.Run("changes of package-level variables", func(t *testing.T) {
		s := parse(t, `package a
			import "elsewhere"
			var table = []int{1}
			var count int
			func f() { table[0] = 2; count++; elsewhere.X = 1 }
			func g() { table := []int{1}; table[0] = 3; var count int; count++ }
			func h() { table[0], count = 1, 2 }`)
		info := resolve(s.dir, []*source{s})
		var got []int
		assignments(s.file, func(e ast.Expr) {
			if global(info, e) != nil {
				got = append(got, s.line(e.Pos()))
			}
		})
		if want := []int{5, 5, 7, 7}; !slices.Equal(got, want) {
			t.Errorf("changes in lines %v, want %v", got, want)
		}
	})
	t.Run("variables that need a reason", func(t *testing.T) {
		s := parse(t, `package a
			import ("errors"; "regexp"; "sync")
			var _ error = x{}
			var e = errors.New("e")
			var r = regexp.MustCompile("r")
			var l = []int{1}
			var p = &x{}
			var o = sync.OnceValue(f)
			//go:embed a
			var b []byte
			var n int
			var c = f()
			var m = make(map[string]int)`)
		var got []string
		for _, v := range variables(s.file) {
			if !v.frozen() {
				got = append(got, v.name)
			}
		}
		if want := []string{"n", "c", "m"}; !slices.Equal(got, want) {
			t.Errorf("variables %v, want %v", got, want)
		}
	})
	t.Run("goroutines", func(t *testing.T) {
		s := parse(t, `package a
			func f() {
				go g()
				wg.Go(g)
				time.AfterFunc(d, g)
				defer context.AfterFunc(ctx, g)()
				g.Gone(g)
				x.AfterFunc(g)
			}`)
		var got []int
		ast.Inspect(s.file, func(n ast.Node) bool {
			if startsGoroutine(n) {
				got = append(got, s.line(n.Pos()))
			}
			return true
		})
		if want := []int{3, 4, 5, 6}; !slices.Equal(got, want) {
			t.Errorf("goroutines in lines %v, want %v", got, want)
		}
	})
	t.Run("tables", func(t *testing.T) {
		s := parse(t, `package a
			func table() []int { const k = 1; return []int{k} }
			func call() []int { return f() }
			func work() []int { f(); return []int{1} }`)
		got := map[string]bool{}
		s.functions(func(fn *ast.FuncDecl) { got[fn.Name.Name] = isTable(fn) })
		if !got["table"] || got["call"] || got["work"] {
			t.Errorf("isTable = %v", got)
		}
	})
	t.Run("repeated blocks", func(t *testing.T) {
		s := parse(t, `package a
			func f() {
				for c := range x {
					if g(c) {
						return
					}
				}
				g(1)
				for c := range x {
					if g(c) {
						return
					}
				}
			}
			func h() {
				if g(1) {
					g(2)
					g(3)
				}
				for range x {
					if g(1) {
						g(2)
						g(3)
					}
				}
			}`)
		var got [][2]int
		s.functions(func(fn *ast.FuncDecl) { got = append(got, repeats(s.set, fn)...) })
		if want := [][2]int{{3, 9}}; !slices.Equal(got, want) {
			t.Errorf("repeats %v, want %v", got, want)
		}
	})
}
