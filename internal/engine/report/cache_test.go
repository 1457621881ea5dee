package report

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/export"
	"aiperfd/internal/engine/metric"
	"aiperfd/internal/engine/metric/catalogue"
	"aiperfd/internal/engine/plan"
	"aiperfd/internal/engine/telemetry/diagnose"
)

func TestCacheWarnings(t *testing.T) {
	type values map[string]float64
	const unique, repeated, cached, first, theory = "unique_prompt_ratio", "repeated_input_pct", "overall_usage_prompt_cache_read_pct",
		"first_turn_cache_read_pct", "theoretical_prefix_cache_hit"
	const advice = "; send more distinct ones, or use --cache-bust per_request"
	prefix := func(p *plan.Plan) { p.CacheBust = plan.CacheBust{Target: "first_turn_prefix"} }
	each := func(p *plan.Plan) {
		p.CacheBust = plan.CacheBust{Target: "per_request", System: true, EachRequest: true}
	}
	suffix := func(p *plan.Plan) { p.CacheBust = plan.CacheBust{Target: "first_turn_suffix", Suffix: true} }
	reset := func(p *plan.Plan) { p.Reset = &plan.CacheReset{Run: true} }
	unlike := func(p *plan.Plan) { p.Dataset.Options.Synthetic.Corpus = "unique" }
	both := func(changes ...func(*plan.Plan)) func(*plan.Plan) {
		return func(p *plan.Plan) {
			for _, change := range changes {
				change(p)
			}
		}
	}
	system := func(p *plan.Plan) { p.Dataset.Options.System = "s" }
	plain := func(*plan.Plan) {}
	sessions := func(p *plan.Plan) { p.Dataset.Kind.File, p.Dataset.Kind.Agentic = true, true }
	tests := []struct {
		name   string
		change func(*plan.Plan)
		values values
		want   string
	}{
		{"nothing was sent", prefix, values{}, ""},
		{"no repetition", plain, values{unique: 1, repeated: 0}, ""},
		{"few repetitions", plain, values{unique: 0.995, repeated: 0.5}, ""},
		{"repetitions of which the server says nothing", plain, values{unique: 0.1, repeated: 88}, ""},
		{"repetitions of a file", func(p *plan.Plan) { p.Dataset.Kind.File = true }, values{unique: 0.1, repeated: 88, cached: 80},
			"repeated-prompts: 90.0 % of prompts had been sent before in the run, and the server had cached 80.0 % of the prompt tokens; give a dataset with more of them, or use --cache-bust"},
		{"repetitions that were not cached", plain, values{unique: 0.1, repeated: 88, cached: 4.9}, ""},
		{"repetitions that were cached", plain, values{unique: 0.1, repeated: 88, cached: 5},
			"repeated-prompts: 90.0 % of prompts had been sent before in the run, and the server had cached 5.0 % of the prompt tokens; send more distinct ones (--num-dataset-entries), or use --cache-bust"},
		{"cached without repetitions", plain, values{unique: 1, repeated: 0, cached: 30},
			"cache-not-cold: the server had cached 30.0 % of the prompt tokens, but the run repeated only 0.0 % of its input: prompts begin alike, or an earlier run has sent them; use another --random-seed, or --cache-bust"},
		{"a few tokens of a template cached", plain, values{unique: 1, repeated: 0, cached: 4.9}, ""},
		{"texts of a file that begin alike", func(p *plan.Plan) { p.Dataset.Kind.File = true }, values{unique: 1, repeated: 0, cached: 30}, ""},
		{"repetitions that the user wants", func(p *plan.Plan) { p.Dataset.Options.Synthetic.PrefixPool = 2 }, values{unique: 0.1, repeated: 88, cached: 80}, ""},
		{"recorded sessions", sessions, values{unique: 0.1, repeated: 88, cached: 80}, ""},
		{"recorded sessions that begin alike", sessions, values{unique: 1, repeated: 0, cached: 30}, ""},
		{"recorded sessions with a marker", both(prefix, sessions), values{unique: 1, repeated: 0, cached: 80, first: 40}, ""},
		{"repetitions of a trace", plain, values{unique: 0.1, repeated: 88, theory: 90, cached: 80}, ""},
		{"repetitions of vectors", func(p *plan.Plan) { p.Kind.Caps.ProducesTokens = false }, values{unique: 0.1, repeated: 88, cached: 80}, ""},
		{"marked and cold", prefix, values{unique: 1, repeated: 0, cached: 40, first: 1}, ""}, // later turns have a history
		{"marked and warm", prefix, values{unique: 1, repeated: 0, cached: 40, first: 40},
			"cache-not-cold: --cache-bust first_turn_prefix requests a cold prefix cache, but the server had cached 40.0 % of the prompt tokens of first turns, and the run did not repeat prompts: they begin alike, or an earlier run has sent them"},
		{"marked after a shared system message", both(prefix, system), values{unique: 1, repeated: 0, cached: 40, first: 40}, ""},
		{"marked at the end", suffix, values{unique: 1, repeated: 0, cached: 40, first: 40}, ""},
		{"every request marked, later turns warm", both(each, system), values{unique: 1, repeated: 0, cached: 40, first: 1},
			"cache-not-cold: --cache-bust per_request requests a cold prefix cache, but the server had cached 40.0 % of the prompt tokens, and the run did not repeat prompts: they begin alike, or an earlier run has sent them"},
		{"unique corpus", unlike, values{unique: 1, repeated: 0, cached: 9, first: 9},
			"cache-not-cold: --prompt-corpus unique requests a cold prefix cache, but the server had cached 9.0 % of the prompt tokens of first turns, and the run did not repeat prompts: they begin alike, or an earlier run has sent them"},
		{"reset and repeated", reset, values{unique: 0.25, repeated: 70, cached: 60, first: 60},
			"cache-not-cold: --reset-kv-cache requests a cold prefix cache, but the server had cached 60.0 % of the prompt tokens of first turns: 75.0 % of prompts had been sent before in the run" + advice},
		{"reset and repeated, and the server says nothing", reset, values{unique: 0.25, repeated: 70},
			"cache-not-cold: --reset-kv-cache requests a cold prefix cache, but 75.0 % of prompts had been sent before in the run" + advice},
		{"reset, and the server says nothing", reset, values{unique: 0.99, repeated: 1}, ""},
		{"reset and cold", reset, values{unique: 0.25, repeated: 70, cached: 0, first: 0}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			in := &Input{Plan: &plan.Plan{Measure: plan.Measure{}}}
			in.Plan.Kind.Caps = bench.Caps{ProducesTokens: true}
			tt.change(in.Plan)
			rep := &export.Report{}
			for tag, v := range tt.values {
				def, ok := catalogue.Lookup(tag)
				if !ok {
					t.Fatalf("there is no metric %s", tag)
				}
				r := metric.Result{Def: def}
				r.Set(metric.Avg, v)
				rep.Results = append(rep.Results, r)
			}
			if tt.values[first] > 0 { // conversations of several turns
				rep.ByTurn = make([]metric.Results, 2)
			}
			rep.Cache = prefixCache(in, rep)
			got := ""
			for _, w := range append(cacheNotCold(in, rep), cachedPrompts(in, rep)...) {
				got += w.Code + ": " + w.Detail
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("warnings (-want +got):\n%s", diff)
			}
			// A finding that says the same takes the place of the warning, and of no other.
			rep.Server = &diagnose.Server{Phases: []diagnose.Phase{{
				Kind: "profiling", Canonical: make([]diagnose.Value, 1), Findings: []diagnose.Finding{{Code: "prefix-warm"}},
			}}}
			want := tt.want
			got = ""
			if strings.Contains(want, "begin alike") {
				want = ""
			}
			for _, w := range append(cacheNotCold(in, rep), cachedPrompts(in, rep)...) {
				got += w.Code + ": " + w.Detail
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("warnings beside the finding (-want +got):\n%s", diff)
			}
		})
	}
}
