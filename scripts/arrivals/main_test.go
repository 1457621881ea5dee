package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// write makes a record stream of n requests whose gaps, in nanoseconds, gap
// draws; each starts lag nanoseconds late.
func write(t *testing.T, n int, gap, lag func() int64) string {
	t.Helper()
	var b strings.Builder
	line := func(kind string, start int64, late float64) {
		fmt.Fprintf(&b, `{"metadata":{"benchmark_phase":%q,"request_start_ns":%d},"metrics":{"schedule_lag":{"value":%v,"unit":"ms"}}}`+"\n",
			kind, start, late)
	}
	due := int64(1_700_000_000_000_000_000)
	line("warmup", due, 0)
	for range n {
		due += gap()
		late := lag()
		line("profiling", due+late, float64(late)/1e6)
	}
	b.WriteString(`{"metadata":{"benchmark_phase":"profiling","request_start_ns":1700000000000000000},"metrics":{}}` + "\n")
	path := filepath.Join(t.TempDir(), "profile_export.jsonl")
	if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestRun(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	poisson := func() int64 { return int64(r.ExpFloat64() * 500_000) }
	constant := func() int64 { return 500_000 }
	none := func() int64 { return 0 }
	tests := []struct {
		name     string
		gap, lag func() int64
		args     string
		ok       bool
		want     string
	}{
		{"a Poisson process", poisson, none, "--rate 2000", true, "gaps of the starts: A² = "},
		{"a Poisson process, started a little late", poisson, func() int64 { return r.Int64N(20_000) }, "--rate 2000", true, "p99 0.01"},
		{"of another rate", poisson, none, "--rate 2200", false, "asked 2200/s, scheduled 2"},
		{"constant gaps are no Poisson process", constant, none, "--rate 2000", false, "p = 0.0000"},
		{"constant", constant, none, "--rate 2000 --process constant", true, "at most 0.0 ns from"},
		{"constant of another rate", constant, none, "--rate 1999 --process constant", false, "asked 1999/s, scheduled 2000.00/s"},
		{"gamma of shape 1 is Poisson", poisson, none, "--rate 2000 --process gamma --smoothness 1", true, "gaps of the due times"},
		{"gamma of another shape", poisson, none, "--rate 2000 --process gamma --smoothness 1.2", false, "p = 0.0000"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var out strings.Builder
			args := append([]string{write(t, 10_000, tt.gap, tt.lag)}, strings.Fields(tt.args)...)
			ok, err := run(args, &out)
			if err != nil || ok != tt.ok || !strings.Contains(out.String(), tt.want) {
				t.Errorf("run = %v, %v; want %v and %q in\n%s", ok, err, tt.ok, tt.want, out.String())
			}
			if !strings.HasPrefix(out.String(), "10000 requests") {
				t.Errorf("other phases or failed requests were counted:\n%s", out.String())
			}
		})
	}
}

func TestRunRefuses(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "empty")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for args, want := range map[string]string{
		"":                                  "no file",
		empty + " --rate 0":                 "must be above 0",
		empty + " --rate 1 --process x":     `process "x" does not exist`,
		empty + " --rate 1":                 "at least 3 are needed",
		empty + "-missing --rate 1":         "no such file",
		empty + " --rate 1 --smoothness -1": "must be above 0",
	} {
		if _, err := run(strings.Fields(args), &strings.Builder{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("run(%q) = %v, want an error with %q", args, err, want)
		}
	}
}
