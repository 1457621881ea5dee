package export

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/metric"
	"aiperfd/internal/engine/metric/catalogue"
	"aiperfd/internal/engine/metric/measure"
)

// member is one member of a JSON object, in order.
type member struct {
	name  string
	value json.RawMessage
}

// members takes a JSON object apart.
func members(t *testing.T, data []byte) []member {
	t.Helper()
	dec := json.NewDecoder(bytes.NewReader(data))
	if _, err := dec.Token(); err != nil {
		t.Fatal(err)
	}
	var out []member
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			t.Fatal(err)
		}
		m := member{name: name.(string)}
		if err := dec.Decode(&m.value); err != nil {
			t.Fatal(err)
		}
		out = append(out, m)
	}
	return out
}

// compact removes white space.
func compact(t *testing.T, data []byte) string {
	t.Helper()
	var b bytes.Buffer
	if err := json.Compact(&b, data); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// results reads AIPerf's metric blocks.
func results(t *testing.T, blocks []member) metric.Results {
	t.Helper()
	var out metric.Results
	for _, d := range catalogue.Defs() {
		i := slices.IndexFunc(blocks, func(m member) bool { return m.name == d.Tag })
		if i < 0 {
			continue
		}
		var block map[string]any
		if err := json.Unmarshal(blocks[i].value, &block); err != nil {
			t.Fatal(err)
		}
		def, _ := catalogue.Lookup(d.Tag)
		r := metric.Result{Def: def}
		for s := metric.Avg; s <= metric.P9999; s++ {
			if v, ok := block[s.String()]; ok {
				r.Set(s, v.(float64))
			}
		}
		if n, ok := block["count"]; ok {
			r.Count = int64(n.(float64))
		}
		if block["unit"] != d.Unit {
			t.Errorf("unit of %s = %s, AIPerf's is %s", d.Tag, d.Unit, block["unit"])
		}
		out = append(out, r)
	}
	return out
}

// sorted orders the members of an object by name; AIPerf orders metrics by
// chance there.
func sorted(t *testing.T, data []byte) []byte {
	t.Helper()
	all := map[string]json.RawMessage{}
	for _, m := range members(t, data) {
		all[m.name] = m.value
	}
	out, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// aiperfFile returns a (shortened) summary that AIPerf 0.13.0 wrote.
func aiperfFile(t *testing.T) []member {
	t.Helper()
	data, err := os.ReadFile("testdata/aiperf_0.13.json")
	if err != nil {
		t.Fatal(err)
	}
	return members(t, data)
}

// aiperfReport returns the report of AIPerf's run.
func aiperfReport(t *testing.T) *Report {
	t.Helper()
	file := aiperfFile(t)
	get := func(name string) json.RawMessage {
		i := slices.IndexFunc(file, func(m member) bool { return m.name == name })
		if i < 0 {
			t.Fatalf("AIPerf's file has no %s", name)
		}
		return file[i].value
	}
	var info struct {
		Seed    int64  `json:"random_seed"`
		Command string `json:"cli_command"`
	}
	if err := json.Unmarshal(get("run_info"), &info); err != nil {
		t.Fatal(err)
	}
	var errs []struct {
		Details struct{ Message string } `json:"error_details"`
		Count   int64
	}
	if err := json.Unmarshal(get("error_summary"), &errs); err != nil {
		t.Fatal(err)
	}
	r := &Report{
		Identity:    Identity{RunID: "e314937430f4", Version: "0.1.0", Seed: info.Seed, CLICommand: info.Command},
		InputConfig: get("input_config"), State: bench.StateCompleted, Complete: true, Models: []string{"mock"},
		Endpoint: "chat", Title: "LLM Metrics", Streaming: true, Load: "concurrency 4", Expected: 60,
		Tokenizer: "server usage where sent, else builtin",
		Start:     time.Date(2026, 11, 21, 7, 57, 49, 849212000, time.UTC),
		End:       time.Date(2026, 11, 21, 7, 57, 55, 793462000, time.UTC),
		Duration:  5944250 * time.Microsecond,
		Results:   results(t, file), Warmup: results(t, members(t, get("warmup_metrics"))),
		Warnings: []bench.Warning{{Code: "request-errors", Detail: "6 of 60 requests failed; latencies are of the successful ones"}},
	}
	for _, e := range errs {
		r.Errors = append(r.Errors, metric.ErrorGroup{
			Class: bench.ServerError, Status: 500, Type: "server_error", Pattern: measure.ErrorPattern(e.Details.Message),
			Example: e.Details.Message, Count: e.Count, First: time.Second, Last: 2 * time.Second,
		})
	}
	return r
}

// The summary must be AIPerf's, member by member and digit by digit, but for the
// members that say who wrote it and those that are ours.
func TestJSONLikeAIPerf(t *testing.T) {
	var out bytes.Buffer
	if err := writeJSON(&out, aiperfReport(t)); err != nil {
		t.Fatal(err)
	}
	got, want := members(t, out.Bytes()), aiperfFile(t)
	names := func(list []member, skip ...string) (out []string) {
		for _, m := range list {
			if !slices.Contains(skip, m.name) {
				out = append(out, m.name)
			}
		}
		return out
	}
	head := []string{"schema_version", "aiperfd_version", "aiperf_version", "benchmark_id"}
	if diff := cmp.Diff(head, names(got)[:4]); diff != "" {
		t.Errorf("head (-want +got):\n%s", diff)
	}
	// The first 24 and all the blocks that are no metrics have a fixed order.
	fixed := slices.Index(names(want), "warmup_metrics")
	if diff := cmp.Diff(names(want)[:fixed], names(got, "aiperfd_version")[:fixed]); diff != "" {
		t.Errorf("order (-AIPerf +ours):\n%s", diff)
	}
	a, b := names(want), names(got, "aiperfd_version", "notes", "token_counts")
	slices.Sort(a)
	slices.Sort(b)
	if diff := cmp.Diff(a, b); diff != "" {
		t.Errorf("members (-AIPerf +ours):\n%s", diff)
	}
	byName := map[string]string{}
	for _, m := range got {
		byName[m.name] = compact(t, m.value)
	}
	for _, m := range want {
		theirs := compact(t, m.value)
		switch m.name {
		case "aiperf_version":
			theirs = `"0.13.0-compat"`
		case "warmup_metrics":
			theirs = compact(t, sorted(t, m.value))
			byName[m.name] = compact(t, sorted(t, json.RawMessage(byName[m.name])))
		case "error_summary":
			theirs = strings.Replace(theirs, `},"count"`, `,"class":"server_error"},"count"`, 1)
		}
		if byName[m.name] != theirs {
			t.Errorf("%s = %s, AIPerf wrote %s", m.name, byName[m.name], theirs)
		}
	}
	if got, want := byName["notes"], `[{"code":"request-errors","detail":"6 of 60 requests failed; latencies are of the successful ones"}]`; got != want {
		t.Errorf("notes = %s, want %s", got, want)
	}
}

func TestCSVLikeAIPerf(t *testing.T) {
	var out bytes.Buffer
	if err := writeCSV(&out, aiperfReport(t)); err != nil {
		t.Fatal(err)
	}
	file, err := os.ReadFile("testdata/aiperf_0.13.csv")
	if err != nil {
		t.Fatal(err)
	}
	ours, theirs := strings.SplitAfter(out.String(), "\r\n"), strings.SplitAfter(string(file), "\r\n")
	if len(ours) != len(theirs) {
		t.Fatalf("%d lines, AIPerf wrote %d", len(ours), len(theirs))
	}
	for i := range ours {
		a, b := fields(t, ours[i]), fields(t, theirs[i])
		if len(a) != len(b) {
			t.Fatalf("line %d has %d cells: %q, AIPerf wrote %d: %q", i+1, len(a), ours[i], len(b), theirs[i])
		}
		for j := range a {
			if a[j] != b[j] && round2(a[j]) != b[j] {
				t.Errorf("line %d, cell %d = %q, AIPerf wrote %q", i+1, j+1, a[j], b[j])
			}
		}
	}
}

// fields takes a CSV line apart; an empty line has no fields.
func fields(t *testing.T, line string) []string {
	t.Helper()
	if !strings.HasSuffix(line, "\r\n") && line != "" {
		t.Errorf("line %q does not end in CR LF", line)
	}
	if strings.TrimSpace(line) == "" {
		return nil
	}
	f, err := csv.NewReader(strings.NewReader(line)).Read()
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// round2 rounds our longer numbers to AIPerf's two decimals.
func round2(cell string) string {
	v, err := strconv.ParseFloat(cell, 64)
	if err != nil || math.Abs(v) >= 1 {
		return cell
	}
	return strconv.FormatFloat(v, 'f', 2, 64)
}

// The tables must be AIPerf's but for the name in their titles.
func TestConsoleLikeAIPerf(t *testing.T) {
	var out bytes.Buffer
	if err := Console(&out, aiperfReport(t), ConsoleOptions{Detail: AIPerf}); err != nil {
		t.Fatal(err)
	}
	file, err := os.ReadFile("testdata/aiperf_0.13.txt")
	if err != nil {
		t.Fatal(err)
	}
	want, got := boxes(string(file)), boxes(out.String())
	// AIPerf orders the rows that have no order by chance.
	i := slices.IndexFunc(want, func(line string) bool { return strings.Contains(line, "(error-adjusted)") })
	if i < 0 || len(got) < i {
		t.Fatalf("%d lines, want more than %d", len(got), i)
	}
	slices.Sort(want[i:])
	slices.Sort(got[i:])
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("tables (-AIPerf +ours):\n%s", diff)
	}
}

// boxes returns the lines of all tables; of the titles, what follows the name.
func boxes(text string) (out []string) {
	for line := range strings.Lines(text) {
		_, title, found := strings.Cut(line, "| LLM")
		switch {
		case found:
			out = append(out, strings.TrimSpace(title))
		case strings.ContainsAny(line, "┏┃┡│└"):
			out = append(out, strings.TrimRight(line, "\n"))
		}
	}
	return out
}
