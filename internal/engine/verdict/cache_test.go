package verdict

import (
	"testing"

	"aiperfd/internal/engine/metric"
	"aiperfd/internal/engine/metric/catalogue"
)

// results returns results with one value per tag.
func cacheResults(t *testing.T, values map[string]float64) (out metric.Results) {
	t.Helper()
	for tag, v := range values {
		def, ok := catalogue.Lookup(tag)
		if !ok {
			t.Fatalf("there is no metric %s", tag)
		}
		r := metric.Result{Def: def}
		r.Set(metric.Avg, v)
		out = append(out, r)
	}
	return out
}

func TestCache(t *testing.T) {
	const unique, repeated, cached, theory = "unique_prompt_ratio", "repeated_input_pct", "overall_usage_prompt_cache_read_pct", "theoretical_prefix_cache_hit"
	for _, tt := range []struct {
		values map[string]float64
		want   string
	}{
		{map[string]float64{}, "none"},
		{map[string]float64{unique: 1}, "none"}, // an endpoint without text
		{map[string]float64{unique: 1, repeated: 0}, "expected cold (no repeated prompts, server reports no cached tokens)"},
		{map[string]float64{unique: 0.1, repeated: 87.5}, "expected warm (90 % of prompts repeated, 87.5 % of the input, server reports no cached tokens)"},
		{map[string]float64{unique: 1, repeated: 0, theory: 35.04}, "expected mixed (35 % in theory, no repeated prompts, server reports no cached tokens)"},
		{map[string]float64{unique: 1, repeated: 0, cached: 4.999}, "cold (5 % of prompt tokens cached, no repeated prompts)"},
		{map[string]float64{unique: 1, repeated: 0, cached: 5}, "mixed (5 % of prompt tokens cached, no repeated prompts)"},
		{map[string]float64{unique: 0.0001, repeated: 99.99, cached: 74.99}, "mixed (75 % of prompt tokens cached, 99.9 % of prompts repeated)"},
		{map[string]float64{unique: 0.9999, repeated: 0.01, cached: 75}, "warm (75 % of prompt tokens cached, < 0.1 % of prompts repeated)"},
		{map[string]float64{unique: 0.1, repeated: 90, cached: 0}, "cold (0 % of prompt tokens cached, 90 % of prompts repeated)"},
		{map[string]float64{unique: 0.5, repeated: 50, cached: 62.5, theory: 71}, "mixed (62.5 % of prompt tokens cached, 71 % in theory, 50 % of prompts repeated)"},
	} {
		got := "none"
		if c := NewCache(cacheResults(t, tt.values)); c != nil {
			got = c.Message
		}
		if got != tt.want {
			t.Errorf("%v: %s\nwant: %s", tt.values, got, tt.want)
		}
	}
}
