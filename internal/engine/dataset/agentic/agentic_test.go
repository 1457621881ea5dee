package agentic

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/dataset/file"
)

// record returns a trace with the members of a record, some of them replaced.
func record(id string, requests ...string) string {
	return fmt.Sprintf(`{"id": %q, "models": ["big"], "block_size": 64, "hash_id_scope": "local", "requests": [%s]}`,
		id, strings.Join(requests, ", "))
}

// turn returns a request of the model big.
func turn(t float64, in, out int, api float64, ids ...int) string {
	return turnOf("big", t, in, out, api, ids...)
}

func turnOf(model string, t float64, in, out int, api float64, ids ...int) string {
	blocks, _ := json.Marshal(slices.Concat([]int{}, ids))
	return fmt.Sprintf(`{"t": %v, "type": "s", "model": %q, "in": %d, "out": %d, "hash_ids": %s, "api_time": %v}`, t, model, in, out, blocks, api)
}

// readText returns the graphs of a text.
func readText(t *testing.T, text string, o Options) ([]*Graph, Repairs, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "traces.jsonl")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var graphs []*Graph
	repairs, err := Read(t.Context(), file.File{Path: path}, o, func(g *Graph) error {
		graphs = append(graphs, g)
		return nil
	})
	return graphs, repairs, err
}

// parseText returns the graph of a record.
func parseText(o *Options, data []byte) (*Graph, []string) {
	ids := newSieve()
	return o.parse(ids.record(data), ids, &Repairs{})
}

func usual() Options { return Options{Rules: DefaultRules()} }

// traceA grows by a part of a block, has a sub-agent that shares two blocks, and is cut twice.
func traceA() string {
	sub := `{"t": 2.6, "type": "subagent", "agent_id": "sub1", "subagent_type": "Explore", "duration_ms": 1400, "status": "completed",
		"models": ["big"], "tool_tokens": 64, "system_tokens": 50, "requests": [` +
		turn(2.7, 192, 20, 0.4, 1, 2, 50) + "," + turn(3.4, 320, 12, 0.5, 1, 2, 50, 51, 52) + `]}`
	text := record("A", turn(0, 256, 10, 1, 1, 2, 3, 4), turn(1.5, 400, 70, 1, 1, 2, 3, 4, 5, 6, 7), sub,
		turn(4.5, 576, 33, 0.5, 1, 2, 3, 4, 5, 6, 8, 9, 10), turn(6, 200, 15, 0.5, 1, 2, 20, 21), turn(30, 330, 15, 0.5, 1, 2, 20, 22, 23, 24))
	text = strings.Replace(text, `"requests"`, `"tool_tokens": 64, "system_tokens": 50, "requests"`, 1)
	return strings.ReplaceAll(text, "\n", " ")
}

func TestGraph(t *testing.T) {
	graphs, repairs, err := readText(t, traceA(), usual())
	if err != nil || repairs != (Repairs{}) || len(graphs) != 1 {
		t.Fatalf("%d graphs, %+v, %v", len(graphs), repairs, err)
	}
	g := graphs[0]
	if len(g.Streams) != 2 || g.Streams[0].ID != "A" || len(g.Streams[0].Requests) != 5 || g.Streams[0].Declared != 114 {
		t.Fatalf("%+v", g)
	}
	sub := g.Streams[1]
	if sub.ID != "A::sa:sub1" || sub.Kind != Sub || *sub.Spawn != (Spawn{"A/1", 2.6}) || sub.Declared != 114 {
		t.Errorf("%+v, %+v", sub, sub.Spawn)
	}
	// The third turn began after the sub-agent had ended, at 2.6 + 1.4 s.
	if want := map[string][]string{"A/2": {"A::sa:sub1/1"}}; !reflect.DeepEqual(g.Needs, want) {
		t.Errorf("needs %v", g.Needs)
	}
	if first := sub.Requests[0]; first.Shared != 2 || !slices.Equal(first.New, []int64{50}) {
		t.Errorf("first of the sub-agent: %+v", first)
	}
	// What Write writes is read as the same graph.
	var line bytes.Buffer
	if err := Write(&line, g); err != nil {
		t.Fatal(err)
	}
	again, _, err := readText(t, line.String(), usual())
	if err != nil || len(again) != 1 || !reflect.DeepEqual(again[0], g) {
		t.Errorf("read again: %v\n%+v\n%+v", err, again, g)
	}
}

