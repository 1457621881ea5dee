//go:build linux

package main

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestPercentile(t *testing.T) {
	tests := []struct {
		values []float64
		q      float64
		want   float64
	}{
		{[]float64{3}, 0.99, 3},
		{[]float64{4, 1, 3, 2}, 0.5, 2.5},
		{[]float64{10, 0}, 0.99, 9.9},
		{[]float64{1, 2, 3}, 1, 3},
	}
	for _, tt := range tests {
		if got := percentile(slices.Clone(tt.values), tt.q); math.Abs(got-tt.want) > 1e-12 {
			t.Errorf("percentile(%v, %v) = %v, want %v", tt.values, tt.q, got, tt.want)
		}
	}
	if got := percentile(nil, 0.5); !math.IsNaN(got) {
		t.Errorf("percentile of nothing = %v, want NaN", got)
	}
}

// TestJudge: a ratio is the median of the ratios of the rounds, not the ratio of
// the medians.
func TestJudge(t *testing.T) {
	var rows []row
	for i, pair := range [][2]float64{{10, 12}, {20, 40}, {40, 44}} { // ratios 1.2, 2, 1.1
		rows = append(rows,
			row{"s", i + 1, rawClient, map[string]float64{cpuPerEvent: pair[0], requestRate: 100}},
			row{"s", i + 1, ourClient, map[string]float64{cpuPerEvent: pair[1], requestRate: 98, ttftP99Error: float64(i)}},
			row{"s", i + 1, olderClient, map[string]float64{cpuPerEvent: 44, requestRate: 109}})
	}
	cpu, rate := "CPU per event (µs)", "requests/s"
	of := func(what, reference, ours, ratio, older, toOlder, limit string, word verdictWord) verdict {
		return verdict{"s", what, reference, ours, ratio, older, toOlder, limit, word}
	}
	tests := []struct {
		check check
		want  verdict
	}{
		{cpuAtMost(1.2), of(cpu, "20", "40", "1.2 ×", "44", "0.91 ×", "≤ 1.2 ×", pass)},
		{cpuAtMost(1.19), of(cpu, "20", "40", "1.2 ×", "44", "0.91 ×", "≤ 1.19 ×", missed)},
		{rateAtLeast(0.98), of(rate, "100", "98", "0.98 ×", "109", "0.9 ×", "≥ 0.98 ×", worse)},
		{rateAtLeast(0.99), of(rate, "100", "98", "0.98 ×", "109", "0.9 ×", "≥ 0.99 ×", missed)},
		{shown("CPU", cpuPerEvent), of("CPU", "20", "40", "1.2 ×", "44", "0.91 ×", "–", noLimit)},
		{atMost("error", ttftP99Error, 0.05, "ms"), of("error", "–", "1", "–", "–", "–", "≤ 0.05 ms", missed)},
		{atMost("missing", lagP99, 1, "ms"), of("missing", "–", "–", "–", "–", "–", "≤ 1 ms", missed)},
	}
	for _, tt := range tests {
		got := judge(&scenario{name: "s", reference: rawReference, checks: []check{tt.check}}, rows)
		if diff := cmp.Diff([]verdict{tt.want}, got, cmp.AllowUnexported(verdict{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.check.what, diff)
		}
	}
}

// TestIsWorse: neither a difference in one direction that is small, nor a large one that
// one round does not show, is worse.
func TestIsWorse(t *testing.T) {
	tests := []struct {
		ratios []float64
		more   bool
		want   bool
	}{
		{[]float64{1.2, 1.11, 1.01}, false, true},
		{[]float64{1.09, 1.09, 3}, false, false},
		{[]float64{1.5, 1.5, 0.99}, false, false},
		{[]float64{1.5, 1.5}, false, false},
		{[]float64{0.8, 0.9, 0.99}, true, true},
		{[]float64{0.8, 0.92, 0.99}, true, false},
		{[]float64{1.5, 1.5, 1.5}, true, false},
		{nil, false, false},
	}
	for _, tt := range tests {
		if got := isWorse(tt.ratios, tt.more); got != tt.want {
			t.Errorf("isWorse(%v, %v) = %v, want %v", tt.ratios, tt.more, got, tt.want)
		}
	}
}

// TestClients: the two binaries change places in each round, behind the reference, and
// there are at least three rounds of them.
func TestClients(t *testing.T) {
	r := runner{against: "older", rounds: 1}
	sc := &scenario{reference: httpReference, rounds: 2}
	var got [][]string
	for round := 1; round <= r.roundsOf(sc); round++ {
		got = append(got, r.clients(sc, round))
	}
	odd := []string{httpClient, ourClient, olderClient}
	want := [][]string{odd, {httpClient, olderClient, ourClient}, odd}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("clients (-want +got):\n%s", diff)
	}
	alone := runner{rounds: 1}
	if got := alone.clients(&scenario{}, 1); !slices.Equal(got, []string{ourClient}) || alone.roundsOf(sc) != 2 {
		t.Errorf("without another binary: %v, %d rounds", got, alone.roundsOf(sc))
	}
}

