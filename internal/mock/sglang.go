package mock

import (
	"net/http"
	"strconv"

	"github.com/valyala/fastjson"

	"aiperfd/internal/mock/apierror"
	"aiperfd/internal/mock/jsonappend"
)

// sglangDefaultTokens is SGLang's limit where a request names none.
const sglangDefaultTokens = 128

// sglang is SGLang's native API, POST /generate. Streams hold all the text so far
// in every event.
type sglang struct{ streams script }

var _ protocol = (*sglang)(nil)

func newSGLang() *sglang {
	p := &sglang{}
	p.streams = script{
		contentType: eventStream, content: p.content, finish: p.finish, fail: p.fail,
		close: func(e *events) error {
			if e.x.opt.NoDone {
				return nil
			}
			return e.done()
		},
	}
	return p
}

// sglangRequest is what SGLang's answers depend on.
type sglangRequest struct{ list bool }

func (*sglang) read(m *model, _ *http.Request, body []byte) (*textRequest, *apierror.Error) {
	q := &textRequest{}
	refusal := m.parseJSON(body, func(f *fields) {
		var list bool
		q.prompts, list = sglangPrompts(m, f)
		q.stream = f.boolean("stream")
		o := f.object("sampling_params")
		q.maxTokens, q.minTokens = o.count("max_new_tokens", 1), o.count("min_new_tokens", 0)
		q.ignoreEOS, q.n = o.boolean("ignore_eos"), o.count("n", 1)
		q.seed = o.seed("sampling_seed", "seed")
		if q.maxTokens == 0 {
			q.maxTokens = sglangDefaultTokens
		}
		q.payload = sglangRequest{list: list || q.n > 1}
		f.err = o.err
		m.admit(f, q)
	})
	return q, refusal
}

// sglangPrompts reads text or input_ids; list says that there may be several.
func sglangPrompts(m *model, f *fields) (prompts []prompt, list bool) {
	text, ok := f.get("text")
	if !ok {
		ids, ok := f.get("input_ids")
		if !ok || ids.Type() != fastjson.TypeArray || len(ids.GetArray()) == 0 {
			f.fail("text", "string or list of strings")
			return nil, false
		}
		return []prompt{tokenPrompt(f, ids.GetArray())}, false
	}
	switch text.Type() {
	case fastjson.TypeString:
		return []prompt{textPrompt(m, text.GetStringBytes())}, false
	case fastjson.TypeArray:
		for _, item := range text.GetArray() {
			if item.Type() != fastjson.TypeString {
				break
			}
			prompts = append(prompts, textPrompt(m, item.GetStringBytes()))
		}
		if n := len(text.GetArray()); n > 0 && n == len(prompts) {
			return prompts, true
		}
	case fastjson.TypeNull, fastjson.TypeObject, fastjson.TypeNumber, fastjson.TypeTrue, fastjson.TypeFalse:
	}
	f.fail("text", "string or list of strings")
	return nil, false
}

func (*sglang) reasons() bool { return false }

func (*sglang) refusal(dst []byte, e *apierror.Error) []byte {
	dst = jsonappend.String(append(dst, `{"error":{"message":`...), e.Message)
	return append(dst, "}}"...)
}

func (p *sglang) document(dst []byte, x *answer) ([]byte, string) {
	q, _ := x.q.payload.(sglangRequest)
	if q.list {
		dst = append(dst, '[')
	}
	for i := range x.choices {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, '{')
		dst = p.members(dst, x, &x.choices[i], x.choices[i].total)
	}
	if q.list {
		dst = append(dst, ']')
	}
	return dst, "application/json"
}

// members appends the members of an object with the first sent tokens of c, and
// the bracket that closes it.
func (*sglang) members(dst []byte, x *answer, c *choice, sent int) []byte {
	dst = appendText(append(dst, `"text":`...), c, 0, sent)
	dst = jsonappend.String(append(dst, `,"meta_info":{"id":`...), x.requestID())
	dst = append(dst, `,"finish_reason":`...)
	switch {
	case sent < c.total || x.opt.FinishChunk == FinishMissing:
		dst = append(dst, "null"...)
	case c.finish == "stop":
		dst = append(dst, `{"type":"stop","matched":2}`...)
	default:
		dst = append(dst, `{"type":"length","length":`...)
		dst = strconv.AppendInt(dst, int64(c.total), 10)
		dst = append(dst, '}')
	}
	dst = append(dst, `,"prompt_tokens":`...)
	dst = strconv.AppendInt(dst, int64(x.q.prompts[c.index/x.q.n].tokens), 10)
	dst = append(dst, `,"weight_version":"default","completion_tokens":`...)
	dst = strconv.AppendInt(dst, int64(sent), 10)
	dst = append(dst, `,"cached_tokens":0`...)
	if sent == c.total {
		dst = appendSeconds(append(dst, `,"e2e_latency":`...), x.elapsed())
	}
	return append(dst, "}}"...)
}

func (p *sglang) script() *script { return &p.streams }

func (p *sglang) content(e *events, c *choice, _, to int, _ bool) error {
	p.event(e, c, to)
	return e.end(true)
}

func (p *sglang) event(e *events, c *choice, sent int) {
	e.b = append(e.b, "data: {"...)
	if q, _ := e.x.q.payload.(sglangRequest); q.list {
		e.b = append(e.b, `"index":`...)
		e.b = strconv.AppendInt(e.b, int64(c.index), 10)
		e.b = append(e.b, ',')
	}
	e.b = p.members(e.b, e.x, c, sent)
}

// finish ends an answer without tokens; others end with their last event.
func (p *sglang) finish(e *events, c *choice) error {
	if c.total > 0 {
		return nil
	}
	p.event(e, c, 0)
	return e.end(false)
}

func (p *sglang) fail(e *events, apology *apierror.Error) error {
	e.b = p.refusal(append(e.b, "data: "...), apology)
	if err := e.end(false); err != nil {
		return err
	}
	return e.done()
}
