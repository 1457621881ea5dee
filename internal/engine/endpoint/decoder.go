package endpoint

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/eventlog"
)

// Warnings that decoding leaves on an answer, beside those of the framing.
const (
	warnNotStreamed     = "not_streamed"          // a stream was asked for, one document came
	warnStreamed        = "streamed_unexpectedly" // the other way round
	warnNoDone          = "no_done_marker"        // complete, but the marker was missing
	warnResetAfter      = "reset_after_finish"    // the connection broke after the answer was complete
	warnNoVisibleOutput = "no_visible_output"     // tokens were counted, none could be seen
	warnMalformedEvent  = "malformed_event"
	warnRepairedEvent   = "repaired_event"
	warnInvalidUTF8     = "invalid_utf8"
)

// keepDecoder is the size of a response, in bytes, beyond which its decoder is
// left to the garbage collector instead of being used again.
const keepDecoder = 1 << 20

// decoders holds decoders between responses; their buffers are worth keeping.
var decoders = sync.Pool{New: func() any { return new(decoder) }}

// decoder assembles one answer. It is used again for other responses.
type decoder struct {
	grammar *grammar
	json    jsonParser
	a       bench.Answer
	status  int
	header  http.Header
	size    int // bytes parsed
	sent    int // length of the current document, as it came
	choices []choiceState

	usage    usageCounts
	hasUsage bool
	valid    int  // JSON documents that were read
	bad      int  // events that were none
	answers  bool // a document of an answer was read
	terminal bool // … that says it is the last one

	// the event being read
	at       time.Duration
	read     int32
	streamed bool
	asked    bool // a stream was asked for
	deltas   bool // a piece of the text came, so that what repeats it is passed over
	sound    sound
	credit   tokenCredit

	outputItems   []outputItem   // of a Responses stream
	contentBlocks []contentBlock // of a Messages stream
	merged        usageCounts    // of its events, before they are settled

	effects []effect // by shape
	probe   *decoder // reads what the effects are found with
	scratch []byte   // text of the current event, or a document with marks
	folded  []byte   // the current document without its numbers
}

// choiceState is one choice in the making.
type choiceState struct {
	index                    int
	text, reasoning, refusal []byte
	calls                    []callState
	finish                   bench.Finish // empty = not finished
	tokens                   int32        // tokens received and not yet credited to a chunk
	counted                  int64        // tokens so far, by a server that counts each choice
	growth                   growth
}

func (d *decoder) reset(g *grammar, resp *bench.Response) {
	d.grammar, d.terminal = g, false
	d.a = bench.Answer{Warnings: maps.Clone(resp.Warnings)}
	d.header = resp.Header
	d.status, d.size, d.valid, d.bad, d.answers = resp.Status, 0, 0, 0, false
	d.choices = d.choices[:0]
	d.usage, d.hasUsage = usageCounts{}, false
	d.credit = tokenCredit{}
	d.effects = d.effects[:0]
	d.outputItems, d.contentBlocks, d.merged = d.outputItems[:0], d.contentBlocks[:0], usageCounts{}
	d.at, d.read = 0, 0
	d.streamed, d.asked, d.deltas = false, false, false
	d.sound = sound{start: d.sound.start[:0]}
}

func (d *decoder) warn(name string) {
	if d.a.Warnings == nil {
		d.a.Warnings = make(map[string]int, 2)
	}
	d.a.Warnings[name]++
}

// fail records the first failure; later ones are its consequences.
func (d *decoder) fail(f *bench.Failure) {
	if d.a.Failure == nil {
		d.a.Failure = f
	}
}

func (d *decoder) failAs(class bench.Class, message string) {
	d.fail(&bench.Failure{Class: class, Step: bench.StepBody, Status: d.status, Message: clip(message)})
}

// decode chooses by status and framing.
func (d *decoder) decode(resp *bench.Response, streaming bool) {
	d.asked = streaming
	if resp.Status < 200 || resp.Status > 299 {
		d.failStatus(resp)
		return
	}
	if d.grammar.head != nil {
		d.grammar.head(d, resp.Header)
	}
	switch resp.Framing {
	case bench.FramingSSE, bench.FramingNDJSON:
		d.stream(resp, streaming)
	case bench.FramingJSON:
		d.document(resp, streaming)
	case bench.FramingNone, bench.FramingText, bench.FramingHTML, bench.FramingBinary:
		if d.other(resp) {
			return
		}
		if !d.failBroken(resp) {
			d.failContent(resp)
		}
	}
}

