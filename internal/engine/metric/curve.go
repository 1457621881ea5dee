package metric

// curveRows are functions of time, weighted by how long each value lasted.
func curveRows() []row {
	return []row{
		{
			Def: Def{
				Tag: "effective_concurrency", Header: "Effective Concurrency",
				Group: GroupEffective, Order: 10,
				Doc: "Requests in flight, including failed ones.",
			},
			unit: inRequests, curve: concurrency,
		},
		{
			Def: Def{
				Tag: "effective_decode_throughput", Header: "Effective Decode Throughput",
				Group: GroupEffective, Order: 20, Flags: StreamingOnly | ProducesTokensOnly | LargerIsBetter,
				Doc: "Sum of the token rates of the requests that are being decoded: in each gap between content events that is longer than 0, (OSL - 1) / (gaps longer than 0) / gap.",
			},
			unit: inTPS, curve: decodeRate,
		},
		{
			Def: Def{
				Tag: "effective_prefill_throughput", Header: "Effective Prefill Throughput",
				Group: GroupEffective, Order: 30, Flags: StreamingOnly | ProducesTokensOnly | TokenizesInputOnly | LargerIsBetter,
				Doc: "Sum of ISL / time_to_first_token over the requests that are waiting for their first token.",
			},
			unit: inTPS, curve: prefillRate,
		},
		{
			Def: Def{
				Tag: "effective_decode_concurrency", Header: "Effective Decode Concurrency",
				Group: GroupEffective, Order: 40, Flags: StreamingOnly | ProducesTokensOnly,
				Doc: "Requests between their first token and their end.",
			},
			unit: inRequests, curve: decodes,
		},
		{
			Def: Def{
				Tag: "effective_prefill_concurrency", Header: "Effective Prefill Concurrency",
				Group: GroupEffective, Order: 50, Flags: StreamingOnly | ProducesTokensOnly,
				Doc: "Requests between their start and their first token.",
			},
			unit: inRequests, curve: prefills,
		},
		{
			Def: Def{
				Tag: "effective_total_throughput", Header: "Effective Total Throughput",
				Group: GroupEffective, Order: 60, Flags: StreamingOnly | ProducesTokensOnly | TokenizesInputOnly | LargerIsBetter,
				Doc: "Prefill throughput plus, for each request that is being decoded, (OSL - 1) spread evenly from its first token to its end.",
			},
			unit: inTPS, curve: totalRate,
		},
		{
			Def: Def{
				Tag: "effective_decode_throughput_per_user", Header: "Effective Decode Throughput Per User",
				Group: GroupEffective, Order: 70, Flags: StreamingOnly | ProducesTokensOnly | LargerIsBetter,
				Doc: "Decode throughput / decode concurrency; 0 if nothing is being decoded.",
			},
			unit: inTPSUser, curve: decodeRatePerUser,
		},
		{
			Def: Def{
				Tag: "effective_prefill_throughput_per_user", Header: "Effective Prefill Throughput Per User",
				Group: GroupEffective, Order: 80, Flags: StreamingOnly | ProducesTokensOnly | TokenizesInputOnly | LargerIsBetter,
				Doc: "Prefill throughput / prefill concurrency; 0 if nothing is being prefilled.",
			},
			unit: inTPSUser, curve: prefillRatePerUser,
		},
		{
			Def: Def{
				Tag: "tokens_in_flight", Header: "Tokens In Flight",
				Group: GroupEffective, Order: 90, Flags: StreamingOnly | ProducesTokensOnly,
				Doc: "Prompt tokens of the requests in flight plus the output tokens received so far.",
			},
			unit: inTokens, curve: tokensInFlight,
		},
		{
			Def: Def{
				Tag: "active_decode_throughput", Header: "Active Decode Throughput",
				Group: GroupActive, Order: 10, Flags: StreamingOnly | ProducesTokensOnly | LargerIsBetter,
				Doc: "effective_decode_throughput over the time in which at least one request is being decoded.",
			},
			unit: inTPS, curve: activeDecodeRate,
		},
		{
			Def: Def{
				Tag: "active_prefill_throughput", Header: "Active Prefill Throughput",
				Group: GroupActive, Order: 20, Flags: StreamingOnly | ProducesTokensOnly | TokenizesInputOnly | LargerIsBetter,
				Doc: "effective_prefill_throughput over the time in which at least one request is being prefilled.",
			},
			unit: inTPS, curve: activePrefillRate,
		},
		{
			Def: Def{
				Tag: "active_decode_throughput_per_user", Header: "Active Decode Throughput Per User",
				Group: GroupActive, Order: 30, Flags: StreamingOnly | ProducesTokensOnly | LargerIsBetter,
				Doc: "effective_decode_throughput_per_user over the time in which at least one request is being decoded.",
			},
			unit: inTPSUser, curve: activeDecodeRatePerUser,
		},
		{
			Def: Def{
				Tag: "active_prefill_throughput_per_user", Header: "Active Prefill Throughput Per User",
				Group: GroupActive, Order: 40, Flags: StreamingOnly | ProducesTokensOnly | TokenizesInputOnly | LargerIsBetter,
				Doc: "effective_prefill_throughput_per_user over the time in which at least one request is being prefilled.",
			},
			unit: inTPSUser, curve: activePrefillRatePerUser,
		},
		{
			Def: Def{
				Tag: "active_total_throughput", Header: "Active Total Throughput",
				Group: GroupActive, Order: 50, Flags: StreamingOnly | ProducesTokensOnly | TokenizesInputOnly | LargerIsBetter,
				Doc: "effective_total_throughput over the time in which requests are in flight.",
			},
			unit: inTPS, curve: activeTotalRate,
		},
	}
}

