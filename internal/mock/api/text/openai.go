// Package text implements the APIs for text: those of OpenAI as vLLM serves them (chat completions,
// completions and responses), the Messages API of Anthropic, and the native ones of Ollama, Text
// Generation Inference, SGLang, Triton and SageMaker.
package text

import (
	"net/http"
	"strconv"

	"aiperfd/internal/mock/api"
	"aiperfd/internal/mock/options"
)

// text is the protocol of OpenAI's two older text routes, as vLLM serves them: chat completions,
// whose streams have role events and whose reasoning is told apart from the answer, and
// completions.
type text struct {
	chat          bool
	prefix        string // of ids
	object, chunk string // names of plain answers and of stream events
}

// NewChat returns the protocol of POST /v1/chat/completions.
func NewChat() *api.Protocol {
	return (&text{true, "chatcmpl-", "chat.completion", "chat.completion.chunk"}).protocol()
}

// NewCompletions returns the protocol of POST /v1/completions.
func NewCompletions() *api.Protocol {
	return (&text{false, "cmpl-", "text_completion", "text_completion"}).protocol()
}

func (p *text) protocol() *api.Protocol {
	return &api.Protocol{
		Read: api.ReadJSON(p.read), Document: p.document, Reasons: p.chat,
		Script: &api.Script{
			ContentType: api.EventStream, Open: p.open, Begin: p.begin, First: p.first,
			Content: p.content, Finish: p.finish, Close: CloseStream, Fail: FailStream,
		},
	}
}

func (p *text) read(m *api.Model, _ *http.Request, f *api.Fields, q *api.Request) {
	q.Chat, q.Constraints = p.chat, p.constraints(f)
	q.Model, q.Stream, q.IgnoreEOS = f.Text("model"), f.Flag("stream"), f.Flag("ignore_eos")
	q.ReadLengths(f)
	q.ReadStreamOptions(f)
	q.SpecDetails = f.Flag("return_spec_tokens_details")
	if m.Options.Accelerator != nil {
		q.Priority, _ = f.Integer("priority")
		q.CacheSalt = f.Text("cache_salt")
	}
	if p.chat {
		q.Prompts = api.ChatPrompts(m, f)
	} else {
		q.Prompts = api.CompletionPrompts(m, f)
	}
}

func (p *text) document(dst []byte, x *api.Answer) ([]byte, string) {
	dst = AppendHead(dst, x, p.prefix, p.object)
	for i := range x.Choices {
		if x.Hidden {
			break
		}
		c := &x.Choices[i]
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, `{"index":`...)
		dst = strconv.AppendInt(dst, int64(c.Index), 10)
		dst = p.appendMessage(dst, c, x.Options.ReasoningField)
		dst = append(dst, `,"logprobs":`...)
		dst = p.appendProbabilities(dst, x.Request.Constraints, c, 0, c.Total)
		dst = append(dst, `,"finish_reason":`...)
		dst = AppendFinish(dst, x, c)
		dst = append(dst, `,"stop_reason":null`...)
		dst = append(appendChoiceSpeculation(dst, x, c), '}')
	}
	dst = append(dst, ']')
	if x.Options.Usage != options.UsageNever {
		output, reasoning := api.Tokens(x.Choices)
		dst = AppendUsage(append(dst, ','), x, output, reasoning)
	}
	dst, _ = appendSGLExt(appendMetrics(dst, x), x)
	return append(dst, '}'), api.JSON
}

// open renders the head of all events. It stays at the front of the buffer; events are
// rendered after it.
func (p *text) open(e *api.Events) {
	e.Buffer.B = AppendHead(append(e.Buffer.B[:0], "data: "...), e.Answer, p.prefix, p.chunk)
	e.Head = e.Buffer.B
	e.B = e.Buffer.B[len(e.Buffer.B):]
	switch q := e.Answer.Request; e.Answer.Options.Usage {
	case options.UsageOnRequest:
		e.FinalUsage = q.IncludeUsage
		e.ChunkUsage = q.IncludeUsage && q.ContinuousUsage
	case options.UsageAlways:
		e.FinalUsage = true
	case options.UsageEveryChunk:
		e.FinalUsage, e.ChunkUsage = true, true
	}
}

