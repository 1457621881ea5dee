package format

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/dataset/file"
	"aiperfd/internal/engine/dataset/source"
)

func poolFolder() fstest.MapFS {
	return fstest.MapFS{
		"in/query.jsonl":    {Data: []byte(`{"text": "q0"}` + "\n" + `{"text": "q1", "output_length": 3}`)},
		"in/passages.jsonl": {Data: []byte(`{"texts": ["p0", "p1"], "output_length": 4}` + "\n" + `{"text": "p2"}` + "\n" + `{"text": "p3"}`)},
		"in/pictures.jsonl": {Data: []byte(`{"image": "https://example.com/a.png", "extra": {"a": 1}}`)},
	}
}

// A request has one record of each pool, and every record is drawn about as often.
func TestRandomPoolFolder(t *testing.T) {
	const n = 3000
	o := source.Options{Seed: 7, Entries: n, System: "S", File: file.File{Path: "in", FS: poolFolder()}}
	got, _ := mustRead(t, "random_pool", o)
	if len(got) != n {
		t.Fatalf("%d conversations, want %d", len(got), n)
	}
	drawn := map[string]int{}
	for i, c := range got {
		turn := &c.Turns[0]
		if c.ID != fmt.Sprintf("session_%06d", i) || c.System != "S" || len(c.Turns) != 1 || len(turn.Texts) > 0 ||
			len(turn.Images) != 1 || string(turn.ExtraBody) != `{"a":1}` {
			t.Fatalf("conversation %d = %+v", i, c)
		}
		if len(turn.Named) != 2 || turn.Named[0].Name != "passages" || turn.Named[1].Name != "query" {
			t.Fatalf("named texts = %+v, want passages and query", turn.Named)
		}
		passage, query := strings.Join(turn.Named[0].Texts, " "), turn.Named[1].Texts[0]
		want := bench.Tokens(0)
		switch {
		case passage == "p0 p1":
			want = 4
		case query == "q1":
			want = 3
		}
		if turn.MaxTokens != want {
			t.Errorf("maximum output of %s with %s = %d, want %d, that of the first record that has one", passage, query, turn.MaxTokens, want)
		}
		drawn[passage]++
		drawn[query]++
	}
	for text, expected := range map[string]float64{"q0": n / 2, "q1": n / 2, "p0 p1": n / 3, "p2": n / 3, "p3": n / 3} {
		if got := float64(drawn[text]); got < 0.9*expected || got > 1.1*expected {
			t.Errorf("%s was drawn %v times, want about %v", text, got, expected)
		}
	}
	again, _ := mustRead(t, "random_pool", o)
	same(t, got, again)
	o.Seed = 8
	if other, _ := mustRead(t, "random_pool", o); fmt.Sprint(other[0].Turns, other[1].Turns, other[2].Turns, other[3].Turns) == fmt.Sprint(got[0].Turns, got[1].Turns, got[2].Turns, got[3].Turns) {
		t.Error("another seed gives the same conversations")
	}
}

func TestRandomPoolInline(t *testing.T) {
	o := source.Options{Seed: 7}
	for _, text := range []string{`{"pool": "a", "text": "one"}`, `{"pool": "b", "text": "two"}`} {
		o.File.Records = append(o.File.Records, json.RawMessage(text))
	}
	got, _ := mustRead(t, "random_pool", o)
	if len(got) != defaultDraws {
		t.Fatalf("%d conversations, want %d", len(got), defaultDraws)
	}
	same(t, []*bench.Conversation{{
		ID: "session_000099", Mode: bench.MessageArrayWithResponses, Turns: []bench.Turn{{Texts: []string{"one", "two"}}},
	}}, got[99:])
}

func TestRandomPoolBatch(t *testing.T) {
	const text = `{"texts": ["a", "b"], "images": ["https://example.com/1.png", "https://example.com/2.png"]}` + "\n" + `{"text": "c"}`
	o := of(text)
	o.Batch = map[string]int{"prompts": 5, "images": 0, "audio": 3}
	got, _ := mustRead(t, "random_pool", o)
	seen := map[string]bool{}
	for _, c := range got {
		turn := &c.Turns[0]
		if len(turn.Texts) != 5 || len(turn.Images) != 0 || len(turn.Audios) != 0 {
			t.Fatalf("turn = %+v, want five texts and nothing else", turn)
		}
		for _, s := range turn.Texts {
			seen[s] = true
		}
	}
	if len(seen) != 3 {
		t.Errorf("texts %v were drawn, want a, b and c", seen)
	}
	o.Batch = map[string]int{"audio": 3}
	got, _ = mustRead(t, "random_pool", o)
	for _, c := range got {
		if n := len(c.Turns[0].Texts); n != 2 && n != 1 {
			t.Fatalf("%d texts, want those of a record: there is no audio to draw", n)
		}
	}
}

func TestRandomPoolRefuses(t *testing.T) {
	batched := map[string]int{"prompts": 2}
	huge := strings.Repeat(fmt.Sprintf(`{"text": %q}`+"\n", strings.Repeat("x", 1<<20)), 33)
	tests := []struct {
		name string
		o    source.Options
		want string
	}{
		{"batches of several pools", source.Options{Batch: batched, File: file.File{Path: "in", FS: poolFolder()}},
			"needs one pool; there are 3: passages.jsonl, pictures.jsonl, query.jsonl"},
		{"batches of names", source.Options{Batch: batched, File: of(`{"texts": [{"name": "query", "contents": ["a"]}, "b"]}`).File}, "needs records without names"},
		{"empty", of(""), "no records"},
		{"too large", of(huge), "the pools have more than 32 MiB; read a file of this size as single_turn in the order shuffle"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if _, _, err := read(t, "random_pool", tt.o); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error = %v, want one with %q", err, tt.want)
			}
		})
	}
}
