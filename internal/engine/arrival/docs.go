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
`
