package catalogue

import "math"

// reuseRows are about repetition.
func reuseRows() []Row {
	return []Row{
		total("unique_prompt_ratio", NoIndividualRecords, inRatio, func(t *Totals) float64 {
			return t.Reuse.Unique / positive(t.Reuse.Requests)
		}),
		total("repeated_input_pct", NoIndividualRecords|TokenizesInputOnly, inPercent, func(t *Totals) float64 {
			return 100 * (1 - t.Reuse.UniqueInput/positive(t.Reuse.Input))
		}),
		total("first_turn_cache_read_pct", NoIndividualRecords|TokenizesInputOnly, inPercent, func(t *Totals) float64 {
			return present(t.Reuse.CachedReported, 100*t.Reuse.FirstCached/positive(t.Reuse.FirstInput))
		}),
		total("theoretical_prefix_cache_hit", NoIndividualRecords|TokenizesInputOnly, inPercent,
			func(t *Totals) float64 { return 100 * t.Reuse.Hits / positive(t.Reuse.Blocks) }).
			sums(func(t *Totals) (count, sum float64) { return t.Reuse.Blocks, t.Reuse.Hits }),
		total("expected_prefix_cache_hit", NoIndividualRecords|TokenizesInputOnly, inPercent,
			func(t *Totals) float64 { return 100 * t.Reuse.Expected / positive(t.Reuse.Replayed) }).
			sums(func(t *Totals) (count, sum float64) { return t.Reuse.Replayed, t.Reuse.Expected }),
		record("uncached_input_tokens", TokenizesInputOnly, inTokens, uncached),
		total("uncached_input_token_throughput", TokenizesInputOnly|LargerIsBetter, inTPS, func(t *Totals) float64 {
			return t.Sum("uncached_input_tokens") / t.Window
		}),
		record("ttft_per_uncached_ktoken", streamedTokens|TokenizesInputOnly, inMSPerThousand, func(v *View) float64 {
			const least = 256 // tokens: of fewer, the time is not that of their prefill
			n := uncached(v)
			return present(n >= least, v.First/n*1000)
		}),
		record("cache_hit_gap", TokenizesInputOnly, inTokens, func(v *View) float64 {
			return count(v.Record.Content.Expected) - count(v.Usage.Cached)
		}),
	}
}

// uncached returns the prompt tokens of a request of a recorded session that were not cached, as the server reports it
// or, if it does not, as it is expected of a cache of unlimited size.
func uncached(v *View) float64 {
	expected := count(v.Record.Content.Expected)
	switch {
	case math.IsNaN(expected):
		return expected
	case v.Usage.Cached != nil:
		return count(v.Usage.Input) - count(v.Usage.Cached)
	}
	return max(0, v.ISL-expected)
}

// sessionRows are about conversations of several turns.
func sessionRows() []Row {
	return []Row{
		record("session_latency", NoIndividualRecords, inMS, func(v *View) float64 {
			return since(v.Record.Stamps.End, v.SessionStart)
		}).headline(16, InTables),
		record("session_turns", NoIndividualRecords, inCount, func(v *View) float64 {
			return present(v.SessionStart != 0, float64(v.Record.Turns))
		}),
		record("turn_latency", NoIndividualRecords, inMS, func(v *View) float64 {
			return present(v.Record.Turns > 1, v.Last)
		}),
		record("cache_hit_ratio", NoIndividualRecords|LargerIsBetter, inRatio, func(v *View) float64 {
			return present(v.Record.Turns > 1, count(v.Usage.Cached)/positive(count(v.Usage.Input)))
		}),
	}
}
