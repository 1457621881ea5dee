package catalogue

import "math"

// lengthRows are token counts and their totals.
func lengthRows() []Row {
	return []Row{
		{
			Def: Def{
				Tag: "output_sequence_length", Better: Neither, Header: "Output Sequence Length", Short: "OSL",
				Headline: Headline{18, InTables | Exposed},
				Group:    GroupDefault, Order: 600, Flags: ProducesTokensOnly | LargerIsBetter,
				Doc: "OSL: output tokens, including reasoning.",
			},
			unit: inTokens, Each: func(v *View) float64 { return v.OSL },
		},
		{
			Def: Def{
				Tag: "input_sequence_length", Better: Neither, Header: "Input Sequence Length", Short: "ISL",
				Headline: Headline{17, InTables | Exposed},
				Group:    GroupDefault, Order: 700, Flags: LargerIsBetter | TokenizesInputOnly,
				Doc: "ISL: tokens of the prompt.",
			},
			unit: inTokens, Each: func(v *View) float64 { return v.ISL },
		},
		{
			Def: Def{
				Tag: "output_token_count", Better: Neither, Header: "Output Token Count", Short: "Output Tokens",
				Flags: ProducesTokensOnly | LargerIsBetter,
				Doc:   "Output tokens including tool calls, excluding reasoning; 0 is treated as unknown.",
			},
			unit: inTokens, Each: func(v *View) float64 { return positive(v.Out) },
		},
		{
			Def: Def{
				Tag: "reasoning_token_count", Better: Neither, Header: "Reasoning Token Count", Short: "Reasoning Tokens",
				Flags: ProducesTokensOnly | LargerIsBetter | SupportsReasoning,
				Doc:   "Reasoning tokens.",
			},
			unit: inTokens, Each: func(v *View) float64 { return v.Think },
		},
		{
			Def: Def{
				Tag: "total_isl", Better: Neither, Header: "Total Input Sequence Length", Short: "Total ISL",
				Flags: LargerIsBetter | TokenizesInputOnly,
				Doc:   "Sum of ISL over successful requests.",
			},
			unit: inTokens, Total: sumOf("input_sequence_length"),
		},
		{
			Def: Def{
				Tag: "total_osl", Better: Neither, Header: "Total Output Sequence Length", Short: "Total OSL",
				Flags: ProducesTokensOnly | LargerIsBetter,
				Doc:   "Sum of OSL over successful requests.",
			},
			unit: inTokens, Total: sumOf("output_sequence_length"),
		},
		{
			Def: Def{
				Tag: "total_output_tokens", Better: Neither, Header: "Total Output Tokens", Short: "Total Output",
				Flags: ProducesTokensOnly | LargerIsBetter,
				Doc:   "Sum of output_token_count.",
			},
			unit: inTokens, Total: sumOf("output_token_count"),
		},
		{
			Def: Def{
				Tag: "total_reasoning_tokens", Better: Neither, Header: "Total Reasoning Tokens", Short: "Total Reasoning",
				Flags: ProducesTokensOnly | LargerIsBetter,
				Doc:   "Sum of reasoning_token_count.",
			},
			unit: inTokens, Total: sumOf("reasoning_token_count"),
		},
		{
			Def: Def{
				Tag: "requested_osl", Better: Neither, Header: "Requested OSL", Short: "Req OSL",
				Flags: ProducesTokensOnly | Internal,
				Doc:   "Requested output tokens.",
			},
			unit: inTokens, Each: requested,
		},
		{
			Def: Def{
				Tag: "osl_mismatch_diff_pct", Better: Neither, Header: "OSL Mismatch Diff %", Short: "OSL Diff",
				Flags: ProducesTokensOnly | DisabledOnAccuracy,
				Doc:   "100 \u00b7 (OSL - requested) / requested, signed.",
			},
			unit: inPercent, Each: func(v *View) float64 { return 100 * (v.OSL - requested(v)) / requested(v) },
		},
		{
			Def: Def{
				Tag: "osl_mismatch_count", Better: Lower, Header: "OSL Mismatch Count", Short: "OSL Mismatches", Kind: Aggregate,
				Flags: ProducesTokensOnly | NoIndividualRecords | DisabledOnAccuracy,
				Doc:   "Requests whose OSL differs from the requested one by more than 5 % or 50 tokens, whichever is less.",
			},
			unit: inRequests, Total: func(t *Totals) float64 {
				return present(t.Count("osl_mismatch_diff_pct") > 0, float64(t.OSLMismatches))
			},
		},
		{
			Def: Def{
				Tag: "thinking_efficiency", Better: Neither, Header: "Thinking Efficiency",
				Group: GroupDefault, Flags: ProducesTokensOnly | SupportsReasoning | Experimental,
				Doc: "Reasoning tokens / output tokens.",
			},
			unit: inRatio, Each: func(v *View) float64 { return v.Think / positive(v.Out) },
		},
		{
			Def: Def{
				Tag: "overall_thinking_efficiency", Better: Neither, Header: "Overall Thinking Efficiency", Short: "Overall Eff.",
				Group: GroupDefault, Flags: ProducesTokensOnly | SupportsReasoning | Experimental,
				Doc: "total_reasoning_tokens / total_output_tokens.",
			},
			unit: inRatio, Total: func(t *Totals) float64 { return t.Sum("reasoning_token_count") / positive(t.Sum("output_token_count")) },
		},
		{
			Def: Def{
				Tag: "first_chunk_tokens", Better: Neither, Header: "First Chunk Tokens", Short: "First Chunk", Origin: Ours,
				Flags: StreamingOnly | ProducesTokensOnly,
				Doc:   "Tokens in the first content event, as reported by the server. If above 1, ITL and ICL differ.",
			},
			unit: inTokens, Each: firstChunkTokens,
		},
		{
			Def: Def{
				Tag: "tokens_per_chunk", Better: Neither, Header: "Tokens per Chunk", Short: "Tok/Chunk", Origin: Ours,
				Flags: StreamingOnly | ProducesTokensOnly,
				Doc:   "Tokens in each content event, if the server reports them.",
			},
			unit: inTokens, List: chunkTokens,
		},
	}
}

// requested is the requested output length.
func requested(v *View) float64 { return positive(float64(v.Record.Content.RequestedTokens)) }

// oslMismatched reports whether the output length is off the requested one by
// more than 5 % or 50 tokens, whichever is less.
func oslMismatched(v *View) bool {
	want := requested(v)
	return math.Abs(v.OSL-want) > min(0.05*want, 50)
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
