// Package native implements the text APIs of Ollama, Text Generation Inference, SGLang,
// Triton and SageMaker.
package native

import (
	"net/http"
	"strconv"

	"aiperfd/internal/mock/api"
	"aiperfd/internal/mock/apierror"
	"aiperfd/internal/mock/jsonappend"
)

// tgiDefaultTokens is TGI's default limit of tokens.
const tgiDefaultTokens = 100

// tgiStreams determines when TGI streams.
type tgiStreams uint8

// When TGI streams.
const (
	tgiNever  tgiStreams = iota // POST /generate
	TGIAlways                   // POST /generate_stream
	TGIAsked                    // POST / and /invocations: if the body requests it; answers are lists
)

// tgi is the native API of Text Generation Inference.
type tgi struct {
	when    tgiStreams
	streams api.Script
}

var _ api.Protocol = (*tgi)(nil)

// NewTGI returns a protocol of Text Generation Inference.
func NewTGI(when tgiStreams) *tgi {
	p := &tgi{when: when}
	p.streams = api.Script{ContentType: api.EventStream, Content: p.content, Finish: p.finish, Fail: p.fail}
	return p
}

// tgiRequest has the parameters of TGI's answers.
type tgiRequest struct{ details bool }

func (p *tgi) Read(m *api.Model, _ *http.Request, body []byte) (*api.Request, *apierror.Error) {
	q := &api.Request{}
	refusal := m.ParseJSON(body, func(f *api.Fields) {
		q.Prompts = f.Required(m, "inputs")
		q.Stream = p.when == TGIAlways || p.when == TGIAsked && f.Boolean("stream")
		o := f.Object("parameters")
		q.MaxTokens, q.Seed = o.Count("max_new_tokens", 1), o.Seed("seed")
		if q.MaxTokens == 0 {
			q.MaxTokens = tgiDefaultTokens
		}
		q.Payload = tgiRequest{details: o.Boolean("details")}
		f.Err = o.Err
		m.Admit(f, q)
	})
	if refusal != nil && refusal.Status == http.StatusBadRequest {
		refusal.Status = http.StatusUnprocessableEntity
	}
	return q, refusal
}

func (*tgi) Reasons() bool { return false }

func (*tgi) Refusal(dst []byte, e *apierror.Error) []byte {
	return appendTGIError(dst, e, "validation")
}

func appendTGIError(dst []byte, e *apierror.Error, kind string) []byte {
	dst = jsonappend.String(append(dst, `{"error":`...), e.Message)
	dst = jsonappend.String(append(dst, `,"error_type":`...), kind)
	return append(dst, '}')
}

func (p *tgi) Document(dst []byte, x *api.Answer) ([]byte, string) {
	c := &x.Choices[0]
	h, total := x.Header, x.Elapsed()
	api.SetMillis(h, "X-Total-Time", total)
	api.SetMillis(h, "X-Inference-Time", total)
	api.SetMillis(h, "X-Queue-Time", 0)
	if p.when == TGIAsked {
		dst = append(dst, '[')
	}
	dst = append(dst, `{"generated_text":`...)
	dst = api.AppendText(dst, c, 0, c.Total)
	if q, _ := x.Request.Payload.(tgiRequest); q.details {
		dst = append(dst, `,"details":{"finish_reason":"`...)
		dst = append(dst, tgiReason(c)...)
		dst = append(dst, `","generated_tokens":`...)
		dst = strconv.AppendInt(dst, int64(c.Total), 10)
		dst = append(dst, `,"seed":null,"prefill":[],"tokens":[`...)
		for i := range c.Total {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = appendTGIToken(dst, c, i)
		}
		dst = append(dst, `]}`...)
	}
	dst = append(dst, '}')
	if p.when == TGIAsked {
		dst = append(dst, ']')
	}
	return dst, "application/json"
}

// tgiReason returns TGI's name of the finish reason of a choice.
func tgiReason(c *api.Choice) string {
	if c.Finish == "stop" {
		return "eos_token"
	}
	return c.Finish
}