func (p *text) begin(e *api.Events) {
	if e.Answer.Options.RoleChunk == options.RoleEarly {
		p.roles(e)
		e.Flush()
	}
}

func (p *text) first(e *api.Events) {
	if e.Answer.Options.RoleChunk == options.RoleSeparate {
		p.roles(e)
	}
}

// roles adds the role event of every choice.
func (p *text) roles(e *api.Events) {
	if !p.chat || e.Answer.Hidden {
		return
	}
	for i := range e.Answer.Choices {
		p.empty(e, &e.Answer.Choices[i], true, "", nil)
	}
}

// empty adds an event of a choice without tokens; finish is as in stop.
func (p *text) empty(e *api.Events, c *api.Choice, role bool, field string, finish *api.Choice) {
	p.start(e, c)
	e.B = p.openDelta(e.B, role, field)
	e.B = p.closeDelta(e.B, role, field)
	p.stop(e, finish)
	e.End(false)
}

func (p *text) content(e *api.Events, c *api.Choice, from, to int, last bool) {
	opt := e.Answer.Options
	field := "content"
	switch {
	case from < c.Reasoning:
		field = opt.ReasoningField
	case c.Refused:
		field = "refusal"
	}
	if opt.EmptyChunks > 0 && e.Answer.Rand.Float64() < opt.EmptyChunks {
		p.empty(e, c, false, field, nil)
	}
	var finish *api.Choice
	if last && opt.FinishChunk == options.FinishWithLast {
		finish = c
	}
	role := from == 0 && opt.RoleChunk == options.RoleWithFirst && p.chat
	p.start(e, c)
	if len(c.Calls) > 0 && from >= c.Reasoning {
		e.B = appendCallDelta(e.B, role, c, c.PartAt(from).Call, from, to)
	} else {
		e.B = p.openDelta(e.B, role, field)
		e.B = c.AppendTokens(e.B, from, to)
		e.B = p.closeDelta(e.B, true, field)
	}
	if e.Answer.Request.Constraints == nil {
		p.stop(e, finish)
	} else {
		e.B = append(e.B, `,"logprobs":`...)
		e.B = p.appendProbabilities(e.B, e.Answer.Request.Constraints, c, from, to)
		e.B = append(e.B, `,"finish_reason":`...)
		p.stopChoice(e, finish)
	}
	e.End(true)
}

func (p *text) finish(e *api.Events, c *api.Choice) {
	mode := e.Answer.Options.FinishChunk
	if e.Answer.Hidden || mode == options.FinishMissing || mode == options.FinishWithLast && c.Total > 0 {
		return
	}
	p.empty(e, c, false, "", c)
}

// start starts an event for choice c.
func (*text) start(e *api.Events, c *api.Choice) {
	e.B = append(e.B, e.Head...)
	e.B = append(e.B, `{"index":`...)
	e.B = strconv.AppendInt(e.B, int64(c.Index), 10)
}

// stop completes the object of an event; finish is the choice that ends with it,
// or nil.
func (p *text) stop(e *api.Events, finish *api.Choice) {
	e.B = append(e.B, `,"logprobs":null,"finish_reason":`...)
	p.stopChoice(e, finish)
}

// stopChoice is stop without the name of finish_reason.
func (*text) stopChoice(e *api.Events, finish *api.Choice) {
	if finish == nil {
		e.B = append(e.B, "null}]"...)
	} else {
		e.B = api.AppendString(e.B, finish.Finish)
		e.B = append(e.B, `,"stop_reason":null`...)
		e.B = append(appendChoiceSpeculation(e.B, e.Answer, finish), "}]"...)
	}
	if e.ChunkUsage {
		e.B = append(e.B, ',')
		e.B = AppendUsage(e.B, e.Answer, e.Answer.Truth.OutputTokens, e.Answer.Truth.ReasoningTokens)
	}
	e.B = append(e.B, '}')
}

