package arch

import (
	"go/ast"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
)

// arrowAims are the arrows that should be left of packages with a knot.
func arrowAims() map[string]int {
	return map[string]int{
		"internal/engine":           10,
		"internal/engine/config":    12,
		"internal/engine/load":      6,
		"internal/engine/transport": 11,
	}
}

// backArrows counts the arrows of each package that run back up. An arrow is a reference
// from one file to a declaration in another file of the package; those that run back up are
// the fewest that point against one order of its files. A package without any can be read
// from the top.
func backArrows(t *testing.T) map[string]int {
	t.Helper()
	out := map[string]int{}
	for dir, files := range packages(t) {
		out[dir] = backward(arrows(dir, files))
	}
	return out
}

// graph has, for each file, the files that it refers to.
type graph [][]int

// arrows finds the arrows between the files of a package.
func arrows(dir string, files []*source) graph {
	files = slices.DeleteFunc(slices.Clone(files), func(s *source) bool { return standIn(s.path) })
	if len(files) == 0 {
		return nil
	}
	index := map[string]int{}
	for i, s := range files {
		index[s.path] = i
	}
	info := resolve(dir, files)
	out := make(graph, len(files))
	for i, s := range files {
		targets := map[int]bool{}
		ast.Inspect(s.file, func(n ast.Node) bool {
			id, ok := n.(*ast.Ident)
			if !ok || info.Uses[id] == nil || !info.Uses[id].Pos().IsValid() {
				return true
			}
			if j, ours := index[s.set.Position(info.Uses[id].Pos()).Filename]; ours && j != i {
				targets[j] = true
			}
			return true
		})
		out[i] = slices.Sorted(maps.Keys(targets))
	}
	return out
}

// backward returns the fewest arrows that point against an order of the files: the size of
// a minimum feedback arc set. It improves a number of orders, each by moves of one file to
// its best place, until no move helps. Equal graphs have equal results.
func backward(g graph) int {
	const orders = 64
	if len(g) == 0 {
		return 0
	}
	random := rand.New(rand.NewPCG(1, 2))
	best := len(g) * len(g)
	for range orders {
		best = min(best, improve(g, random.Perm(len(g))))
	}
	return best
}

// improve moves single files of an order to their best places until none gains, and returns
// the arrows that point back then.
func improve(g graph, order []int) int {
	has := make([][]bool, len(g))
	back := 0
	for from, targets := range g {
		has[from] = make([]bool, len(g))
		for _, to := range targets {
			has[from][to] = true
		}
	}
	for i, later := range order {
		for _, earlier := range order[:i] {
			back += count(has[later][earlier])
		}
	}
	for moved := true; moved; {
		moved = false
		for i := range order {
			place, gain := bestPlace(has, order, i)
			if gain == 0 {
				continue
			}
			file := order[i]
			order = slices.Insert(slices.Delete(order, i, i+1), place, file)
			back -= gain
			moved = true
		}
	}
	return back
}

// bestPlace returns where a file of an order should stand, and how many arrows less point
// back then.
func bestPlace(has [][]bool, order []int, i int) (place, gain int) {
	file := order[i]
	place = i
	saved := 0
	for j := i - 1; j >= 0; j-- { // in front of order[j]
		saved += count(has[file][order[j]]) - count(has[order[j]][file])
		if saved > gain {
			place, gain = j, saved
		}
	}
	saved = 0
	for j := i + 1; j < len(order); j++ { // behind order[j]
		saved += count(has[order[j]][file]) - count(has[file][order[j]])
		if saved > gain {
			place, gain = j, saved
		}
	}
	return place, gain
}

func count(b bool) int {
	if b {
		return 1
	}
	return 0
}

// TestBackward compares with the exact number, by dynamic programming over sets of files.
func TestBackward(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for range 50 {
		n := 2 + random.IntN(11)
		g := make(graph, n)
		for from := range g {
			for to := range n {
				if from != to && random.IntN(3) == 0 {
					g[from] = append(g[from], to)
				}
			}
		}
		if got, want := backward(g), exact(g); got != want {
			t.Fatalf("backward(%v) = %d, want %d", g, got, want)
		}
	}
}

// exact returns the fewest arrows that point back in any order of the files.
func exact(g graph) int {
	cost := make([]int, 1<<len(g)) // of a set of files that stand in front of all others
	for set := 1; set < len(cost); set++ {
		cost[set] = len(g) * len(g)
		for last := range g {
			if set&(1<<last) == 0 {
				continue
			}
			before := set &^ (1 << last)
			n := cost[before]
			for _, to := range g[last] {
				n += count(before&(1<<to) != 0)
			}
			cost[set] = min(cost[set], n)
		}
	}
	return cost[len(cost)-1]
}

// TestArrows: a reference to a function, type, field or method of another file is an arrow.
func TestArrows(t *testing.T) {
	files := parseAll(t,
		"package a\nfunc f() { var x t; x.m(); x.field++ }",
		"package a\ntype t struct { field int }",
		"package a\nimport \"elsewhere\"\nfunc (t) m() { elsewhere.M() }")
	got := arrows("a", files)
	want := graph{{1, 2}, {}, {1}}
	if len(got) != len(want) || !slices.EqualFunc(got, want, slices.Equal) {
		t.Errorf("arrows %v, want %v", got, want)
	}
}
