// Package answer reads the responses of inference servers. A [Decoder] does what is
// the same for all APIs: status, framing, errors, truncation, and warnings. The
// [Dialect] of an API reads the documents in a response and adds what they contain to
// a [Builder].
package answer

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/valyala/fastjson"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/eventlog"
)

// Warnings that decoding leaves on an answer, beside those of the framing.
const (
	WarnNotStreamed     = "not_streamed"          // a stream was requested, one document was received
	warnStreamed        = "streamed_unexpectedly" // the other way round
	warnNoDone          = "no_done_marker"        // complete, but the marker was missing
	warnResetAfter      = "reset_after_finish"    // the connection broke after the answer was complete
	warnNoVisibleOutput = "no_visible_output"     // Tokens were counted, none could be seen
	WarnMalformedEvent  = "malformed_event"
	WarnRepairedEvent   = "repaired_event"
	WarnInvalidUTF8     = "invalid_utf8"
	WarnImpossibleCount = "impossible_token_count" // a count of tokens was dropped; see [MaxTokens]
)

// Decoder reads one response after the other: its status, its framing, and by its
// dialect the documents in it.
type Decoder struct {
	Builder

	grammar *Grammar
	Dialect Dialect
	json    Parser
	size    int      // bytes parsed
	doc     Document // the current one

	effects []effect // by shape
	probe   *Decoder // reads the documents that effects are learned from
	scratch []byte   // Text of the current event, or a document with marks
	folded  []byte   // the current document without its numbers
}

// NewDecoder returns a decoder of responses of one API.
func NewDecoder(g *Grammar) *Decoder {
	d := &Decoder{grammar: g}
	d.Dialect = g.Dialect(&d.Builder)
	return d
}

// Reset prepares for a response. It must be called before any other method.
func (d *Decoder) Reset(resp *bench.Response) {
	d.start(resp)
	d.Dialect.Reset()
	d.size = 0
	d.effects = d.effects[:0]
}

// decode chooses by status and framing.
func (d *Decoder) decode(resp *bench.Response, streaming bool) {
	d.Asked = streaming
	if resp.Status < 200 || resp.Status > 299 {
		d.FailStatus(resp)
		return
	}
	if r, ok := d.Dialect.(HeadReader); ok {
		r.Head(resp.Header)
	}
	switch resp.Framing {
	case bench.FramingSSE, bench.FramingNDJSON:
		d.stream(resp, streaming)
	case bench.FramingJSON:
		d.document(resp, streaming)
	case bench.FramingNone, bench.FramingText, bench.FramingHTML, bench.FramingBinary:
		if d.Other(resp) {
			return
		}
		if !d.FailBroken(resp) {
			d.FailContent(resp)
		}
	}
}

// Other reads an answer that is not JSON. It returns false if the API has none.
func (d *Decoder) Other(resp *bench.Response) bool {
	d.At = resp.BodyAt
	texts, hasText := d.Dialect.(TextReader)
	binaries, hasBinary := d.Dialect.(BinaryReader)
	switch body := TrimSpace(resp.Body); {
	case resp.Framing == bench.FramingText && hasText && len(body) > 0:
		texts.Text(body)
	case resp.Framing == bench.FramingBinary && hasBinary && resp.BodyAt != 0:
		binaries.Binary(resp)
	default:
		return false
	}
	if !d.FailBroken(resp) {
		d.CheckOutput()
	}
	return true
}

// FailStatus handles responses without success, or without any status.
func (d *Decoder) FailStatus(resp *bench.Response) {
	isError := resp.Status >= 400
	switch {
	case resp.Failure != nil && !isError:
		d.Fail(resp.Failure)
	case resp.Status == 0:
		d.Fail(&bench.Failure{
			Class: bench.ConnectionReset, Step: bench.StepHeaders,
			Message: "the connection ended before a response head came",
		})
	default:
		d.Fail(StatusFailure(resp))
	}
}

// FailBroken records that the transport did not get the whole body, and
// reports whether that is so.
func (d *Decoder) FailBroken(resp *bench.Response) bool {
	switch {
	case resp.Failure != nil:
		d.Fail(exception(resp.Failure))
	case resp.End == bench.EndReset:
		d.FailAs(bench.ConnectionReset, "the connection broke before the answer was complete")
	case resp.End == bench.EndTimeout:
		d.FailAs(bench.TimeoutTotal, "time ran out before the answer was complete")
	}
	return d.Answer.Failure != nil
}

