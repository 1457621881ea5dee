package plan

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/config"
	"aiperfd/internal/engine/config/problem"
)

func TestMarker(t *testing.T) {
	for _, tt := range []struct{ target, want string }{
		{"first_turn_prefix", "[rid:1e0710d6c4c3]\n\n"}, // printf run:2:4:c | sha256sum
		{"system_suffix", "\n\n[rid:1e0710d6c4c3]"},
		{"per_request", "[rid:1e0710d6c4c3]\n\n"},
		{"warmup_isolation_system", "[warmup]\n\n"},
	} {
		if got := newCacheBust(tt.target).Marker("run", 2, 4, "c"); got != tt.want {
			t.Errorf("%s: marker %q, want %q", tt.target, got, tt.want)
		}
	}
}

// TestFirstTurnMarker: the length of a marker is subtracted if the first turn has it.
func TestFirstTurnMarker(t *testing.T) {
	lengths := []int{11, 11, 11, 12, 12, 12, 12, 12} // mean 11.6
	for _, tt := range []struct {
		name   string
		target string
		change func(*Plan)
		want   int
	}{
		{"first turn", "first_turn_prefix", func(*Plan) {}, 12},
		{"none", "none", func(*Plan) {}, 0},
		{"warm-up only", "warmup_isolation_first_turn", func(*Plan) {}, 0},
		{"no system message", "system_prefix", func(*Plan) {}, 12},
		{"system message", "system_prefix", func(p *Plan) { p.Dataset.Options.System = "s" }, 0},
		{"generated system message", "per_request", func(p *Plan) { p.Dataset.Options.Synthetic.SharedSystem = 3 }, 0},
		{"system message and first turn", "first_turn_suffix", func(p *Plan) { p.Dataset.Options.System = "s" }, 12},
		{"context", "first_turn_prefix", func(p *Plan) { p.Dataset.Options.Synthetic.UserContext = 3 }, 0},
		{"end of the first turn after a context", "first_turn_suffix", func(p *Plan) { p.Dataset.Options.Synthetic.UserContext = 3 }, 12},
	} {
		p := &Plan{CacheBust: newCacheBust(tt.target)}
		tt.change(p)
		var seen []string
		got := p.FirstTurnMarker(func(text string) int {
			seen = append(seen, text)
			return lengths[len(seen)-1]
		})
		if slices.Sort(seen); got != tt.want || len(slices.Compact(seen)) != 8 && tt.want != 0 {
			t.Errorf("%s: %d tokens from %q, want %d from eight markers", tt.name, got, seen, tt.want)
		}
	}
}

func TestCacheBustConflicts(t *testing.T) {
	for _, tt := range []struct{ name, document, want string }{
		{"verbatim file", `dataset: {path: leaf_test.go, format: raw_payload, cacheBust: {target: per_request}}`,
			"#/benchmark/datasets/0/cacheBust/target: per_request: complete request bodies are sent as they are; use a dataset of prompts, or none"},
		{"verbatim endpoint", `endpoint: {type: raw}, dataset: {path: leaf_test.go, format: single_turn, cacheBust: {target: system_suffix}}`,
			"#/benchmark/datasets/0/cacheBust/target: system_suffix: complete request bodies are sent as they are; use a dataset of prompts, or none"},
		{"vectors", `endpoint: {type: embeddings}, dataset: {cacheBust: {target: first_turn_prefix}}`,
			"#/benchmark/datasets/0/prompts/cacheBust/target: first_turn_prefix: the endpoint type embeddings does not generate text from prompts; use none"},
		{"none of vectors", `endpoint: {type: embeddings}, dataset: {cacheBust: {target: none}}`, ""},
		{"completions", `endpoint: {type: completions}, dataset: {cacheBust: {target: per_request}}`, ""},
	} {
		d, _, err := config.Load([]byte("benchmark: {model: m, phases: {requests: 2}, "+tt.document+"}"), config.LoadOptions{Choices: Choices()})
		if err != nil {
			t.Fatalf("%s: %v", tt.name, err)
		}
		_, err = Compile(d)
		var got []string
		if invalid, ok := errors.AsType[*problem.Invalid](err); ok {
			for _, p := range invalid.Problems {
				if strings.Contains(p.Pointer, "cacheBust") {
					got = append(got, p.Pointer+": "+p.Detail)
				}
			}
		}
		if text := strings.Join(got, "; "); text != tt.want {
			t.Errorf("%s: %s\nwant: %s", tt.name, text, tt.want)
		}
	}
}

func TestCacheBustCheck(t *testing.T) {
	body := &bench.Conversation{ID: "c", Turns: []bench.Turn{{Texts: []string{"a"}}, {Payload: []byte(`{}`)}}}
	if err := newCacheBust("none").Check(body); err != nil {
		t.Errorf("none: %v", err)
	}
	const want = "turn 1 of conversation c is a complete request body, which is sent as it is; the cache bust target per_request needs texts"
	if err := newCacheBust("per_request").Check(body); err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
}
