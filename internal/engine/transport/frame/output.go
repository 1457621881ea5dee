package frame

import (
	"fmt"
	"maps"
	"time"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/eventlog"
)

// keepCapacity (bytes) and keepMarks limit the capacity of the buffers that a Framer
// reuses for the next response. They suffice for thousands of events.
const (
	keepCapacity = 64 << 10
	keepMarks    = 1 << 10
)

// output is what the framings share: the limits of a response, its events, and the
// bytes that are not part of an event yet.
type output struct {
	limit     int // maximum size of all events, or of the document, in bytes
	maxEvent  int // MaxEvent and MaxEvents; smaller in tests
	maxEvents int
	maxEmpty  int // MaxEmpty; smaller in tests

	status     int // of the response, for failures
	framing    bench.Framing
	compressed bool

	reads  int32
	lastAt time.Duration // when the last byte was read
	arena  []byte        // data of the pending event, the incomplete line, or the body
	total  int           // size of all events so far, in bytes

	full    bool // the response is complete before the end of the body
	stopped bool // the rest of the body is ignored
	fail    *bench.Failure
	warned  warnings
	resp    bench.Response // contains the events; Framer.Response sets the other fields
}

// begin prepares an output that was freed for the next response.
func (o *output) begin(status int) {
	*o = output{
		limit: MaxKept, maxEvent: MaxEvent, maxEvents: MaxEvents, maxEmpty: MaxEmpty,
		status: status, arena: o.arena, resp: bench.Response{Events: o.resp.Events},
	}
}

// release releases memory, except buffers of ordinary size.
func (o *output) release() {
	o.arena = reuse(o.arena, keepCapacity)
	o.resp.Events.Reset(keepCapacity)
}

// reuse returns s[:0], or nil if its capacity exceeds limit.
func reuse[T any](s []T, limit int) []T {
	if cap(s) > limit {
		return nil
	}
	return s[:0]
}

// push adds an event and reports whether the limits allow it.
func (o *output) push(e eventlog.Event) bool {
	if o.resp.Events.Len() >= o.maxEvents {
		o.giveUpCount()
		return false
	}
	o.resp.Events.Append(e)
	o.total += len(e.Data) + len(e.Name) + len(e.Comment)
	return true
}

func (o *output) giveUpCount() {
	o.giveUp("event_count", fmt.Sprintf("more than %d events in one response", o.maxEvents))
}

func (o *output) giveUpBody() {
	what := "body"
	if o.compressed {
		what = "decompressed body"
	}
	o.giveUpSize(what, o.limit)
}

func (o *output) giveUpSize(what string, limit int) {
	o.giveUp("body_size", fmt.Sprintf("%s is larger than %d bytes", what, limit))
}

// giveUp records that the response exceeds a limit and ignores the rest.
func (o *output) giveUp(code, message string) { o.breakOff(bench.EventTooLarge, code, message) }

// breakOff records a failure, unless there is one, and ignores the rest of the body.
func (o *output) breakOff(class bench.Class, code, message string) {
	if o.fail == nil {
		o.fail = o.failure(class, code, message)
	}
	o.stopped = true
}

func (o *output) failure(class bench.Class, code, message string) *bench.Failure {
	return &bench.Failure{Class: class, Step: bench.StepBody, Status: o.status, Code: code, Message: message}
}

// Warnings that a Framer adds to the response.
const (
	WarnSniffedSSE        = "sniffed_sse"              // the body is a stream, but its content type is not
	WarnUnterminatedEvent = "unterminated_final_event" // the last event had no blank line
	WarnMalformedEvent    = "malformed_event"          // the last event is incomplete
	WarnRepairedEvent     = "repaired_event"           // an unescaped line break in a JSON string was escaped
	WarnDataAfterDone     = "data_after_done"          // events after the end marker were ignored
	WarnMergedReads       = "merged_reads"             // more reads than MaxPieces; the others share the last timestamp
)

// warnings counts the deviations that were accepted.
type warnings struct {
	unterminated, malformed, repaired, afterDone, sniffed, merged int
}

// byName returns the warnings with their numbers; usually nil.
func (w *warnings) byName() map[string]int {
	if *w == (warnings{}) {
		return nil
	}
	m := map[string]int{
		WarnSniffedSSE:        w.sniffed,
		WarnUnterminatedEvent: w.unterminated,
		WarnMalformedEvent:    w.malformed,
		WarnRepairedEvent:     w.repaired,
		WarnDataAfterDone:     w.afterDone,
		WarnMergedReads:       w.merged,
	}
	maps.DeleteFunc(m, func(_ string, n int) bool { return n == 0 })
	return m
}