// TestSplit: what a capture has mixed into one stream is divided as AIPerf 0.13 divides it. (The same was compared
// for 3,000 random traces with AIPerf itself.)
func TestSplit(t *testing.T) {
	long := make([]int, 300)
	for i := range long {
		long[i] = 1000 + i
	}
	with := func(ids []int, more ...int) []int { return slices.Concat(ids, more) }
	for _, tt := range []struct {
		name  string
		turns []string
		want  map[string][]int // places by stream
	}{
		{"one stream", []string{turn(0, 64, 9, 1, 1), turn(2, 128, 9, 1, 1, 2), turn(4, 192, 9, 1, 1, 2, 3)},
			map[string][]int{"T": {0, 1, 2}}},
		{"a cut that continues", []string{turn(0, 192, 9, 1, 1, 2, 3), turn(2, 192, 9, 1, 1, 2, 9), turn(4, 256, 9, 1, 1, 2, 9, 10)},
			map[string][]int{"T": {0, 1, 2}}},
		{"a cut whose longer context comes back", []string{turn(0, 192, 99, 1, 1, 2, 3), turn(2, 192, 99, 1, 1, 2, 9), turn(4, 256, 99, 1, 1, 2, 3, 4)},
			map[string][]int{"T": {0, 2}, "T::aux:000": {1}}},
		{"an answer that had not ended", []string{turn(0, 64, 99, 5, 1), turn(2, 128, 99, 1, 1, 2)},
			map[string][]int{"T": {0}, "T::aux:000": {1}}},
		{"another model", []string{turn(0, 64, 99, 1, 1), turnOf("small", 2, 128, 99, 1, 1, 2)},
			map[string][]int{"T": {0}, "T::aux:000": {1}}},
		{"an agent with two turns", []string{turn(0, 128, 99, 9, 1, 2), turn(1, 128, 99, 1, 1, 7), turn(3, 192, 99, 1, 1, 7, 8)},
			map[string][]int{"T": {0}, "T::fa:000": {1, 2}}},
		{"a long prompt with an answer that is no summary", []string{turn(0, 128, 99, 9, 1, 2), turn(1, 64*301, 4000, 1, with([]int{1}, long...)...)},
			map[string][]int{"T": {0}, "T::fa:000": {1}}},
		{"a long prompt with a summary", []string{turn(0, 128, 99, 9, 1, 2), turn(1, 64*301, 900, 1, with([]int{1}, long...)...)},
			map[string][]int{"T": {0}, "T::aux:000": {1}}},
		{"three at a time", []string{
			turn(0, 128, 99, 20, 1, 2),
			turn(1, 128, 99, 1, 1, 5), turn(1.5, 128, 99, 1, 1, 6), turn(1.8, 128, 99, 1, 1, 7),
			turn(2.1, 192, 99, 1, 1, 5, 15), turn(2.6, 192, 99, 1, 1, 6, 16), turn(2.9, 192, 99, 1, 1, 7, 17),
		}, map[string][]int{"T": {0}, "T::wg:000_000": {1, 4}, "T::wg:000_001": {2, 5}, "T::wg:000_002": {3, 6}}},
		{"a title first", []string{turn(0, 64, 20, 1, 90), turn(2, 64, 99, 1, 1), turn(4, 128, 99, 1, 1, 2)},
			map[string][]int{"T": {0, 1, 2}}},
		{"another context first", []string{turn(0, 128, 200, 1, 90, 2), turn(2, 64, 99, 1, 1), turn(4, 128, 99, 1, 1, 2)},
			map[string][]int{"T": {0}, "T::fa:000": {1, 2}}},
		{"no blocks", []string{turn(0, 64, 99, 1), turn(2, 64, 99, 1, 1), turn(4, 64, 99, 1)},
			map[string][]int{"T": {0, 1, 2}}},
		{"a session of tomorrow", []string{turn(0, 256, 99, 1, 1, 2, 3, 4), turn(4000, 256, 99, 1, 1, 7, 8, 9), turn(4002, 320, 99, 1, 1, 7, 8, 9, 10)},
			map[string][]int{"T": {0}, "T::fa:000": {1, 2}}},
		{"the order of the file does not count", []string{turn(4, 192, 9, 1, 1, 2, 3), turn(0, 64, 9, 1, 1), turn(2, 128, 9, 1, 1, 2)},
			map[string][]int{"T": {1, 2, 0}}},
	} {
		graphs, _, err := readText(t, record("T", tt.turns...), usual())
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		got := map[string][]int{}
		for _, s := range graphs[0].Streams {
			for _, r := range s.Requests {
				got[s.ID] = append(got[s.ID], r.Place.Outer)
			}
		}
		if !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
		whole, _, err := readText(t, record("T", tt.turns...), Options{})
		if err != nil || len(whole[0].Streams) != 1 {
			t.Errorf("%s: not split: %v", tt.name, err)
		}
	}
}

