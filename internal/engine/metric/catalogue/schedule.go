package catalogue

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// LateAfter is the lag from which on an arrival counts as late: a start more than
// a millisecond after it was due is no longer explained by the dispatcher's own
// precision.
const LateAfter = time.Millisecond

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
	each := r.Each
	c := Row{
		Def: Def{
			Tag: "corrected_" + r.Tag, Better: r.Better, Header: "Corrected " + r.Header, Short: "Corr " + r.Short, Origin: Ours,
			Flags: r.Flags | OpenLoopOnly,
			Doc:   strings.Replace(r.Doc, "the start of the request", "the time at which the request was due", 1),
		},
		ofAudio: r.ofAudio,
		unit:    r.unit, Each: func(v *View) float64 { return each(v) + since(v.Record.Stamps.Start, v.Record.Stamps.Due) },
	}
	if least := r.Least; least != nil {
		c.Least = func(v *View) float64 { return least(v) + since(v.Record.Stamps.Start, v.Record.Stamps.Due) }
	}
	if r.Short == "" {
		c.Short = ""
	}
	switch r.Tag {
	case "time_to_first_token":
		c.Group, c.Order = GroupEffective, 110
	case "request_latency":
		c.Group, c.Order = GroupEffective, 120
	}
	return c
}

// lagRows are how well the schedule was kept.
func lagRows() []Row {
	return []Row{
		{
			Def: Def{
				Tag: "credit_to_start_latency", Better: Lower, Header: "Credit-to-Start Latency",
				Flags: NoIndividualRecords,
				Doc:   "Start of the request minus the time at which it was allowed to start, for every attempt.",
			},
			unit: inMS, Each: func(v *View) float64 { return max(0, since(v.Record.Stamps.Start, v.Record.Stamps.Permit)) }, Scope: OnAttempt,
		},
		{
			Def: Def{
				Tag: "effective_latency", Better: Lower, Header: "Effective Latency (CO-aware)",
				Group: GroupEffective, Order: 100, Flags: NoIndividualRecords | IncludesFailed,
				Doc: "End of the body minus the time at which the request was allowed to start, for successful requests. It does not include waiting for a free slot; see corrected_e2e_latency.",
			},
			unit: inMS, Each: func(v *View) float64 { return max(0, since(v.Record.Stamps.End, v.Record.Stamps.Permit)) },
		},
		{
			Def: Def{
				Tag: "schedule_lag", Better: Lower, Header: "Schedule Lag", Short: "Sched Lag", Origin: Ours,
				Headline: Headline{19, OverTime | Exposed},
				Group:    GroupDefault,
				Doc:      "Start of the request minus the time at which it was due, for every attempt. In a closed loop it is the time between a slot becoming free and its next request.",
			},
			unit: inMS, Each: func(v *View) float64 { return since(v.Record.Stamps.Start, v.Record.Stamps.Due) }, Scope: OnAttempt,
		},
		{
			Def: Def{
				Tag: "corrected_normalized_latency", Better: Lower, Header: "Corrected Normalized Latency", Short: "Corr Norm Latency", Origin: Ours,
				Flags: ProducesTokensOnly | OpenLoopOnly,
				Doc:   "corrected_request_latency / OSL.",
			},
			unit: inMSPerToken, Each: func(v *View) float64 {
				return (v.Last + since(v.Record.Stamps.Start, v.Record.Stamps.Due)) / positive(v.OSL)
			},
		},
		{
			Def: Def{
				Tag: "late_request_count", Better: Lower, Header: "Late Request Count", Short: "Late", Kind: Aggregate, Origin: Ours,
				Group: GroupDefault, Flags: OpenLoopOnly | NoIndividualRecords,
				Doc: "Requests, of every outcome, that started more than 1 ms after they were due.",
			},
			unit: inRequests, Total: func(t *Totals) float64 { return float64(t.Late) },
		},
		{
			Def: Def{
				Tag: "dropped_arrival_count", Better: Lower, Header: "Dropped Arrival Count", Short: "Dropped", Kind: Aggregate, Origin: Ours,
				Group: GroupDefault, Flags: OpenLoopOnly | NoIndividualRecords,
				Doc: "Arrivals that were due and never sent: they found no free slot with saturation `drop`, or were still waiting for one when the phase ended. They are in no latency. Only in final results; absent if a run was restored from its record file.",
			},
			unit: inRequests, Total: func(t *Totals) float64 { return t.Dropped },
		},
		{
			Def: Def{
				Tag: "corrected_e2e_latency", Better: Lower, Header: "Corrected End-to-End Latency", Short: "Corr E2E Latency", Origin: Ours,
				Group: GroupEffective, Order: 130, Flags: OpenLoopOnly | IncludesFailed,
				Doc: "End of the body minus the time at which the request was due.",
			},
			unit: inMS, Each: func(v *View) float64 { return since(v.Record.Stamps.End, v.Record.Stamps.Due) },
		},
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
	rows := []Row{{
		Def: Def{
			Tag: ReplayOffset, Better: Lower, Header: "Replay Send Schedule Offset", Short: "Sched Offset", Flags: Internal | ReplayOnly,
			Doc: "Start of the request minus the time at which the dataset's timestamp was due, for successful requests whose turn has a timestamp.",
		},
		unit: inNS, Each: func(v *View) float64 { return since(v.Record.Stamps.Start, v.Record.Stamps.Scheduled) },
	}}
	for _, p := range []int{50, 90, 99} {
		rows = append(rows, Row{
			Def: Def{
				Tag: fmt.Sprintf("replay_sched_lag_p%d", p), Better: Lower, Header: fmt.Sprintf("Replay Schedule Lag p%d", p), Short: fmt.Sprintf("Sched Lag p%d", p),
				Flags: ReplayOnly, Doc: fmt.Sprintf("Percentile %d of %s minus its minimum.", p, ReplayOffset),
			},
			unit: inMS, Lag: func(quantile func(float64) float64) float64 { return quantile(float64(p) / 100) },
		})
	}
	return append(rows, Row{
		Def: Def{
			Tag: "replay_sched_degraded", Better: Lower, Header: "Replay Schedule Degraded", Short: "Sched Degraded", Flags: ReplayOnly,
			Doc: "1 if replay_sched_lag_p99 is above 500 ms, else 0.",
		},
		unit: inCount, Lag: func(quantile func(float64) float64) float64 { return float64(b2i(quantile(0.99) > DegradedAfter)) },
	})
}

// throughputRows are the speeds of single requests.
func throughputRows() []Row {
	return []Row{
		{
			Def: Def{
				Tag: "output_token_throughput_per_user", Better: Higher, Header: "Output Token Throughput Per User", Short: "Output TPS/User",
				Headline: Headline{15, InTables | Pooled},
				Group:    GroupDefault, Order: 500, Flags: StreamingOnly | ProducesTokensOnly | LargerIsBetter,
				Doc: "1 / inter_token_latency.",
			},
			unit: inTPSUser, Each: func(v *View) float64 { return 1e9 / positive(v.itl()) },
		},
		{
			Def: Def{
				Tag: "e2e_output_token_throughput", Better: Higher, Header: "E2E Output Token Throughput", Short: "E2E Output TPS/User",
				Group: GroupDefault, Order: 510, Flags: ProducesTokensOnly | LargerIsBetter,
				Doc: "OSL / request_latency.",
			},
			unit: inTPSUser, Each: func(v *View) float64 { return 1e9 * v.OSL / v.Last },
		},
		{
			Def: Def{
				Tag: "prefill_throughput_per_user", Better: Higher, Header: "Prefill Throughput Per User", Short: "Prefill TPS/User",
				Flags: StreamingOnly | ProducesTokensOnly | LargerIsBetter | TokenizesInputOnly,
				Doc:   "ISL / time_to_first_token.",
			},
			unit: inTPSUser, Each: func(v *View) float64 { return 1e9 * v.ISL / positive(v.First) },
		},
	}
}