// appendProbabilities appends the value of the member logprobs.
func (p *text) appendProbabilities(dst []byte, w *api.Constraints, c *api.Choice, from, to int) []byte {
	from = max(from, c.Reasoning)
	if w == nil || !w.Logprobs || from >= to || len(c.Calls) > 0 {
		return append(dst, "null"...)
	}
	if p.chat {
		return appendChatLogprobs(dst, c, from, to, w.Top)
	}
	return appendTextLogprobs(dst, c, from, to, w.Top)
}

// CloseStream adds the event with the usage, if it is enabled, and the end of the stream.
func CloseStream(e *api.Events) {
	if x := e.Answer; x.Options.Spec.Report == options.SpecSGLang && x.Request.SpecDetails {
		from := len(e.B)
		e.B = append(append(e.B, e.Head...), ']')
		var any bool
		if e.B, any = appendSGLExt(e.B, x); any {
			e.B = append(e.B, '}')
			e.End(false)
		} else {
			e.B = e.B[:from]
		}
	}
	if e.FinalUsage {
		// The event with choices [].
		e.B = append(e.B, e.Head...)
		e.B = append(e.B, "],"...)
		e.B = AppendUsage(e.B, e.Answer, e.Answer.Truth.OutputTokens, e.Answer.Truth.ReasoningTokens)
		e.B = append(appendMetrics(e.B, e.Answer), '}')
		e.End(false)
	}
	if opt := e.Answer.Options; !opt.NoDone && opt.Done != options.DoneNo {
		e.Done()
	}
}

// FailStream adds vLLM's error event and the end of the stream.
func FailStream(e *api.Events, failure *api.Error) {
	e.B = api.AppendError(append(e.B, "data: "...), failure)
	e.End(false)
	e.Done()
}

// AppendHead appends the common beginning of documents and events, up to and including
// the bracket of choices.
func AppendHead(dst []byte, x *api.Answer, prefix, object string) []byte {
	dst = append(dst, `{"id":`...)
	dst = api.AppendString(dst, prefix+x.RequestID())
	dst = append(dst, `,"object":"`...)
	dst = append(dst, object...)
	dst = append(dst, `","created":`...)
	dst = strconv.AppendInt(dst, x.Created(), 10)
	dst = append(dst, `,"model":`...)
	dst = api.AppendString(dst, x.Request.Model)
	return append(dst, `,"choices":[`...)
}

// AppendFinish appends the finish reason of a choice, or null if the options omit it.
func AppendFinish(dst []byte, x *api.Answer, c *api.Choice) []byte {
	if x.Options.FinishChunk == options.FinishMissing {
		return append(dst, "null"...)
	}
	return api.AppendString(dst, c.Finish)
}

// AppendUsage appends the member "usage" for the tokens sent so far.
func AppendUsage(dst []byte, x *api.Answer, output, reasoning int) []byte {
	dst = append(dst, `"usage":{"prompt_tokens":`...)
	dst = strconv.AppendInt(dst, int64(x.Truth.PromptTokens), 10)
	dst = append(dst, `,"total_tokens":`...)
	dst = strconv.AppendInt(dst, int64(x.Truth.PromptTokens+output), 10)
	dst = append(dst, `,"completion_tokens":`...)
	dst = strconv.AppendInt(dst, int64(output), 10)
	if x.Reasons && x.Options.ReasoningTokens > 0 {
		dst = append(dst, `,"completion_tokens_details":{"reasoning_tokens":`...)
		dst = strconv.AppendInt(dst, int64(reasoning), 10)
		dst = append(dst, '}')
	}
	if p := x.Options.Accelerator; p != nil && p.PrefixCache {
		dst = append(dst, `,"prompt_tokens_details":{"cached_tokens":`...)
		dst = strconv.AppendInt(dst, int64(x.Cached()), 10)
		dst = append(dst, '}')
	}
	return append(dst, '}')
}
