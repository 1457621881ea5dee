package metric

import (
	"math"

	"aiperfd/internal/engine/bench"
)

// usageRows are the counts of the server and how they compare with ours.
func usageRows() []row {
	return []row{
		{
			Def: Def{
				Tag: "usage_prompt_tokens", Header: "Usage Prompt Tokens", Short: "Usage Prompt",
				Group: GroupUsage, Order: 1000, Flags: LargerIsBetter | TokenizesInputOnly,
				Doc: "Prompt tokens reported by the server, including cached ones.",
			},
			unit: inTokens, each: func(v *view) float64 { return count(v.usage.Input) },
		},
		{
			Def: Def{
				Tag: "usage_prompt_cache_read_tokens", Header: "Usage Prompt Cache Read Tokens", Short: "Usage Prompt Cache Read",
				Group: GroupUsage, Order: 1010, Flags: LargerIsBetter,
				Doc: "Prompt tokens that the server read from its cache.",
			},
			unit: inTokens, each: func(v *view) float64 { return count(v.usage.Cached) },
		},
		{
			Def: Def{
				Tag: "usage_prompt_cache_write_tokens", Header: "Usage Prompt Cache Write Tokens", Short: "Usage Prompt Cache Write",
				Group: GroupUsage, Order: 1015,
				Doc: "Prompt tokens that the server wrote to its cache.",
			},
			unit: inTokens, each: func(v *view) float64 { return count(v.usage.CacheWrite) },
		},
		{
			Def: Def{
				Tag: "usage_prompt_cache_miss_tokens", Header: "Usage Prompt Cache Miss Tokens", Short: "Usage Prompt Cache Miss",
				Group: GroupUsage, Order: 1017,
				Doc: "Prompt tokens that the server reports as not cached.",
			},
			unit: inTokens, each: func(v *view) float64 { return count(v.usage.CacheMiss) },
		},
		{
			Def: Def{
				Tag: "usage_prompt_audio_tokens", Header: "Usage Prompt Audio Tokens", Short: "Usage Prompt Audio",
				Group: GroupUsage, Order: 1020, Flags: LargerIsBetter | SupportsAudioOnly,
				Doc: "Audio tokens of the prompt, reported by the server.",
			},
			unit: inTokens, each: func(v *view) float64 { return count(v.usage.AudioIn) },
		},
		{
			Def: Def{
				Tag: "usage_prompt_audio_seconds", Header: "Usage Prompt Audio Seconds", Short: "Usage Prompt Audio Sec",
				Group: GroupUsage, Order: 1040, Flags: LargerIsBetter | SupportsAudioOnly,
				Doc: "Seconds of audio in the prompt, if the server reports them.",
			},
			unit: inSeconds, each: audioSeconds,
		},
		{
			Def: Def{
				Tag: "usage_prompt_image_tokens", Header: "Usage Prompt Image Tokens", Short: "Usage Prompt Image", Origin: ours,
				Group: GroupUsage, Order: 1050, Flags: LargerIsBetter | SupportsImageOnly,
				Doc: "Image tokens of the prompt, reported by the server.",
			},
			unit: inTokens, each: func(v *view) float64 { return count(v.usage.ImageIn) },
		},
		{
			Def: Def{
				Tag: "usage_completion_tokens", Header: "Usage Completion Tokens", Short: "Usage Completion",
				Group: GroupUsage, Order: 1100, Flags: ProducesTokensOnly | LargerIsBetter,
				Doc: "Output tokens reported by the server, including reasoning.",
			},
			unit: inTokens, each: func(v *view) float64 { return count(v.usage.Output) },
		},
		{
			Def: Def{
				Tag: "usage_reasoning_tokens", Header: "Usage Reasoning Tokens", Short: "Usage Reasoning",
				Group: GroupUsage, Order: 1110, Flags: ProducesTokensOnly | LargerIsBetter,
				Doc: "Reasoning tokens reported by the server.",
			},
			unit: inTokens, each: func(v *view) float64 { return count(v.usage.Reasoning) },
		},
		{
			Def: Def{
				Tag: "usage_completion_audio_tokens", Header: "Usage Completion Audio Tokens", Short: "Usage Completion Audio",
				Group: GroupUsage, Order: 1120, Flags: ProducesTokensOnly | LargerIsBetter | SupportsAudioOnly,
				Doc: "Audio tokens of the output, reported by the server.",
			},
			unit: inTokens, each: func(v *view) float64 { return count(v.usage.AudioOut) },
		},
		{
			Def: Def{
				Tag: "usage_accepted_prediction_tokens", Header: "Usage Accepted Prediction Tokens", Short: "Usage Accepted Pred",
				Group: GroupUsage, Order: 1130, Flags: ProducesTokensOnly | LargerIsBetter,
				Doc: "Tokens of a predicted output that the server accepted.",
			},
			unit: inTokens, each: func(v *view) float64 { return count(v.usage.Accepted) },
		},
		{
			Def: Def{
				Tag: "usage_rejected_prediction_tokens", Header: "Usage Rejected Prediction Tokens", Short: "Usage Rejected Pred",
				Group: GroupUsage, Order: 1140, Flags: ProducesTokensOnly,
				Doc: "Tokens of a predicted output that the server rejected.",
			},
			unit: inTokens, each: func(v *view) float64 { return count(v.usage.Rejected) },
		},
		{
			Def: Def{
				Tag: "usage_total_tokens", Header: "Usage Total Tokens", Short: "Usage Total",
				Group: GroupUsage, Order: 1200, Flags: ProducesTokensOnly | LargerIsBetter,
				Doc: "Prompt and output tokens reported by the server.",
			},
			unit: inTokens, each: func(v *view) float64 { return count(v.usage.Total) },
		},
		{
			Def: Def{
				Tag: "usage_prompt_tokens_diff_pct", Header: "Usage Prompt Diff %", Short: "Prompt Diff",
				Flags: TokenizesInputOnly | UsageDiffOnly,
				Doc:   "100 \u00b7 |server - own count| / own count of the prompt.",
			},
			unit: inPercent, each: promptDiff,
		},
		{
			Def: Def{
				Tag: "usage_completion_tokens_diff_pct", Header: "Usage Completion Diff %", Short: "Completion Diff",
				Flags: ProducesTokensOnly | UsageDiffOnly,
				Doc:   "100 \u00b7 |server - own count| / own count of the output, for the first 1,000 responses and one in eight after them.",
			},
			unit: inPercent, each: completionDiff,
		},
		{
			Def: Def{
				Tag: "usage_reasoning_tokens_diff_pct", Header: "Usage Reasoning Diff %", Short: "Reasoning Diff",
				Flags: ProducesTokensOnly | SupportsReasoning | UsageDiffOnly,
				Doc:   "100 \u00b7 |server - own count| / own count of the reasoning, for the same responses.",
			},
			unit: inPercent, each: reasoningDiff,
		},
		{
			Def: Def{
				Tag: "usage_discrepancy_count", Header: "Usage Discrepancy Count", Short: "Discrepancies", Kind: Aggregate,
				Flags: NoIndividualRecords | UsageDiffOnly,
				Doc:   "Requests in which one of these differences exceeds 10 %.",
			},
			unit: inRequests, total: func(t *totals) float64 { return present(t.compared > 0, float64(t.discrepancies)) },
		},
	}
}

