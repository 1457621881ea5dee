package catalogue

// Reuse describes how much of what a phase sent had been sent before in the run. The
// shares are computed from sums, so that those of several phases add up.
type Reuse struct {
	Requests, Unique        float64 // requests with a prompt, and those whose prompt no earlier one had
	Input, UniqueInput      float64 // their input, in tokens, or in bytes if tokens are not counted
	Blocks, Hits            float64 // blocks of the prompts of a trace, and those that an unlimited prefix cache had
	FirstInput, FirstCached float64 // prompt tokens of first turns by the server's count, and those that it had cached
	CachedReported          bool    // the server has reported cached tokens
}

func (r *Reuse) add(o *Reuse) {
	r.Requests, r.Unique, r.Blocks, r.Hits = r.Requests+o.Requests, r.Unique+o.Unique, r.Blocks+o.Blocks, r.Hits+o.Hits
	r.Input, r.UniqueInput = r.Input+o.Input, r.UniqueInput+o.UniqueInput
	r.FirstInput, r.FirstCached = r.FirstInput+o.FirstInput, r.FirstCached+o.FirstCached
	r.CachedReported = r.CachedReported || o.CachedReported
}

// reuseRows are about repetition.
func reuseRows() []Row {
	return []Row{
		{
			Def: Def{
				Tag: "unique_prompt_ratio", Better: Neither, Header: "Unique Prompts per Request", Short: "Unique Prompts", Origin: Ours, Flags: NoIndividualRecords,
				Doc: "Requests whose prompt no earlier request of the run had / requests. 1 = no prompt was repeated.",
			},
			unit: inRatio, Total: func(t *Totals) float64 { return t.Reuse.Unique / positive(t.Reuse.Requests) },
		},
		{
			Def: Def{
				Tag: "repeated_input_pct", Better: Neither, Header: "Repeated Input %", Short: "Repeated Input", Origin: Ours, Flags: NoIndividualRecords | TokenizesInputOnly,
				Doc: "100 \u00b7 input of the requests whose whole prompt had been sent before / all input; in tokens, or in bytes of request bodies if tokens are not counted.",
			},
			unit: inPercent, Total: func(t *Totals) float64 { return 100 * (1 - t.Reuse.UniqueInput/positive(t.Reuse.Input)) },
		},
		{
			Def: Def{
				Tag: "first_turn_cache_read_pct", Better: Neither, Header: "First Turn Cache Read %", Short: "First Turn Cache Read", Origin: Ours, Flags: NoIndividualRecords | TokenizesInputOnly,
				Doc: "overall_usage_prompt_cache_read_pct of the first turns of conversations. Later turns find their own history in a prefix cache.",
			},
			unit: inPercent, Total: func(t *Totals) float64 {
				return present(t.Reuse.CachedReported, 100*t.Reuse.FirstCached/positive(t.Reuse.FirstInput))
			},
		},
		{
			Def: Def{
				Tag: "theoretical_prefix_cache_hit", Better: Neither, Header: "Theoretical Prefix Cache Hit", Short: "Theoretical Cache Hit", Flags: NoIndividualRecords | TokenizesInputOnly,
				Doc: "100 \u00b7 hits / blocks, for traces with hash ids and a prefix cache of unlimited size: a block is a hit if an earlier request had it after the same blocks. `count` is the number of blocks, `sum` that of hits.",
			},
			unit: inPercent, Total: func(t *Totals) float64 { return 100 * t.Reuse.Hits / positive(t.Reuse.Blocks) },
			Parts: func(t *Totals) (count, sum float64) { return t.Reuse.Blocks, t.Reuse.Hits },
		},
	}
}
