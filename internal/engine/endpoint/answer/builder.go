package answer

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

// Builder collects the answer that a response contains. A [Dialect] calls it while
// it reads the documents of the response; it is used again for other responses.
type Builder struct {
	Answer      bench.Answer // chunks, vectors, ranks, warnings, failure; choices and usage are added by result
	Status      int          // HTTP status of the response
	Header      http.Header
	choices     []Choice
	Usage       UsageCounts
	HasUsage    bool
	Times       ServerTimes
	speculation speculation
	Credit      TokenCredit

	Valid    int  // JSON documents that were read
	bad      int  // events that could not be read
	Answered bool // a document of an answer was read
	Terminal bool // … which marks the end

	At       time.Duration // time of the current event
	Read     int32         // number of its read
	Streamed bool          // the current event is part of a stream
	Asked    bool          // a stream was requested
}

// Choice is one choice while it is being collected.
type Choice struct {
	index                    int // as the server numbers it
	Position                 int // in Builder.Choices
	Text, reasoning, refusal []byte
	Calls                    []ToolCall
	Finish                   bench.Finish // empty = not finished
	Tokens                   int32        // Tokens received and not yet credited to a chunk
}

// start prepares b for a response.
func (b *Builder) start(resp *bench.Response) {
	b.Answer = bench.Answer{Warnings: maps.Clone(resp.Warnings)}
	b.Status, b.Header = resp.Status, resp.Header
	b.choices = b.choices[:0]
	b.Usage, b.HasUsage = UsageCounts{}, false
	b.Times, b.Credit = nil, TokenCredit{}
	b.speculation = speculation{}
	b.Valid, b.bad, b.Answered, b.Terminal = 0, 0, false, false
	b.At, b.Read = 0, 0
	b.Streamed, b.Asked = false, false
}

// release drops all references to the response and to its answer.
func (b *Builder) release() { b.Answer, b.Header, b.Times = bench.Answer{}, nil, nil }

// Warn counts a warning.
func (b *Builder) Warn(name string) {
	if b.Answer.Warnings == nil {
		b.Answer.Warnings = make(map[string]int, 2)
	}
	b.Answer.Warnings[name]++
}

// Malformed counts an event, or a part of one, that could not be read.
func (b *Builder) Malformed() {
	b.bad++
	b.Warn(WarnMalformedEvent)
}

// Fail records the first failure; later ones are its consequences.
func (b *Builder) Fail(f *bench.Failure) {
	if b.Answer.Failure == nil {
		b.Answer.Failure = f
	}
}

// FailAs records a failure of the body.
func (b *Builder) FailAs(class bench.Class, message string) {
	b.Fail(&bench.Failure{Class: class, Step: bench.StepBody, Status: b.Status, Message: Clip(message)})
}

// FailInObject records the error object in data. It ends a stream; a document that
// has content as well is a success.
func (b *Builder) FailInObject(data []byte) {
	switch {
	case b.Streamed:
		b.Fail(ErrorInStream(Describe(data, b.Status), b.Status))
	case len(b.Answer.Chunks) == 0:
		b.Fail(ErrorInBody(data, b.Status))
	}
}

// maxChoices bounds the choices of one answer; servers allow far fewer.
const maxChoices = 4096

// MaxIndex bounds the index of a choice.
const MaxIndex = math.MaxUint16

