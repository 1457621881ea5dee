package catalogue

import (
	"math"

	"aiperfd/internal/engine/bench"
)

// rateRows are the rates of the whole phase.
func rateRows() []Row {
	return []Row{
		{
			Def: Def{
				Tag: "error_isl", Better: Neither, Header: "Error Input Sequence Length", Short: "Error ISL",
				Order: 700, Flags: ErrorOnly | LargerIsBetter | TokenizesInputOnly,
				Doc: "ISL of failed requests.",
			},
			unit: inTokens, Each: func(v *View) float64 { return v.ISL },
		},
		{
			Def: Def{
				Tag: "total_error_isl", Better: Neither, Header: "Total Error Input Sequence Length", Short: "Total Error ISL",
				Flags: ErrorOnly | LargerIsBetter | TokenizesInputOnly,
				Doc:   "Sum of error_isl.",
			},
			unit: inTokens, Total: sumOf("error_isl"),
		},
		{
			Def: Def{
				Tag: "output_token_throughput", Better: Higher, Header: "Output Token Throughput", Short: "Output TPS",
				Headline: Headline{2, InLists},
				Group:    GroupDefault, Order: 800, Flags: ProducesTokensOnly | LargerIsBetter,
				Doc: "total_osl / W, where W is the phase window.",
			},
			unit: inTPS, Total: rateOf("output_sequence_length"),
		},
		{
			Def: Def{
				Tag: "input_token_throughput", Better: Higher, Header: "Input Token Throughput", Short: "Input TPS",
				Group: GroupDefault, Order: 805, Flags: LargerIsBetter,
				Doc: "total_isl / W.",
			},
			unit: inTPS, Total: rateOf("input_sequence_length"),
		},
		{
			Def: Def{
				Tag: "total_token_throughput", Better: Higher, Header: "Total Token Throughput", Short: "Total TPS",
				Flags: ProducesTokensOnly | LargerIsBetter,
				Doc:   "(total_isl + total_osl) / W.",
			},
			unit: inTPS, Total: func(t *Totals) float64 {
				return (t.Sum("input_sequence_length") + t.Sum("output_sequence_length")) / t.Window
			},
		},
		{
			Def: Def{
				Tag: "request_throughput", Better: Higher, Header: "Request Throughput", Short: "Req/sec",
				Headline: Headline{1, InLists},
				Group:    GroupDefault, Order: 900, Flags: LargerIsBetter,
				Doc: "request_count / W.",
			},
			unit: inRPS, Total: func(t *Totals) float64 { return float64(t.Success) / t.Window },
		},
		{
			Def: Def{
				Tag: "goodput", Better: Higher, Header: "Goodput", Short: "Goodput",
				Headline: Headline{3, InLists},
				Group:    GroupDefault, Order: 1000, Flags: GoodputOnly,
				Doc: "good_request_count / W.",
			},
			unit: inRPS, Total: func(t *Totals) float64 { return float64(t.Good) / t.Window },
		},
		{
			Def: Def{
				Tag: "output_token_goodput", Better: Higher, Header: "Output Token Goodput", Short: "Goodput TPS", Origin: Ours,
				Flags: ProducesTokensOnly | GoodputOnly | LargerIsBetter,
				Doc:   "OSL of the requests that meet all objectives / W.",
			},
			unit: inTPS, Total: func(t *Totals) float64 { return present(t.Count("output_sequence_length") > 0, t.GoodTokens/t.Window) },
		},
		{
			Def: Def{
				Tag: "benchmark_duration", Better: Lower, Header: "Benchmark Duration", Short: "Duration",
				Doc: "Last content event minus the first start, over successful requests. Rates are divided by W, not by this.",
			},
			unit: inSeconds, Total: func(t *Totals) float64 { return positive((t.LastContent - t.FirstStart).Seconds()) },
		},
	}
}

