package catalogue

import "math"

// lengthRows are token counts and their totals.
func lengthRows() []Row {
	return []Row{
		record("output_sequence_length", ProducesTokensOnly|LargerIsBetter, inTokens, func(v *View) float64 {
			return v.OSL
		}).headline(18, InTables|Exposed),
		record("input_sequence_length", LargerIsBetter|TokenizesInputOnly, inTokens, func(v *View) float64 {
			return v.ISL
		}).headline(17, InTables|Exposed),
		record("output_token_count", ProducesTokensOnly|LargerIsBetter, inTokens, func(v *View) float64 {
			return positive(v.Out)
		}),
		record("reasoning_token_count", ProducesTokensOnly|LargerIsBetter|SupportsReasoning, inTokens,
			func(v *View) float64 { return v.Think }),
		total("total_isl", LargerIsBetter|TokenizesInputOnly, inTokens, sumOf("input_sequence_length")),
		total("total_osl", ProducesTokensOnly|LargerIsBetter, inTokens, sumOf("output_sequence_length")),
		total("total_output_tokens", ProducesTokensOnly|LargerIsBetter, inTokens, sumOf("output_token_count")),
		total("total_reasoning_tokens", ProducesTokensOnly|LargerIsBetter, inTokens, sumOf("reasoning_token_count")),
		record("requested_osl", ProducesTokensOnly|Internal, inTokens, requested),
		record("osl_mismatch_diff_pct", ProducesTokensOnly|DisabledOnAccuracy, inPercent, func(v *View) float64 {
			return 100 * (v.OSL - requested(v)) / requested(v)
		}),
		aggregate("osl_mismatch_count", ProducesTokensOnly|NoIndividualRecords|DisabledOnAccuracy, inRequests,
			func(t *Totals) float64 {
				return present(t.Count("osl_mismatch_diff_pct") > 0, float64(t.OSLMismatches))
			}),
		record("thinking_efficiency", ProducesTokensOnly|SupportsReasoning|Experimental, inRatio,
			func(v *View) float64 { return v.Think / positive(v.Out) }),
		total("overall_thinking_efficiency", ProducesTokensOnly|SupportsReasoning|Experimental, inRatio,
			func(t *Totals) float64 { return t.Sum("reasoning_token_count") / positive(t.Sum("output_token_count")) }),
		record("first_chunk_tokens", streamedTokens, inTokens, firstChunkTokens),
		list("tokens_per_chunk", streamedTokens, inTokens, chunkTokens),
	}
}

// firstChunkTokens is the number of tokens of the first content event.
func firstChunkTokens(v *View) float64 {
	if !v.Streams {
		return math.NaN()
	}
	return positive(float64(v.Record.Answer.Chunks[0].Tokens))
}

// chunkTokens appends the tokens of the content events whose size is known.
func chunkTokens(v *View, dst []float64) []float64 {
	if !v.Streams || v.Record.Answer.LeftOut > 0 {
		return dst
	}
	for i := range v.Record.Answer.Chunks {
		if t := v.Record.Answer.Chunks[i].Tokens; t > 0 {
			dst = append(dst, float64(t))
		}
	}
	return dst
}
