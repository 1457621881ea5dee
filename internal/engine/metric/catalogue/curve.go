package catalogue

// curveRows are functions of time, weighted by how long each value lasted.
func curveRows() []Row {
	return []Row{
		{
			Def: Def{
				Tag: "effective_concurrency", Better: Neither, Header: "Effective Concurrency",
				Group: GroupEffective, Order: 10,
				Doc: "Requests in flight, including failed ones.",
			},
			unit: inRequests, Curve: Concurrency,
		},
		{
			Def: Def{
				Tag: "effective_decode_throughput", Better: Higher, Header: "Effective Decode Throughput",
				Group: GroupEffective, Order: 20, Flags: StreamingOnly | ProducesTokensOnly | LargerIsBetter,
				Doc: "Sum of the token rates of the requests that are being decoded: in each gap between content events that is longer than 0, (OSL - 1) / (gaps longer than 0) / gap. Its maximum is that of an instant: between two events that arrived some microseconds apart it is a hundred thousand tokens per second; `max_100ms` is what the server sustained.",
			},
			unit: inTPS, Curve: DecodeRate,
		},
		{
			Def: Def{
				Tag: "effective_prefill_throughput", Better: Higher, Header: "Effective Prefill Throughput",
				Group: GroupEffective, Order: 30, Flags: StreamingOnly | ProducesTokensOnly | TokenizesInputOnly | LargerIsBetter,
				Doc: "Sum of ISL / time_to_first_token over the requests that are waiting for their first token.",
			},
			unit: inTPS, Curve: PrefillRate,
		},
		{
			Def: Def{
				Tag: "effective_decode_concurrency", Better: Neither, Header: "Effective Decode Concurrency",
				Group: GroupEffective, Order: 40, Flags: StreamingOnly | ProducesTokensOnly,
				Doc: "Requests between their first token and their end.",
			},
			unit: inRequests, Curve: Decodes,
		},
		{
			Def: Def{
				Tag: "effective_prefill_concurrency", Better: Neither, Header: "Effective Prefill Concurrency",
				Group: GroupEffective, Order: 50, Flags: StreamingOnly | ProducesTokensOnly,
				Doc: "Requests between their start and their first token.",
			},
			unit: inRequests, Curve: Prefills,
		},
		{
			Def: Def{
				Tag: "effective_total_throughput", Better: Higher, Header: "Effective Total Throughput",
				Group: GroupEffective, Order: 60, Flags: StreamingOnly | ProducesTokensOnly | TokenizesInputOnly | LargerIsBetter,
				Doc: "Prefill throughput plus, for each request that is being decoded, (OSL - 1) spread evenly from its first token to its end.",
			},
			unit: inTPS, Curve: TotalRate,
		},
		{
			Def: Def{
				Tag: "effective_decode_throughput_per_user", Better: Higher, Header: "Effective Decode Throughput Per User",
				Group: GroupEffective, Order: 70, Flags: StreamingOnly | ProducesTokensOnly | LargerIsBetter,
				Doc: "Decode throughput / decode concurrency; 0 if nothing is being decoded.",
			},
			unit: inTPSUser, Curve: DecodeRatePerUser,
		},
		{
			Def: Def{
				Tag: "effective_prefill_throughput_per_user", Better: Higher, Header: "Effective Prefill Throughput Per User",
				Group: GroupEffective, Order: 80, Flags: StreamingOnly | ProducesTokensOnly | TokenizesInputOnly | LargerIsBetter,
				Doc: "Prefill throughput / prefill concurrency; 0 if nothing is being prefilled.",
			},
			unit: inTPSUser, Curve: PrefillRatePerUser,
		},
		{
			Def: Def{
				Tag: "tokens_in_flight", Better: Neither, Header: "Tokens In Flight",
				Group: GroupEffective, Order: 90, Flags: StreamingOnly | ProducesTokensOnly,
				Doc: "Prompt tokens of the requests in flight plus the output tokens received so far.",
			},
			unit: inTokens, Curve: TokensInFlight,
		},
		{
			Def: Def{
				Tag: "active_decode_throughput", Better: Higher, Header: "Active Decode Throughput",
				Group: GroupActive, Order: 10, Flags: StreamingOnly | ProducesTokensOnly | LargerIsBetter,
				Doc: "effective_decode_throughput over the time in which at least one request is being decoded.",
			},
			unit: inTPS, Curve: ActiveDecodeRate,
		},
		{
			Def: Def{
				Tag: "active_prefill_throughput", Better: Higher, Header: "Active Prefill Throughput",
				Group: GroupActive, Order: 20, Flags: StreamingOnly | ProducesTokensOnly | TokenizesInputOnly | LargerIsBetter,
				Doc: "effective_prefill_throughput over the time in which at least one request is being prefilled.",
			},
			unit: inTPS, Curve: ActivePrefillRate,
		},
		{
			Def: Def{
				Tag: "active_decode_throughput_per_user", Better: Higher, Header: "Active Decode Throughput Per User",
				Group: GroupActive, Order: 30, Flags: StreamingOnly | ProducesTokensOnly | LargerIsBetter,
				Doc: "effective_decode_throughput_per_user over the time in which at least one request is being decoded.",
			},
			unit: inTPSUser, Curve: ActiveDecodeRatePerUser,
		},
		{
			Def: Def{
				Tag: "active_prefill_throughput_per_user", Better: Higher, Header: "Active Prefill Throughput Per User",
				Group: GroupActive, Order: 40, Flags: StreamingOnly | ProducesTokensOnly | TokenizesInputOnly | LargerIsBetter,
				Doc: "effective_prefill_throughput_per_user over the time in which at least one request is being prefilled.",
			},
			unit: inTPSUser, Curve: ActivePrefillRatePerUser,
		},
		{
			Def: Def{
				Tag: "active_total_throughput", Better: Higher, Header: "Active Total Throughput",
				Group: GroupActive, Order: 50, Flags: StreamingOnly | ProducesTokensOnly | TokenizesInputOnly | LargerIsBetter,
				Doc: "effective_total_throughput over the time in which requests are in flight.",
			},
			unit: inTPS, Curve: ActiveTotalRate,
		},
	}
}
