package native

import (
	"encoding/base64"
	"net/http"
	"strconv"
	"time"

	"github.com/valyala/fastjson"

	"aiperfd/internal/mock/api"
	"aiperfd/internal/mock/apierror"
	"aiperfd/internal/mock/jsonappend"
	"aiperfd/internal/mock/options"
)

// ollama is one of Ollama's two APIs for text.
type ollama struct {
	chat    bool
	streams api.Script
}

var _ api.Protocol = (*ollama)(nil)

// NewOllama returns the protocol of /api/chat, or else of /api/generate.
func NewOllama(chat bool) *ollama {
	p := &ollama{chat: chat}
	p.streams = api.Script{
		ContentType: "application/x-ndjson", Lines: true,
		Content: p.content, Close: p.close, Fail: p.fail,
	}
	return p
}

func (p *ollama) Read(m *api.Model, _ *http.Request, body []byte) (*api.Request, *apierror.Error) {
	q := &api.Request{}
	refusal := m.ParseJSON(body, func(f *api.Fields) {
		q.Model, q.Stream = f.Text("model"), true
		if q.Model == "" && f.Err == nil {
			f.Err = apierror.BadRequest("model", "model is required")
		}
		if _, ok := f.Get("stream"); ok {
			q.Stream = f.Boolean("stream")
		}
		if p.chat {
			q.Prompts = ollamaMessages(m, f)
		} else {
			q.Prompts = f.Required(m, "prompt")
			if q.Prompts != nil {
				q.Prompts[0].Tokens += m.Options.Tokenizer.Count(f.Text("system")) + readImages(f)
			}
		}
		o := f.Object("options")
		if n, ok := o.Integer("num_predict"); ok && n > 0 { // less means no limit
			q.MaxTokens = n
		}
		q.Seed = o.Seed("seed")
		f.Err = o.Err
		m.Admit(f, q)
	})
	return q, refusal
}

// ollamaMessages reads the messages, which form one prompt.
func ollamaMessages(m *api.Model, f *api.Fields) []api.Prompt {
	v, ok := f.Get("messages")
	if !ok || v.Type() != fastjson.TypeArray || len(v.GetArray()) == 0 {
		f.Fail("messages", "non-empty list")
		return nil
	}
	var p api.Prompt
	for _, message := range v.GetArray() {
		if message.Type() != fastjson.TypeObject {
			f.Fail("messages", "list of messages")
			return nil
		}
		if content := message.Get("content"); content != nil && content.Type() != fastjson.TypeString {
			f.Fail("messages.content", "string")
		}
		api.ReadMessage(m, f, message, &p)
		msg := &api.Fields{Value: message, Err: f.Err}
		p.Tokens += readImages(msg)
		f.Err = msg.Err
	}
	return []api.Prompt{p}
}

// readImages checks that images are a list of base64 strings and returns their number
// of tokens.
func readImages(f *api.Fields) int {
	v, ok := f.Get("images")
	if !ok {
		return 0
	}
	if v.Type() != fastjson.TypeArray {
		f.Fail("images", "list of base64 strings")
		return 0
	}
	for _, image := range v.GetArray() {
		text := image.GetStringBytes()
		n, err := base64.StdEncoding.Decode(make([]byte, base64.StdEncoding.DecodedLen(len(text))), text)
		if err != nil || n == 0 {
			f.Fail("images", "list of base64 strings")
		}
	}
	return api.MediaTokens * len(v.GetArray())
}

func (p *ollama) Reasons() bool { return true }

func (*ollama) Refusal(dst []byte, e *apierror.Error) []byte {
	return api.AppendSimpleError(dst, e.Message)
}

func (p *ollama) Document(dst []byte, x *api.Answer) ([]byte, string) {
	c := &x.Choices[0]
	dst = p.open(dst, x)
	if p.chat {
		dst = append(dst, `"message":{"role":"assistant",`...)
	}
	dst = p.appendAnswer(dst, c, c.Reasoning, c.Total)
	if c.Reasoning > 0 {
		dst = api.AppendText(append(dst, `,"thinking":`...), c, 0, c.Reasoning)
	}
	if p.chat {
		dst = append(dst, '}')
	}
	return appendOllamaDone(dst, x, c, c.Total), "application/json; charset=utf-8"
}

