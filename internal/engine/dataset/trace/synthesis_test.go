package trace

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/dataset/file"
)

// shared is a trace in which the ids 1, 2, 3 and 8 occur more than once; 8 is not a whole
// block. Blocks have 512 tokens.
const shared = `{"input_length": 2100, "output_length": 10, "hash_ids": [1, 2, 3, 4, 5]}
{"input_length": 2000, "output_length": 20, "hash_ids": [1, 2, 3, 6]}
{"input_length": 700, "output_length": 30, "hash_ids": [1, 8]}
{"input_length": 700, "hash_ids": [9]}
{"input_length": 700, "output_length": 40, "hash_ids": [1, 8]}
{"input_length": 90, "output_length": 5}
{"text_input": "hello", "output_length": 10}`

func TestSynthesis(t *testing.T) {
	tests := []struct {
		name string
		s    Synthesis
		want string // of each request: tokens, blocks, output
	}{
		{"nothing", Synthesis{}, "2100 [1 2 3 4 5] 10, 2000 [1 2 3 6] 20, 700 [1 8] 30, 700 [9] 0, 700 [1 8] 40, 90 [] 5, 1 [] 10"},
		{"lengths", Synthesis{OutputLen: new(0.25), MaxISL: 2000, MaxOSL: 6}, "2000 [1 2 3 6] 5, 700 [1 8] 6, 700 [9] 0, 700 [1 8] 6, 90 [] 1, 1 [] 2"},
		{"longer prefixes", Synthesis{PrefixLen: new(1.5)}, "3124 [2 3 4 6 7 8 10] 10, 3024 [2 3 4 6 7 12] 20, 1212 [2 3 16] 30, 700 [18] 0, 1212 [2 3 16] 40, 90 [] 5, 1 [] 10"},
		{"twice as long prefixes", Synthesis{PrefixLen: new(2.0)}, "3636 [2 3 4 5 6 7 8 10] 10, 3536 [2 3 4 5 6 7 12] 20, 1212 [2 3 16] 30, 700 [18] 0, 1212 [2 3 16] 40, 90 [] 5, 1 [] 10"},
		{"shorter prefixes", Synthesis{PrefixLen: new(0.5)}, "1076 [1 4 5] 10, 976 [1 6] 20, 700 [1 8] 30, 700 [9] 0, 700 [1 8] 40, 90 [] 5, 1 [] 10"},
		{"longer prompts", Synthesis{PromptLen: new(2.0)}, "2664 [1 2 3 11 12 13] 10, 2464 [1 2 3 14 15] 20, 888 [1 16] 30, 1400 [17 18 19] 0, 888 [1 20] 40, 180 [] 5, 1 [] 10"},
		{"no prompts", Synthesis{PromptLen: new(0.0)}, "1536 [1 2 3] 10, 1536 [1 2 3] 20, 512 [1] 30, 1 [] 0, 512 [1] 40, 1 [] 5, 1 [] 10"},
		{"cut", Synthesis{PrefixLen: new(2.0), MaxISL: 2100}, "2100 [2 3 4 5 21] 10, 2100 [2 3 4 5 22] 20, 1212 [2 3 16] 30, 700 [18] 0, 1212 [2 3 16] 40, 90 [] 5, 1 [] 10"},
	}
	for _, tt := range tests {
		var got []string
		for _, c := range mustRead(t, "mooncake_trace", shared, Spec{Synthesis: tt.s}) {
			turn := &c.Turns[0]
			got = append(got, fmt.Sprintf("%d %d %d", turn.InputTokens, turn.BlockIDs, turn.MaxTokens))
		}
		if diff := cmp.Diff(tt.want, strings.Join(got, ", ")); diff != "" {
			t.Errorf("%s: %s", tt.name, diff)
		}
	}
}