func appendTGIToken(dst []byte, c *api.Choice, i int) []byte {
	dst = append(dst, `{"id":`...)
	dst = strconv.AppendInt(dst, int64(i), 10)
	dst = api.AppendText(append(dst, `,"text":`...), c, i, i+1)
	return append(dst, `,"logprob":-0.5,"special":false}`...)
}

func (p *tgi) Script() *api.Script { return &p.streams }

// content adds one event per token; the last one contains the whole text and, if
// requested, the details.
func (p *tgi) content(e *api.Events, c *api.Choice, from, to int, last bool) error {
	for i := from; i < to; i++ {
		e.B = append(e.B, `data:{"index":`...)
		e.B = strconv.AppendInt(e.B, int64(i+1), 10)
		e.B = appendTGIToken(append(e.B, `,"token":`...), c, i)
		p.end(e, c, last && i == to-1)
		if err := e.End(true); err != nil {
			return err
		}
	}
	return nil
}

// finish ends an answer without tokens with an end-of-sequence token.
func (p *tgi) finish(e *api.Events, c *api.Choice) error {
	if c.Total > 0 {
		return nil
	}
	e.B = append(e.B, `data:{"index":1,"token":{"id":2,"text":"</s>","logprob":-0.5,"special":true}`...)
	p.end(e, c, true)
	return e.End(false)
}

// end completes an event; last is true for the last event of the answer.
func (*tgi) end(e *api.Events, c *api.Choice, last bool) {
	if !last {
		e.B = append(e.B, `,"generated_text":null,"details":null}`...)
		return
	}
	e.B = api.AppendText(append(e.B, `,"generated_text":`...), c, 0, c.Total)
	e.B = append(e.B, `,"details":`...)
	if q, _ := e.Answer.Request.Payload.(tgiRequest); !q.details {
		e.B = append(e.B, "null}"...)
		return
	}
	e.B = append(e.B, `{"finish_reason":"`...)
	e.B = append(e.B, tgiReason(c)...)
	e.B = append(e.B, `","generated_tokens":`...)
	e.B = strconv.AppendInt(e.B, int64(c.Total), 10)
	e.B = append(e.B, `,"seed":null,"input_length":`...)
	e.B = strconv.AppendInt(e.B, int64(e.Answer.Truth.PromptTokens), 10)
	e.B = append(e.B, "}}"...)
}

func (*tgi) fail(e *api.Events, failure *apierror.Error) error {
	e.B = appendTGIError(append(e.B, "data:"...), failure, "generation")
	return e.End(false)
}

// generate is POST /generate, which TGI and SGLang share.
type generate struct {
	*tgi
	sglang *sglang
}

var _ api.Chooser = generate{}

// NewGenerate returns the protocol of POST /generate, which TGI and SGLang share.
func NewGenerate() generate { return generate{NewTGI(tgiNever), newSGLang()} }

// Choose selects SGLang for a body without inputs and with a text or token ids.
func (g generate) Choose(m *api.Model, body []byte) api.Protocol {
	if has := m.Members(body, "inputs", "text", "input_ids"); !has[0] && (has[1] || has[2]) {
		return g.sglang
	}
	return g.tgi
}

// ServeTGIInfo handles GET /info.
func ServeTGIInfo(m *api.Model, w http.ResponseWriter, _ *http.Request) {
	dst := jsonappend.String([]byte(`{"model_id":`), m.Models()[0])
	dst = append(dst, `,"max_input_tokens":`...)
	dst = strconv.AppendInt(dst, int64(m.Options.MaxModelLen)-1, 10)
	dst = append(dst, `,"max_total_tokens":`...)
	dst = strconv.AppendInt(dst, int64(m.Options.MaxModelLen), 10)
	dst = jsonappend.String(append(dst, `,"version":`...), api.Version)
	_ = apierror.WriteJSON(w, http.StatusOK, append(dst, '}'))
}
