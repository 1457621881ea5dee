package servermap

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"aiperfd/internal/engine/telemetry/window"
)

func read(t *testing.T, page string) *window.History {
	t.Helper()
	h := window.NewHistory(strings.Clone)
	if h.Add(window.Scrape{}, []byte(page)) == 0 {
		t.Fatal("the page has no values")
	}
	return h
}

// TestServers: every row of the table names a canonical metric, and is found on a page that has it.
func TestServers(t *testing.T) {
	var known []string
	for _, m := range Metrics() {
		known = append(known, m.Name)
	}
	for _, s := range Servers() {
		for row, alternatives := range s.Rows {
			if !slices.Contains(known, row) {
				t.Errorf("%s has a row %s, which is no canonical metric", s.Name, row)
			}
			for _, alternative := range alternatives {
				var page strings.Builder
				var want []string
				for term := range strings.SplitSeq(alternative, " + ") {
					name, filter, filtered := strings.Cut(strings.TrimSuffix(term, "}"), "{")
					labels := ""
					if key, value, ok := strings.Cut(filter, "="); filtered && ok {
						labels = fmt.Sprintf("{%s=%q}", key, value)
					}
					fmt.Fprintf(&page, "%s%s%s 1\n", s.Prefixes[0], name, labels)
					want = append(want, s.Prefixes[0]+name)
				}
				h := read(t, page.String())
				detected := Detect(h)
				if len(detected) != 1 || detected[0].Name != s.Name {
					t.Errorf("%s: the page of %s is taken for %v", s.Name, alternative, detected)
					continue
				}
				found, ok := s.Find(h, row)
				if !ok || !slices.Equal(found.Families, want) {
					t.Errorf("%s: %s = %v, want %v", s.Name, row, found.Families, want)
				}
			}
		}
	}
}

func TestRanks(t *testing.T) {
	h := read(t, `sglang:num_running_reqs{tp_rank="0",dp_rank="0"} 3
sglang:num_running_reqs{tp_rank="1",dp_rank="0"} 3
sglang:num_running_reqs{tp_rank="0",dp_rank="1"} 4
`)
	s := Detect(h)[0]
	found, _ := s.Find(h, "running")
	if len(found.Groups) != 2 {
		t.Errorf("%d series count, want those of rank 0 of both replicas", len(found.Groups))
	}
}

func TestEngineBehindFrontend(t *testing.T) {
	got := Detect(read(t, "dynamo_frontend_inflight_requests 3\nvllm:num_requests_running 2\n"))
	if len(got) != 2 || got[0].Frontend || !got[1].Frontend {
		t.Errorf("detected %v", got)
	}
}
