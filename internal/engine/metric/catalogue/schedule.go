package catalogue

import (
	"slices"
	"strings"
)

// scheduleRows are the times that count from the schedule instead of the start,
// and how well the schedule was kept.
func scheduleRows() []Row {
	rows := slices.Concat(lagRows(), limitRows(), replayRows())
	for _, r := range latencyRows() {
		if r.fromStart {
			rows = append(rows, corrected(r))
		}
	}
	return rows
}

// corrected returns the twin of a latency that counts from the instant at which
// the request was due. Tables show the twins of the two that everybody looks at.
func corrected(r Row) Row {
	each, least := r.Each, r.Least
	c := r
	c.Tag, c.Header, c.Origin, c.Flags = "corrected_"+r.Tag, "Corrected "+r.Header, Ours, r.Flags|OpenLoopOnly
	c.Doc = strings.Replace(r.Doc, "the start of the request", "the time at which the request was due", 1)
	c.Group, c.Order, c.Headline, c.fromStart = NoGroup, 0, Headline{}, false
	c.Each = func(v *View) float64 { return each(v) + since(v.Record.Stamps.Start, v.Record.Stamps.Due) }
	if least != nil {
		c.Least = func(v *View) float64 { return least(v) + since(v.Record.Stamps.Start, v.Record.Stamps.Due) }
	}
	if r.Short != "" {
		c.Short = "Corr " + r.Short
	}
	switch r.Tag {
	case "time_to_first_token":
		c.Group, c.Order = GroupEffective, 110
	case "request_latency":
		c.Group, c.Order, c.Headline = GroupEffective, 120, Headline{20, Sent}
	}
	return c
}

// lagRows are how well the schedule was kept.
func lagRows() []Row {
	return []Row{
		record("credit_to_start_latency", NoIndividualRecords, inMS, func(v *View) float64 {
			return max(0, since(v.Record.Stamps.Start, v.Record.Stamps.Permit))
		}).ofAttempts(),
		record("effective_latency", NoIndividualRecords|IncludesFailed, inMS, func(v *View) float64 {
			return max(0, since(v.Record.Stamps.End, v.Record.Stamps.Permit))
		}),
		record("schedule_lag", 0, inMS, func(v *View) float64 {
			return since(v.Record.Stamps.Start, v.Record.Stamps.Due)
		}).headline(19, OverTime|Exposed).ofAttempts(),
		record("corrected_normalized_latency", ProducesTokensOnly|OpenLoopOnly, inMSPerToken, func(v *View) float64 {
			return (v.Last + since(v.Record.Stamps.Start, v.Record.Stamps.Due)) / positive(v.OSL)
		}),
		aggregate("late_request_count", OpenLoopOnly|NoIndividualRecords, inRequests, func(t *Totals) float64 {
			return float64(t.Late)
		}),
		aggregate("dropped_arrival_count", OpenLoopOnly|NoIndividualRecords, inRequests, func(t *Totals) float64 {
			return t.Dropped
		}),
		record("corrected_e2e_latency", OpenLoopOnly|IncludesFailed, inMS, func(v *View) float64 {
			return since(v.Record.Stamps.End, v.Record.Stamps.Due)
		}),
	}
}

// limitRows are about the limits of a phase: its slots, and the requests without content.
func limitRows() []Row {
	return []Row{
		aggregate("closed_loop_efficiency", ClosedLoopOnly|LargerIsBetter|NoIndividualRecords, inRatio,
			func(t *Totals) float64 { return present(t.Slots.Held > 0, float64(t.Slots.Used)/float64(t.Slots.Held)) }),
		record("prefill_wait", PrefillOnly, inMS, func(v *View) float64 {
			return max(0, since(v.Record.Stamps.Permit, v.Record.Stamps.Queued))
		}).ofAttempts(),
	}
}

// DegradedAfter is the lag in milliseconds, at the 99th percentile, above which a replay
// has not kept its schedule. It is AIPerf's.
const DegradedAfter = 500

// ReplayOffset is the metric that the lags of a replay are computed from.
const ReplayOffset = "replay_send_schedule_offset"

// replayRows are how well the timestamps of a dataset were kept, as AIPerf has them. They
// do not show a lateness that all requests have; schedule_lag does.
func replayRows() []Row {
	return []Row{
		record(ReplayOffset, Internal|ReplayOnly, inNS, func(v *View) float64 {
			return since(v.Record.Stamps.Start, v.Record.Stamps.Scheduled)
		}),
		lag("replay_sched_lag_p50", inMS, func(quantile func(float64) float64) float64 { return quantile(0.50) }),
		lag("replay_sched_lag_p90", inMS, func(quantile func(float64) float64) float64 { return quantile(0.90) }),
		lag("replay_sched_lag_p99", inMS, func(quantile func(float64) float64) float64 { return quantile(0.99) }),
		lag("replay_sched_degraded", inCount, func(quantile func(float64) float64) float64 {
			return float64(b2i(quantile(0.99) > DegradedAfter))
		}),
	}
}

// throughputRows are the speeds of single requests.
func throughputRows() []Row {
	return []Row{
		record("output_token_throughput_per_user", streamedTokens|LargerIsBetter, inTPSUser, func(v *View) float64 {
			return 1e9 / positive(v.itl())
		}).headline(15, InTables|Pooled),
		record("e2e_output_token_throughput", ProducesTokensOnly|LargerIsBetter, inTPSUser, func(v *View) float64 {
			return 1e9 * v.OSL / v.Last
		}),
		record("prefill_throughput_per_user", streamedTokens|LargerIsBetter|TokenizesInputOnly, inTPSUser,
			func(v *View) float64 { return 1e9 * v.ISL / positive(v.First) }),
	}
}
