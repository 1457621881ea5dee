package catalogue

import "math"

// usageRows are the counts of the server and how they compare with ours.
func usageRows() []Row {
	return []Row{
		record("usage_prompt_tokens", LargerIsBetter|TokenizesInputOnly, inTokens,
			func(v *View) float64 { return count(v.Usage.Input) }),
		record("usage_prompt_cache_read_tokens", LargerIsBetter, inTokens,
			func(v *View) float64 { return count(v.Usage.Cached) }),
		record("usage_prompt_cache_write_tokens", 0, inTokens,
			func(v *View) float64 { return count(v.Usage.CacheWrite) }),
		record("usage_prompt_cache_miss_tokens", 0, inTokens,
			func(v *View) float64 { return count(v.Usage.CacheMiss) }),
		record("usage_prompt_audio_tokens", LargerIsBetter|SupportsAudioOnly, inTokens,
			func(v *View) float64 { return count(v.Usage.AudioIn) }),
		record("usage_prompt_audio_seconds", LargerIsBetter|SupportsAudioOnly, inSeconds, audioSeconds),
		record("usage_prompt_image_tokens", LargerIsBetter|SupportsImageOnly, inTokens,
			func(v *View) float64 { return count(v.Usage.ImageIn) }),
		record("usage_completion_tokens", ProducesTokensOnly|LargerIsBetter, inTokens,
			func(v *View) float64 { return count(v.Usage.Output) }),
		record("usage_reasoning_tokens", ProducesTokensOnly|LargerIsBetter, inTokens,
			func(v *View) float64 { return count(v.Usage.Reasoning) }),
		record("usage_completion_audio_tokens", ProducesTokensOnly|LargerIsBetter|SupportsAudioOnly, inTokens,
			func(v *View) float64 { return count(v.Usage.AudioOut) }),
		record("usage_accepted_prediction_tokens", ProducesTokensOnly|LargerIsBetter, inTokens,
			func(v *View) float64 { return count(v.Usage.Accepted) }),
		record("usage_rejected_prediction_tokens", ProducesTokensOnly, inTokens,
			func(v *View) float64 { return count(v.Usage.Rejected) }),
		record("usage_total_tokens", ProducesTokensOnly|LargerIsBetter, inTokens,
			func(v *View) float64 { return count(v.Usage.Total) }),
		record("usage_prompt_tokens_diff_pct", TokenizesInputOnly|UsageDiffOnly, inPercent, promptDiff),
		record("usage_completion_tokens_diff_pct", ProducesTokensOnly|UsageDiffOnly, inPercent, completionDiff),
		record("usage_reasoning_tokens_diff_pct", ProducesTokensOnly|SupportsReasoning|UsageDiffOnly, inPercent,
			reasoningDiff),
		aggregate("usage_discrepancy_count", NoIndividualRecords|UsageDiffOnly, inRequests, func(t *Totals) float64 {
			return present(t.Compared > 0, float64(t.Discrepancies))
		}),
	}
}

// usageTotalRows are sums of the counts of the server.
func usageTotalRows() []Row {
	return []Row{
		sumRow("usage_prompt_tokens", LargerIsBetter|TokenizesInputOnly, inTokens),
		sumRow("usage_prompt_cache_read_tokens", LargerIsBetter, inTokens),
		total("overall_usage_prompt_cache_read_pct", LargerIsBetter, inPercent, func(t *Totals) float64 {
			return 100 * t.Sum("usage_prompt_cache_read_tokens") / positive(t.Sum("usage_prompt_tokens"))
		}),
		sumRow("usage_prompt_cache_write_tokens", 0, inTokens),
		sumRow("usage_prompt_cache_miss_tokens", 0, inTokens),
		sumRow("usage_prompt_audio_tokens", LargerIsBetter|SupportsAudioOnly, inTokens),
		sumRow("usage_prompt_audio_seconds", LargerIsBetter|SupportsAudioOnly, inSeconds),
		sumRow("usage_completion_tokens", ProducesTokensOnly|LargerIsBetter, inTokens),
		sumRow("usage_reasoning_tokens", ProducesTokensOnly|LargerIsBetter, inTokens),
		sumRow("usage_completion_audio_tokens", ProducesTokensOnly|LargerIsBetter|SupportsAudioOnly, inTokens),
		sumRow("usage_accepted_prediction_tokens", ProducesTokensOnly|LargerIsBetter, inTokens),
		sumRow("usage_rejected_prediction_tokens", ProducesTokensOnly, inTokens),
		sumRow("usage_total_tokens", ProducesTokensOnly|LargerIsBetter, inTokens),
	}
}

// sumRow is the sum of a metric over the successful requests.
func sumRow(tag string, f Flags, u unit) Row { return total("total_"+tag, f, u, sumOf(tag)) }

// audioSeconds is the audio that the server counted.
func audioSeconds(v *View) float64 {
	if v.Usage.AudioSeconds == nil {
		return math.NaN()
	}
	return *v.Usage.AudioSeconds
}