// isReset reports whether the only thing wrong with the transfer is that the
// connection broke.
func isReset(resp *bench.Response) bool {
	if resp.Failure != nil {
		return resp.Failure.Class == bench.ConnectionReset
	}
	return resp.End == bench.EndReset
}

// FailContent explains a 2xx body that is neither stream nor JSON.
func (d *Decoder) FailContent(resp *bench.Response) {
	class := bench.UnexpectedContent
	message := "the server answered " + contentType(resp.Header)
	switch {
	case resp.BodyAt == 0 || resp.Framing != bench.FramingBinary && len(TrimSpace(resp.Body)) == 0:
		class, message = bench.EmptyResponse, "the response has no body"
	case resp.Framing == bench.FramingBinary: // whose body is not kept
	default:
		if resp.Framing != bench.FramingHTML {
			class = bench.MalformedResponse
		}
		// The excerpt is last: a secret that was cut is recognised at the end of a text only.
		message += ": " + PlainMessage(string(ToValidUTF8(TrimSpace(resp.Body))))
	}
	d.FailAs(class, message)
}

// maxMedia bounds the media type in a message, in bytes.
const maxMedia = 80

// contentType returns the media type of a response for messages.
func contentType(h http.Header) string {
	media, _, _ := strings.Cut(h.Get("Content-Type"), ";")
	media = strings.ToValidUTF8(strings.TrimSpace(media), "")
	switch {
	case media == "":
		return "without a content type"
	case len(media) > maxMedia:
		return "with a content type of more than " + strconv.Itoa(maxMedia) + " bytes"
	}
	return media
}

// document reads one JSON document.
func (d *Decoder) document(resp *bench.Response, streaming bool) {
	body := TrimSpace(resp.Body)
	d.At = resp.BodyAt
	d.Streamed = false
	if f := resp.Failure; f != nil && f.Class == bench.EventTooLarge {
		d.Fail(f) // the rest is missing: this is no document
		return
	}
	ok := len(body) > 0 && d.parse("", body)
	switch {
	case !ok && d.FailBroken(resp):
		return
	case len(body) == 0:
		d.FailAs(bench.EmptyResponse, "the response has no body")
		return
	case !ok && d.json.tooMany:
		d.Fail(&bench.Failure{
			Class: bench.EventTooLarge, Step: bench.StepBody, Status: d.Status, Code: "json_values",
			Message: fmt.Sprintf("the body has more than %d JSON values", maxValues),
		})
		return
	case !ok && d.Valid > 0 && listsError(body):
		d.Fail(ErrorInBody(body, d.Status))
		return
	case !ok:
		d.FailAs(bench.MalformedResponse, "the body is not a JSON object: "+PlainMessage(string(ToValidUTF8(body))))
		return
	}
	if streaming {
		d.Warn(WarnNotStreamed)
	}
	if d.FailBroken(resp) { // RFC 9112, section 8: the body is incomplete, even if it can be read
		return
	}
	if !d.Answered && d.Answer.Failure == nil {
		d.FailAs(bench.MalformedResponse, "the body is JSON without an answer: "+PlainMessage(string(ToValidUTF8(body))))
		return
	}
	d.CheckOutput()
}

// stream reads the events of a stream until its end or an error in it.
func (d *Decoder) stream(resp *bench.Response, streaming bool) {
	d.Answer.Streamed, d.Streamed = true, true
	if !streaming {
		d.Warn(warnStreamed)
	}
	if f := resp.Failure; f != nil && f.Class == bench.EventTooLarge && !resp.Done {
		d.Fail(f) // a million chunks would make a record of 26 MB
		return
	}
	d.Answer.Chunks = make([]bench.Chunk, 0, resp.Events.Len())
	d.effects = slices.Grow(d.effects, resp.Events.Templates())[:resp.Events.Templates()]
	clear(d.effects)
	for cur := resp.Events.Cursor(); d.Answer.Failure == nil && cur.Next(); {
		if cur.Template != eventlog.NoTemplate && d.apply(&cur) {
			continue
		}
		e := cur.Event()
		before := len(d.Answer.Chunks)
		read := d.Event(&e)
		if d.grammar.Shapes && cur.Template != eventlog.NoTemplate && read && d.effects[cur.Template].state == effectUnknown {
			d.learnFrom(&resp.Events, cur.Template, len(d.Answer.Chunks)-before)
		}
	}
	if d.Answer.Failure == nil {
		d.endStream(resp)
	}
}

