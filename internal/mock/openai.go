package mock

import (
	"net/http"
	"strconv"
	"time"

	"aiperfd/internal/mock/apierror"
	"aiperfd/internal/mock/jsonappend"
)

// dialect is what distinguishes OpenAI's two older text routes, as vLLM serves
// them. Implementations are stateless.
type dialect interface {
	// names returns the prefix of ids and the object names of plain answers and
	// of stream events.
	names() (idPrefix, object, chunk string)
	// prompts reads the input texts, at least one unless f.err is set.
	prompts(m *model, f *fields) []prompt
	// hasRole and hasReasoning say whether streams have role events and whether
	// reasoning is told apart from the answer.
	hasRole() bool
	hasReasoning() bool
	// openDelta and closeDelta enclose the text of one stream event. An empty
	// field means an event without text.
	openDelta(dst []byte, role bool, field string) []byte
	closeDelta(dst []byte, role bool, field string) []byte
	// wishes reads what is asked of the answer; nil = nothing special.
	wishes(f *fields) *wishes
	// appendLogprobs appends the object with the probabilities of the tokens
	// from … to−1 and of top tokens in each place.
	appendLogprobs(dst []byte, c *choice, from, to, top int) []byte
	// appendMessage appends the text members of a choice of a plain answer.
	appendMessage(dst []byte, c *choice, reasoningField string) []byte
}

// openAI is the protocol of both routes.
type openAI struct {
	dialect
	streams script
}

var _ protocol = (*openAI)(nil)

func newOpenAI(d dialect) *openAI {
	p := &openAI{dialect: d}
	p.streams = script{
		contentType: eventStream, open: p.open, begin: p.begin, first: p.first,
		content: p.content, finish: p.finish, close: p.close, fail: p.fail,
	}
	return p
}

func (p *openAI) read(m *model, _ *http.Request, body []byte) (*textRequest, *apierror.Error) {
	var wish *wishes
	q, refusal := m.parseText(body, func(m *model, f *fields) []prompt {
		wish = p.wishes(f)
		return p.prompts(m, f)
	})
	q.wish, q.chat = wish, p.hasRole()
	return q, refusal
}

func (p *openAI) reasons() bool { return p.hasReasoning() }

func (*openAI) refusal(dst []byte, e *apierror.Error) []byte { return apierror.Append(dst, e) }

func (p *openAI) document(dst []byte, x *answer) ([]byte, string) {
	prefix, object, _ := p.names()
	dst = x.appendHead(dst, prefix, object)
	for i := range x.choices {
		if x.hidden {
			break
		}
		c := &x.choices[i]
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, `{"index":`...)
		dst = strconv.AppendInt(dst, int64(c.index), 10)
		dst = p.appendMessage(dst, c, x.opt.ReasoningField)
		dst = append(dst, `,"logprobs":`...)
		dst = p.appendProbabilities(dst, x.q.wish, c, 0, c.total)
		dst = append(dst, `,"finish_reason":`...)
		dst = x.appendFinish(dst, c)
		dst = append(dst, `,"stop_reason":null}`...)
	}
	dst = append(dst, ']')
	if x.opt.Usage != UsageNever {
		output, reasoning := tokens(x.choices)
		dst = x.appendUsage(append(dst, ','), output, reasoning)
	}
	return append(dst, '}'), "application/json"
}

func (p *openAI) script() *script { return &p.streams }

// open renders the head of all events. It stays at the front of the buffer,
// events are rendered behind it.
func (p *openAI) open(e *events) {
	prefix, _, object := p.names()
	e.frame.b = e.x.appendHead(append(e.frame.b[:0], "data: "...), prefix, object)
	e.head = e.frame.b
	e.b = e.frame.b[len(e.frame.b):]
	switch q := e.x.q; e.x.opt.Usage {
	case UsageOnRequest:
		e.finalUsage = q.includeUsage
		e.chunkUsage = q.includeUsage && q.continuousUsage
	case UsageAlways:
		e.finalUsage = true
	case UsageEveryChunk:
		e.finalUsage, e.chunkUsage = true, true
	}
}

func (p *openAI) begin(e *events) error {
	if e.x.opt.RoleChunk != RoleEarly {
		return nil
	}
	if err := p.roles(e); err != nil {
		return err
	}
	return e.flush()
}

func (p *openAI) first(e *events) error {
	if e.x.opt.RoleChunk != RoleSeparate {
		return nil
	}
	return p.roles(e)
}

// roles adds the role event of every choice.
func (p *openAI) roles(e *events) error {
	if !p.hasRole() {
		return nil
	}
	for i := range e.x.choices {
		if e.x.hidden {
			break
		}
		p.start(e, &e.x.choices[i])
		e.b = p.openDelta(e.b, true, "")
		e.b = p.closeDelta(e.b, true, "")
		p.stop(e, nil)
		if err := e.end(false); err != nil {
			return err
		}
	}
	return nil
}