// TestSplitOrder: the streams of a trace do not depend on the order in which the record has its requests, if no two of
// them begin at one time.
func TestSplitOrder(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 9))
	streams := func(turns []string) string {
		graphs, _, err := readText(t, record("T", turns...), usual())
		if err != nil {
			t.Fatal(err)
		}
		var out []string
		for _, s := range graphs[0].Streams {
			line := s.ID
			for _, one := range s.Requests {
				line += fmt.Sprint(" ", one.T)
			}
			out = append(out, line)
		}
		return strings.Join(out, "\n")
	}
	several := 0
	for range 60 {
		var turns []string
		var known [][]int
		for i := range 4 + r.IntN(16) {
			var ids []int
			if len(known) > 0 && r.IntN(8) > 0 {
				from := known[r.IntN(len(known))]
				ids = slices.Clone(from[:r.IntN(len(from))+1])
			}
			for range r.IntN(3) + 1 {
				ids = append(ids, 1+r.IntN(500))
			}
			known = append(known, ids)
			turns = append(turns, turn(float64(i)+r.Float64()/2, 64*len(ids), 1+r.IntN(200), 4*r.Float64(), ids...))
		}
		want := streams(turns)
		if strings.Contains(want, "\n") {
			several++
		}
		r.Shuffle(len(turns), func(i, j int) { turns[i], turns[j] = turns[j], turns[i] })
		if diff := cmp.Diff(want, streams(turns)); diff != "" {
			t.Errorf("another order of %d requests (-want +got):\n%s", len(turns), diff)
		}
	}
	if several < 30 {
		t.Errorf("%d of 60 traces have several streams", several)
	}
}

