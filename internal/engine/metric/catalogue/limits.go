package catalogue

import (
	"time"

	"aiperfd/internal/engine/bench"
)

// limitRows are about the limits of a phase: its slots, and the requests without content.
func limitRows() []Row {
	return []Row{
		{
			Def: Def{
				Tag: "closed_loop_efficiency", Better: Higher, Header: "Closed Loop Efficiency", Short: "Efficiency", Kind: Aggregate, Origin: Ours,
				Flags: ClosedLoopOnly | LargerIsBetter | NoIndividualRecords,
				Doc: "Share of the time of the slots in which they had a request in flight, over all attempts; think times and prefill_wait are not time of a slot. " +
					"It is X\u00b7R/C of the slots in use (throughput, mean latency, concurrency): the rest is spent by the load generator.",
			},
			unit: inRatio, Total: func(t *Totals) float64 {
				return present(t.Slots.held > 0, float64(t.Slots.used)/float64(t.Slots.held))
			},
		},
		{
			Def: Def{
				Tag: "prefill_wait", Better: Lower, Header: "Prefill Wait", Short: "Prefill Wait", Origin: Ours,
				Group: GroupDefault, Flags: PrefillOnly,
				Doc: "Time that the request waited because too many others had no content yet (prefill concurrency), for every attempt. Part of schedule_lag.",
			},
			unit: inMS, Each: func(v *View) float64 { return max(0, since(v.Record.Stamps.Permit, v.Record.Stamps.Queued)) }, Scope: OnAttempt,
		},
	}
}

// slotTime is how long slots were held for requests, since they were due, and how long
// these were in flight.
type slotTime struct{ held, used time.Duration }

// add adds a request that was sent.
func (t *slotTime) add(s *bench.Stamps) {
	if s.Start == 0 || s.End < s.Start {
		return
	}
	held := s.End - s.Due
	if s.Queued != 0 {
		held -= s.Permit - s.Queued
	}
	t.held += held
	t.used += s.End - s.Start
}