// usageTotalRows are sums of the counts of the server.
func usageTotalRows() []row {
	return []row{
		{
			Def: Def{
				Tag: "total_usage_prompt_tokens", Header: "Total Usage Prompt Tokens", Short: "Total Usage Prompt",
				Group: GroupUsage, Order: 2000, Flags: LargerIsBetter | TokenizesInputOnly,
				Doc: "Sum of usage_prompt_tokens.",
			},
			unit: inTokens, total: sumOf("usage_prompt_tokens"),
		},
		{
			Def: Def{
				Tag: "total_usage_prompt_cache_read_tokens", Header: "Total Usage Prompt Cache Read Tokens", Short: "Total Usage Prompt Cache Read",
				Group: GroupUsage, Order: 2010, Flags: LargerIsBetter,
				Doc: "Sum of usage_prompt_cache_read_tokens.",
			},
			unit: inTokens, total: sumOf("usage_prompt_cache_read_tokens"),
		},
		{
			Def: Def{
				Tag: "overall_usage_prompt_cache_read_pct", Header: "Overall Usage Prompt Cache Read %", Short: "Overall Cache Read %",
				Group: GroupUsage, Order: 2012, Flags: LargerIsBetter,
				Doc: "100 \u00b7 cache reads / prompt tokens, both summed.",
			},
			unit: inPercent, total: func(t *totals) float64 {
				return 100 * t.sum("usage_prompt_cache_read_tokens") / positive(t.sum("usage_prompt_tokens"))
			},
		},
		{
			Def: Def{
				Tag: "total_usage_prompt_cache_write_tokens", Header: "Total Usage Prompt Cache Write Tokens", Short: "Total Usage Prompt Cache Write",
				Group: GroupUsage, Order: 2015,
				Doc: "Sum of usage_prompt_cache_write_tokens.",
			},
			unit: inTokens, total: sumOf("usage_prompt_cache_write_tokens"),
		},
		{
			Def: Def{
				Tag: "total_usage_prompt_cache_miss_tokens", Header: "Total Usage Prompt Cache Miss Tokens", Short: "Total Usage Prompt Cache Miss",
				Group: GroupUsage, Order: 2017,
				Doc: "Sum of usage_prompt_cache_miss_tokens.",
			},
			unit: inTokens, total: sumOf("usage_prompt_cache_miss_tokens"),
		},
		{
			Def: Def{
				Tag: "total_usage_prompt_audio_tokens", Header: "Total Usage Prompt Audio Tokens", Short: "Total Usage Prompt Audio",
				Group: GroupUsage, Order: 2020, Flags: LargerIsBetter | SupportsAudioOnly,
				Doc: "Sum of usage_prompt_audio_tokens.",
			},
			unit: inTokens, total: sumOf("usage_prompt_audio_tokens"),
		},
		{
			Def: Def{
				Tag: "total_usage_prompt_audio_seconds", Header: "Total Usage Prompt Audio Seconds", Short: "Total Usage Prompt Audio Sec",
				Group: GroupUsage, Order: 2040, Flags: LargerIsBetter | SupportsAudioOnly,
				Doc: "Sum of usage_prompt_audio_seconds.",
			},
			unit: inSeconds, total: sumOf("usage_prompt_audio_seconds"),
		},
		{
			Def: Def{
				Tag: "total_usage_completion_tokens", Header: "Total Usage Completion Tokens", Short: "Total Usage Completion",
				Group: GroupUsage, Order: 2100, Flags: ProducesTokensOnly | LargerIsBetter,
				Doc: "Sum of usage_completion_tokens.",
			},
			unit: inTokens, total: sumOf("usage_completion_tokens"),
		},
		{
			Def: Def{
				Tag: "total_usage_reasoning_tokens", Header: "Total Usage Reasoning Tokens", Short: "Total Usage Reasoning",
				Group: GroupUsage, Order: 2110, Flags: ProducesTokensOnly | LargerIsBetter,
				Doc: "Sum of usage_reasoning_tokens.",
			},
			unit: inTokens, total: sumOf("usage_reasoning_tokens"),
		},
		{
			Def: Def{
				Tag: "total_usage_completion_audio_tokens", Header: "Total Usage Completion Audio Tokens", Short: "Total Usage Comp Audio",
				Group: GroupUsage, Order: 2120, Flags: ProducesTokensOnly | LargerIsBetter | SupportsAudioOnly,
				Doc: "Sum of usage_completion_audio_tokens.",
			},
			unit: inTokens, total: sumOf("usage_completion_audio_tokens"),
		},
		{
			Def: Def{
				Tag: "total_usage_accepted_prediction_tokens", Header: "Total Usage Accepted Prediction Tokens", Short: "Total Usage Accepted Pred",
				Group: GroupUsage, Order: 2130, Flags: ProducesTokensOnly | LargerIsBetter,
				Doc: "Sum of usage_accepted_prediction_tokens.",
			},
			unit: inTokens, total: sumOf("usage_accepted_prediction_tokens"),
		},
		{
			Def: Def{
				Tag: "total_usage_rejected_prediction_tokens", Header: "Total Usage Rejected Prediction Tokens", Short: "Total Usage Rejected Pred",
				Group: GroupUsage, Order: 2140, Flags: ProducesTokensOnly,
				Doc: "Sum of usage_rejected_prediction_tokens.",
			},
			unit: inTokens, total: sumOf("usage_rejected_prediction_tokens"),
		},
		{
			Def: Def{
				Tag: "total_usage_total_tokens", Header: "Total Usage Total Tokens", Short: "Total Usage Total",
				Group: GroupUsage, Order: 2200, Flags: ProducesTokensOnly | LargerIsBetter,
				Doc: "Sum of usage_total_tokens.",
			},
			unit: inTokens, total: sumOf("usage_total_tokens"),
		},
	}
}