// Event reads one event in full, and reports whether it was a good one.
func (d *Decoder) Event(e *eventlog.Event) bool {
	d.At, d.Read = e.At, e.Read
	if d.Answer.FirstEvent == 0 && len(e.Data) > 0 {
		d.Answer.FirstEvent = e.At
	}
	if e.Name == "error" {
		d.Fail(ErrorInStream(eventError(e, d.Status), d.Status))
		return false
	}
	valid, bad := d.Valid, d.bad
	if d.parse(e.Name, e.Data) {
		return d.bad == bad
	}
	if d.Valid > valid && listsError(e.Data) {
		d.Fail(ErrorInStream(Describe(e.Data, d.Status), d.Status))
		return false
	}
	d.Valid = valid
	d.Malformed()
	return false
}

// eventError reads an event named "error": its data, or else its comment,
// which may be a JSON string.
func eventError(e *eventlog.Event, status int) Detail {
	if len(TrimSpace(e.Data)) > 0 {
		return Describe(e.Data, status)
	}
	comment := strings.Trim(e.Comment, " \t\r\n")
	var plain string
	if json.Unmarshal([]byte(comment), &plain) == nil {
		comment = plain
	}
	if comment == "" {
		comment = "the server sent an error event without a message"
	}
	return Detail{Message: Clip(strings.ToValidUTF8(comment, "\ufffd"))}
}

// endStream judges a stream in which the server reported no error.
func (d *Decoder) endStream(resp *bench.Response) {
	reset := isReset(resp)
	complete := resp.Done || d.Terminal || d.allFinished() || d.grammar.End == EndOfBody && !reset
	switch {
	case resp.Done || complete && reset:
	case d.FailBroken(resp):
		return
	}
	switch {
	case d.Valid == 0 && d.bad > 0:
		d.FailAs(bench.MalformedResponse, "no event of the stream could be read")
		return
	case d.Valid == 0:
		d.FailAs(bench.EmptyResponse, "the stream has no event")
		return
	case !complete:
		d.FailAs(bench.StreamTruncated, "the stream ended before the answer was complete")
		return
	case resp.Done:
	case reset:
		d.Warn(warnResetAfter)
	case resp.Framing == bench.FramingSSE && d.grammar.End == EndMarker && !d.Terminal:
		d.Warn(warnNoDone)
	}
	d.CheckOutput()
}

// CheckOutput checks the content of a complete answer.
func (d *Decoder) CheckOutput() {
	if len(d.Answer.Chunks) > 0 || d.Answer.Failure != nil {
		return
	}
	if d.Usage.Output.N >= 1 {
		d.Warn(warnNoVisibleOutput)
		return
	}
	d.FailAs(bench.EmptyOutput, "the answer holds no output")
}

// parse reads one JSON document. It returns false if it is none of the API's;
// valid then shows whether it is JSON at all.
func (d *Decoder) parse(event string, data []byte) bool {
	size := len(data)
	if d.grammar.Folds {
		d.folded = countNumbers(d.folded[:0], data)
		data = d.folded
	}
	d.size += len(data)
	v := d.json.Parse(data)
	return v != nil && d.take(Document{event, v, data, size})
}

// take is [Decoder.parse] for data that was parsed.
func (d *Decoder) take(doc Document) bool {
	d.Valid++
	switch doc.Value.Type() {
	case fastjson.TypeObject:
	case fastjson.TypeArray:
		if !d.grammar.Lists {
			return false
		}
	case fastjson.TypeString:
		if !d.grammar.Strings {
			return false
		}
	case fastjson.TypeNull, fastjson.TypeNumber, fastjson.TypeTrue, fastjson.TypeFalse:
		return false
	}
	if d.json.Repaired {
		d.Warn(WarnRepairedEvent)
	}
	if d.json.InvalidUTF8 {
		d.Warn(WarnInvalidUTF8)
	}
	d.doc = doc
	return d.Dialect.Document(&d.doc)
}
