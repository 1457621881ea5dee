package agentic

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/dataset/file"
	"aiperfd/internal/engine/dataset/source"
	"aiperfd/internal/engine/tokenizer"
)

// openTraces returns the conversations of traces.
func openTraces(t testing.TB, seed bench.Seed, spec Spec, traces ...string) []*bench.Conversation {
	t.Helper()
	o := source.Options{Seed: seed, Tokenizer: tokenizer.Builtin(), File: file.File{}}
	for _, trace := range traces {
		o.File.Records = append(o.File.Records, json.RawMessage(trace))
	}
	s, err := Open(t.Context(), o, spec)
	if err != nil {
		t.Fatal(err)
	}
	var all []*bench.Conversation
	for i := range s.(source.Indexed).Len() {
		c, err := s.(source.Indexed).At(i).Make()
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, c)
	}
	return all
}

// said is a message of a prompt.
type said struct{ Role, Content string }

// messages returns the messages of a turn.
func messages(t testing.TB, c *bench.Turn) (out []said) {
	t.Helper()
	text := c.Script.AppendMessages([]byte{'['}, c.Mark)
	if err := json.Unmarshal(append(text, ']'), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// lengths shows the messages of a turn: first letter of the role, tokens.
func lengths(t testing.TB, c *bench.Turn) string {
	var out []string
	for _, m := range messages(t, c) {
		out = append(out, fmt.Sprintf("%c%d", m.Role[0], tokenizer.Builtin().Count(m.Content)))
	}
	return strings.Join(out, " ")
}

// The messages of a trace with an edit and a sub-agent have the lengths that AIPerf 0.13 sends for
// it, counted in recorded tokens.
func TestMessages(t *testing.T) {
	c := openTraces(t, 7, Spec{}, traceA())[0]
	var got []string
	for i := range c.Turns {
		got = append(got, lengths(t, &c.Turns[i]))
	}
	sub := c.Turns[1].Spawns[0].Children[0]
	for i := range sub.Turns {
		got = append(got, lengths(t, &sub.Turns[i]))
	}
	want := []string{
		"s128 u128", "s128 u128 a64 u80", "s128 u128 a64 u64 a128 u64", "s128 u72", "s128 u64 a64 u74",
		"s128 u64", "s128 u64 a64 u64",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
	if c.ID != "A" || sub.ID != "A::sa:sub1" || c.Turns[1].Spawns[0].JoinAt != 2 {
		t.Errorf("conversation %s, child %s, joined at turn %d", c.ID, sub.ID, c.Turns[1].Spawns[0].JoinAt)
	}
	if root, child := messages(t, &c.Turns[0]), messages(t, &sub.Turns[0]); root[0] != child[0] {
		t.Error("the system message of the sub-agent is not that of the root")
	}
	var pauses []float64
	for _, turns := range [][]bench.Turn{c.Turns, sub.Turns} {
		for i := range turns {
			pauses = append(pauses, turns[i].Delay.Seconds())
		}
	}
	if diff := cmp.Diff([]float64{0, 0.5, 0.6, 1, 23.5, 0.2, 0.3}, pauses, cmp.Comparer(func(a, b float64) bool { return a-b < 1e-6 && b-a < 1e-6 })); diff != "" {
		t.Errorf("pauses (-want +got):\n%s", diff)
	}
}

// randomTrace is a trace whose prompts grow, are cut and lack ids.
func randomTrace(r *rand.Rand, id string) (string, []int) {
	var requests []string
	var ids []int
	var lengths []int
	next := 1
	for k := range 3 + r.IntN(12) {
		if len(ids) > 0 && r.IntN(4) == 0 {
			ids = ids[:r.IntN(len(ids)+1)]
		}
		for range r.IntN(6) {
			ids = append(ids, next)
			next++
		}
		in := len(ids) * 64
		switch r.IntN(4) {
		case 0:
			in += 1 + r.IntN(63)
		case 1:
			in = max(1, in-r.IntN(64)) // the last block is not full
		case 2:
			in += 64 * r.IntN(4) // ids are missing
		}
		in = max(in, 1)
		lengths = append(lengths, in)
		requests = append(requests, turn(float64(k)*10, in, 1+r.IntN(200), 1, ids[:min(len(ids), (in+63)/64)]...))
	}
	return record(id, requests...), lengths
}

// For any trace, the messages of a prompt have the recorded tokens, equal blocks are equal bytes,
// and what a turn keeps of the one before is what that had sent.
func TestPromptsAreExact(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	count := tokenizer.Builtin().Count
	var traces []string
	var want [][]int
	for i := range 60 {
		trace, lengths := randomTrace(r, fmt.Sprint("t", i))
		traces, want = append(traces, strings.Replace(trace, `"models"`, fmt.Sprintf(`"tool_tokens": %d, "models"`, 1), 1)), append(want, lengths)
	}
	firsts := map[string]string{}
	for i, c := range openTraces(t, 3, Spec{}, traces...) {
		all := map[int]string{}
		var walk func(c *bench.Conversation)
		walk = func(c *bench.Conversation) {
			for k := range c.Turns {
				sum, text := 0, ""
				list := messages(t, &c.Turns[k])
				for _, m := range list {
					sum += count(m.Content)
					text += m.Content
				}
				checkTurn(t, c, k, list)
				if in := int(c.Turns[k].InputTokens); sum != in || count(text) != in {
					t.Errorf("%s turn %d: messages of %d tokens, together %d, recorded %d", c.ID, k, sum, count(text), in)
				}
				all[len(all)] = text
			}
			for child := range c.Children() {
				walk(child)
			}
		}
		walk(c)
		if len(all) != len(want[i]) {
			t.Errorf("%s: %d requests, recorded %d", c.ID, len(all), len(want[i]))
		}
		first := all[0]
		if len(first) > 40 {
			first = first[:40]
		}
		if before, taken := firsts[first]; taken && len(first) == 40 {
			t.Errorf("%s begins like %s: %q", c.ID, before, first)
		}
		firsts[first] = c.ID
	}
}

// checkTurn checks that the messages of a turn end with the user's, unless the turn adds nothing, and begin like those of
// the turn before as far as their blocks are the same.
func checkTurn(t *testing.T, c *bench.Conversation, k int, list []said) {
	t.Helper()
	shared := 0 // tokens
	if k > 0 {
		least := min(c.Turns[k-1].InputTokens, c.Turns[k].InputTokens)
		shared = min(c.Turns[k].Script.(*script).strand.turns[k].shared, int(least)/64) * 64
	}
	if last := list[len(list)-1]; last.Role != "user" && int(c.Turns[k].InputTokens) > shared && len(list) > 1 { // or all is declared
		t.Errorf("%s turn %d ends with a message of the %s", c.ID, k, last.Role)
	}
	if shared == 0 {
		return
	}
	flat := func(list []said) (out string) {
		for _, m := range list {
			out += "\x00" + m.Role + "\x01" + m.Content
		}
		return out
	}
	before, now := flat(messages(t, &c.Turns[k-1])), flat(list)
	same := 0
	for same < min(len(before), len(now)) && before[same] == now[same] {
		same++
	}
	kept := 0
	for part := range strings.SplitSeq(now[:same], "\x00") {
		_, text, _ := strings.Cut(part, "\x01")
		kept += tokenizer.Builtin().Count(text)
	}
	if kept < shared {
		t.Errorf("%s turn %d: the first %d tokens of the turn before are kept, want %d", c.ID, k, kept, shared)
	}
}

// Blocks can stand one after the other in any order, with every tokenizer that divides the corpus at its words: the text
// has as many tokens as its blocks, and no two traces have their first tokens in common.
func TestJoints(t *testing.T) {
	const chain, chains = 40, 500
	opened := 0
	for _, name := range []string{"builtin", "byte_level_gpt2", "byte_level_llama3", "wordpiece_bert", "unigram_t5"} {
		tok, err := tokenizer.Builtin(), error(nil)
		if name != "builtin" {
			if tok, err = tokenizer.ReadFile(name, filepath.Join("..", "..", "tokenizer", "testdata", name+".json")); err != nil {
				t.Fatal(err)
			}
		}
		texts, err := newBlockTexts(tok, 64, 3)
		if err != nil {
			t.Logf("%s: %v", name, err)
			continue
		}
		opened++
		r := rand.New(rand.NewPCG(5, 6))
		for range chains {
			out := []byte{'"'}
			for k := range chain {
				head, rest := texts.parts(uint64(r.IntN(1000)), uint32(r.IntN(100_000)))
				if k == 0 && texts.trims {
					head = head[1:]
				}
				out = append(append(out, head...), rest...)
			}
			var text string
			if err := json.Unmarshal(append(out, '"'), &text); err != nil {
				t.Fatal(err)
			}
			if n := tok.Count(text); n != chain*64 {
				t.Fatalf("%s: %d blocks have %d tokens, want %d", name, chain, n, chain*64)
			}
		}
		begins := map[string]int{}
		for trace := range 1000 {
			first := texts.heads.at(uint64(trace))
			head := string(texts.json[first.start : first.start+uint32(first.size)])
			if before, taken := begins[head]; taken {
				t.Errorf("%s: traces %d and %d begin with %q", name, before, trace, head)
			}
			begins[head] = trace
		}
	}
	if opened < 3 {
		t.Errorf("%d tokenizers were tried, want 3", opened)
	}
}

// The same seed gives the same bytes, another one others; a mark goes where it is wanted.
func TestPromptsRepeat(t *testing.T) {
	a, again, other := openTraces(t, 7, Spec{}, traceA())[0], openTraces(t, 7, Spec{}, traceA())[0], openTraces(t, 8, Spec{}, traceA())[0]
	for i := range a.Turns {
		if x, y := messages(t, &a.Turns[i]), messages(t, &again.Turns[i]); !slices.Equal(x, y) {
			t.Errorf("turn %d differs with the same seed", i)
		}
		if x, y := messages(t, &a.Turns[i]), messages(t, &other.Turns[i]); slices.Equal(x, y) {
			t.Errorf("turn %d is the same with another seed", i)
		}
	}
	last := a.Turns[4]
	plain := messages(t, &last)
	for _, tt := range []struct {
		mark bench.Mark
		at   int
		want func(text string) string
	}{
		{bench.Mark{Text: "[x]\n\n"}, 1, func(s string) string { return "[x]\n\n" + s }},
		{bench.Mark{Text: "[x]\n\n", System: true}, 0, func(s string) string { return "[x]\n\n" + s }},
		{bench.Mark{Text: "\n\n[x]", Suffix: true}, 1, func(s string) string { return s + "\n\n[x]" }},
	} {
		last.Mark = tt.mark
		for i, m := range messages(t, &last) {
			want := plain[i].Content
			if i == tt.at {
				want = tt.want(want)
			}
			if m.Content != want {
				t.Errorf("mark %+v: message %d is %q, want %q", tt.mark, i, m.Content, want)
			}
		}
	}
}

// Pauses can be limited from request to request of a trace, and be the recorded think times.
func TestPauses(t *testing.T) {
	of := func(spec Spec, trace string) (out []time.Duration) {
		c := openTraces(t, 1, spec, trace)[0]
		for i := range c.Turns {
			out = append(out, c.Turns[i].Delay.Round(time.Millisecond))
		}
		return out
	}
	const ms = time.Millisecond
	thinking := strings.Replace(traceA(), `"t": 1.5,`, `"t": 1.5, "think_time": 0.2,`, 1)
	for _, tt := range []struct {
		name  string
		spec  Spec
		trace string
		want  []time.Duration
	}{
		{"as recorded", Spec{}, traceA(), []time.Duration{0, 500 * ms, 600 * ms, 1000 * ms, 23500 * ms}},
		{"idle at most 3 s", Spec{IdleCap: new(3 * time.Second)}, traceA(), []time.Duration{0, 500 * ms, 600 * ms, 1000 * ms, 2500 * ms}},
		{"think times", Spec{ThinkOnly: true}, thinking, []time.Duration{0, 200 * ms, 600 * ms, 1000 * ms, 23500 * ms}},
		{"none", Spec{IgnoreDelays: true}, thinking, []time.Duration{0, 0, 0, 0, 0}},
	} {
		if diff := cmp.Diff(tt.want, of(tt.spec, tt.trace)); diff != "" {
			t.Errorf("%s: pauses (-want +got):\n%s", tt.name, diff)
		}
	}
}

// Traces that need too many tokens are left out, answers are cut, and problems name their place.
func TestOpenLimits(t *testing.T) {
	small := strings.Replace(traceA(), `"A"`, `"B"`, 1)
	small = strings.ReplaceAll(small, `"out": 70`, `"out": 7000`)
	if got := openTraces(t, 1, Spec{MaxContext: 700}, small, traceA()); len(got) != 1 || got[0].ID != "A" {
		t.Errorf("%d traces fit, want one", len(got))
	}
	if got := openTraces(t, 1, Spec{MaxContext: 700, MaxOSL: 50}, small); len(got) != 1 || got[0].Turns[1].MaxTokens != 50 {
		t.Error("the limit of answers is not respected")
	}
	o := source.Options{Tokenizer: tokenizer.Builtin(), File: file.File{Records: []json.RawMessage{json.RawMessage(traceA()), json.RawMessage(traceA())}}}
	if _, err := Open(t.Context(), o, Spec{}); err == nil || !strings.Contains(err.Error(), "trace A: its id is that of the trace in records[0]") {
		t.Errorf("the same trace twice: %v", err)
	}
	o.File.Records = o.File.Records[:1]
	if _, err := Open(t.Context(), o, Spec{MaxContext: 10}); err == nil || !strings.Contains(err.Error(), "none of 1 records is used: 1 with a request of more than 10 tokens") {
		t.Errorf("nothing is left: %v", err)
	}
}

func BenchmarkAppendMessages(b *testing.B) {
	var ids []int
	for i := range 2200 {
		ids = append(ids, i)
	}
	c := openTraces(b, 1, Spec{}, record("A", turn(0, 2200*64, 10, 1, ids...)))[0]
	buffer := make([]byte, 0, c.Turns[0].Script.Size(bench.Mark{}))
	written := c.Turns[0].Script.AppendMessages(nil, bench.Mark{})
	b.Run("write", func(b *testing.B) {
		b.SetBytes(int64(len(written)))
		for b.Loop() {
			c.Turns[0].Script.AppendMessages(buffer[:0], bench.Mark{})
		}
	})
	b.Run("copy", func(b *testing.B) {
		b.SetBytes(int64(len(written)))
		for b.Loop() {
			buffer = append(buffer[:0], written...)
		}
	})
}
