package catalogue

import (
	"math"
	"time"

	"aiperfd/internal/engine/bench"
)

// LateAfter is the lag from which on an arrival counts as late: a start more than
// a millisecond after it was due is no longer explained by the dispatcher's own
// precision.
const LateAfter = time.Millisecond

// Totals are the inputs of derived metrics.
type Totals struct {
	*Tally
	Sums
	Window       float64 // seconds; NaN = none, so that rates are absent
	SkippedTurns int64
	Dropped      float64 // arrivals that were due and never sent; NaN = not known
	Opened       float64 // connections that were opened before the phase; NaN = not known
	// Flow is what happened in the window, whenever the requests started; nil if the
	// window is a whole phase.
	Flow *Flow
}

// Sums are those of the metrics of single records.
type Sums interface {
	// Count returns the number of values of a metric; 0 if it does not apply.
	Count(tag string) uint64
	// Sum returns the sum of a metric in its display unit; NaN if it has no values.
	Sum(tag string) float64
}

// Tally holds the counts of a phase besides the values of metrics.
type Tally struct {
	Counters
	FirstStart, LastContent time.Duration // of the successes
	FirstSent, LastEnd      time.Duration // the first start and the last end of all records
	GoodTokens              float64       // output tokens of good requests
	OSLMismatches           int64
	Compared, Discrepancies int64 // records with two token counts, and those that disagree
	Reuse                   Reuse
	Preconnected            int64 // connections that were opened before the phase
	Late                    int64 // requests that started more than LateAfter after they were due
	Slots                   slotTime
	Unfinished              int64 // requests that the end of the grace period cut
	// AcceptedDrafts has the steps of speculative decoding by the number of draft tokens that they
	// accepted, of the successes whose servers report it.
	AcceptedDrafts []int64
}

// Counters are plain totals of a phase, for scraping.
type Counters struct {
	Success   int64 // records that entered latency metrics
	Errors    int64 // failures that were not cancellations
	Cancelled int64 // ended by the benchmark itself
	// CancelledByTest counts those that a cancellation test has ended; not in Cancelled.
	CancelledByTest int64
	ByClass         map[bench.Class]int64

	InputTokens     int64 // of successes
	OutputTokens    int64 // of successes, reasoning not included
	ReasoningTokens int64 // of successes
	WastedTokens    int64 // that arrived for errors and cancellations

	ServerCounted int64 // successes whose tokens the server counted
	ClientCounted int64 // successes whose tokens the run counted

	Retries int64 // requests sent again because a reused connection had failed; see bench.Connection

	Good int64      // successes that meet every objective
	SLOs []SLOCount // one for each objective, ordered by tag
}

// SLOCount is how often one objective was met.
type SLOCount struct {
	Tag       string
	Threshold float64 // in the metric's display unit
	Met       int64   // successes that meet it
	Missed    int64   // successes that do not, or lack the metric, and all errors
}

// Observe counts a record, except for the objectives.
func (t *Tally) Observe(v *View) {
	r := v.Record
	t.Retries += int64(r.Conn.Retries)
	if start := r.Stamps.Start; start != 0 && (t.FirstSent == 0 || start < t.FirstSent) {
		t.FirstSent = start
	}
	t.LastEnd = max(t.LastEnd, r.Stamps.End)
	if since(r.Stamps.Start, r.Stamps.Due) > float64(LateAfter) {
		t.Late++
	}
	t.Slots.add(&r.Stamps)
	switch v.Outcome {
	case Success:
		t.succeed(v)
	case Failed:
		t.Errors++
		t.ByClass[v.Failure().Class]++
		t.WastedTokens += int64(v.Wasted())
	case Cancelled:
		t.Unfinished += b2i(v.Unfinished())
		class := r.Answer.Failure.Class
		if t.ByClass[class]++; class == bench.CancelledByTest {
			t.CancelledByTest++
		} else {
			t.Cancelled++
		}
		t.WastedTokens += int64(v.Wasted())
	}
}

// succeed counts a success.
func (t *Tally) succeed(v *View) {
	t.Success++
	t.InputTokens += known(v.ISL)
	t.OutputTokens += known(v.Out)
	t.ReasoningTokens += known(v.Think)
	switch v.Record.TokenSource {
	case bench.TokensServer:
		t.ServerCounted++
	case bench.TokensClient:
		t.ClientCounted++
	case bench.TokensNone:
	}
	if oslMismatched(v) {
		t.OSLMismatches++
	}
	compared, discrepant := compare(v)
	t.Compared += b2i(compared)
	t.Discrepancies += b2i(discrepant)
	if s := v.Record.Answer.Speculation; s != nil {
		for accepted, steps := range s.Histogram {
			t.addDrafts(accepted, int64(steps))
		}
	}
	start := v.Record.Stamps.Start
	if t.FirstStart == 0 || start < t.FirstStart {
		t.FirstStart = start
	}
	t.LastContent = max(t.LastContent, start+time.Duration(v.Last))
}

