package text

import (
	"math"
	"net/http"

	"github.com/valyala/fastjson"

	"aiperfd/internal/mock/api"
	"aiperfd/internal/mock/options"
)

// sglangDefaultTokens is SGLang's default limit of tokens.
const sglangDefaultTokens = 128

// newSGLang returns SGLang's native API, POST /generate. Every event of a stream contains
// the whole text so far.
func newSGLang() *api.Protocol {
	return &api.Protocol{
		Read: api.ReadJSON(readSGLang), Document: documentSGLang, Refuse: refuseSGLang,
		Script: &api.Script{
			ContentType: api.EventStream,
			Content: func(e *api.Events, c *api.Choice, _, to int, _ bool) {
				e.JSON("data: ", newSGLangAnswer(e.Answer, c, to, true), true)
			},
			Finish: func(e *api.Events, c *api.Choice) {
				if c.Total == 0 { // else the last event of its tokens has ended it
					e.JSON("data: ", newSGLangAnswer(e.Answer, c, 0, true), false)
				}
			},
			Close: func(e *api.Events) {
				if !e.Answer.Options.NoDone {
					e.Done()
				}
			},
			Fail: func(e *api.Events, failure *api.Error) {
				failWith("data: ", refuseSGLang)(e, failure)
				e.Done()
			},
		},
	}
}

// sglangRequest has the parameters of SGLang's answers.
type sglangRequest struct{ list bool }

func readSGLang(m *api.Model, _ *http.Request, f *api.Fields, q *api.Request) {
	var list bool
	q.Prompts, list = sglangPrompts(m, f)
	q.Stream = f.Flag("stream")
	o := f.Object("sampling_params")
	q.MaxTokens, q.MinTokens = o.Count("max_new_tokens", 1), o.Count("min_new_tokens", 0)
	q.IgnoreEOS, q.N = o.Flag("ignore_eos"), o.Within("n", 1, api.MaxChoices, 1)
	q.Seed = o.Seed("sampling_seed", "seed")
	if q.MaxTokens == 0 {
		q.MaxTokens = sglangDefaultTokens
	}
	q.Payload = sglangRequest{list: list || q.N > 1}
}

// sglangPrompts reads text or input_ids; list reports whether they are lists.
func sglangPrompts(m *api.Model, f *api.Fields) (prompts []api.Prompt, list bool) {
	const wanted = "string or list of strings"
	text, ok := f.Get("text")
	switch {
	case !ok:
		ids, _ := f.Get("input_ids")
		if len(ids.GetArray()) == 0 {
			f.Fail("text", wanted)
		}
		return []api.Prompt{api.TokenPrompt(f, ids.GetArray())}, false
	case text.Type() == fastjson.TypeString:
		return []api.Prompt{api.TextPrompt(m, text.GetStringBytes())}, false
	}
	for _, item := range f.List("text", wanted) {
		if item.Type() != fastjson.TypeString {
			f.Fail("text", wanted)
		}
		prompts = append(prompts, api.TextPrompt(m, item.GetStringBytes()))
	}
	return prompts, true
}

func refuseSGLang(dst []byte, e *api.Error) []byte {
	type detail struct {
		Message string `json:"message"`
	}
	return api.AppendJSON(dst, map[string]detail{"error": {e.Message}})
}

// sglangAnswer is an answer, or an event of a stream.
type sglangAnswer struct {
	Index *int       `json:"index,omitempty"` // in streams of several answers
	Text  string     `json:"text"`
	Meta  sglangMeta `json:"meta_info"`
}

type sglangMeta struct {
	ID                 string        `json:"id"`
	FinishReason       *sglangReason `json:"finish_reason"`
	PromptTokens       int           `json:"prompt_tokens"`
	WeightVersion      string        `json:"weight_version"`
	CompletionTokens   int           `json:"completion_tokens"`
	CachedTokens       int           `json:"cached_tokens"`
	Latency            *float64      `json:"e2e_latency,omitempty"` // seconds, at the end
	*sglangSpeculation               // at the end
}

type sglangReason struct {
	Type    string `json:"type"`
	Matched int    `json:"matched,omitempty"`
	Length  int    `json:"length,omitempty"`
}

// newSGLangAnswer returns the object with the first sent tokens of c.
func newSGLangAnswer(x *api.Answer, c *api.Choice, sent int, streamed bool) *sglangAnswer {
	a := &sglangAnswer{Text: c.Text(0, sent), Meta: sglangMeta{
		ID: x.RequestID(), PromptTokens: x.Request.Prompts[c.Index/x.Request.N].Tokens,
		WeightVersion: "default", CompletionTokens: sent,
	}}
	if q := api.PayloadOf[sglangRequest](x); q.list && streamed {
		a.Index = &c.Index
	}
	if sent < c.Total {
		return a
	}
	seconds := math.Round(x.Elapsed().Seconds()*1e6) / 1e6
	a.Meta.Latency = &seconds
	a.Meta.sglangSpeculation = newSGLangSpeculation(x, c)
	switch {
	case x.Options.FinishChunk == options.FinishMissing:
	case c.Finish == "stop":
		a.Meta.FinishReason = &sglangReason{Type: "stop", Matched: 2}
	default:
		a.Meta.FinishReason = &sglangReason{Type: "length", Length: c.Total}
	}
	return a
}

func documentSGLang(dst []byte, x *api.Answer) ([]byte, string) {
	answers := make([]*sglangAnswer, len(x.Choices))
	for i := range x.Choices {
		answers[i] = newSGLangAnswer(x, &x.Choices[i], x.Choices[i].Total, false)
	}
	if q := api.PayloadOf[sglangRequest](x); q.list {
		return api.AppendJSON(dst, answers), api.JSON
	}
	return api.AppendJSON(dst, answers[0]), api.JSON
}
