package servermap

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

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

// TestRecordedPages: pages that servers have shown are read as what they are, and nothing is found that they do not
// have. Of histograms it counts only that they are found.
func TestRecordedPages(t *testing.T) {
	found := math.NaN()
	for _, tt := range []struct {
		page, server string
		want         map[string]float64
	}{
		{"sglang", "sglang", map[string]float64{
			"waiting": 2826, "running": 162, "kv_usage": 0.28, "hit_rate": 0.007507552643049313, "prompt_tokens": 8128902,
			"prefix_queries": 8128902, "generation_tokens": 7557572, "ttft": found, "e2e": found,
		}},
		// vLLM 0.32.0 on a CPU, after 60 chat completions of 110 prompt tokens and 60 completions of 100, with 40 tokens each.
		{"vllm", "vllm", map[string]float64{
			"waiting": 0, "running": 0, "kv_usage": 0, "preemptions": 0, "requests": 120, "prompt_tokens": 12600,
			"generation_tokens": 4800, "prefix_queries": 12600, "prefix_hits": 0, "ttft": found, "itl": found, "e2e": found,
			"queue_time": found, "prefill_time": found, "decode_time": found,
		}},
		{"triton", "triton", map[string]float64{"waiting": 0, "running": 1, "requests": 0}},
	} {
		t.Run(tt.page, func(t *testing.T) {
			page, err := os.ReadFile(filepath.Join("testdata", tt.page+".prom"))
			if err != nil {
				t.Fatal(err)
			}
			h := read(t, string(page))
			servers := Detect(h)
			if len(servers) != 1 || servers[0].Name != tt.server || h.Malformed > 0 || h.Dropped > 0 {
				t.Fatalf("servers %v, %d lines malformed, %d series dropped", servers, h.Malformed, h.Dropped)
			}
			got := map[string]float64{}
			for _, m := range Metrics() {
				source, ok := servers[0].Find(h, m.Name)
				if !ok {
					continue
				}
				for _, g := range source.Groups {
					v, single := h.Value(g, 0)
					if !single {
						v = found
					}
					got[m.Name] += v
				}
			}
			if diff := cmp.Diff(tt.want, got, cmpopts.EquateNaNs()); diff != "" {
				t.Errorf("metrics (-want +got):\n%s", diff)
			}
		})
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
