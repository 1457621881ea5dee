package endpoint

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/valyala/fastjson"

	"aiperfd/internal/engine/bench"
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

// decoder reads one response after the other: its status, its framing, and by its
// dialect the documents in it.
type decoder struct {
	builder

	grammar *grammar
	dialect dialect
	json    jsonParser
	size    int      // bytes parsed
	doc     document // the current one

	effects []effect // by shape
	probe   *decoder // reads the documents that effects are learned from
	scratch []byte   // text of the current event, or a document with marks
	folded  []byte   // the current document without its numbers
}

func newDecoder(g *grammar) *decoder {
	d := &decoder{grammar: g}
	d.dialect = g.dialect(&d.builder)
	return d
}

func (d *decoder) reset(resp *bench.Response) {
	d.start(resp)
	d.dialect.reset()
	d.size = 0
	d.effects = d.effects[:0]
}

// decode chooses by status and framing.
func (d *decoder) decode(resp *bench.Response, streaming bool) {
	d.asked = streaming
	if resp.Status < 200 || resp.Status > 299 {
		d.failStatus(resp)
		return
	}
	if r, ok := d.dialect.(headReader); ok {
		r.head(resp.Header)
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

// other reads an answer that is not JSON. It returns false if the API has none.
func (d *decoder) other(resp *bench.Response) bool {
	d.at = resp.BodyAt
	texts, hasText := d.dialect.(textReader)
	binaries, hasBinary := d.dialect.(binaryReader)
	switch body := trimSpace(resp.Body); {
	case resp.Framing == bench.FramingText && hasText && len(body) > 0:
		texts.text(body)
	case resp.Framing == bench.FramingBinary && hasBinary && resp.BodyAt != 0:
		binaries.binary(resp)
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
	return d.answer.Failure != nil
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
	if !d.answered && d.answer.Failure == nil {
		d.failAs(bench.MalformedResponse, "the body is JSON without an answer: "+plainMessage(string(toValidUTF8(body))))
		return
	}
	d.checkOutput()
}

// stream reads the events of a stream until its end or an error in it.
func (d *decoder) stream(resp *bench.Response, streaming bool) {
	d.answer.Streamed, d.streamed = true, true
	if !streaming {
		d.warn(warnStreamed)
	}
	d.answer.Chunks = make([]bench.Chunk, 0, resp.Events.Len())
	d.effects = slices.Grow(d.effects, resp.Events.Shapes())[:resp.Events.Shapes()]
	clear(d.effects)
	for cur := resp.Events.Cursor(); d.answer.Failure == nil && cur.Next(); {
		if cur.Shape != bench.NoShape && d.apply(&cur) {
			continue
		}
		e := cur.Event()
		before := len(d.answer.Chunks)
		read := d.event(&e)
		if d.grammar.shapes && cur.Shape != bench.NoShape && read && d.effects[cur.Shape].state == effectUnknown {
			d.learnFrom(&resp.Events, cur.Shape, len(d.answer.Chunks)-before)
		}
	}
	if d.answer.Failure == nil {
		d.endStream(resp)
	}
}

// event reads one event in full, and reports whether it was a good one.
func (d *decoder) event(e *bench.Event) bool {
	d.at, d.read = e.At, e.Read
	if d.answer.FirstEvent == 0 && len(e.Data) > 0 {
		d.answer.FirstEvent = e.At
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
	d.malformed()
	return false
}

// eventError reads an event named "error": its data, or else its comment,
// which may be a JSON string.
func eventError(e *bench.Event, status int) detail {
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
	if len(d.answer.Chunks) > 0 || d.answer.Failure != nil {
		return
	}
	if d.usage.output.n >= 1 {
		d.warn(warnNoVisibleOutput)
		return
	}
	d.failAs(bench.EmptyOutput, "the answer holds no output")
}

// parse reads one JSON document. It returns false if it is none of the API's;
// valid then says whether it is JSON at all.
func (d *decoder) parse(event string, data []byte) bool {
	size := len(data)
	if d.grammar.folds {
		d.folded = appendFolded(d.folded[:0], data)
		data = d.folded
	}
	d.size += len(data)
	v := d.json.parse(data)
	return v != nil && d.take(document{event, v, data, size})
}

// take is [decoder.parse] for data that was parsed.
func (d *decoder) take(doc document) bool {
	d.valid++
	switch doc.value.Type() {
	case fastjson.TypeObject:
	case fastjson.TypeArray:
		if !d.grammar.lists {
			return false
		}
	case fastjson.TypeString:
		if !d.grammar.strings {
			return false
		}
	case fastjson.TypeNull, fastjson.TypeNumber, fastjson.TypeTrue, fastjson.TypeFalse:
		return false
	}
	if d.json.repaired {
		d.warn(warnRepairedEvent)
	}
	if d.json.invalidUTF8 {
		d.warn(warnInvalidUTF8)
	}
	d.doc = doc
	return d.dialect.document(&d.doc)
}
