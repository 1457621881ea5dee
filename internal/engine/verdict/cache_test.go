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

// TestCacheVerdict compares what the load is meant to find with what servers report.
func TestCacheVerdict(t *testing.T) {
	const unique, repeated, cached = "unique_prompt_ratio", "repeated_input_pct", "overall_usage_prompt_cache_read_pct"
	fresh, often := map[string]float64{unique: 1, repeated: 0}, map[string]float64{unique: 0.1, repeated: 88}
	of := func(values map[string]float64, pct float64) map[string]float64 {
		return map[string]float64{unique: values[unique], repeated: values[repeated], cached: pct}
	}
	for _, tt := range []struct {
		name     string
		values   map[string]float64
		evidence CacheEvidence
		want     string // declared, verdict, basis, message
	}{
		{"nothing declared", of(fresh, 40), CacheEvidence{Alike: true},
			"unknown unknown server: mixed (40 % of prompt tokens cached, no repeated prompts)"},
		{"cold by construction", of(fresh, 0.9), CacheEvidence{},
			"cold consistent server: cold (0.9 % of prompt tokens cached, no repeated prompts)"},
		{"not as cold as constructed", of(fresh, 1), CacheEvidence{},
			"cold contradicted server: cold (1 % of prompt tokens cached, no repeated prompts)"},
		{"nobody reports", fresh, CacheEvidence{},
			"cold unknown workload: expected cold (no repeated prompts, server reports no cached tokens)"},
		{"counters", fresh, CacheEvidence{Counted: new(0.304)},
			"cold contradicted counters: mixed (30.4 % of prompt tokens cached by the servers' counters, no repeated prompts)"},
		{"responses before counters", of(fresh, 0), CacheEvidence{Counted: new(0.304)},
			"cold consistent server: cold (0 % of prompt tokens cached, no repeated prompts)"},
		{"repeats that are cached", often, CacheEvidence{Counted: new(0.86)},
			"warm consistent counters: warm (86 % of prompt tokens cached by the servers' counters, 90 % of prompts repeated)"},
		{"more than the repeats", often, CacheEvidence{Counted: new(0.91)},
			"warm contradicted counters: warm (91 % of prompt tokens cached by the servers' counters, 90 % of prompts repeated)"},
		{"repeats that are not cached", often, CacheEvidence{Counted: new(0.0)},
			"warm contradicted counters: cold (0 % of prompt tokens cached by the servers' counters, 90 % of prompts repeated)"},
		{"an option asks for cold", of(often, 60), CacheEvidence{Cold: true, Alike: true},
			"cold contradicted server: mixed (60 % of prompt tokens cached, 90 % of prompts repeated)"},
		{"later turns find their history", of(fresh, 60), CacheEvidence{Cold: true, FirstOnly: true, First: new(0.002)},
			"cold consistent server: mixed (60 % of prompt tokens cached, no repeated prompts)"},
		{"counters do not tell turns apart", fresh, CacheEvidence{Cold: true, FirstOnly: true, Counted: new(0.6)},
			"cold unknown counters: mixed (60 % of prompt tokens cached by the servers' counters, no repeated prompts)"},
		{"prompts of earlier runs", fresh, CacheEvidence{CarriedOver: new(0.5)},
			"cold unknown workload: expected cold (no repeated prompts, server reports no cached tokens, 50 % of the input sent by earlier runs)"},
		{"prompts of earlier runs, and early first tokens", fresh, CacheEvidence{CarriedOver: new(0.5), Inferred: new(0.5)},
			"cold contradicted workload: expected cold (no repeated prompts, server reports no cached tokens, 50 % of the input sent by earlier runs, " +
				"50 % of first tokens came much sooner than the others, as those of cached prompts do)"},
		{"early first tokens alone", fresh, CacheEvidence{CarriedOver: new(0.0), Inferred: new(0.5)},
			"cold unknown workload: expected cold (no repeated prompts, server reports no cached tokens, " +
				"50 % of first tokens came much sooner than the others, as those of cached prompts do)"},
	} {
		c := JudgeCache(cacheResults(t, tt.values), tt.evidence)
		if got := string(c.Declared) + " " + string(c.Verdict) + " " + c.Basis + ": " + c.Message; got != tt.want {
			t.Errorf("%s: %s\nwant: %s", tt.name, got, tt.want)
		}
	}
}
