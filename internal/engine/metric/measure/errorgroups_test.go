package measure

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/metric"
)

func TestErrors(t *testing.T) {
	e := NewErrorGroups()
	add := func(class bench.Class, status int, message string, at time.Duration) {
		e.Add(&bench.Failure{Class: class, Status: status, Message: message}, at)
	}
	add(bench.ServerError, 500, "worker 2 died", 20)
	add(bench.ServerError, 500, "worker 1 died", 10)
	add(bench.ServerError, 500, "worker 1 died", 30)
	add(bench.ServerError, 501, "worker 1 died", 40)
	add(bench.ConnectionReset, 0, "", 50)
	want := []metric.ErrorGroup{
		{Class: bench.ServerError, Status: 500, Pattern: "worker <n> died", Example: "worker 1 died", Count: 3, First: 10, Last: 30},
		{Class: bench.ConnectionReset, Count: 1, First: 50, Last: 50},
		{Class: bench.ServerError, Status: 501, Pattern: "worker <n> died", Example: "worker 1 died", Count: 1, First: 40, Last: 40},
	}
	if diff := cmp.Diff(want, e.Groups()); diff != "" {
		t.Errorf("groups (-want +got):\n%s", diff)
	}
}

func TestErrorsAreBounded(t *testing.T) {
	fill := func(prefix string) *ErrorGroups {
		e := NewErrorGroups()
		for i := range maxGroups + 200 {
			letters := strings.NewReplacer("0", "a", "1", "b", "2", "c", "3", "d", "4", "e", "5", "f", "6", "g", "7", "h", "8", "i", "9", "j").Replace(fmt.Sprint(i))
			e.Add(&bench.Failure{Class: bench.BadRequest, Message: prefix + letters}, time.Duration(1+i))
		}
		return e
	}
	e := fill("bad ")
	check := func(what string, groups []metric.ErrorGroup, other metric.ErrorGroup, total int64) {
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
	other := metric.ErrorGroup{Class: "other", Pattern: "(further kinds of errors)", Example: "bad baaa", Count: 200, First: 1001, Last: 1200}
	check("one", e.Groups(), other, 1200)
	e.Merge(fill("worse "))
	groups := e.Groups()
	other.Count, other.First, other.Example = 1400, 1, groups[maxGroups].Example
	check("merged", groups, other, 2400)
	if !strings.HasPrefix(other.Example, "worse ") {
		t.Errorf("the earliest example is %q", other.Example)
	}
}

func TestAddGroup(t *testing.T) {
	a, b := NewErrorGroups(), NewErrorGroups()
	a.Add(&bench.Failure{Class: bench.RateLimited, Status: 429, Message: "wait 3 s"}, 20*time.Second)
	b.Add(&bench.Failure{Class: bench.RateLimited, Status: 429, Message: "wait 4 s"}, 10*time.Second)
	b.Add(&bench.Failure{Class: bench.Auth, Status: 401, Code: "no", Type: "auth", Message: "go away"}, time.Second)
	for _, g := range b.Groups() {
		a.AddGroup(&g)
	}
	want := []metric.ErrorGroup{
		{Class: bench.RateLimited, Status: 429, Pattern: "wait <n> s", Example: "wait 4 s", Count: 2, First: 10 * time.Second, Last: 20 * time.Second},
		{Class: bench.Auth, Status: 401, Code: "no", Type: "auth", Pattern: "go away", Example: "go away", Count: 1, First: time.Second, Last: time.Second},
	}
	if diff := cmp.Diff(want, a.Groups()); diff != "" {
		t.Errorf("groups (-want +got):\n%s", diff)
	}
	data, err := json.Marshal(want[1])
	if err != nil {
		t.Fatal(err)
	}
	const text = `{"class":"auth","status":401,"code":"no","type":"auth","pattern":"go away","example":"go away","count":1,"first_ns":1000000000,"last_ns":1000000000}`
	if string(data) != text {
		t.Errorf("Marshal = %s, want %s", data, text)
	}
}