func TestProblems(t *testing.T) {
	fault := func(requests ...string) string { return record("A", requests...) }
	for _, tt := range []struct{ text, want string }{
		{`{"id": 1`, "traces.jsonl:1: unexpected end of JSON at column 9"},
		{`{"prompt": "x"}`, "not a trace: it needs the members"},
		{fault(turn(0, 0, 1, 1)), "traces.jsonl:1: trace A: requests[0]: in must be at least 1, not 0"},
		{fault(turn(0, 64, 1, 1), `{"t": 1, "type": "subagent", "agent_id": "a1", "subagent_type": "x", "status": "y", "requests": [`+
			turn(1, 0, 1, 1)+`]}`), "trace A: requests[1] (sub-agent a1, inner 0): in must be at least 1, not 0"},
		{fault(turn(0, 64, -1, 1)), "out must be at least 0, not -1"},
		{fault(turn(-1, 64, 1, 1)), "t must not be negative, not -1"},
		{fault(strings.Replace(turn(0, 64, 1, 1), `"api_time": 1`, `"api_time": 1e999`, 1)), "api_time must be a number of seconds, not 1e999"},
		{fault(strings.Replace(turn(0, 64, 1, 1), `"t": 0`, `"t": "0"`, 1)), `t must be a number of seconds, not "0"`},
		{fault(strings.Replace(turn(0, 64, 1, 1, 1), `[1]`, `[1, 9223372036854775808, "x"]`, 1)),
			"hash_ids[1] must be a whole number of 64 bits, not 9223372036854775808"},
		{fault(strings.Replace(turn(0, 64, 1, 1), `"model": "big", `, "", 1)), "requests[0]: model is missing"},
		{fault(strings.Replace(turn(0, 64, 1, 1), `"s"`, `"x"`, 1)), `type must be "n", "s" or "subagent", not "x"`},
		{fault(), "requests has no request of the main stream"},
		{fault("7"), "requests[0]: must be an object, not 7"},
		{strings.Replace(fault(turn(0, 64, 1, 1)), `"local"`, `"global"`, 1), `hash_id_scope must be "local", not "global"`},
		{strings.Replace(fault(turn(0, 64, 1, 1)), `"block_size": 64`, `"block_size": 0`, 1), "block_size must be at least 1, not 0"},
		{strings.Replace(fault(turn(0, 256, 1, 1, 1)), `"models"`, `"tool_tokens": 65, "models"`, 1),
			"tool_tokens and system_tokens are 65 tokens, but the 1 ids of the first request are 64"},
		{fault(turn(0, 64, 1, 1)) + "\n" + fault(turn(0, 64, 1, 1)), "traces.jsonl:2: trace A: its id is that of the trace in traces.jsonl:1"},
		{"{}\n" + fault(turn(0, 0, 1, 1)), "traces.jsonl:2: trace A: requests[0]"}, // all at once
		{header + `"id": "A", "block": 64, "streams": [{"id": "A", "requests": [{"t": 0, "in": 0, "out": 1}]}]}`, "stream A: requests[0]: in and out"},
		{header + `"id": "A", "block": 64, "streams": [{"id": "A", "requests": [{"t": 0, "in": 1, "out": 1}]},
			{"id": "B", "spawn": {"after": "C/0"}, "requests": [{"t": 0, "in": 1, "out": 1}]}]}`, `stream B: spawn.after "C/0" is no request`},
		{"", "no trace is left: 0 read"},
	} {
		_, _, err := readText(t, strings.ReplaceAll(tt.text, "\n\t", " "), usual())
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s\n got %v\nwant %s", tt.text, err, tt.want)
		}
	}
	_, repairs, err := readText(t, "{}\n"+fault(turn(0, 64, 1, 1)), Options{SkipBad: true})
	if err != nil || repairs.SkippedTraces != 1 {
		t.Errorf("skipped: %+v, %v", repairs, err)
	}
	if _, _, err := readText(t, "{}", Options{SkipBad: true}); err == nil || !strings.Contains(err.Error(), "no trace is left: 1 read, 1 left out") {
		t.Errorf("nothing left: %v", err)
	}
	unknown := strings.Replace(fault(turn(0, 64, 1, 1)), `"models"`, `"mood": {"a": [1, "}"]}, "models"`, 1)
	if _, repairs, err := readText(t, unknown, usual()); err != nil || repairs.UnknownMembers != 1 {
		t.Errorf("unknown: %+v, %v", repairs, err)
	}
	if _, _, err := readText(t, unknown, Options{Strict: true}); err == nil || !strings.Contains(err.Error(), `trace A: unknown member "mood"`) {
		t.Errorf("strict: %v", err)
	}
}

func TestRepairs(t *testing.T) {
	agent := func(at float64, requests ...string) string {
		return fmt.Sprintf(`{"t": %v, "type": "subagent", "agent_id": "a", "subagent_type": "x", "status": "y", "requests": [%s]}`,
			at, strings.Join(requests, ","))
	}
	text := strings.Replace(record("A",
		agent(0, turn(0, 64, 1, 1, 1)),                                    // before any request
		turn(0, 64, 0, 1, 1, 2),                                           // no answer, one id too many
		agent(1, turn(1, 64, 1, 1, 8)), agent(2, turn(0.5, 640, 1, 1, 9)), // one id, and times from its own beginning
		agent(3)), `"models"`, `"tool_tokens": 65, "models"`, 1)
	graphs, got, err := readText(t, text, usual())
	want := Repairs{EmptyAnswers: 1, TrimmedBlocks: 1, ClampedPrefixes: 1, EarlySubAgents: 1, EmptySubAgents: 1, DuplicateAgents: 1, UncoveredTails: 1}
	if err != nil || got != want {
		t.Fatalf("%+v, %v; want %+v", got, err, want)
	}
	var names []string
	for _, s := range graphs[0].Streams {
		names = append(names, s.ID)
	}
	if !slices.Equal(names, []string{"A", "A::sa:a", "A::sa:a#2"}) || graphs[0].Streams[2].Requests[0].T != 2.5 {
		t.Errorf("%v, %+v", names, graphs[0].Streams[2].Requests)
	}
}

// TestFolder: a folder of documents, one of them packed, is read in the order of the names.
func TestFolder(t *testing.T) {
	dir := t.TempDir()
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	_, _ = z.Write([]byte(record("C", turn(0, 64, 1, 1, 1)) + "\n" + record("D", turn(0, 64, 1, 1, 1))))
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string][]byte{
		"b.json": []byte("{\n" + record("B", turn(0, 64, 1, 1, 1))[1:] + "\n"), "a.json": []byte(traceA()), "c.jsonl.gz": packed.Bytes(),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var ids []string
	_, err := Read(t.Context(), file.File{Path: dir}, usual(), func(g *Graph) error {
		ids = append(ids, g.ID)
		return nil
	})
	if err != nil || !slices.Equal(ids, []string{"A", "B", "C", "D"}) {
		t.Errorf("%v, %v", ids, err)
	}
}

