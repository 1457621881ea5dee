package arrival

import (
	"fmt"
	"io"
)

// WriteDocs writes the table of processes as Markdown, and what the other types of
// phases do.
func WriteDocs(w io.Writer) error {
	const head = "| type | mean gap | CV of the gaps | description |\n|---|---|---|---|\n"
	if _, err := io.WriteString(w, head); err != nil {
		return fmt.Errorf("write arrival docs: %w", err)
	}
	for _, k := range Kinds() {
		if _, err := fmt.Fprintf(w, "| `%s` | %s | %s | %s |\n", k.Name, k.Mean, k.CV, k.Doc); err != nil {
			return fmt.Errorf("write arrival docs: %w", err)
		}
	}
	if _, err := io.WriteString(w, otherDocs); err != nil {
		return fmt.Errorf("write arrival docs: %w", err)
	}
	return nil
}

// otherDocs describes what arrivals do not decide.
const otherDocs = `
## Rates that change

- **Ramp.** ` + "`rateRamp`" + ` (` + "`--request-rate-ramp-duration`" + `) raises the rate to ` + "`rate`" + ` in its duration D. It begins at the share 0.1 s / D of the target, as in AIPerf. Strategy ` + "`linear`" + ` raises it evenly, ` + "`exponential`" + ` by the same factor in equal times, ` + "`poisson`" + ` in equal steps at random times, one for each request per second.
- **Series.** ` + "`rateSeries`" + ` (` + "`--request-rate-series FILE`" + `) gives points with ` + "`time_s`" + ` and ` + "`qps`" + `. Between two points the rate changes evenly; before the first and after the last one it is constant. The series begins at the end of the ramp, which leads to its first rate.
- **Arrivals** are exact: with the expected number of arrivals as its clock, each process has a rate of 1, so that a Poisson process stays one, and the gaps of the others keep their shape. An arrival is due when the integral of the rate has grown by the next gap. AIPerf draws a new gap ten times per second, which has a bias.

## Limits that change

- **Concurrency.** ` + "`concurrencyRamp`" + ` (` + "`--concurrency-ramp-duration`" + `) raises the number of slots from 1 to ` + "`concurrency`" + ` C in its duration D. Strategy ` + "`linear`" + `: slot v opens at D·(v - 1)/(C - 1). ` + "`exponential`" + `: at D·ln v/ln C, so that the number is C^(t/D). ` + "`poisson`" + `: at random times whose gaps are those of a Poisson process; the last slot opens at D. AIPerf accepts the strategies, and its ramps are always linear.
- With a rate or a fixed schedule, an arrival that finds no free slot waits for the next one that opens or becomes free, and keeps its due time.
- **Prefill concurrency.** ` + "`prefillConcurrency`" + ` (` + "`--prefill-concurrency`" + `) P limits the requests that were sent and have not produced content (text, reasoning or a tool call; an event with only a role is none). A request takes a prefill slot after its session slot and before it is sent, and releases it with its first content, or at its end if there is none. Requests wait in the order in which they came, each in its own session, so that none holds up arrivals. The wait is part of ` + "`schedule_lag`" + `, and ` + "`prefill_wait`" + ` shows it separately. With P slots, the rate is at most P/TTFT. It needs streaming; if results are fetched by polling, a slot is held until the response to the submission has ended. What waits when the phase stops sending is not sent, and counts as skipped turns.
- ` + "`prefillRamp`" + ` (` + "`--prefill-concurrency-ramp-duration`" + `) raises P from 1 in the same way.
- A limit that falls below what is in progress revokes nothing: no slot is free until enough sessions have ended.

## Requests of a ramp

Records of requests that were sent before the end of the longest ramp of their phase carry ` + "`ramp: true`" + ` in the ` + "`aiperfd`" + ` member of ` + "`profile_export.jsonl`" + `. They are in the metrics, as in AIPerf. With ` + "`excludeRamp`" + ` (` + "`--exclude-ramp`" + `) they are not, rates are computed from the end of the ramp, and the warning ` + "`ramp-excluded`" + ` states their number. Counters of requests and the verdict on the client include them.

## Seamless phases

A phase begins when all requests of the phase before it have ended. One with ` + "`seamless: true`" + ` begins as soon as the phase before it has sent everything, so that the load does not pause. Only profiling phases after profiling phases can be seamless, any number in a row.

- **Results.** Each request belongs to the phase that has sent it: its record, its counters and its part of the percentiles. The windows of such phases overlap; rates over several phases divide by the time from the start of the first to the end of the last one, without gaps.
- **Limits.** A session of an earlier phase keeps its slot until it has ended, and that slot counts towards the ` + "`concurrency`" + ` of the new phase. The same is true of requests without content and ` + "`prefillConcurrency`" + `.
- **Sent everything** is when no request is allowed any more: all requests of the bound and all turns of the last session were sent, or the duration is over. With ` + "`onTurnError: retry_turn`" + ` it is known when all answers are there.
- **Ends.** Each phase has its own grace period. A cancel ends all phases; a phase that fails ends those that have begun after it.
- **Servers.** Before a seamless phase no cache is reset and no connection is opened ahead. The profiler of the servers runs from the start of the first such phase to the end of the last one.

## Fixed schedule

A phase of type ` + "`fixed_schedule`" + ` replays the timestamps of its dataset: the first turn of a conversation is due at the start of the phase + (timestamp - zero) / speed.

- **Zero** is the timestamp of the first conversation, or ` + "`startOffset`" + `, or 0 with ` + "`autoOffset: false`" + `. Conversations before ` + "`startOffset`" + ` or after ` + "`endOffset`" + ` are left out; both are in milliseconds of the dataset's own time and inclusive.
- **Speed** is ` + "`replaySpeedup`" + ` of the dataset. It also divides delays, in every type of phase.
- **Later turns** are due at their own timestamp, but not before the previous response; without a timestamp, a delay after that response, or at once. They are not part of the schedule, so that they do not wait for an arrival.
- **Order.** Conversations are read once, from the first to the last. Those with the same timestamp keep their order. One with a timestamp before that of its predecessor is due together with it, and the result has the warning ` + "`replay-order`" + `. A conversation without a timestamp ends the run with the error ` + "`dataset_failed`" + `; what was measured is kept.
- **Bounds.** None is needed: the phase ends with the dataset. ` + "`requests`" + ` and ` + "`sessions`" + ` cut the dataset in the order of its timestamps, with the warning ` + "`replay-cut`" + `. With ` + "`concurrency`" + `, a conversation that finds no free slot waits and keeps its due time; at most 256 wait in memory, and the dataset is read no further until one of them starts.
- **Lateness** is in ` + "`schedule_lag`" + `, absolute, and in AIPerf's ` + "`replay_sched_lag_p50`, `_p90` and `_p99`" + `, relative to the request that was least late. Above 500 ms at p99 the result has the warning ` + "`replay-degraded`" + `.
- **Session IDs** are ` + "`fixed-schedule-`" + ` and the ID of the conversation, as in AIPerf.

A profiling phase over a trace whose first record has a timestamp is a fixed schedule, unless the document gives its type. On the command line, ` + "`--no-fixed-schedule`" + ` turns this off; a rate without it is an error. A phase over a trace needs no bound: without one, it is one pass over the trace.

A phase that reads its dataset once begins at the first conversation, and so does the phase after it. Other phases continue where the previous phase ended.

## Turns that fail

` + "`onTurnError`" + ` of the dataset decides what follows a turn that failed:

- ` + "`end_session`" + ` (default): the session ends, and its other turns are skipped.
- ` + "`continue`" + `: the next turn is sent. The history contains the turn and what was received of its response, as in AIPerf.
- ` + "`retry_turn`" + `: the turn is sent again at once, up to three times in a row; then the session ends. Each attempt is a request of its own in all metrics.

## Cancelled requests

` + "`cancellation: {rate, delay}`" + ` of a profiling phase (` + "`--request-cancellation-rate`" + `, ` + "`--request-cancellation-delay`" + `) imitates users who go away: ` + "`rate`" + ` percent of the requests are cancelled ` + "`delay`" + ` seconds after they are fully written. The connection is closed (with HTTP/2, the stream), so the server sees a client that disconnects; jobs of polled APIs are cancelled at the server. Which requests are cancelled depends on the seed, the session and the turn only. A request whose response is complete before that is an ordinary success.

Cancelled requests have the class ` + "`cancelled_by_test`" + `. They are neither successes nor errors: they are not in latencies, error rates and ` + "`--failed-request-threshold`" + `, but have a count of their own (` + "`cancelled_by_test_count`" + `), and their output is in ` + "`wasted_output_tokens`" + `. Record lines describe them as AIPerf does: ` + "`RequestCancellationError`" + `, code 499. In AIPerf they are errors of the summary. A turn that was cancelled is a turn that failed, see above. A request that cannot be written within the request timeout is an error of the class ` + "`timeout_send`" + ` (AIPerf's ` + "`RequestSendTimeout`" + `).

## Child conversations

A conversation can start others: forks continue its history, spawned ones have their own. They run in the slot of their root, which is free when the last of them has ended, and their requests count like all others: towards the bounds, and in an open loop with one arrival each. A turn that joins children is sent when all of them have ended, successfully or not; its delay begins then. With ` + "`dagFailFast`" + `, a child that fails ends its parent. The end of a phase ends all waiting.

## Rates of requests and of sessions

With ` + "`rate`" + `, each request takes an arrival: the first turn of a conversation and every later one. A later turn waits for its think time and then for the next arrival, before new conversations do. With ` + "`sessionRate`" + ` (` + "`--session-rate`" + `), arrivals only start conversations; later turns are sent exactly after their think time, and the rate of requests follows from the number of turns.

## Users

A phase of type ` + "`user_centric`" + ` (` + "`--user-centric-rate`" + `, ` + "`--num-users`" + `) has N users who together send q requests per second. Formulas and names are those of AIPerf 0.13:

- **Turns.** Each user holds one conversation. Its turns are g = N/q seconds apart: the next one is due g after the previous one was due, but not before the response. Delays of the dataset do not apply.
- **Start.** The phase starts in a steady state. With L = max(1, round(mean number of turns) - 1), user i of 0 … N-1 has the age a = (N-i)·L and L - ⌊a/N⌋ turns left; a user with none is replaced by a new one with order 0. The order of the others is N - (a mod N), or if N and L have a common divisor, N - (i·step mod N) with the smallest step from 2 on that has no divisor in common with N. The first turn of a user is due order/q seconds after the start. The mean is taken from the first 256 conversations.
- **Replacement.** With ` + "`userReplacement: scheduled`" + `, the successor of a user is due (number of turns)·g after its first turn, whether the user has finished or not: slow responses raise the number of users, and the result has the warning ` + "`users-overlap`" + `. With ` + "`on-completion`" + `, the successor starts when the user has finished, at the earliest g after its last turn was due, so that there are always N users.
- **IDs** of sessions are unique, also across runs; AIPerf's are 1, 2, 3 … in every run.
- **Bounds.** ` + "`requests`" + ` and ` + "`sessions`" + ` must be at least N. Conversations need at least two turns on average.

` + "`arrivals`" + ` of a phase in ` + "`GET /api/progress`" + ` has the number of live sessions, which are the users, and its maximum.

## When no slot is free

With ` + "`concurrency`" + `, an arrival may find no free slot. ` + "`saturation`" + ` (` + "`--saturation`" + `) sets what happens to it:

- ` + "`queue`" + ` (default): it waits and keeps its due time. ` + "`schedule_lag`" + ` and the latencies from the due time include the wait. Arrivals that were due before the duration ended are sent after it, as slots become free, until the grace period ends; those of a warm-up are not. AIPerf 0.13 drops such arrivals and does not count them.
- ` + "`drop`" + `: it is not sent. A conversation of a fixed schedule is left out.
- ` + "`abort`" + `: it waits. If more than ` + "`saturationLimit`" + ` arrivals wait, the phase ends, the results so far are written, and the run fails with the code ` + "`saturated`" + ` and exit code 1.

Every arrival is sent, dropped, or still waiting at the end; ` + "`dropped_arrival_count`" + ` is the number of those that were not sent. The warnings ` + "`arrivals-waited`" + ` and ` + "`arrivals-dropped`" + ` state how many there were, how long they waited, and the longest queue. ` + "`requests`" + ` may end a phase in the middle of conversations, whose other turns are counted as skipped; with ` + "`sessions`" + `, conversations that have started are finished.
`
