package metric

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"aiperfd/internal/engine/bench"
)

func TestErrors(t *testing.T) {
	e := NewErrors()
	add := func(class bench.Class, status int, message string, at time.Duration) {
		e.Add(&bench.Failure{Class: class, Status: status, Message: message}, at)
	}
	add(bench.ServerError, 500, "worker 2 died", 20)
	add(bench.ServerError, 500, "worker 1 died", 10)
	add(bench.ServerError, 500, "worker 1 died", 30)
	add(bench.ServerError, 501, "worker 1 died", 40)
	add(bench.ConnectionReset, 0, "", 50)
	want := []ErrorGroup{
		{Class: bench.ServerError, Status: 500, Pattern: "worker <n> died", Example: "worker 1 died", Count: 3, First: 10, Last: 30},
		{Class: bench.ConnectionReset, Count: 1, First: 50, Last: 50},
		{Class: bench.ServerError, Status: 501, Pattern: "worker <n> died", Example: "worker 1 died", Count: 1, First: 40, Last: 40},
	}
	if diff := cmp.Diff(want, e.Groups()); diff != "" {
		t.Errorf("groups (-want +got):\n%s", diff)
	}
}

func TestErrorsAreBounded(t *testing.T) {
	fill := func(prefix string) *Errors {
		e := NewErrors()
		for i := range maxGroups + 200 {
			letters := strings.NewReplacer("0", "a", "1", "b", "2", "c", "3", "d", "4", "e", "5", "f", "6", "g", "7", "h", "8", "i", "9", "j").Replace(fmt.Sprint(i))
			e.Add(&bench.Failure{Class: bench.BadRequest, Message: prefix + letters}, time.Duration(1+i))
		}
		return e
	}
	e := fill("bad ")
	check := func(what string, groups []ErrorGroup, other ErrorGroup, total int64) {
		t.Helper()
		if len(groups) != maxGroups+1 {
			t.Fatalf("%s: %d groups, want %d", what, len(groups), maxGroups+1)
		}
		if diff := cmp.Diff(other, groups[maxGroups]); diff != "" {
			t.Errorf("%s: last group (-want +got):\n%s", what, diff)
		}
		var n int64
		for _, g := range groups {
			n += g.Count
		}
		if n != total {
			t.Errorf("%s: %d errors, want %d", what, n, total)
		}
	}
	other := ErrorGroup{Class: "other", Pattern: "(further kinds of errors)", Example: "bad baaa", Count: 200, First: 1001, Last: 1200}
	check("one", e.Groups(), other, 1200)
	e.Merge(fill("worse "))
	groups := e.Groups()
	other.Count, other.First, other.Example = 1400, 1, groups[maxGroups].Example
	check("merged", groups, other, 2400)
	if !strings.HasPrefix(other.Example, "worse ") {
		t.Errorf("the earliest example is %q", other.Example)
	}
}
