package metric

// scheduleRows are the times that count from the schedule instead of the start.
func scheduleRows() []row {
	return []row{
		{
			Def: Def{
				Tag: "credit_to_start_latency", Header: "Credit-to-Start Latency",
				Flags: NoIndividualRecords,
				Doc:   "Start of the request minus the instant at which it was allowed to go, for every attempt.",
			},
			unit: inMS, each: func(v *view) float64 { return max(0, since(v.r.Stamps.Start, v.r.Stamps.Permit)) }, scope: onAttempt,
		},
		{
			Def: Def{
				Tag: "effective_latency", Header: "Effective Latency (CO-aware)",
				Group: GroupEffective, Order: 100, Flags: NoIndividualRecords | IncludesFailed,
				Doc: "End of the body minus the instant at which the request was allowed to go, successes only. Waiting for a free slot is not in it; see corrected_e2e_latency.",
			},
			unit: inMS, each: func(v *view) float64 { return max(0, since(v.r.Stamps.End, v.r.Stamps.Permit)) },
		},
		{
			Def: Def{
				Tag: "schedule_lag", Header: "Schedule Lag", Short: "Sched Lag", Origin: ours,
				Group: GroupDefault,
				Doc:   "Start of the request minus the instant at which it was due, for every attempt. In a closed loop it is the time between a slot becoming free and its next request.",
			},
			unit: inMS, each: func(v *view) float64 { return since(v.r.Stamps.Start, v.r.Stamps.Due) }, scope: onAttempt,
		},
		{
			Def: Def{
				Tag: "corrected_time_to_first_token", Header: "Corrected Time to First Token", Short: "Corr TTFT", Origin: ours,
				Group: GroupEffective, Order: 110, Flags: StreamingOnly | ProducesTokensOnly | OpenLoopOnly | IncludesFailed,
				Doc: "First content event minus the instant at which the request was due, so that waiting to be sent counts.",
			},
			unit: inMS, each: func(v *view) float64 { return v.first + since(v.r.Stamps.Start, v.r.Stamps.Due) },
		},
		{
			Def: Def{
				Tag: "corrected_request_latency", Header: "Corrected Request Latency", Short: "Corr Req Latency", Origin: ours,
				Group: GroupEffective, Order: 120, Flags: OpenLoopOnly | IncludesFailed,
				Doc: "Last content event minus the instant at which the request was due.",
			},
			unit: inMS, each: func(v *view) float64 { return v.last + since(v.r.Stamps.Start, v.r.Stamps.Due) },
		},
		{
			Def: Def{
				Tag: "corrected_e2e_latency", Header: "Corrected End-to-End Latency", Short: "Corr E2E Latency", Origin: ours,
				Group: GroupEffective, Order: 130, Flags: OpenLoopOnly | IncludesFailed,
				Doc: "End of the body minus the instant at which the request was due.",
			},
			unit: inMS, each: func(v *view) float64 { return since(v.r.Stamps.End, v.r.Stamps.Due) },
		},
	}
}

// throughputRows are the speeds of single requests.
func throughputRows() []row {
	return []row{
		{
			Def: Def{
				Tag: "output_token_throughput_per_user", Header: "Output Token Throughput Per User", Short: "Output TPS/User",
				Group: GroupDefault, Order: 500, Flags: StreamingOnly | ProducesTokensOnly | LargerIsBetter,
				Doc: "1 / inter_token_latency.",
			},
			unit: inTPSUser, each: func(v *view) float64 { return 1e9 / positive(v.itl()) },
		},
		{
			Def: Def{
				Tag: "e2e_output_token_throughput", Header: "E2E Output Token Throughput", Short: "E2E Output TPS/User",
				Group: GroupDefault, Order: 510, Flags: ProducesTokensOnly | LargerIsBetter,
				Doc: "OSL / request_latency.",
			},
			unit: inTPSUser, each: func(v *view) float64 { return 1e9 * v.osl / v.last },
		},
		{
			Def: Def{
				Tag: "prefill_throughput_per_user", Header: "Prefill Throughput Per User", Short: "Prefill TPS/User",
				Flags: StreamingOnly | ProducesTokensOnly | LargerIsBetter | TokenizesInputOnly,
				Doc:   "ISL / time_to_first_token.",
			},
			unit: inTPSUser, each: func(v *view) float64 { return 1e9 * v.isl / positive(v.first) },
		},
	}
}
