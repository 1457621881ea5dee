package random

import (
	"math"
	"strings"
	"testing"

	"aiperfd/internal/engine/bench"
)

// TestRangesRefuse: an error names the value and what is accepted.
func TestRangesRefuse(t *testing.T) {
	ok := Ranges{Style: VLLM, Input: 10, Output: 5, Vocab: 100, N: 3}
	tests := []struct {
		name   string
		change func(*Ranges)
		want   string
	}{
		{"style", func(o *Ranges) { o.Style = "x" }, `style "x": must be vllm or sglang`},
		{"ratio 1", func(o *Ranges) { o.InputRatio = 1 }, "input: range ratio 1: must be at least 0 and below 1 (style vllm)"},
		{"negative", func(o *Ranges) { o.OutputRatio = -0.1 }, "output: range ratio -0.1"},
		{"NaN", func(o *Ranges) { o.InputRatio = math.NaN() }, "range ratio NaN"},
		{"above 1", func(o *Ranges) { o.Style, o.InputRatio = SGLang, 1.1 }, "range ratio 1.1: must be from 0 to 1 (style sglang)"},
		{"no length", func(o *Ranges) { o.Input = 0 }, "mean lengths 0 and 5"},
		{"empty text", func(o *Ranges) { o.Input, o.InputRatio = 2, 0.9 }, "the shortest text would have 0 tokens"},
		{"only special tokens", func(o *Ranges) { o.Input, o.Special = 2, 2 }, "the tokenizer adds 2, prefixes have 0"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			o := ok
			tt.change(&o)
			if _, err := o.Draws(); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error = %v, want one with %q", err, tt.want)
			}
		})
	}
	o := ok
	o.Input, o.InputRatio, o.Prefix = 2, 0.9, 1
	if _, err := o.Draws(); err != nil {
		t.Errorf("a prefix of 1 token must make texts of 0 tokens possible: %v", err)
	}
}

// TestRangesMore: further lengths stay in the ranges and use both ends.
func TestRangesMore(t *testing.T) {
	d, err := Ranges{Style: SGLang, Input: 4, Output: 3, InputRatio: 0.5, OutputRatio: 1, Special: 2, Vocab: 9, N: 1}.Draws()
	if err != nil {
		t.Fatal(err)
	}
	seen := map[[2]int]bool{}
	r := bench.Seed(1).Rand("")
	for range 1000 {
		in, out := d.More(r)
		seen[[2]int{in, out}] = true
	}
	// 2, 3 and 4 tokens less the 2 that the server adds, but not below 1.
	if len(seen) != 2 || !seen[[2]int{1, 3}] || !seen[[2]int{2, 3}] {
		t.Errorf("drew %v, want {1 3} and {2 3}", seen)
	}
}