// flowRows are what happened in a part of a phase.
func flowRows() []Row {
	rows := []Row{
		{
			Def: Def{
				Tag: "requests_started", Better: Neither, Header: "Requests Started", Short: "Started", Flags: LargerIsBetter,
				Doc: "Requests of every outcome that started in the window.",
			},
			unit: inRequests, Total: func(t *Totals) float64 { return t.Flow.Started },
		},
		{
			Def: Def{
				Tag: "requests_ended", Better: Neither, Header: "Requests Ended", Short: "Ended", Flags: LargerIsBetter,
				Doc: "Requests of every outcome that ended in the window.",
			},
			unit: inRequests, Total: func(t *Totals) float64 { return t.Flow.Ended },
		},
		{
			Def: Def{
				Tag: "tokens_received", Better: Neither, Header: "Tokens Received", Short: "Received", Flags: ProducesTokensOnly | LargerIsBetter,
				Doc: "Output tokens of successful requests that arrived in the window. The first content event of a request counts as one token; the others share the rest of its OSL equally.",
			},
			unit: inTokens, Total: func(t *Totals) float64 { return t.Flow.Output },
		},
		{
			Def: Def{
				Tag: "output_tokens_per_second_arrival", Better: Higher, Header: "Output Tokens per Second by Arrival", Short: "Arrival TPS", Flags: ProducesTokensOnly | LargerIsBetter,
				Doc: "tokens_received / length of the window.",
			},
			unit: inTPS, Total: func(t *Totals) float64 { return t.Flow.Output / t.Window },
		},
	}
	for i := range rows {
		r := &rows[i]
		total := r.Total
		r.Origin, r.Flags = Ours, r.Flags|NoIndividualRecords
		r.Total = func(t *Totals) float64 {
			if t.Flow == nil {
				return math.NaN()
			}
			return total(t)
		}
	}
	return rows
}

