package collect

import (
	"testing"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/load"
	"aiperfd/internal/engine/plan"
)

// The client counts every answer without a server count. With server counts, it
// compares the first thousand answers and then one in eight.
func TestComparedCounts(t *testing.T) {
	const answers = 1100
	tests := []struct {
		name   string
		usage  *bench.Usage
		client bool // only the client counts
		want   int
		source bench.TokenSource
	}{
		{"the server counts", &bench.Usage{Input: new(bench.Tokens(5)), Output: new(bench.Tokens(2))}, false, comparedAll + 12, bench.TokensServer},
		{"the server counts requests alone", &bench.Usage{Input: new(bench.Tokens(5))}, false, answers, bench.TokensClient},
		{"the server is silent", nil, false, answers, bench.TokensClient},
		{"the server counts, and nobody asks it", &bench.Usage{Input: new(bench.Tokens(50)), Output: new(bench.Tokens(20))}, true, answers, bench.TokensClient},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := &Tokens{plan: plan.Tokens{Client: tt.client}, tokenizers: tokenizers{first: standIn("", false)}, caps: bench.Caps{ProducesTokens: true, TokenizesInput: true}}
			conversation := &bench.Conversation{Turns: []bench.Turn{{Texts: []string{"one two three"}}}}
			inputs, outputs := 0, 0
			for range answers {
				rec := &bench.Record{Stamps: bench.Stamps{Wrote: 1}, Answer: bench.Answer{
					Usage: tt.usage, Choices: []bench.Choice{{Text: "four five"}},
				}}
				c.count(&load.Finished{Record: rec, Conversation: conversation})
				if rec.OutputTokens == nil || *rec.OutputTokens != 2 || rec.InputTokens == nil || rec.TokenSource != tt.source {
					t.Fatalf("counts = %v, %v by %v; want 2 output tokens by %v", rec.InputTokens, rec.OutputTokens, rec.TokenSource, tt.source)
				}
				if tt.client && *rec.InputTokens != 3 {
					t.Fatalf("input = %d, want the client's 3", *rec.InputTokens)
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
