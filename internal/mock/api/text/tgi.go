package text

import (
	"net/http"
	"strconv"

	"aiperfd/internal/mock/api"
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
type tgi struct{ when tgiStreams }

// NewTGI returns a protocol of Text Generation Inference.
func NewTGI(when tgiStreams) *api.Protocol {
	p := tgi{when}
	read := api.ReadJSON(p.read)
	return &api.Protocol{
		Read: func(m *api.Model, r *http.Request, body []byte) (*api.Request, *api.Error) {
			q, refusal := read(m, r, body)
			if refusal != nil && refusal.Status == http.StatusBadRequest {
				refusal.Status = http.StatusUnprocessableEntity
			}
			return q, refusal
		},
		Document: p.document,
		Refuse:   func(dst []byte, e *api.Error) []byte { return api.TypedError(dst, e, "validation") },
		Script: &api.Script{
			ContentType: api.EventStream, Content: p.content, Finish: p.finish,
			Fail: failWith("data:", func(dst []byte, e *api.Error) []byte { return api.TypedError(dst, e, "generation") }),
		},
	}
}

// tgiRequest has the parameters of TGI's answers.
type tgiRequest struct{ details bool }

func (p tgi) read(m *api.Model, _ *http.Request, f *api.Fields, q *api.Request) {
	q.Prompts = api.RequiredPrompt(m, f, "inputs")
	q.Stream = p.when == TGIAlways || p.when == TGIAsked && f.Flag("stream")
	o := f.Object("parameters")
	q.MaxTokens, q.Seed = o.Count("max_new_tokens", 1), o.Seed("seed")
	if q.MaxTokens == 0 {
		q.MaxTokens = tgiDefaultTokens
	}
	q.Payload = tgiRequest{details: o.Flag("details")}
}

// tgiDetails are the details of a whole answer or, without its tokens, of a stream.
type tgiDetails struct {
	FinishReason    string      `json:"finish_reason"`
	GeneratedTokens int         `json:"generated_tokens"`
	Seed            *int        `json:"seed"` // always null
	Prefill         []int       `json:"prefill,omitzero"`
	Tokens          []*tgiToken `json:"tokens,omitzero"`
	InputLength     *int        `json:"input_length,omitempty"`
}

type tgiToken struct {
	ID      int     `json:"id"`
	Text    string  `json:"text"`
	Logprob float64 `json:"logprob"`
	Special bool    `json:"special"`
}

func newTGIToken(c *api.Choice, i int) *tgiToken {
	return &tgiToken{ID: i, Text: c.Text(i, i+1), Logprob: -0.5}
}

// newTGIDetails returns the details of an answer, or nil if the request does not ask for
// them.
func newTGIDetails(x *api.Answer, c *api.Choice) *tgiDetails {
	if q := api.PayloadOf[tgiRequest](x); !q.details {
		return nil
	}
	d := &tgiDetails{FinishReason: c.Finish, GeneratedTokens: c.Total}
	if c.Finish == "stop" {
		d.FinishReason = "eos_token"
	}
	return d
}

func (p tgi) document(dst []byte, x *api.Answer) ([]byte, string) {
	c := &x.Choices[0]
	total := strconv.FormatInt(x.Elapsed().Milliseconds(), 10)
	for name, ms := range map[string]string{"Total": total, "Inference": total, "Queue": "0"} {
		x.Header.Set("X-"+name+"-Time", ms)
	}
	answer := struct {
		Text    string      `json:"generated_text"`
		Details *tgiDetails `json:"details,omitempty"`
	}{c.Text(0, c.Total), newTGIDetails(x, c)}
	if d := answer.Details; d != nil {
		d.Prefill, d.Tokens = []int{}, []*tgiToken{}
		for i := range c.Total {
			d.Tokens = append(d.Tokens, newTGIToken(c, i))
		}
	}
	if p.when == TGIAsked {
		return api.AppendJSON(dst, []any{answer}), api.JSON
	}
	return api.AppendJSON(dst, answer), api.JSON
}

// tgiEvent is an event of a stream.
type tgiEvent struct {
	Index   int         `json:"index"`
	Token   *tgiToken   `json:"token"`
	Text    *string     `json:"generated_text"` // null before the last one
	Details *tgiDetails `json:"details"`
}

// content adds one event per token; the last one contains the whole text and, if
// requested, the details.
func (p tgi) content(e *api.Events, c *api.Choice, from, to int, last bool) {
	for i := from; i < to; i++ {
		event := &tgiEvent{Index: i + 1, Token: newTGIToken(c, i)}
		if last && i == to-1 {
			event.end(e.Answer, c)
		}
		e.JSON("data:", event, true)
	}
}

// finish ends an answer without tokens with an end-of-sequence token.
func (p tgi) finish(e *api.Events, c *api.Choice) {
	if c.Total > 0 {
		return
	}
	event := &tgiEvent{Index: 1, Token: &tgiToken{ID: 2, Text: "</s>", Logprob: -0.5, Special: true}}
	event.end(e.Answer, c)
	e.JSON("data:", event, false)
}

// end adds the members of the last event of an answer.
func (v *tgiEvent) end(x *api.Answer, c *api.Choice) {
	text := c.Text(0, c.Total)
	v.Text, v.Details = &text, newTGIDetails(x, c)
	if v.Details != nil {
		v.Details.InputLength = &x.Truth.PromptTokens
	}
}

// NewGenerate returns the protocol of POST /generate, which TGI and SGLang share: SGLang's
// for a body without inputs and with a text or token ids.
func NewGenerate() *api.Protocol {
	p, other := NewTGI(tgiNever), newSGLang()
	p.Choose = func(m *api.Model, body []byte) *api.Protocol {
		if has := m.Members(body, "inputs", "text", "input_ids"); !has[0] && (has[1] || has[2]) {
			return other
		}
		return p
	}
	return p
}

// ServeTGIInfo handles GET /info.
func ServeTGIInfo(m *api.Model, w http.ResponseWriter, _ *http.Request) {
	api.OK(w, struct {
		ModelID        string `json:"model_id"`
		MaxInputTokens int    `json:"max_input_tokens"`
		MaxTotalTokens int    `json:"max_total_tokens"`
		Version        string `json:"version"`
	}{m.Models()[0], m.Options.MaxModelLen - 1, m.Options.MaxModelLen, api.Version})
}
