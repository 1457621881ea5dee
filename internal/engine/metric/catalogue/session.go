package catalogue

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
	}
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
