package mock

import (
	"net/http"
	"strconv"

	"aiperfd/internal/mock/apierror"
	"aiperfd/internal/mock/jsonappend"
)

// tgiDefaultTokens is TGI's limit where a request names none.
const tgiDefaultTokens = 100

// tgiStreams says what decides whether TGI streams.
type tgiStreams uint8

const (
	tgiNever  tgiStreams = iota // POST /generate
	tgiAlways                   // POST /generate_stream
	tgiAsked                    // POST / and /invocations: the body does; answers are lists
)

// tgi is the native API of Text Generation Inference.
type tgi struct {
	when    tgiStreams
	streams script
}

var _ protocol = (*tgi)(nil)

func newTGI(when tgiStreams) *tgi {
	p := &tgi{when: when}
	p.streams = script{contentType: eventStream, content: p.content, finish: p.finish, fail: p.fail}
	return p
}

// tgiRequest is what TGI's answers depend on.
type tgiRequest struct{ details bool }

func (p *tgi) read(m *model, _ *http.Request, body []byte) (*textRequest, *apierror.Error) {
	q := &textRequest{}
	refusal := m.parseJSON(body, func(f *fields) {
		q.prompts = f.required(m, "inputs")
		q.stream = p.when == tgiAlways || p.when == tgiAsked && f.boolean("stream")
		o := f.object("parameters")
		q.maxTokens, q.seed = o.count("max_new_tokens", 1), o.seed("seed")
		if q.maxTokens == 0 {
			q.maxTokens = tgiDefaultTokens
		}
		q.payload = tgiRequest{details: o.boolean("details")}
		f.err = o.err
		m.admit(f, q)
	})
	if refusal != nil && refusal.Status == http.StatusBadRequest {
		refusal.Status = http.StatusUnprocessableEntity
	}
	return q, refusal
}

func (*tgi) reasons() bool { return false }

func (*tgi) refusal(dst []byte, e *apierror.Error) []byte {
	return appendTGIError(dst, e, "validation")
}

func appendTGIError(dst []byte, e *apierror.Error, kind string) []byte {
	dst = jsonappend.String(append(dst, `{"error":`...), e.Message)
	dst = jsonappend.String(append(dst, `,"error_type":`...), kind)
	return append(dst, '}')
}

func (p *tgi) document(dst []byte, x *answer) ([]byte, string) {
	c := &x.choices[0]
	h, total := x.header, x.elapsed()
	setMillis(h, "X-Total-Time", total)
	setMillis(h, "X-Inference-Time", total)
	setMillis(h, "X-Queue-Time", 0)
	if p.when == tgiAsked {
		dst = append(dst, '[')
	}
	dst = append(dst, `{"generated_text":`...)
	dst = appendText(dst, c, 0, c.total)
	if q, _ := x.q.payload.(tgiRequest); q.details {
		dst = append(dst, `,"details":{"finish_reason":"`...)
		dst = append(dst, tgiReason(c)...)
		dst = append(dst, `","generated_tokens":`...)
		dst = strconv.AppendInt(dst, int64(c.total), 10)
		dst = append(dst, `,"seed":null,"prefill":[],"tokens":[`...)
		for i := range c.total {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = appendTGIToken(dst, c, i)
		}
		dst = append(dst, `]}`...)
	}
	dst = append(dst, '}')
	if p.when == tgiAsked {
		dst = append(dst, ']')
	}
	return dst, "application/json"
}

// tgiReason is TGI's word for why a choice ended.
func tgiReason(c *choice) string {
	if c.finish == "stop" {
		return "eos_token"
	}
	return c.finish
}

func appendTGIToken(dst []byte, c *choice, i int) []byte {
	dst = append(dst, `{"id":`...)
	dst = strconv.AppendInt(dst, int64(i), 10)
	dst = appendText(append(dst, `,"text":`...), c, i, i+1)
	return append(dst, `,"logprob":-0.5,"special":false}`...)
}

func (p *tgi) script() *script { return &p.streams }

// content adds one event a token; the last one holds the whole text and, where it
// was asked for, the details.
func (p *tgi) content(e *events, c *choice, from, to int, last bool) error {
	for i := from; i < to; i++ {
		e.b = append(e.b, `data:{"index":`...)
		e.b = strconv.AppendInt(e.b, int64(i+1), 10)
		e.b = appendTGIToken(append(e.b, `,"token":`...), c, i)
		p.end(e, c, last && i == to-1)
		if err := e.end(true); err != nil {
			return err
		}
	}
	return nil
}

// finish ends an answer without tokens of its own: the end of sequence is one.
func (p *tgi) finish(e *events, c *choice) error {
	if c.total > 0 {
		return nil
	}
	e.b = append(e.b, `data:{"index":1,"token":{"id":2,"text":"</s>","logprob":-0.5,"special":true}`...)
	p.end(e, c, true)
	return e.end(false)
}

// end completes an event; with last the answer ends with it.
func (*tgi) end(e *events, c *choice, last bool) {
	if !last {
		e.b = append(e.b, `,"generated_text":null,"details":null}`...)
		return
	}
	e.b = appendText(append(e.b, `,"generated_text":`...), c, 0, c.total)
	e.b = append(e.b, `,"details":`...)
	if q, _ := e.x.q.payload.(tgiRequest); !q.details {
		e.b = append(e.b, "null}"...)
		return
	}
	e.b = append(e.b, `{"finish_reason":"`...)
	e.b = append(e.b, tgiReason(c)...)
	e.b = append(e.b, `","generated_tokens":`...)
	e.b = strconv.AppendInt(e.b, int64(c.total), 10)
	e.b = append(e.b, `,"seed":null,"input_length":`...)
	e.b = strconv.AppendInt(e.b, int64(e.x.truth.PromptTokens), 10)
	e.b = append(e.b, "}}"...)
}

func (*tgi) fail(e *events, apology *apierror.Error) error {
	e.b = appendTGIError(append(e.b, "data:"...), apology, "generation")
	return e.end(false)
}

// generate is POST /generate, which TGI and SGLang share.
type generate struct {
	*tgi
	sglang *sglang
}

var _ chooser = generate{}

func newGenerate() generate { return generate{newTGI(tgiNever), newSGLang()} }

// choose takes a body without inputs and with a text, or token ids, for SGLang's.
func (g generate) choose(m *model, body []byte) protocol {
	if has := m.members(body, "inputs", "text", "input_ids"); !has[0] && (has[1] || has[2]) {
		return g.sglang
	}
	return g.tgi
}

// members says which members a body has; none where it is no JSON object.
func (m *model) members(body []byte, names ...string) []bool {
	has := make([]bool, len(names))
	_ = m.parseJSON(body, func(f *fields) { // the protocol that is chosen refuses what is wrong
		for i, name := range names {
			has[i] = f.v.Exists(name)
		}
	})
	return has
}

// serveTGIInfo answers GET /info.
func serveTGIInfo(m *model, w http.ResponseWriter, _ *http.Request) {
	dst := jsonappend.String([]byte(`{"model_id":`), m.models()[0])
	dst = append(dst, `,"max_input_tokens":`...)
	dst = strconv.AppendInt(dst, int64(m.opt.MaxModelLen)-1, 10)
	dst = append(dst, `,"max_total_tokens":`...)
	dst = strconv.AppendInt(dst, int64(m.opt.MaxModelLen), 10)
	dst = jsonappend.String(append(dst, `,"version":`...), serverVersion)
	_ = apierror.WriteJSON(w, http.StatusOK, append(dst, '}'))
}
