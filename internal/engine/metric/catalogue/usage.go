package catalogue

import (
	"math"

	"aiperfd/internal/engine/bench"
)

// usageRows are the counts of the server and how they compare with ours.
func usageRows() []Row {
	return []Row{
		{
			Def: Def{
				Tag: "usage_prompt_tokens", Better: Neither, Header: "Usage Prompt Tokens", Short: "Usage Prompt",
				Group: GroupUsage, Order: 1000, Flags: LargerIsBetter | TokenizesInputOnly,
				Doc: "Prompt tokens reported by the server, including cached ones.",
			},
			unit: inTokens, Each: func(v *View) float64 { return count(v.Usage.Input) },
		},
		{
			Def: Def{
				Tag: "usage_prompt_cache_read_tokens", Better: Neither, Header: "Usage Prompt Cache Read Tokens", Short: "Usage Prompt Cache Read",
				Group: GroupUsage, Order: 1010, Flags: LargerIsBetter,
				Doc: "Prompt tokens that the server read from its cache.",
			},
			unit: inTokens, Each: func(v *View) float64 { return count(v.Usage.Cached) },
		},
		{
			Def: Def{
				Tag: "usage_prompt_cache_write_tokens", Better: Neither, Header: "Usage Prompt Cache Write Tokens", Short: "Usage Prompt Cache Write",
				Group: GroupUsage, Order: 1015,
				Doc: "Prompt tokens that the server wrote to its cache.",
			},
			unit: inTokens, Each: func(v *View) float64 { return count(v.Usage.CacheWrite) },
		},
		{
			Def: Def{
				Tag: "usage_prompt_cache_miss_tokens", Better: Neither, Header: "Usage Prompt Cache Miss Tokens", Short: "Usage Prompt Cache Miss",
				Group: GroupUsage, Order: 1017,
				Doc: "Prompt tokens that the server reports as not cached.",
			},
			unit: inTokens, Each: func(v *View) float64 { return count(v.Usage.CacheMiss) },
		},
		{
			Def: Def{
				Tag: "usage_prompt_audio_tokens", Better: Neither, Header: "Usage Prompt Audio Tokens", Short: "Usage Prompt Audio",
				Group: GroupUsage, Order: 1020, Flags: LargerIsBetter | SupportsAudioOnly,
				Doc: "Audio tokens of the prompt, reported by the server.",
			},
			unit: inTokens, Each: func(v *View) float64 { return count(v.Usage.AudioIn) },
		},
		{
			Def: Def{
				Tag: "usage_prompt_audio_seconds", Better: Neither, Header: "Usage Prompt Audio Seconds", Short: "Usage Prompt Audio Sec",
				Group: GroupUsage, Order: 1040, Flags: LargerIsBetter | SupportsAudioOnly,
				Doc: "Seconds of audio in the prompt, if the server reports them.",
			},
			unit: inSeconds, Each: audioSeconds,
		},
		{
			Def: Def{
				Tag: "usage_prompt_image_tokens", Better: Neither, Header: "Usage Prompt Image Tokens", Short: "Usage Prompt Image", Origin: Ours,
				Group: GroupUsage, Order: 1050, Flags: LargerIsBetter | SupportsImageOnly,
				Doc: "Image tokens of the prompt, reported by the server.",
			},
			unit: inTokens, Each: func(v *View) float64 { return count(v.Usage.ImageIn) },
		},
		{
			Def: Def{
				Tag: "usage_completion_tokens", Better: Neither, Header: "Usage Completion Tokens", Short: "Usage Completion",
				Group: GroupUsage, Order: 1100, Flags: ProducesTokensOnly | LargerIsBetter,
				Doc: "Output tokens reported by the server, including reasoning.",
			},
			unit: inTokens, Each: func(v *View) float64 { return count(v.Usage.Output) },
		},
		{
			Def: Def{
				Tag: "usage_reasoning_tokens", Better: Neither, Header: "Usage Reasoning Tokens", Short: "Usage Reasoning",
				Group: GroupUsage, Order: 1110, Flags: ProducesTokensOnly | LargerIsBetter,
				Doc: "Reasoning tokens reported by the server.",
			},
			unit: inTokens, Each: func(v *View) float64 { return count(v.Usage.Reasoning) },
		},
		{
			Def: Def{
				Tag: "usage_completion_audio_tokens", Better: Neither, Header: "Usage Completion Audio Tokens", Short: "Usage Completion Audio",
				Group: GroupUsage, Order: 1120, Flags: ProducesTokensOnly | LargerIsBetter | SupportsAudioOnly,
				Doc: "Audio tokens of the output, reported by the server.",
			},
			unit: inTokens, Each: func(v *View) float64 { return count(v.Usage.AudioOut) },
		},
		{
			Def: Def{
				Tag: "usage_accepted_prediction_tokens", Better: Neither, Header: "Usage Accepted Prediction Tokens", Short: "Usage Accepted Pred",
				Group: GroupUsage, Order: 1130, Flags: ProducesTokensOnly | LargerIsBetter,
				Doc: "Tokens of a predicted output that the server accepted.",
			},
			unit: inTokens, Each: func(v *View) float64 { return count(v.Usage.Accepted) },
		},
		{
			Def: Def{
				Tag: "usage_rejected_prediction_tokens", Better: Neither, Header: "Usage Rejected Prediction Tokens", Short: "Usage Rejected Pred",
				Group: GroupUsage, Order: 1140, Flags: ProducesTokensOnly,
				Doc: "Tokens of a predicted output that the server rejected.",
			},
			unit: inTokens, Each: func(v *View) float64 { return count(v.Usage.Rejected) },
		},
		{
			Def: Def{
				Tag: "usage_total_tokens", Better: Neither, Header: "Usage Total Tokens", Short: "Usage Total",
				Group: GroupUsage, Order: 1200, Flags: ProducesTokensOnly | LargerIsBetter,
				Doc: "Prompt and output tokens reported by the server.",
			},
			unit: inTokens, Each: func(v *View) float64 { return count(v.Usage.Total) },
		},
		{
			Def: Def{
				Tag: "usage_prompt_tokens_diff_pct", Better: Neither, Header: "Usage Prompt Diff %", Short: "Prompt Diff",
				Flags: TokenizesInputOnly | UsageDiffOnly,
				Doc:   "100 \u00b7 |server - own count| / own count of the prompt.",
			},
			unit: inPercent, Each: promptDiff,
		},
		{
			Def: Def{
				Tag: "usage_completion_tokens_diff_pct", Better: Neither, Header: "Usage Completion Diff %", Short: "Completion Diff",
				Flags: ProducesTokensOnly | UsageDiffOnly,
				Doc:   "100 \u00b7 |server - own count| / own count of the output, for the first 1,000 responses and one in eight after them.",
			},
			unit: inPercent, Each: completionDiff,
		},
		{
			Def: Def{
				Tag: "usage_reasoning_tokens_diff_pct", Better: Neither, Header: "Usage Reasoning Diff %", Short: "Reasoning Diff",
				Flags: ProducesTokensOnly | SupportsReasoning | UsageDiffOnly,
				Doc:   "100 \u00b7 |server - own count| / own count of the reasoning, for the same responses.",
			},
			unit: inPercent, Each: reasoningDiff,
		},
		{
			Def: Def{
				Tag: "usage_discrepancy_count", Better: Lower, Header: "Usage Discrepancy Count", Short: "Discrepancies", Kind: Aggregate,
				Flags: NoIndividualRecords | UsageDiffOnly,
				Doc:   "Requests in which one of these differences exceeds 10 %.",
			},
			unit: inRequests, Total: func(t *Totals) float64 { return present(t.Compared > 0, float64(t.Discrepancies)) },
		},
	}
}

