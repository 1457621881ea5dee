package catalogue

// curveRows are functions of time, weighted by how long each value lasted.
func curveRows() []Row {
	return []Row{
		curve("effective_concurrency", 0, inRequests, Concurrency),
		curve("effective_decode_throughput", streamedTokens|LargerIsBetter, inTPS, DecodeRate),
		curve("effective_prefill_throughput", streamedTokens|TokenizesInputOnly|LargerIsBetter, inTPS, PrefillRate),
		curve("effective_decode_concurrency", streamedTokens, inRequests, Decodes),
		curve("effective_prefill_concurrency", streamedTokens, inRequests, Prefills),
		curve("effective_total_throughput", streamedTokens|TokenizesInputOnly|LargerIsBetter, inTPS, TotalRate),
		curve("effective_decode_throughput_per_user", streamedTokens|LargerIsBetter, inTPSUser, DecodeRatePerUser),
		curve("effective_prefill_throughput_per_user", streamedTokens|TokenizesInputOnly|LargerIsBetter, inTPSUser,
			PrefillRatePerUser),
		curve("tokens_in_flight", streamedTokens, inTokens, TokensInFlight),
		curve("active_decode_throughput", streamedTokens|LargerIsBetter, inTPS, ActiveDecodeRate),
		curve("active_prefill_throughput", streamedTokens|TokenizesInputOnly|LargerIsBetter, inTPS, ActivePrefillRate),
		curve("active_decode_throughput_per_user", streamedTokens|LargerIsBetter, inTPSUser, ActiveDecodeRatePerUser),
		curve("active_prefill_throughput_per_user", streamedTokens|TokenizesInputOnly|LargerIsBetter, inTPSUser,
			ActivePrefillRatePerUser),
		curve("active_total_throughput", streamedTokens|TokenizesInputOnly|LargerIsBetter, inTPS, ActiveTotalRate),
	}
}