func TestPrintTable(t *testing.T) {
	verdicts := []verdict{
		{"load", "what", "1", "2", "2 ×", "4", "0.50 ×", "≤ 3 ×", pass},
		notRun(&scenario{name: "large"}, 300, 200),
	}
	var b bytes.Buffer
	for _, older := range []bool{false, true} {
		if err := printTable(&b, verdicts, older, true); err != nil {
			t.Fatal(err)
		}
	}
	none := "| large | not run: it needs 300 file descriptors of 200 | – | – | – |"
	want := "| load | measure | reference | aiperfd | to reference | limit | verdict |\n" +
		"| --- | --- | --- | --- | --- | --- | --- |\n| load | what | 1 | 2 | 2 × | ≤ 3 × | pass |\n" + none + " – | – |\n" +
		"| load | measure | reference | aiperfd | to reference | against | to against | limit | verdict |\n" +
		"| --- | --- | --- | --- | --- | --- | --- | --- | --- |\n" +
		"| load | what | 1 | 2 | 2 × | 4 | 0.50 × | ≤ 3 × | pass |\n" + none + " – | – | – | – |\n"
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Errorf("Markdown (-want +got):\n%s", diff)
	}
}

// TestTruths: only whole lines count, and a later call goes on behind them.
func TestTruths(t *testing.T) {
	line := func(id string, accept, first int64) string {
		return fmt.Sprintf(`{"request_id":%q,"stream":true,"output_tokens":2,"accept_ns":%d,"body_read_ns":%d,"first_write_ns":%d,`+
			`"last_write_ns":%d,"end_ns":%d,"chunk_ns":[%d,%d],"outcome":"ok"}`+"\n",
			id, accept, accept, first, first+7e6, first+8e6, first, first+7e6)
	}
	path := filepath.Join(t.TempDir(), "truth")
	text := line("a", 0, 20e6) + line("b", 1e6, 23e6)
	if err := os.WriteFile(path, []byte(text+line("c", 0, 0)[:30]), 0o600); err != nil {
		t.Fatal(err)
	}
	truths, end, err := readTruthsFrom(path, 0)
	if err != nil || len(truths) != 2 || end != int64(len(text)) {
		t.Fatalf("readTruthsFrom = %d truths, end %d, %v; want 2, %d", len(truths), end, err, len(text))
	}
	if more, _, err := readTruthsFrom(path, end); err != nil || len(more) != 0 {
		t.Errorf("behind the end: %d truths, %v", len(more), err)
	}
	r := row{M: map[string]float64{ttftAvg: 21.21, ttftP99: 22.5, icP99: 7.7, requestRate: 70}}
	r.sumUp(truths, &scenario{streams: 2, ttft: 20 * time.Millisecond, itl: 5 * time.Millisecond})
	// TTFT 20 and 22 ms: mean 21, p99 21.98. Service 28 and 30 ms: two streams make 2/0.029 requests a second.
	want := map[string]float64{
		ttftAvg: 21.21, ttftP99: 22.5, icP99: 7.7, requestRate: 70,
		truthTTFTAvg: 21, truthTTFTP50: 21, truthTTFTP99: 21.98, ttftP99Error: 0.52, ttftAvgErrorShare: 1, ttftP99ErrorShare: 100 * 0.52 / 21.98,
		truthICP99: 7, icP99Ratio: 1.1, mockLateP99: 3.98, throughputError: 100 * (70*0.029/2 - 1),
	}
	for name, v := range want {
		if math.Abs(r.M[name]-v) > 1e-9 {
			t.Errorf("%s = %v, want %v", name, r.M[name], v)
		}
	}
	if len(r.M) != len(want) {
		t.Errorf("measures: %v, want %v", r.M, want)
	}
}

// A line that the server is still writing is left for the next call.
func TestReadTruths(t *testing.T) {
	path := filepath.Join(t.TempDir(), "truth.jsonl")
	write := func(text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	first, second := `{"request_id":"a"}`+"\n", `{"request_id":"b"}`+"\n"
	write(first + second[:7])
	truths, at, err := readTruthsFrom(path, 0)
	if err != nil || len(truths) != 1 || at != int64(len(first)) {
		t.Fatalf("%v, up to %d, %v", truths, at, err)
	}
	write(first + second)
	if truths, _, err = readTruthsFrom(path, at); err != nil || len(truths) != 1 || truths[0].RequestID != "b" {
		t.Errorf("%v, %v", truths, err)
	}
}

func TestChoose(t *testing.T) {
	all, err := choose("")
	if err != nil || len(all) != len(scenarios()) {
		t.Fatalf("choose all: %d, %v", len(all), err)
	}
	for _, sc := range all {
		for _, c := range sc.checks {
			if c.ratio && sc.reference == noReference {
				t.Errorf("%s: %s is a ratio, but there is no reference", sc.name, c.what)
			}
		}
	}
	two, err := choose("plain-64,stream-64")
	if err != nil || len(two) != 2 || two[0].name != "plain-64" {
		t.Errorf("choose two: %v, %v", two, err)
	}
	if _, err := choose("plain-63"); err == nil {
		t.Error("an unknown name is accepted")
	}
}