// open opens an object.
func (*ollama) open(dst []byte, x *api.Answer) []byte {
	dst = jsonappend.String(append(dst, `{"model":`...), x.Request.Model)
	dst = append(dst, `,"created_at":"`...)
	dst = time.Unix(0, x.Now()).UTC().AppendFormat(dst, time.RFC3339Nano)
	return append(dst, `",`...)
}

// appendAnswer appends the member with the text of the answer, without reasoning.
func (p *ollama) appendAnswer(dst []byte, c *api.Choice, from, to int) []byte {
	name := `"response":`
	if p.chat {
		name = `"content":`
	}
	return api.AppendText(append(dst, name...), c, from, to)
}

// appendOllamaDone appends the members that end an answer, after sent tokens.
func appendOllamaDone(dst []byte, x *api.Answer, c *api.Choice, sent int) []byte {
	dst = append(dst, `,"done":true`...)
	if x.Options.FinishChunk != options.FinishMissing {
		dst = jsonappend.String(append(dst, `,"done_reason":`...), c.Finish)
	}
	now := x.Now()
	first := min(x.FirstNs, now)
	for _, part := range []struct {
		name string
		n    int64
	}{
		{"total_duration", now - x.Truth.AcceptNs}, {"load_duration", x.Truth.BodyReadNs - x.Truth.AcceptNs},
		{"prompt_eval_count", int64(x.Truth.PromptTokens)}, {"prompt_eval_duration", first - x.Truth.BodyReadNs},
		{"eval_count", int64(sent)}, {"eval_duration", now - first},
	} {
		dst = append(dst, `,"`...)
		dst = append(dst, part.name...)
		dst = append(dst, `":`...)
		dst = strconv.AppendInt(dst, part.n, 10)
	}
	return append(dst, '}')
}

func (p *ollama) Script() *api.Script { return &p.streams }

func (p *ollama) content(e *api.Events, c *api.Choice, from, to int, _ bool) error {
	isThought := from < c.Reasoning
	e.B = p.open(e.B, e.Answer)
	if p.chat {
		e.B = append(e.B, `"message":{"role":"assistant",`...)
	}
	if isThought {
		e.B = p.appendAnswer(e.B, c, 0, 0)
		e.B = api.AppendText(append(e.B, `,"thinking":`...), c, from, to)
	} else {
		e.B = p.appendAnswer(e.B, c, from, to)
	}
	if p.chat {
		e.B = append(e.B, '}')
	}
	e.B = append(e.B, `,"done":false}`...)
	return e.End(true)
}

// close adds the line that ends the answer.
func (p *ollama) close(e *api.Events) error {
	c := &e.Answer.Choices[0]
	e.B = p.open(e.B, e.Answer)
	if p.chat {
		e.B = append(e.B, `"message":{"role":"assistant",`...)
	}
	e.B = p.appendAnswer(e.B, c, 0, 0)
	if p.chat {
		e.B = append(e.B, '}')
	}
	e.B = appendOllamaDone(e.B, e.Answer, c, e.Answer.Truth.OutputTokens)
	return e.End(false)
}

func (*ollama) fail(e *api.Events, failure *apierror.Error) error {
	e.B = api.AppendSimpleError(e.B, failure.Message)
	return e.End(false)
}

// ServeOllamaModels handles GET /api/tags and /api/ps.
func ServeOllamaModels(m *api.Model, w http.ResponseWriter, _ *http.Request) {
	dst := []byte(`{"models":[`)
	for i, name := range m.Models() {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = jsonappend.String(append(dst, `{"name":`...), name)
		dst = jsonappend.String(append(dst, `,"model":`...), name)
		dst = append(dst, `,"size":0,"details":{"format":"mock"}}`...)
	}
	_ = apierror.WriteJSON(w, http.StatusOK, append(dst, "]}"...))
}