// usageTotalRows are sums of the counts of the server.
func usageTotalRows() []Row {
	return []Row{
		{
			Def: Def{
				Tag: "total_usage_prompt_tokens", Better: Neither, Header: "Total Usage Prompt Tokens", Short: "Total Usage Prompt",
				Group: GroupUsage, Order: 2000, Flags: LargerIsBetter | TokenizesInputOnly,
				Doc: "Sum of usage_prompt_tokens.",
			},
			unit: inTokens, Total: sumOf("usage_prompt_tokens"),
		},
		{
			Def: Def{
				Tag: "total_usage_prompt_cache_read_tokens", Better: Neither, Header: "Total Usage Prompt Cache Read Tokens", Short: "Total Usage Prompt Cache Read",
				Group: GroupUsage, Order: 2010, Flags: LargerIsBetter,
				Doc: "Sum of usage_prompt_cache_read_tokens.",
			},
			unit: inTokens, Total: sumOf("usage_prompt_cache_read_tokens"),
		},
		{
			Def: Def{
				Tag: "overall_usage_prompt_cache_read_pct", Better: Higher, Header: "Overall Usage Prompt Cache Read %", Short: "Overall Cache Read %",
				Group: GroupUsage, Order: 2012, Flags: LargerIsBetter,
				Doc: "100 \u00b7 cache reads / prompt tokens, both summed.",
			},
			unit: inPercent, Total: func(t *Totals) float64 {
				return 100 * t.Sum("usage_prompt_cache_read_tokens") / positive(t.Sum("usage_prompt_tokens"))
			},
		},
		{
			Def: Def{
				Tag: "total_usage_prompt_cache_write_tokens", Better: Neither, Header: "Total Usage Prompt Cache Write Tokens", Short: "Total Usage Prompt Cache Write",
				Group: GroupUsage, Order: 2015,
				Doc: "Sum of usage_prompt_cache_write_tokens.",
			},
			unit: inTokens, Total: sumOf("usage_prompt_cache_write_tokens"),
		},
		{
			Def: Def{
				Tag: "total_usage_prompt_cache_miss_tokens", Better: Neither, Header: "Total Usage Prompt Cache Miss Tokens", Short: "Total Usage Prompt Cache Miss",
				Group: GroupUsage, Order: 2017,
				Doc: "Sum of usage_prompt_cache_miss_tokens.",
			},
			unit: inTokens, Total: sumOf("usage_prompt_cache_miss_tokens"),
		},
		{
			Def: Def{
				Tag: "total_usage_prompt_audio_tokens", Better: Neither, Header: "Total Usage Prompt Audio Tokens", Short: "Total Usage Prompt Audio",
				Group: GroupUsage, Order: 2020, Flags: LargerIsBetter | SupportsAudioOnly,
				Doc: "Sum of usage_prompt_audio_tokens.",
			},
			unit: inTokens, Total: sumOf("usage_prompt_audio_tokens"),
		},
		{
			Def: Def{
				Tag: "total_usage_prompt_audio_seconds", Better: Neither, Header: "Total Usage Prompt Audio Seconds", Short: "Total Usage Prompt Audio Sec",
				Group: GroupUsage, Order: 2040, Flags: LargerIsBetter | SupportsAudioOnly,
				Doc: "Sum of usage_prompt_audio_seconds.",
			},
			unit: inSeconds, Total: sumOf("usage_prompt_audio_seconds"),
		},
		{
			Def: Def{
				Tag: "total_usage_completion_tokens", Better: Neither, Header: "Total Usage Completion Tokens", Short: "Total Usage Completion",
				Group: GroupUsage, Order: 2100, Flags: ProducesTokensOnly | LargerIsBetter,
				Doc: "Sum of usage_completion_tokens.",
			},
			unit: inTokens, Total: sumOf("usage_completion_tokens"),
		},
		{
			Def: Def{
				Tag: "total_usage_reasoning_tokens", Better: Neither, Header: "Total Usage Reasoning Tokens", Short: "Total Usage Reasoning",
				Group: GroupUsage, Order: 2110, Flags: ProducesTokensOnly | LargerIsBetter,
				Doc: "Sum of usage_reasoning_tokens.",
			},
			unit: inTokens, Total: sumOf("usage_reasoning_tokens"),
		},
		{
			Def: Def{
				Tag: "total_usage_completion_audio_tokens", Better: Neither, Header: "Total Usage Completion Audio Tokens", Short: "Total Usage Comp Audio",
				Group: GroupUsage, Order: 2120, Flags: ProducesTokensOnly | LargerIsBetter | SupportsAudioOnly,
				Doc: "Sum of usage_completion_audio_tokens.",
			},
			unit: inTokens, Total: sumOf("usage_completion_audio_tokens"),
		},
		{
			Def: Def{
				Tag: "total_usage_accepted_prediction_tokens", Better: Neither, Header: "Total Usage Accepted Prediction Tokens", Short: "Total Usage Accepted Pred",
				Group: GroupUsage, Order: 2130, Flags: ProducesTokensOnly | LargerIsBetter,
				Doc: "Sum of usage_accepted_prediction_tokens.",
			},
			unit: inTokens, Total: sumOf("usage_accepted_prediction_tokens"),
		},
		{
			Def: Def{
				Tag: "total_usage_rejected_prediction_tokens", Better: Neither, Header: "Total Usage Rejected Prediction Tokens", Short: "Total Usage Rejected Pred",
				Group: GroupUsage, Order: 2140, Flags: ProducesTokensOnly,
				Doc: "Sum of usage_rejected_prediction_tokens.",
			},
			unit: inTokens, Total: sumOf("usage_rejected_prediction_tokens"),
		},
		{
			Def: Def{
				Tag: "total_usage_total_tokens", Better: Neither, Header: "Total Usage Total Tokens", Short: "Total Usage Total",
				Group: GroupUsage, Order: 2200, Flags: ProducesTokensOnly | LargerIsBetter,
				Doc: "Sum of usage_total_tokens.",
			},
			unit: inTokens, Total: sumOf("usage_total_tokens"),
		},
	}
}

