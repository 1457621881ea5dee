package arch

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"slices"
	"testing"
)

// parse returns a source with the text of one file.
func parse(t *testing.T, text string) *source {
	t.Helper()
	return parseAll(t, text)[0]
}

// parseAll returns the files of one package: a.go, b.go and so on.
func parseAll(t *testing.T, texts ...string) []*source {
	t.Helper()
	set := token.NewFileSet()
	var out []*source
	for i, text := range texts {
		name := string(rune('a'+i)) + ".go"
		file, err := parser.ParseFile(set, name, text, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, &source{path: name, dir: "a", set: set, file: file})
	}
	return out
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

// TestWholes: what is cut off a type to stay below a limit still counts.
func TestWholes(t *testing.T) {
	files := parseAll(t, `package a
		type Loader struct { path string; embedded; state state; meter meter; many []item; once *shared }
		func (*Loader) Load() {}
		type embedded struct { a, b int }
		func (embedded) Help() {}
		type rules struct { *Loader; more int }
		func (*rules) check() {}
		func (*rules) enough() {}
		type state struct { x, y, z int }
		type meter struct { n int }
		func (m *meter) tick() { m.n++ }
		type item struct { v int }
		type shared struct { u int }
		type other struct { once *shared }`, `package a
		func use(l *Loader) { l.state.x = meter{n: 1}.m(); l.many[0].v++; l.once.u++ }`)
	got := countWholes("a", files)
	want := map[string]whole{
		// With embedded, rules and state; without meter, which keeps to itself.
		"Loader":   {methods: 4, fields: 10},
		"embedded": {methods: 1, fields: 2},
		"rules":    {methods: 2, fields: 2},
		"state":    {fields: 3},
		"meter":    {methods: 1, fields: 1},
		"item":     {fields: 1},
		"shared":   {fields: 1},
		"other":    {fields: 1},
	}
	if !maps.Equal(got, want) {
		t.Errorf("countWholes = %v, want %v", got, want)
	}
}
