package endpoint

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"maps"
	"math"
	"net/http"
	"slices"
	"time"

	"github.com/valyala/fastjson"

	"aiperfd/internal/engine/bench"
)

// builder collects the answer that a response contains. A [dialect] calls it while
// it reads the documents of the response; it is used again for other responses.
type builder struct {
	answer   bench.Answer // chunks, vectors, ranks, warnings, failure; choices and usage are added by result
	status   int          // HTTP status of the response
	header   http.Header
	choices  []choice
	usage    usageCounts
	hasUsage bool
	times    serverTimes
	credit   tokenCredit

	valid    int  // JSON documents that were read
	bad      int  // events that could not be read
	answered bool // a document of an answer was read
	terminal bool // … which says that it is the last one

	at       time.Duration // time of the current event
	read     int32         // number of its read
	streamed bool          // the current event is part of a stream
	asked    bool          // a stream was requested
}

// choice is one choice while it is being collected.
type choice struct {
	index                    int // as the server numbers it
	position                 int // in builder.choices
	text, reasoning, refusal []byte
	calls                    []toolCall
	finish                   bench.Finish // empty = not finished
	tokens                   int32        // tokens received and not yet credited to a chunk
}

// start prepares b for a response.
func (b *builder) start(resp *bench.Response) {
	b.answer = bench.Answer{Warnings: maps.Clone(resp.Warnings)}
	b.status, b.header = resp.Status, resp.Header
	b.choices = b.choices[:0]
	b.usage, b.hasUsage = usageCounts{}, false
	b.times, b.credit = nil, tokenCredit{}
	b.valid, b.bad, b.answered, b.terminal = 0, 0, false, false
	b.at, b.read = 0, 0
	b.streamed, b.asked = false, false
}

// release drops all references to the response and to its answer.
func (b *builder) release() { b.answer, b.header, b.times = bench.Answer{}, nil, nil }

func (b *builder) warn(name string) {
	if b.answer.Warnings == nil {
		b.answer.Warnings = make(map[string]int, 2)
	}
	b.answer.Warnings[name]++
}

// malformed counts an event, or a part of one, that could not be read.
func (b *builder) malformed() {
	b.bad++
	b.warn(warnMalformedEvent)
}

// fail records the first failure; later ones are its consequences.
func (b *builder) fail(f *bench.Failure) {
	if b.answer.Failure == nil {
		b.answer.Failure = f
	}
}

// failAs records a failure of the body.
func (b *builder) failAs(class bench.Class, message string) {
	b.fail(&bench.Failure{Class: class, Step: bench.StepBody, Status: b.status, Message: clip(message)})
}

// failInObject records the error object in data. It ends a stream; a document that
// has content as well is a success.
func (b *builder) failInObject(data []byte) {
	switch {
	case b.streamed:
		b.fail(errorInStream(describe(data, b.status), b.status))
	case len(b.answer.Chunks) == 0:
		b.fail(errorInBody(data, b.status))
	}
}

// maxChoices bounds the choices of one answer; servers allow far fewer.
const maxChoices = 4096

// maxIndex bounds the index of a choice.
const maxIndex = math.MaxUint16

// choice returns the choice with the index v, which is position if v is no number.
// It is created if it is new. It returns nil if v is not a valid index, or if there
// are too many choices. The result is valid until the next call.
func (b *builder) choice(v *fastjson.Value, position int) *choice {
	index := position
	if v != nil && v.Type() == fastjson.TypeNumber {
		n, ok := tokenCount(v)
		if !ok || n > maxIndex {
			return nil
		}
		index = int(n)
	}
	if at := b.position(index); at >= 0 {
		return &b.choices[at]
	}
	n := len(b.choices)
	if n >= maxChoices {
		return nil
	}
	if n < cap(b.choices) { // reuse the buffers of an earlier response
		b.choices = b.choices[:n+1]
	} else {
		b.choices = append(b.choices, choice{})
	}
	c := &b.choices[n]
	*c = choice{
		index: index, position: n, text: c.text[:0], reasoning: c.reasoning[:0],
		refusal: c.refusal[:0], calls: c.calls[:0],
	}
	return c
}

// only returns the choice of an answer that has one.
func (b *builder) only() *choice { return b.choice(nil, 0) }

// position returns where the choice with an index is in choices; -1 = it is new.
func (b *builder) position(index int) int {
	for i := range b.choices {
		if b.choices[i].index == index {
			return i
		}
	}
	return -1
}

// allFinished reports whether every choice has its finish reason.
func (b *builder) allFinished() bool {
	for i := range b.choices {
		if b.choices[i].finish == "" {
			return false
		}
	}
	return len(b.choices) > 0
}