// other reads an answer that is no JSON, where the API has such. It returns false
// if it has not.
func (d *decoder) other(resp *bench.Response) bool {
	d.at = resp.BodyAt
	switch body := trimSpace(resp.Body); {
	case resp.Framing == bench.FramingText && d.grammar.text != nil && len(body) > 0:
		d.grammar.text(d, body)
	case resp.Framing == bench.FramingBinary && d.grammar.binary != nil && resp.BodyAt != 0:
		d.grammar.binary(d, resp)
	default:
		return false
	}
	if !d.failBroken(resp) {
		d.checkOutput()
	}
	return true
}

// failStatus handles what is no success, or has no status at all.
func (d *decoder) failStatus(resp *bench.Response) {
	isError := resp.Status >= 400
	switch {
	case resp.Failure != nil && !isError:
		d.fail(resp.Failure)
	case resp.Status == 0:
		d.fail(&bench.Failure{
			Class: bench.ConnectionReset, Step: bench.StepHeaders,
			Message: "the connection ended before a response head came",
		})
	default:
		d.fail(statusFailure(resp))
	}
}

// failBroken records that the transport did not get the whole body, and
// reports whether that is so.
func (d *decoder) failBroken(resp *bench.Response) bool {
	switch {
	case resp.Failure != nil:
		d.fail(exception(resp.Failure))
	case resp.End == bench.EndReset:
		d.failAs(bench.ConnectionReset, "the connection broke before the answer was complete")
	case resp.End == bench.EndTimeout:
		d.failAs(bench.TimeoutTotal, "time ran out before the answer was complete")
	}
	return d.a.Failure != nil
}

// isReset reports whether the only thing wrong with the transfer is that the
// connection broke.
func isReset(resp *bench.Response) bool {
	if resp.Failure != nil {
		return resp.Failure.Class == bench.ConnectionReset
	}
	return resp.End == bench.EndReset
}

// failContent explains a 2xx body that is neither stream nor JSON.
func (d *decoder) failContent(resp *bench.Response) {
	switch {
	case resp.BodyAt == 0 || resp.Framing != bench.FramingBinary && len(trimSpace(resp.Body)) == 0:
		d.failAs(bench.EmptyResponse, "the response has no body")
	case resp.Framing == bench.FramingBinary:
		d.failAs(bench.UnexpectedContent, fmt.Sprintf("content type %q is not an answer", resp.Header.Get("Content-Type")))
	case resp.Framing == bench.FramingHTML:
		d.failAs(bench.UnexpectedContent, plainMessage(string(toValidUTF8(trimSpace(resp.Body)))))
	default:
		d.failAs(bench.MalformedResponse, plainMessage(string(toValidUTF8(trimSpace(resp.Body)))))
	}
}

// document reads one JSON document.
func (d *decoder) document(resp *bench.Response, streaming bool) {
	body := trimSpace(resp.Body)
	d.at = resp.BodyAt
	d.streamed = false
	if f := resp.Failure; f != nil && f.Class == bench.EventTooLarge {
		d.fail(f) // the rest is missing: this is no document
		return
	}
	ok := len(body) > 0 && d.parse("", body)
	switch {
	case !ok && d.failBroken(resp):
		return
	case len(body) == 0:
		d.failAs(bench.EmptyResponse, "the response has no body")
		return
	case !ok && d.json.tooMany:
		d.fail(&bench.Failure{
			Class: bench.EventTooLarge, Step: bench.StepBody, Status: d.status, Code: "json_values",
			Message: fmt.Sprintf("the body has more than %d JSON values", maxValues),
		})
		return
	case !ok && d.valid > 0 && listsError(body):
		d.fail(errorInBody(body, d.status))
		return
	case !ok:
		d.failAs(bench.MalformedResponse, "the body is not a JSON object: "+plainMessage(string(toValidUTF8(body))))
		return
	}
	if streaming {
		d.warn(warnNotStreamed)
	}
	if isReset(resp) {
		d.warn(warnResetAfter)
	} else if d.failBroken(resp) {
		return
	}
	if !d.answers && d.a.Failure == nil {
		d.failAs(bench.MalformedResponse, "the body is JSON without an answer: "+plainMessage(string(toValidUTF8(body))))
		return
	}
	d.checkOutput()
}

