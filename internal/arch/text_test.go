package arch

import (
	"go/ast"
	"maps"
	"slices"
	"strings"
	"testing"
)

// realSleeps lists test functions that call time.Sleep and in which no bubble of
// testing/synctest can be seen, each with the reason.
func realSleeps() map[string]string {
	return map[string]string{
		"internal/api/ws_test.go:silent":                                 "called inside the bubble that the tests of feeds open",
		"internal/engine/telemetry/local_test.go:readLocalFor":           "a child process writes in real time",
		"internal/mock/front_linux_test.go:TestFrontArrivalBeforeAccept": "the kernel turns its stamps on a moment after it was asked to",
	}
}

// TestVirtualTime: a test that sleeps on the real clock is slow on a fast machine
// and fails on a slow one. A function that sleeps must open a bubble of
// testing/synctest, or call a function of its package that does.
func TestVirtualTime(t *testing.T) {
	all := slices.DeleteFunc(sources(t), func(s *source) bool { return !s.test })
	opens := map[string]bool{} // folder:function
	for _, s := range all {
		s.functions(func(fn *ast.FuncDecl) {
			if calls(fn, func(c *ast.CallExpr) bool { return selects(c, "synctest", "Test") }) {
				opens[s.dir+":"+fn.Name.Name] = true
			}
		})
	}
	reasons := realSleeps()
	for _, s := range all {
		s.functions(func(fn *ast.FuncDecl) {
			virtual := opens[s.dir+":"+fn.Name.Name] ||
				calls(fn, func(c *ast.CallExpr) bool { return opens[s.dir+":"+callee(c)] })
			sleeps := calls(fn, func(c *ast.CallExpr) bool { return selects(c, "time", "Sleep") })
			name := s.path + ":" + fn.Name.Name
			reason, listed := reasons[name]
			delete(reasons, name)
			switch suspect := sleeps && !virtual; {
			case suspect && reason == "":
				t.Errorf("%s sleeps outside testing/synctest", name)
			case !suspect && listed:
				t.Errorf("%s may leave realSleeps", name)
			}
		})
	}
	for name := range reasons {
		t.Errorf("realSleeps lists %s, which does not exist", name)
	}
}

// calls reports whether a function contains a call that is asked for.
func calls(fn *ast.FuncDecl, is func(*ast.CallExpr) bool) bool {
	found := false
	ast.Inspect(fn, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok && is(call) {
			found = true
		}
		return !found
	})
	return found
}

// callee returns the name of what is called, without what it belongs to.
func callee(call *ast.CallExpr) string {
	switch fun := call.Fun.(type) {
	case *ast.Ident:
		return fun.Name
	case *ast.SelectorExpr:
		return fun.Sel.Name
	}
	return ""
}

// TestForbiddenText: the repository names no folder of the machine that it was
// written on and no host that packages come from. The words are put together here
// so that this file does not hold them.
func TestForbiddenText(t *testing.T) {
	words := []string{
		"/wo" + "rk/", "/ro" + "ot/",
		"proxy." + "golang.org", "sum." + "golang.org", "py" + "pi.org", "registry." + "npmjs.org",
		"files." + "pythonhosted.org", "arti" + "factory",
	}
	all := files(t)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if strings.ContainsRune(all[name], 0) {
			continue // not text
		}
		text := strings.ToLower(all[name])
		for _, w := range words {
			if before, _, found := strings.Cut(text, w); found {
				t.Errorf("%s:%d: contains %q", name, 1+strings.Count(before, "\n"), w)
			}
		}
	}
}

// TestTodo: a note of something left to do names the issue that tracks it.
func TestTodo(t *testing.T) {
	marks := []string{"TO" + "DO", "FIX" + "ME"}
	for _, s := range sources(t) {
		for _, group := range s.file.Comments {
			for _, mark := range marks {
				if i := strings.Index(group.Text(), mark); i >= 0 && !strings.HasPrefix(group.Text()[i:], mark+"(#") {
					t.Errorf("%s:%d: %s without an issue", s.path, s.line(group.Pos()), mark)
				}
			}
		}
	}
}