// emit records content of a choice as a chunk, if there is any.
func (b *builder) emit(c *choice, kind bench.ChunkKind, content []byte) {
	if len(content) == 0 {
		return
	}
	switch kind {
	case bench.Text:
		c.text = append(c.text, content...)
	case bench.Reasoning:
		c.reasoning = append(c.reasoning, content...)
	case bench.Refusal:
		c.refusal = append(c.refusal, content...)
	case bench.Tool, bench.Audio,
		bench.Image, bench.ImagePartial, bench.Video, bench.Embedding, bench.Ranking, bench.Binary: // assembled elsewhere, or not at all
	}
	b.emitSize(c, kind, len(content))
}

// emitSize records a chunk of a choice without keeping its content.
func (b *builder) emitSize(c *choice, kind bench.ChunkKind, size int) {
	e := bench.Chunk{At: b.at, Kind: kind, Choice: uint16(c.index), Bytes: int32(size), Read: b.read}
	if b.streamed {
		e.Tokens = b.credit.take(c)
	}
	b.answer.Chunks = append(b.answer.Chunks, e)
}

// emitAudio records audio of a choice, in base64, by its decoded size.
func (b *builder) emitAudio(c *choice, data []byte) {
	plain := bytes.TrimRight(data, "=")
	if size := base64.RawStdEncoding.DecodedLen(len(plain)); size > 0 {
		b.emitSize(c, bench.Audio, size)
	}
}

// item records a chunk that belongs to no choice.
func (b *builder) item(kind bench.ChunkKind, size int) {
	b.answer.Chunks = append(b.answer.Chunks, bench.Chunk{At: b.at, Kind: kind, Bytes: int32(size), Read: b.read})
}

// identify records the id and the model of a response object.
func (b *builder) identify(v *fastjson.Value) {
	if v != nil && v.Type() == fastjson.TypeObject {
		keepFirst(&b.answer.ResponseID, v.Get("id"))
		keepFirst(&b.answer.Model, v.Get("model"))
	}
}

// setUsage replaces the usage.
func (b *builder) setUsage(u usageCounts) { b.usage, b.hasUsage = u, true }

// takeUsage replaces the usage by the object v, if that is one.
func (b *builder) takeUsage(v *fastjson.Value) {
	if u, ok := readUsage(v); ok {
		b.setUsage(u)
	}
}

// chunkUsage takes the usage object of a chunk, which may be nil. Usages on every
// chunk are evidence for the number of tokens in it.
func (b *builder) chunkUsage(v *fastjson.Value) {
	b.credit.onChunk = false
	if u, ok := readUsage(v); ok {
		b.setUsage(u)
		b.credit.usage(u.output)
	}
}

// finish records the finish reason v of a choice, if there is one. A server that
// ends a choice with an error or an abort has failed, although the stream itself is
// complete; err is the error, if there is one, and data the whole document.
func (b *builder) finish(c *choice, v, err *fastjson.Value, data []byte) {
	if v != nil && v.Type() == fastjson.TypeObject { // SGLang: {"type": …}
		v = v.Get("type")
	}
	reason := str(v)
	if len(reason) == 0 {
		return
	}
	c.finish = finishReason(string(reason))
	if c.finish != bench.FinishError && c.finish != bench.FinishAbort {
		return
	}
	why := detail{}
	if truthy(err) {
		why = describe(err.MarshalTo(nil), b.status)
	} else if whole, ok := looseJSON(data); ok {
		why = find(whole, maxNesting)
	}
	if why.message == "" {
		why.message = fmt.Sprintf("the server ended the answer with finish reason %q", clip(string(reason)))
	}
	b.fail(errorInStream(why, b.status))
}

// result returns the answer. Nothing in it belongs to b.
func (b *builder) result() bench.Answer {
	a := &b.answer
	a.ServerTimes = b.times
	if b.hasUsage {
		a.Usage = b.usage.usage()
	}
	if len(b.choices) > 0 {
		a.Choices = make([]bench.Choice, len(b.choices))
	}
	for i := range b.choices {
		c := &b.choices[i]
		a.Choices[i] = bench.Choice{
			Index: c.index, Text: string(c.text), Reasoning: string(c.reasoning),
			Refusal: string(c.refusal), ToolCalls: c.toolCalls(), Finish: c.finish,
		}
	}
	switch {
	case !b.streamed:
	case b.credit.repeated(len(a.Chunks)):
		a.Chunks[0].Tokens = 0 // it was given all of them
	default:
		a.TailTokens = b.credit.left(b.choices)
	}
	slices.SortFunc(a.Choices, func(a, b bench.Choice) int { return a.Index - b.Index })
	return *a
}

// keepFirst keeps the first string that is not empty.
func keepFirst(dst *string, v *fastjson.Value) {
	if *dst == "" {
		*dst = string(str(v))
	}
}

// maxItems bounds the output items of one answer, and the parts of one item.
const maxItems = 1024