// stream reads the events of a stream until its end or an error in it.
func (d *decoder) stream(resp *bench.Response, streaming bool) {
	d.a.Streamed, d.streamed = true, true
	if !streaming {
		d.warn(warnStreamed)
	}
	d.a.Chunks = make([]bench.Chunk, 0, resp.Events.Len())
	d.effects = slices.Grow(d.effects, resp.Events.Templates())[:resp.Events.Templates()]
	clear(d.effects)
	for cur := resp.Events.Cursor(); d.a.Failure == nil && cur.Next(); {
		if cur.Template != eventlog.NoTemplate && d.apply(&cur) {
			continue
		}
		e := cur.Event()
		before := len(d.a.Chunks)
		read := d.event(&e)
		if d.grammar.shapes && cur.Template != eventlog.NoTemplate && read && d.effects[cur.Template].state == effectUnknown {
			d.learnFrom(&resp.Events, cur.Template, len(d.a.Chunks)-before)
		}
	}
	if d.a.Failure == nil {
		d.endStream(resp)
	}
}

// event reads one event in full, and reports whether it was a good one.
func (d *decoder) event(e *eventlog.Event) bool {
	d.at, d.read = e.At, e.Read
	if d.a.FirstEvent == 0 && len(e.Data) > 0 {
		d.a.FirstEvent = e.At
	}
	if e.Name == "error" {
		d.fail(errorInStream(eventError(e, d.status), d.status))
		return false
	}
	valid, bad := d.valid, d.bad
	if d.parse(e.Name, e.Data) {
		return d.bad == bad
	}
	if d.valid > valid && listsError(e.Data) {
		d.fail(errorInStream(describe(e.Data, d.status), d.status))
		return false
	}
	d.valid = valid
	d.bad++
	d.warn(warnMalformedEvent)
	return false
}

// eventError reads an event named "error": its data, or else its comment,
// which may be a JSON string.
func eventError(e *eventlog.Event, status int) detail {
	if len(trimSpace(e.Data)) > 0 {
		return describe(e.Data, status)
	}
	comment := strings.Trim(e.Comment, " \t\r\n")
	var plain string
	if json.Unmarshal([]byte(comment), &plain) == nil {
		comment = plain
	}
	if comment == "" {
		comment = "the server sent an error event without a message"
	}
	return detail{message: clip(strings.ToValidUTF8(comment, "\ufffd"))}
}

// endStream judges a stream in which the server reported no error.
func (d *decoder) endStream(resp *bench.Response) {
	reset := isReset(resp)
	complete := resp.Done || d.terminal || d.allFinished() || d.grammar.end == endOfBody && !reset
	switch {
	case resp.Done || complete && reset:
	case d.failBroken(resp):
		return
	}
	switch {
	case d.valid == 0 && d.bad > 0:
		d.failAs(bench.MalformedResponse, "no event of the stream could be read")
		return
	case d.valid == 0:
		d.failAs(bench.EmptyResponse, "the stream has no event")
		return
	case !complete:
		d.failAs(bench.StreamTruncated, "the stream ended before the answer was complete")
		return
	case resp.Done:
	case reset:
		d.warn(warnResetAfter)
	case resp.Framing == bench.FramingSSE && d.grammar.end == endMarker && !d.terminal:
		d.warn(warnNoDone)
	}
	d.checkOutput()
}

// checkOutput judges a complete answer by what it holds.
func (d *decoder) checkOutput() {
	if len(d.a.Chunks) > 0 || d.a.Failure != nil {
		return
	}
	if d.usage.output.n >= 1 {
		d.warn(warnNoVisibleOutput)
		return
	}
	d.failAs(bench.EmptyOutput, "the answer holds no output")
}

// allFinished reports whether every choice that was seen gave its reason to end.
func (d *decoder) allFinished() bool {
	for i := range d.choices {
		if d.choices[i].finish == "" {
			return false
		}
	}
	return len(d.choices) > 0
}

// answer hands out what was assembled; nothing in it belongs to the decoder.
func (d *decoder) answer() bench.Answer {
	if d.hasUsage {
		d.a.Usage = d.usage.usage()
	}
	if len(d.choices) > 0 {
		d.a.Choices = make([]bench.Choice, len(d.choices))
	}
	for i := range d.choices {
		c := &d.choices[i]
		d.a.Choices[i] = bench.Choice{
			Index: c.index, Text: string(c.text), Reasoning: string(c.reasoning),
			Refusal: string(c.refusal), ToolCalls: c.toolCalls(), Finish: c.finish,
		}
	}
	switch {
	case !d.streamed:
	case d.credit.repeated(len(d.a.Chunks)):
		d.a.Chunks[0].Tokens = 0 // it was given all of them
	default:
		d.a.TailTokens = d.credit.left(d.choices)
	}
	slices.SortFunc(d.a.Choices, func(a, b bench.Choice) int { return a.Index - b.Index })
	return d.a
}