// outcomeRows count how requests ended.
func outcomeRows() []Row {
	return []Row{
		{
			Def: Def{
				Tag: "completed_request_count", Better: Neither, Header: "Completed Requests (Success + Error)", Short: "Completed",
				Group: GroupDefault, Order: 1075, Flags: NoIndividualRecords,
				Doc: "request_count + error_request_count.",
			},
			unit: inRequests, Total: func(t *Totals) float64 { return float64(t.Success + t.Errors) },
		},
		{
			Def: Def{
				Tag: "request_error_rate", Better: Lower, Header: "Request Error Rate", Short: "Err %",
				Group: GroupDefault, Order: 1080, Flags: NoIndividualRecords,
				Doc: "100 \u00b7 errors / (successes + errors).",
			},
			unit: inPercent, Total: func(t *Totals) float64 { return 100 * float64(t.Errors) / positive(float64(t.Success+t.Errors)) },
		},
		{
			Def: Def{
				Tag: "request_count", Better: Neither, Header: "Request Count", Short: "Requests", Kind: Aggregate,
				Headline: Headline{4, InLists},
				Group:    GroupDefault, Order: 1100, Flags: LargerIsBetter | NoIndividualRecords,
				Doc: "Successful requests: no failure, at least one content event, and a latency above 0.",
			},
			unit: inRequests, Total: func(t *Totals) float64 { return float64(t.Success) },
		},
		{
			Def: Def{
				Tag: "unfinished_at_end", Better: Lower, Header: "Unfinished at End", Short: "Unfinished", Kind: Aggregate, Origin: Ours,
				Group: GroupDefault, Flags: NoIndividualRecords,
				Doc: "Requests that were still running when the grace period ended. Absent if there were none.",
			},
			unit: inRequests, Total: func(t *Totals) float64 { return positive(float64(t.Unfinished)) },
		},
		{
			Def: Def{
				Tag: "error_request_count", Better: Lower, Header: "Error Request Count", Short: "Error Count", Kind: Aggregate,
				Headline: Headline{5, InLists},
				Group:    GroupDefault, Flags: ErrorOnly | NoIndividualRecords,
				Doc: "Failed requests, excluding cancelled ones. Absent if there were none.",
			},
			unit: inRequests, Total: func(t *Totals) float64 { return positive(float64(t.Errors)) },
		},
		{
			Def: Def{
				Tag: "context_overflow_count", Better: Lower, Header: "Context Overflow Count", Short: "Ctx Overflow", Kind: Aggregate,
				Group: GroupDefault, Flags: ErrorOnly | NoIndividualRecords,
				Doc: "Requests rejected because the prompt exceeds the context length of the model.",
			},
			unit: inRequests, Total: func(t *Totals) float64 { return present(t.Errors > 0, float64(t.ByClass[bench.ContextOverflow])) },
		},
		{
			Def: Def{
				Tag: "good_request_count", Better: Higher, Header: "Good Request Count", Kind: Aggregate,
				Flags: GoodputOnly,
				Doc:   "Successful requests that meet all objectives.",
			},
			unit: inRequests, Total: func(t *Totals) float64 { return float64(t.Good) },
		},
		{
			Def: Def{
				Tag: "good_request_fraction", Better: Higher, Header: "GoodRequestFraction", Short: "GoodReqFrac",
				Flags: LargerIsBetter | GoodputOnly,
				Doc:   "good_request_count / (successes + errors).",
			},
			unit: inRatio, Total: func(t *Totals) float64 { return float64(t.Good) / positive(float64(t.Success+t.Errors)) },
		},
		{
			Def: Def{
				Tag: "cancelled_request_count", Better: Lower, Header: "Cancelled Request Count", Short: "Cancelled", Kind: Aggregate, Origin: Ours,
				Group: GroupDefault, Flags: NoIndividualRecords,
				Doc: "Requests cancelled by the benchmark: neither successes nor errors. Absent if there were none.",
			},
			unit: inRequests, Total: func(t *Totals) float64 { return positive(float64(t.Cancelled)) },
		},
		{
			Def: Def{
				Tag: "cancelled_by_test_count", Better: Neither, Header: "Requests Cancelled by Test", Short: "Cancelled by Test", Kind: Aggregate, Origin: Ours,
				Group: GroupDefault, Flags: NoIndividualRecords,
				Doc: "Requests that the cancellation test of the run has ended: neither successes nor errors, and not in cancelled_request_count. Absent if there were none.",
			},
			unit: inRequests, Total: func(t *Totals) float64 { return positive(float64(t.CancelledByTest)) },
		},
		{
			Def: Def{
				Tag: "wasted_output_tokens", Better: Lower, Header: "Wasted Output Tokens", Short: "Wasted", Kind: Aggregate, Origin: Ours,
				Flags: ProducesTokensOnly | NoIndividualRecords,
				Doc:   "Output tokens received for requests that later failed or were cancelled; one per content event if they were not counted.",
			},
			unit: inTokens, Total: func(t *Totals) float64 {
				return present(t.Errors+t.Cancelled+t.CancelledByTest > 0, float64(t.WastedTokens))
			},
		},
		{
			Def: Def{
				Tag: "skipped_turns", Better: Lower, Header: "Skipped Turns", Short: "Skipped", Kind: Aggregate, Origin: Ours,
				Flags: NoIndividualRecords,
				Doc:   "Turns that were not sent because an earlier turn of their session failed. Absent if there were none.",
			},
			unit: inRequests, Total: func(t *Totals) float64 { return positive(float64(t.SkippedTurns)) },
		},
	}
}

// sumOf is the sum of a per-record metric, in its display unit.
func sumOf(tag string) func(*Totals) float64 {
	return func(t *Totals) float64 { return t.Sum(tag) }
}

// rateOf is the sum of a per-record metric divided by the window.
func rateOf(tag string) func(*Totals) float64 {
	return func(t *Totals) float64 { return t.Sum(tag) / t.Window }
}