// audioSeconds is the audio that the server counted.
func audioSeconds(v *View) float64 {
	if v.Usage.AudioSeconds == nil {
		return math.NaN()
	}
	return *v.Usage.AudioSeconds
}

// relativeDiff is the distance of a count from the own one in percent.
func relativeDiff(server *bench.Tokens, own float64) float64 {
	return 100 * math.Abs(count(server)-own) / positive(own)
}

// promptDiff compares the two counts of the prompt.
func promptDiff(v *View) float64 {
	return relativeDiff(v.Usage.Input, v.clientCount(v.Record.ClientInput, v.ISL))
}

// completionDiff compares the two counts of the output.
func completionDiff(v *View) float64 { return relativeDiff(v.Usage.Output, v.clientOSL()) }

// reasoningDiff compares the two counts of the reasoning.
func reasoningDiff(v *View) float64 {
	return relativeDiff(v.Usage.Reasoning, v.clientCount(v.Record.ClientReasoning, v.Think))
}

// compare reports whether there are two counts of anything, and whether one pair
// is more than 10 % apart.
func compare(v *View) (compared, discrepant bool) {
	for _, d := range [3]float64{promptDiff(v), completionDiff(v), reasoningDiff(v)} {
		compared = compared || !math.IsNaN(d)
		discrepant = discrepant || d > 10
	}
	return compared, discrepant
}