// TestRoots: the conversations of a tree share what they shared, those of different trees
// share nothing, and a conversation is in one tree.
func TestRoots(t *testing.T) {
	var b strings.Builder
	for i := range 300 {
		fmt.Fprintf(&b, `{"session_id": "s%d", "input_length": 1536, "hash_ids": [1, 2, %d]}`+"\n", i%100, 10+i)
	}
	trees := map[int64]int{}
	sessions := map[string]int64{}
	o := from(b.String())
	all, err := read(t.Context(), "mooncake_trace", o, Spec{Synthesis: Synthesis{Roots: 4}})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range all {
		ids := c.Turns[0].BlockIDs
		tree := ids[0] / 310
		if ids[0] != 1+310*tree || ids[1] != 2+310*tree || ids[2]/310 != tree {
			t.Fatalf("blocks %d are not of one tree", ids)
		}
		trees[tree]++
		sessions[c.ID] = tree
	}
	if len(trees) != 4 || len(sessions) != 100 {
		t.Errorf("%d trees, %d sessions; want 4 and 100", len(trees), len(sessions))
	}
	text := func(c *bench.Conversation, k int) string { return c.Turns[k].Texts[0][:200] }
	for _, c := range all {
		if text(&c, 0) != text(&c, 1) || (text(&c, 0) == text(&all[0], 0)) != (sessions[c.ID] == sessions[all[0].ID]) {
			t.Errorf("session %s begins as one of another tree, or its turns are of different ones", c.ID)
		}
	}
}

func TestSynthesisProblems(t *testing.T) {
	bad := Synthesis{PrefixLen: new(-1.0), Roots: 2_000_000, MaxISL: -3}
	want := "prefix length multiplier -1: must be from 0 to 1000\nprefix root multiplier 2000000: must be from 1 to 1000000\nmaximum ISL -3: must be from 1 to 16777216"
	if err := bad.check(); err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
	for text, want := range map[string]string{
		`{"input_length": 5, "hash_ids": [-1]}`:                  "trace.jsonl:1: hash_ids: -1 is negative; multipliers of prefixes and prompts need ids from 0 on",
		`{"input_length": 5, "hash_ids": [9223372036854775806]}`: "hash id 9223372036854775806: too large to be multiplied by 2",
	} {
		_, err := read(t.Context(), "mooncake_trace", from(text), Spec{Synthesis: Synthesis{PrefixLen: new(2.0)}})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %s", text, err, want)
		}
	}
}

// TestIDCounts: dense and sparse ids are counted alike, up to the bound of sparse ones.
func TestIDCounts(t *testing.T) {
	var c idCounts
	for _, id := range []int64{0, 5, 5, pageIDs * 3, denseIDs - 1, denseIDs - 1, denseIDs - 1, denseIDs, 1 << 40, 1 << 40} {
		if err := c.add(id); err != nil {
			t.Fatal(err)
		}
	}
	for id, want := range map[int64]bool{0: false, 5: true, 6: false, pageIDs * 3: false, denseIDs - 1: true, denseIDs: false, 1 << 40: true, pageIDs * 9: false} {
		if c.repeated(id) != want {
			t.Errorf("id %d repeated = %v, want %v", id, !want, want)
		}
	}
	if c.most != 1<<40 {
		t.Errorf("largest id %d", c.most)
	}
	var err error
	for id := int64(denseIDs); err == nil; id++ {
		if err = c.add(id + 1); id > denseIDs+sparseIDs {
			t.Fatal("there is no bound")
		}
	}
}

// TestMultipliersNeedTwoPasses: a pipe is refused.
func TestMultipliersNeedTwoPasses(t *testing.T) {
	o := from("")
	o.File = file.File{Path: "/dev/null"}
	_, err := Open(t.Context(), "mooncake_trace", o, Spec{Synthesis: Synthesis{Roots: 2}})
	if err == nil || !strings.Contains(err.Error(), "need a file that can be read twice") {
		t.Errorf("error %v", err)
	}
}