// Choice returns the choice with the index v, which is position if v is no number.
// It is created if it is new. It returns nil if v is not a valid index, or if there
// are too many choices. The result is valid until the next call.
func (b *Builder) Choice(v *fastjson.Value, position int) *Choice {
	index := position
	if v != nil && v.Type() == fastjson.TypeNumber {
		n, ok := TokenCount(v)
		if !ok || n > MaxIndex {
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
		b.choices = append(b.choices, Choice{})
	}
	c := &b.choices[n]
	*c = Choice{
		index: index, Position: n, Text: c.Text[:0], reasoning: c.reasoning[:0],
		refusal: c.refusal[:0], Calls: c.Calls[:0],
	}
	return c
}

// OnlyChoice returns the choice of an answer that has one.
func (b *Builder) OnlyChoice() *Choice { return b.Choice(nil, 0) }

// position returns the position in choices of the choice with an index; -1 = it is new.
func (b *Builder) position(index int) int {
	for i := range b.choices {
		if b.choices[i].index == index {
			return i
		}
	}
	return -1
}

// allFinished reports whether every choice has its finish reason.
func (b *Builder) allFinished() bool {
	for i := range b.choices {
		if b.choices[i].Finish == "" {
			return false
		}
	}
	return len(b.choices) > 0
}

// Emit records content of a choice as a chunk, if there is any.
func (b *Builder) Emit(c *Choice, kind bench.ChunkKind, content []byte) {
	if len(content) == 0 {
		return
	}
	switch kind {
	case bench.Text:
		c.Text = append(c.Text, content...)
	case bench.Reasoning:
		c.reasoning = append(c.reasoning, content...)
	case bench.Refusal:
		c.refusal = append(c.refusal, content...)
	case bench.Tool, bench.Audio,
		bench.Image, bench.ImagePartial, bench.Video, bench.Embedding, bench.Ranking, bench.Binary: // assembled elsewhere, or not at all
	}
	b.EmitSize(c, kind, len(content))
}

// EmitSize records a chunk of a choice without keeping its content.
func (b *Builder) EmitSize(c *Choice, kind bench.ChunkKind, size int) {
	e := bench.Chunk{At: b.At, Kind: kind, Choice: uint16(c.index), Bytes: int32(size), Read: b.Read}
	if b.Streamed {
		e.Tokens = b.Credit.take(c)
	}
	b.Answer.Chunks = append(b.Answer.Chunks, e)
}

// EmitAudio records audio of a choice, in base64, by its decoded size.
func (b *Builder) EmitAudio(c *Choice, data []byte) {
	plain := bytes.TrimRight(data, "=")
	if size := base64.RawStdEncoding.DecodedLen(len(plain)); size > 0 {
		b.EmitSize(c, bench.Audio, size)
	}
}

// Item records a chunk that belongs to no choice.
func (b *Builder) Item(kind bench.ChunkKind, size int) {
	b.Answer.Chunks = append(b.Answer.Chunks, bench.Chunk{At: b.At, Kind: kind, Bytes: int32(size), Read: b.Read})
}

// Identify records the id and the model of a response object.
func (b *Builder) Identify(v *fastjson.Value) {
	if v != nil && v.Type() == fastjson.TypeObject {
		KeepFirst(&b.Answer.ResponseID, v.Get("id"))
		KeepFirst(&b.Answer.Model, v.Get("model"))
	}
}

// SetUsage replaces the usage.
func (b *Builder) SetUsage(u UsageCounts) { b.Usage, b.HasUsage = u, true }

// TakeUsage replaces the usage by the object v, if that is one.
func (b *Builder) TakeUsage(v *fastjson.Value) {
	if u, ok := ReadUsage(v); ok {
		b.SetUsage(u)
	}
}

// ChunkUsage takes the usage object of a chunk, which may be nil. Usages on every
// chunk are evidence for the number of tokens in it.
func (b *Builder) ChunkUsage(v *fastjson.Value) {
	b.Credit.OnChunk = false
	if u, ok := ReadUsage(v); ok {
		b.SetUsage(u)
		b.Credit.Usage(u.Output)
	}
}

// Finish records the finish reason v of a choice, if there is one. A server that
// ends a choice with an error or an abort has failed, although the stream itself is
// complete; err is the error, if there is one, and data the whole document.
func (b *Builder) Finish(c *Choice, v, err *fastjson.Value, data []byte) {
	if v != nil && v.Type() == fastjson.TypeObject { // SGLang: {"type": …}
		v = v.Get("type")
	}
	reason := Str(v)
	if len(reason) == 0 {
		return
	}
	c.Finish = FinishReason(string(reason))
	if c.Finish != bench.FinishError && c.Finish != bench.FinishAbort {
		return
	}
	why := Detail{}
	if Truthy(err) {
		why = Describe(err.MarshalTo(nil), b.Status)
	} else if whole, ok := LooseJSON(data); ok {
		why = find(whole, maxNesting)
	}
	if why.Message == "" {
		why.Message = fmt.Sprintf("the server ended the answer with finish reason %q", Clip(string(reason)))
	}
	b.Fail(ErrorInStream(why, b.Status))
}

// Result returns the answer. Nothing in it belongs to b.
func (b *Builder) Result() bench.Answer {
	a := &b.Answer
	switch {
	case !b.Streamed:
	case b.Credit.repeated(len(a.Chunks)):
		a.Chunks[0].Tokens = 0 // it was given all of them
	default:
		a.TailTokens = b.Credit.left(b.choices)
	}
	b.boundClaims()
	a.ServerTimes, a.Speculation = b.Times, b.speculation.result()
	if b.HasUsage {
		a.Usage = b.Usage.usage()
	}
	if len(b.choices) > 0 {
		a.Choices = make([]bench.Choice, len(b.choices))
	}
	for i := range b.choices {
		c := &b.choices[i]
		a.Choices[i] = bench.Choice{
			Index: c.index, Text: string(c.Text), Reasoning: string(c.reasoning),
			Refusal: string(c.refusal), ToolCalls: c.toolCalls(), Finish: c.Finish,
		}
	}
	slices.SortFunc(a.Choices, func(a, b bench.Choice) int { return a.Index - b.Index })
	return *a
}

// KeepFirst keeps the first string that is not empty.
func KeepFirst(dst *string, v *fastjson.Value) {
	if *dst == "" {
		*dst = string(Str(v))
	}
}

// MaxItems bounds the output items of one answer, and the parts of one item.
const MaxItems = 1024