func TestSummary(t *testing.T) {
	graphs, _, err := readText(t, traceA(), usual())
	if err != nil {
		t.Fatal(err)
	}
	var s Summary
	s.Add(graphs[0])
	s.Finish()
	if s.Requests != 7 || s.MainRequests != 5 || s.Joins != 1 || s.Parallel != 1 || s.Inferred != 0 || s.Context != 609 ||
		!maps.Equal(s.Streams, map[Kind]int{Main: 1, Sub: 1}) {
		t.Errorf("%+v", s)
	}
	// In the order of the record, 20 of the 38 blocks were sent before; see agentic.md, row 10 of its table.
	if s.HitRate == nil || math.Abs(*s.HitRate-20.0/38) > 1e-12 {
		t.Errorf("hit rate %v", *s.HitRate)
	}
	if s.Edits == nil || *s.Edits != 3.0/5 { // of the main stream's turns, all but the second; the sub-agent's continues
		t.Errorf("edits %v", *s.Edits)
	}
	if s.Gap.Max != 23.5 || s.Session.Max != 30.5 || s.Input.Max != 576 || s.Input.P50 != 320 {
		t.Errorf("%+v %+v %+v", s.Gap, s.Session, s.Input)
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(traceA()))
	f.Add([]byte(record("T", turn(0, 64, 1, 1, 1), turn(0, 64, 1, 1))))
	f.Add([]byte(header + `"id":"A","block":1,"streams":[{"id":"A","requests":[{"t":0,"in":1,"out":1,"shared":9,"new":[1]}]}],"needs":{"A/0":["A/0"]}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		o := usual()
		g, problems := parseText(&o, data)
		if len(problems) > 0 {
			return
		}
		var s Summary
		s.Add(g)
		s.Finish()
		var line bytes.Buffer
		if err := Write(&line, g); err != nil {
			t.Fatal(err)
		}
		again, problems := parseText(&o, line.Bytes())
		if len(problems) > 0 || len(again.Streams) != len(g.Streams) {
			t.Fatalf("what was written cannot be read: %v", problems)
		}
	})
}

func BenchmarkRead(b *testing.B) {
	ids := make([]int, 2000)
	for i := range ids {
		ids[i] = 100000 + i
	}
	var turns []string
	for i := range 200 {
		turns = append(turns, turn(float64(i), 64*(1800+i), 400, 0.5, ids[:1800+i]...))
	}
	data := []byte(record("T", turns...))
	o := usual()
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		if _, problems := parseText(&o, data); len(problems) > 0 {
			b.Fatal(problems)
		}
	}
}

// A pass of the trace finds 20 of its 38 blocks in an unlimited prefix cache, as AIPerf 0.13 counts them.
func TestRecordings(t *testing.T) {
	c := openTraces(t, 7, Spec{}, traceA())[0]
	blocks, seen := 0, 0
	byName := map[*bench.Recording]string{}
	var all []*bench.Recording
	for _, one := range []*bench.Conversation{c, c.Turns[1].Spawns[0].Children[0]} {
		for i := range one.Turns {
			r := one.Turns[i].Recorded
			byName[r] = name(one.ID, i)
			all = append(all, r)
			blocks, seen = blocks+r.Blocks, seen+r.Seen
			if r.Session != c.Turns[0].Recorded.Session || r.Session.ID != "A" || len(r.Session.Turns) != 7 {
				t.Errorf("%s is of session %+v", byName[r], r.Session)
			}
		}
	}
	if blocks != 38 || seen != 20 {
		t.Errorf("%d of %d blocks were seen, want 20 of 38", seen, blocks)
	}
	got := map[string][]string{}
	for _, r := range all {
		for _, after := range r.After {
			got[byName[r]] = append(got[byName[r]], byName[after])
		}
	}
	want := map[string][]string{
		"A/1": {"A/0"}, "A/2": {"A/1", "A::sa:sub1/1"}, "A/3": {"A/2"}, "A/4": {"A/3"},
		"A::sa:sub1/0": {"A/1"}, "A::sa:sub1/1": {"A::sa:sub1/0"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("what requests followed (-want +got):\n%s", diff)
	}
}
