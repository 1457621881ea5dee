package engine

import (
	"testing"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/endpoint"
	"aiperfd/internal/engine/tokenizer"
)

// The client counts every answer whose length nobody else says. Where the server
// says it, the client compares the first thousand and then one in eight.
func TestComparedCounts(t *testing.T) {
	const answers = 1100
	tests := []struct {
		name  string
		usage *bench.Usage
		want  int
	}{
		{"the server counts", &bench.Usage{Input: new(bench.Tokens(5)), Output: new(bench.Tokens(2))}, comparedAll + 12},
		{"the server counts requests alone", &bench.Usage{Input: new(bench.Tokens(5))}, answers},
		{"the server is silent", nil, answers},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := &counter{tokenizer: tokenizer.Builtin(), caps: endpoint.Caps{ProducesTokens: true, TokenizesInput: true}}
			talk := &bench.Conversation{Turns: []bench.Turn{{Texts: []string{"one two three"}}}}
			inputs, outputs := 0, 0
			for range answers {
				rec := &bench.Record{Stamps: bench.Stamps{Wrote: 1}, Answer: bench.Answer{
					Usage: tt.usage, Choices: []bench.Choice{{Text: "four five"}},
				}}
				c.count(&finishing{rec: rec, talk: talk})
				if rec.OutputTokens == nil || *rec.OutputTokens != 2 || rec.InputTokens == nil {
					t.Fatalf("counts = %v, %v", rec.InputTokens, rec.OutputTokens)
				}
				if rec.ClientInput != nil {
					inputs++
				}
				if rec.ClientOutput != nil {
					outputs++
				}
			}
			if inputs != tt.want || outputs != tt.want {
				t.Errorf("counted %d requests and %d answers, want %d", inputs, outputs, tt.want)
			}
		})
	}
}