// curve names one function of time.
type curve uint8

const (
	noCurve curve = iota
	concurrency
	decodes
	prefills
	decodeRate
	prefillRate
	totalRate
	decodeRatePerUser
	prefillRatePerUser
	tokensInFlight
	activeDecodeRate
	activePrefillRate
	activeTotalRate
	activeDecodeRatePerUser
	activePrefillRatePerUser
)

// needs says which facts about requests a curve is made of.
func (c curve) needs() (first, isl, osl bool) {
	switch c {
	case noCurve, concurrency:
		return false, false, false
	case decodes, prefills, tokensInFlight:
		return true, false, false
	case decodeRate, decodeRatePerUser, activeDecodeRate, activeDecodeRatePerUser:
		return true, false, true
	case prefillRate, prefillRatePerUser, activePrefillRate, activePrefillRatePerUser:
		return true, true, false
	case totalRate, activeTotalRate:
		return true, true, true
	}
	return false, false, false
}

// value returns the curve's value in a level, and the share of the time for
// which it counts: an active curve does not count where nothing happens. In an
// instant the share is 0 or 1. In a bin, whose level is a mean, less than one
// request on average means that for the rest of the time there was none.
func (c curve) value(l *level) (v, share float64) {
	switch c {
	case concurrency:
		return l.running, 1
	case decodes:
		return l.decoding, 1
	case prefills:
		return l.prefilling, 1
	case decodeRate:
		return l.decodeRate, 1
	case prefillRate:
		return l.prefillRate, 1
	case totalRate:
		return l.prefillRate + l.evenRate, 1
	case decodeRatePerUser:
		return perUser(l.decodeRate, l.decoding) * min(1, l.decoding), 1
	case prefillRatePerUser:
		return perUser(l.prefillRate, l.prefilling) * min(1, l.prefilling), 1
	case tokensInFlight:
		return l.tokens, 1
	case activeDecodeRate:
		return active(l.decodeRate, l.decoding)
	case activePrefillRate:
		return active(l.prefillRate, l.prefilling)
	case activeTotalRate:
		return active(l.prefillRate+l.evenRate, l.running)
	case activeDecodeRatePerUser:
		return perUser(l.decodeRate, l.decoding), min(1, l.decoding)
	case activePrefillRatePerUser:
		return perUser(l.prefillRate, l.prefilling), min(1, l.prefilling)
	case noCurve:
	}
	return 0, 0
}

// active returns a rate and the share of the time in which there were requests.
func active(rate, requests float64) (v, share float64) {
	if requests <= 0 {
		return 0, 0
	}
	return rate / min(1, requests), min(1, requests)
}

// perUser divides a rate among requests; 0 if there is none.
func perUser(rate, requests float64) float64 {
	if requests <= 0 {
		return 0
	}
	return rate / requests
}
