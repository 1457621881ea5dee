package catalogue

import (
	"math"

	"aiperfd/internal/engine/bench"
)

// rateRows are the rates of the whole phase.
func rateRows() []Row {
	return []Row{
		record("error_isl", ErrorOnly|LargerIsBetter|TokenizesInputOnly, inTokens, func(v *View) float64 {
			return v.ISL
		}),
		total("total_error_isl", ErrorOnly|LargerIsBetter|TokenizesInputOnly, inTokens, sumOf("error_isl")),
		total("output_token_throughput", ProducesTokensOnly|LargerIsBetter, inTPS, rateOf("output_sequence_length")).
			headline(2, InLists),
		total("input_token_throughput", LargerIsBetter, inTPS, rateOf("input_sequence_length")),
		total("total_token_throughput", ProducesTokensOnly|LargerIsBetter, inTPS, func(t *Totals) float64 {
			return (t.Sum("input_sequence_length") + t.Sum("output_sequence_length")) / t.Window
		}),
		total("request_throughput", LargerIsBetter, inRPS, func(t *Totals) float64 {
			return float64(t.Success) / t.Window
		}).headline(1, InLists),
		total("goodput", GoodputOnly, inRPS, func(t *Totals) float64 { return float64(t.Good) / t.Window }).
			headline(3, InLists),
		total("output_token_goodput", ProducesTokensOnly|GoodputOnly|LargerIsBetter, inTPS, func(t *Totals) float64 {
			return present(t.Count("output_sequence_length") > 0, t.GoodTokens/t.Window)
		}),
		total("benchmark_duration", 0, inSeconds, func(t *Totals) float64 {
			return positive((t.LastContent - t.FirstStart).Seconds())
		}),
	}
}

// flowRows are what happened in a part of a phase.
func flowRows() []Row {
	rows := []Row{
		total("requests_started", LargerIsBetter, inRequests, func(t *Totals) float64 { return t.Flow.Started }),
		total("requests_ended", LargerIsBetter, inRequests, func(t *Totals) float64 { return t.Flow.Ended }),
		total("tokens_received", ProducesTokensOnly|LargerIsBetter, inTokens, func(t *Totals) float64 {
			return t.Flow.Output
		}),
		total("output_tokens_per_second_arrival", ProducesTokensOnly|LargerIsBetter, inTPS, func(t *Totals) float64 {
			return t.Flow.Output / t.Window
		}),
	}
	for i := range rows {
		r := &rows[i]
		total := r.Total
		r.Flags |= NoIndividualRecords
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
		total("completed_request_count", NoIndividualRecords, inRequests, func(t *Totals) float64 {
			return float64(t.Success + t.Errors)
		}),
		total("request_error_rate", NoIndividualRecords, inPercent, func(t *Totals) float64 {
			return 100 * float64(t.Errors) / positive(float64(t.Success+t.Errors))
		}),
		aggregate("request_count", LargerIsBetter|NoIndividualRecords, inRequests, func(t *Totals) float64 {
			return float64(t.Success)
		}).headline(4, InLists),
		aggregate("unfinished_at_end", NoIndividualRecords, inRequests, func(t *Totals) float64 {
			return positive(float64(t.Unfinished))
		}),
		aggregate("error_request_count", ErrorOnly|NoIndividualRecords, inRequests, func(t *Totals) float64 {
			return positive(float64(t.Errors))
		}).headline(5, InLists),
		aggregate("context_overflow_count", ErrorOnly|NoIndividualRecords, inRequests, func(t *Totals) float64 {
			return present(t.Errors > 0, float64(t.ByClass[bench.ContextOverflow]))
		}),
		aggregate("good_request_count", GoodputOnly, inRequests, func(t *Totals) float64 { return float64(t.Good) }),
		total("good_request_fraction", LargerIsBetter|GoodputOnly, inRatio, func(t *Totals) float64 {
			return float64(t.Good) / positive(float64(t.Success+t.Errors))
		}),
		aggregate("cancelled_request_count", NoIndividualRecords, inRequests, func(t *Totals) float64 {
			return positive(float64(t.Cancelled))
		}),
		aggregate("cancelled_by_test_count", NoIndividualRecords, inRequests, func(t *Totals) float64 {
			return positive(float64(t.CancelledByTest))
		}),
		aggregate("wasted_output_tokens", ProducesTokensOnly|NoIndividualRecords, inTokens, func(t *Totals) float64 {
			return present(t.Errors+t.Cancelled+t.CancelledByTest > 0, float64(t.WastedTokens))
		}),
		aggregate("skipped_turns", NoIndividualRecords, inRequests, func(t *Totals) float64 {
			return positive(float64(t.SkippedTurns))
		}),
	}
}