// audioSeconds is the audio that the server counted.
func audioSeconds(v *view) float64 {
	if v.usage.AudioSeconds == nil {
		return math.NaN()
	}
	return *v.usage.AudioSeconds
}

// relativeDiff is the distance of a count from the own one in percent.
func relativeDiff(server *bench.Tokens, own float64) float64 {
	return 100 * math.Abs(count(server)-own) / positive(own)
}

// promptDiff compares the two counts of the prompt.
func promptDiff(v *view) float64 {
	return relativeDiff(v.usage.Input, v.clientCount(v.r.ClientInput, v.isl))
}

// completionDiff compares the two counts of the output.
func completionDiff(v *view) float64 { return relativeDiff(v.usage.Output, v.clientOSL()) }

// reasoningDiff compares the two counts of the reasoning.
func reasoningDiff(v *view) float64 {
	return relativeDiff(v.usage.Reasoning, v.clientCount(v.r.ClientReasoning, v.think))
}

// compare reports whether there are two counts of anything, and whether one pair
// is more than 10 % apart.
func compare(v *view) (compared, discrepant bool) {
	for _, d := range [3]float64{promptDiff(v), completionDiff(v), reasoningDiff(v)} {
		compared = compared || !math.IsNaN(d)
		discrepant = discrepant || d > 10
	}
	return compared, discrepant
}