func (p *openAI) content(e *events, c *choice, from, to int, last bool) error {
	opt := e.x.opt
	field := "content"
	switch {
	case from < c.reasoning:
		field = opt.ReasoningField
	case c.refused:
		field = "refusal"
	}
	if opt.EmptyChunks > 0 && e.x.rng.Float64() < opt.EmptyChunks {
		p.start(e, c)
		e.b = p.openDelta(e.b, false, field)
		e.b = p.closeDelta(e.b, false, field)
		p.stop(e, nil)
		if err := e.end(false); err != nil {
			return err
		}
	}
	var finish *choice
	if last && opt.FinishChunk == FinishWithLast {
		finish = c
	}
	role := from == 0 && opt.RoleChunk == RoleWithFirst && p.hasRole()
	p.start(e, c)
	if n := c.callAt(from); n >= 0 {
		e.b = appendCallDelta(e.b, role, c, n, from, to)
	} else {
		e.b = p.openDelta(e.b, role, field)
		e.b = c.appendTokens(e.b, from, to)
		e.b = p.closeDelta(e.b, true, field)
	}
	if e.x.q.wish == nil {
		p.stop(e, finish)
		return e.end(true)
	}
	e.b = append(e.b, `,"logprobs":`...)
	e.b = p.appendProbabilities(e.b, e.x.q.wish, c, from, to)
	e.b = append(e.b, `,"finish_reason":`...)
	p.stopChoice(e, finish)
	return e.end(true)
}

func (p *openAI) finish(e *events, c *choice) error {
	if mode := e.x.opt.FinishChunk; e.x.hidden || mode == FinishMissing || mode == FinishWithLast && c.total > 0 {
		return nil
	}
	p.start(e, c)
	e.b = p.openDelta(e.b, false, "")
	e.b = p.closeDelta(e.b, false, "")
	p.stop(e, c)
	return e.end(false)
}

// start starts an event for choice c.
func (*openAI) start(e *events, c *choice) {
	e.b = append(e.b, e.head...)
	e.b = append(e.b, `{"index":`...)
	e.b = strconv.AppendInt(e.b, int64(c.index), 10)
}

// stop completes the object of an event; finish is the choice that ends with it,
// or nil.
func (p *openAI) stop(e *events, finish *choice) {
	e.b = append(e.b, `,"logprobs":null,"finish_reason":`...)
	p.stopChoice(e, finish)
}

// stopChoice is stop from the value of finish_reason on.
func (*openAI) stopChoice(e *events, finish *choice) {
	if finish == nil {
		e.b = append(e.b, "null}]"...)
	} else {
		e.b = jsonappend.String(e.b, finish.finish)
		e.b = append(e.b, `,"stop_reason":null}]`...)
	}
	if e.chunkUsage {
		e.b = append(e.b, ',')
		e.b = e.x.appendUsage(e.b, e.x.truth.OutputTokens, e.x.truth.ReasoningTokens)
	}
	e.b = append(e.b, '}')
}

// appendProbabilities appends the value of the member logprobs.
func (p *openAI) appendProbabilities(dst []byte, w *wishes, c *choice, from, to int) []byte {
	from = max(from, c.reasoning)
	if w == nil || !w.logprobs || from >= to || len(c.calls) > 0 {
		return append(dst, "null"...)
	}
	return p.appendLogprobs(dst, c, from, to, w.top)
}

func (*openAI) close(e *events) error {
	if e.finalUsage {
		// The event with choices [].
		e.b = append(e.b, e.head...)
		e.b = append(e.b, "],"...)
		e.b = e.x.appendUsage(e.b, e.x.truth.OutputTokens, e.x.truth.ReasoningTokens)
		e.b = append(e.b, '}')
		if err := e.end(false); err != nil {
			return err
		}
	}
	if opt := e.x.opt; opt.NoDone || opt.Done == DoneNo {
		return nil
	}
	return e.done()
}

// fail adds vLLM's error event and the end of the stream.
func (*openAI) fail(e *events, apology *apierror.Error) error {
	e.b = append(e.b, "data: "...)
	e.b = apierror.Append(e.b, apology)
	if err := e.end(false); err != nil {
		return err
	}
	return e.done()
}

// appendHead opens the object that documents and events have in common, up to
// and including the bracket of choices.
func (x *answer) appendHead(dst []byte, prefix, object string) []byte {
	dst = append(dst, `{"id":`...)
	dst = jsonappend.String(dst, prefix+x.requestID())
	dst = append(dst, `,"object":"`...)
	dst = append(dst, object...)
	dst = append(dst, `","created":`...)
	dst = strconv.AppendInt(dst, x.truth.AcceptNs/int64(time.Second), 10)
	dst = append(dst, `,"model":`...)
	dst = jsonappend.String(dst, x.q.model)
	return append(dst, `,"choices":[`...)
}

func (x *answer) appendFinish(dst []byte, c *choice) []byte {
	if x.opt.FinishChunk == FinishMissing {
		return append(dst, "null"...)
	}
	return jsonappend.String(dst, c.finish)
}

// appendUsage appends the member "usage" for the tokens sent so far.
func (x *answer) appendUsage(dst []byte, output, reasoning int) []byte {
	dst = append(dst, `"usage":{"prompt_tokens":`...)
	dst = strconv.AppendInt(dst, int64(x.truth.PromptTokens), 10)
	dst = append(dst, `,"total_tokens":`...)
	dst = strconv.AppendInt(dst, int64(x.truth.PromptTokens+output), 10)
	dst = append(dst, `,"completion_tokens":`...)
	dst = strconv.AppendInt(dst, int64(output), 10)
	if x.reasons && x.opt.ReasoningTokens > 0 {
		dst = append(dst, `,"completion_tokens_details":{"reasoning_tokens":`...)
		dst = strconv.AppendInt(dst, int64(reasoning), 10)
		dst = append(dst, '}')
	}
	if p := x.opt.Accelerator; p != nil && p.PrefixCache {
		dst = append(dst, `,"prompt_tokens_details":{"cached_tokens":`...)
		dst = strconv.AppendInt(dst, int64(x.cached()), 10)
		dst = append(dst, '}')
	}
	return append(dst, '}')
}