// addDrafts counts steps that accepted a number of draft tokens.
func (t *Tally) addDrafts(accepted int, steps int64) {
	for len(t.AcceptedDrafts) <= accepted {
		t.AcceptedDrafts = append(t.AcceptedDrafts, 0)
	}
	t.AcceptedDrafts[accepted] += steps
}

// AddGood counts a success that meets every objective.
func (t *Tally) AddGood(v *View) {
	t.Good++
	t.GoodTokens += orZero(v.OSL)
}

// Merge adds the counts of o.
func (t *Tally) Merge(o *Tally) {
	t.Success += o.Success
	t.Errors += o.Errors
	t.Cancelled += o.Cancelled
	t.CancelledByTest += o.CancelledByTest
	for class, n := range o.ByClass {
		t.ByClass[class] += n
	}
	t.InputTokens += o.InputTokens
	t.OutputTokens += o.OutputTokens
	t.ReasoningTokens += o.ReasoningTokens
	t.WastedTokens += o.WastedTokens
	t.Unfinished += o.Unfinished
	t.ServerCounted += o.ServerCounted
	t.ClientCounted += o.ClientCounted
	t.Good += o.Good
	for i := range t.SLOs {
		t.SLOs[i].Met += o.SLOs[i].Met
		t.SLOs[i].Missed += o.SLOs[i].Missed
	}
	for accepted, steps := range o.AcceptedDrafts {
		t.addDrafts(accepted, steps)
	}
	t.Reuse.add(&o.Reuse)
	t.GoodTokens += o.GoodTokens
	t.OSLMismatches += o.OSLMismatches
	t.Compared += o.Compared
	t.Discrepancies += o.Discrepancies
	t.Late += o.Late
	t.Slots.Held += o.Slots.Held
	t.Slots.Used += o.Slots.Used
	t.Preconnected += o.Preconnected
	t.Retries += o.Retries
	if o.FirstStart != 0 && (t.FirstStart == 0 || o.FirstStart < t.FirstStart) {
		t.FirstStart = o.FirstStart
	}
	if o.FirstSent != 0 && (t.FirstSent == 0 || o.FirstSent < t.FirstSent) {
		t.FirstSent = o.FirstSent
	}
	t.LastContent = max(t.LastContent, o.LastContent)
	t.LastEnd = max(t.LastEnd, o.LastEnd)
}

// known returns a token count as an integer, 0 if it is unknown.
func known(x float64) int64 { return int64(orZero(x)) }

// orZero returns x, 0 if it is NaN.
func orZero(x float64) float64 {
	if math.IsNaN(x) {
		return 0
	}
	return x
}

// b2i is 1 for true, 0 for false.
func b2i(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// slotTime is how long slots were held for requests, since they were due, and how long
// these were in flight.
type slotTime struct{ Held, Used time.Duration }

// add adds a request that was sent.
func (t *slotTime) add(s *bench.Stamps) {
	if s.Start == 0 || s.End < s.Start {
		return
	}
	held := s.End - s.Due
	if s.Queued != 0 {
		held -= s.Permit - s.Queued
	}
	t.Held += held
	t.Used += s.End - s.Start
}

// Reuse describes how much of what a phase sent had been sent before in the run. The
// shares are computed from sums, so that those of several phases add up.
type Reuse struct {
	Requests, Unique        float64 // requests with a prompt, and those whose prompt no earlier one had
	Input, UniqueInput      float64 // their input, in tokens, or in bytes if tokens are not counted
	Blocks, Hits            float64 // blocks of the prompts of a trace, and those that an unlimited prefix cache had
	Replayed, Expected      float64 // prompt tokens of recorded sessions, and those that requests before had sent
	FirstInput, FirstCached float64 // prompt tokens of first turns by the server's count, and those that it had cached
	CachedReported          bool    // the server has reported cached tokens
}

func (r *Reuse) add(o *Reuse) {
	r.Requests, r.Unique, r.Blocks, r.Hits = r.Requests+o.Requests, r.Unique+o.Unique, r.Blocks+o.Blocks, r.Hits+o.Hits
	r.Replayed, r.Expected = r.Replayed+o.Replayed, r.Expected+o.Expected
	r.Input, r.UniqueInput = r.Input+o.Input, r.UniqueInput+o.UniqueInput
	r.FirstInput, r.FirstCached = r.FirstInput+o.FirstInput, r.FirstCached+o.FirstCached
	r.CachedReported = r.CachedReported || o.CachedReported
}
