package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestCapacityArguments: what the command line stands for.
func TestCapacityArguments(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	plain := file("plain.yaml", "benchmark: {}\n")
	searching := file("search.yaml", "benchmark: {}\nsweep: {type: adaptive_search}\n")
	const rate = "--search-recipe max-rate-under-sla --search-style capacity"
	for _, c := range []struct{ args, want string }{
		{"--url h:1 --slo ttft<500 --slo=itl<40ms --range 0.5,200 --target .99", "--url h:1 " + rate +
			" --rate-min 0.5 --rate-max 200 --slo-attainment-fraction .99 --goodput ttft:500 itl:40"},
		{"--control concurrency --budget-time 30m --probe-warmup 5 --budget-probes 9 --precision 0.1 --start 4", "--search-recipe " +
			"max-concurrency-under-sla --search-style capacity --search-start 4 --search-precision 0.1 --search-max-iterations 9 " +
			"--search-max-load-seconds 1800 --search-warmup-seconds 5"},
		{plain, "--config " + plain + " " + rate},
		{searching, "--config " + searching},
		{searching + " --ui none", "--config " + searching + " --ui none"},
		{"--slo p95(ttft)<500", `error --slo: "p95(ttft)<500" is about all requests together; give the limit of one, for example ttft<500, and --target`},
		{"--slo ttft", `error --slo: must be METRIC<LIMIT, for example time_to_first_token<500, not "ttft"`},
		{"--slo time_to_first_token>500", "error --slo: time_to_first_token>500: a limit of this metric is written with <"},
		{"--slo output_token_throughput_per_user>20", rate + " --goodput output_token_throughput_per_user:20"},
		{"--control load", `error --control: must be rate or concurrency, not "load"`},
		{"--range 5", `error --range: must be LOW,HIGH, for example 1,200, not "5"`},
		{"--budget-time soon", `error --budget-time: must be a duration such as 30m, not "soon"`},
		{"--slo", "error --slo: needs a value"},
	} {
		out, err := capacityArguments(strings.Fields(c.args))
		got := strings.Join(out, " ")
		if err != nil {
			got = "error " + err.Error()
		}
		if got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.args, got, c.want)
		}
	}
}
