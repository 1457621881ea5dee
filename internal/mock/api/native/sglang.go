package native

import (
	"net/http"
	"strconv"

	"github.com/valyala/fastjson"

	"aiperfd/internal/mock/api"
	"aiperfd/internal/mock/apierror"
	"aiperfd/internal/mock/jsonappend"
	"aiperfd/internal/mock/options"
)

// sglangDefaultTokens is SGLang's default limit of tokens.
const sglangDefaultTokens = 128

// sglang is SGLang's native API, POST /generate. Every event of a stream contains the
// whole text so far.
type sglang struct{ streams api.Script }

var _ api.Protocol = (*sglang)(nil)

func newSGLang() *sglang {
	p := &sglang{}
	p.streams = api.Script{
		ContentType: api.EventStream, Content: p.content, Finish: p.finish, Fail: p.fail,
		Close: func(e *api.Events) error {
			if e.Answer.Options.NoDone {
				return nil
			}
			return e.Done()
		},
	}
	return p
}

// sglangRequest has the parameters of SGLang's answers.
type sglangRequest struct{ list bool }

func (*sglang) Read(m *api.Model, _ *http.Request, body []byte) (*api.Request, *apierror.Error) {
	q := &api.Request{}
	refusal := m.ParseJSON(body, func(f *api.Fields) {
		var list bool
		q.Prompts, list = sglangPrompts(m, f)
		q.Stream = f.Boolean("stream")
		o := f.Object("sampling_params")
		q.MaxTokens, q.MinTokens = o.Count("max_new_tokens", 1), o.Count("min_new_tokens", 0)
		q.IgnoreEOS, q.N = o.Boolean("ignore_eos"), o.Count("n", 1)
		q.Seed = o.Seed("sampling_seed", "seed")
		if q.MaxTokens == 0 {
			q.MaxTokens = sglangDefaultTokens
		}
		q.Payload = sglangRequest{list: list || q.N > 1}
		f.Err = o.Err
		m.Admit(f, q)
	})
	return q, refusal
}

// sglangPrompts reads text or input_ids; list reports whether they are lists.
func sglangPrompts(m *api.Model, f *api.Fields) (prompts []api.Prompt, list bool) {
	text, ok := f.Get("text")
	if !ok {
		ids, ok := f.Get("input_ids")
		if !ok || ids.Type() != fastjson.TypeArray || len(ids.GetArray()) == 0 {
			f.Fail("text", "string or list of strings")
			return nil, false
		}
		return []api.Prompt{api.TokenPrompt(f, ids.GetArray())}, false
	}
	switch text.Type() {
	case fastjson.TypeString:
		return []api.Prompt{api.TextPrompt(m, text.GetStringBytes())}, false
	case fastjson.TypeArray:
		for _, item := range text.GetArray() {
			if item.Type() != fastjson.TypeString {
				break
			}
			prompts = append(prompts, api.TextPrompt(m, item.GetStringBytes()))
		}
		if n := len(text.GetArray()); n > 0 && n == len(prompts) {
			return prompts, true
		}
	case fastjson.TypeNull, fastjson.TypeObject, fastjson.TypeNumber, fastjson.TypeTrue, fastjson.TypeFalse:
	}
	f.Fail("text", "string or list of strings")
	return nil, false
}

func (*sglang) Reasons() bool { return false }

func (*sglang) Refusal(dst []byte, e *apierror.Error) []byte {
	dst = jsonappend.String(append(dst, `{"error":{"message":`...), e.Message)
	return append(dst, "}}"...)
}

func (p *sglang) Document(dst []byte, x *api.Answer) ([]byte, string) {
	q, _ := x.Request.Payload.(sglangRequest)
	if q.list {
		dst = append(dst, '[')
	}
	for i := range x.Choices {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, '{')
		dst = p.members(dst, x, &x.Choices[i], x.Choices[i].Total)
	}
	if q.list {
		dst = append(dst, ']')
	}
	return dst, "application/json"
}

// members appends the members of an object with the first sent tokens of c, and its
// closing brace.
func (*sglang) members(dst []byte, x *api.Answer, c *api.Choice, sent int) []byte {
	dst = api.AppendText(append(dst, `"text":`...), c, 0, sent)
	dst = jsonappend.String(append(dst, `,"meta_info":{"id":`...), x.RequestID())
	dst = append(dst, `,"finish_reason":`...)
	switch {
	case sent < c.Total || x.Options.FinishChunk == options.FinishMissing:
		dst = append(dst, "null"...)
	case c.Finish == "stop":
		dst = append(dst, `{"type":"stop","matched":2}`...)
	default:
		dst = append(dst, `{"type":"length","length":`...)
		dst = strconv.AppendInt(dst, int64(c.Total), 10)
		dst = append(dst, '}')
	}
	dst = append(dst, `,"prompt_tokens":`...)
	dst = strconv.AppendInt(dst, int64(x.Request.Prompts[c.Index/x.Request.N].Tokens), 10)
	dst = append(dst, `,"weight_version":"default","completion_tokens":`...)
	dst = strconv.AppendInt(dst, int64(sent), 10)
	dst = append(dst, `,"cached_tokens":0`...)
	if sent == c.Total {
		dst = api.AppendSeconds(append(dst, `,"e2e_latency":`...), x.Elapsed())
	}
	return append(dst, "}}"...)
}

func (p *sglang) Script() *api.Script { return &p.streams }

func (p *sglang) content(e *api.Events, c *api.Choice, _, to int, _ bool) error {
	p.event(e, c, to)
	return e.End(true)
}

func (p *sglang) event(e *api.Events, c *api.Choice, sent int) {
	e.B = append(e.B, "data: {"...)
	if q, _ := e.Answer.Request.Payload.(sglangRequest); q.list {
		e.B = append(e.B, `"index":`...)
		e.B = strconv.AppendInt(e.B, int64(c.Index), 10)
		e.B = append(e.B, ',')
	}
	e.B = p.members(e.B, e.Answer, c, sent)
}

// finish ends an answer without tokens; other answers end with their last event.
func (p *sglang) finish(e *api.Events, c *api.Choice) error {
	if c.Total > 0 {
		return nil
	}
	p.event(e, c, 0)
	return e.End(false)
}

func (p *sglang) fail(e *api.Events, failure *apierror.Error) error {
	e.B = p.Refusal(append(e.B, "data: "...), failure)
	if err := e.End(false); err != nil {
		return err
	}
	return e.Done()
}
