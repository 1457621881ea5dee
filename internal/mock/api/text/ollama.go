package text

import (
	"encoding/base64"
	"net/http"
	"time"

	"github.com/valyala/fastjson"

	"aiperfd/internal/mock/api"
	"aiperfd/internal/mock/options"
)

// ollama is one of Ollama's two APIs for text.
type ollama struct{ chat bool }

// NewOllama returns the protocol of /api/chat, or else of /api/generate.
func NewOllama(chat bool) *api.Protocol {
	p := ollama{chat}
	return &api.Protocol{
		Read: api.ReadJSON(p.read), Document: p.document, Refuse: api.SimpleError, Reasons: true,
		Script: &api.Script{
			ContentType: "application/x-ndjson", Lines: true,
			Content: p.content, Close: p.close, Fail: failWith("", api.SimpleError),
		},
	}
}

// failWith returns the function Fail of a script whose only event is an error.
func failWith(prefix string, refuse func([]byte, *api.Error) []byte) func(*api.Events, *api.Error) {
	return func(e *api.Events, failure *api.Error) {
		e.B = refuse(append(e.B, prefix...), failure)
		e.End(false)
	}
}

func (p ollama) read(m *api.Model, _ *http.Request, f *api.Fields, q *api.Request) {
	q.Model, q.Stream = f.Text("model"), f.Boolean("stream", true)
	if q.Model == "" {
		f.Refuse("model", "model is required")
	}
	if p.chat {
		q.Prompts = ollamaMessages(m, f)
	} else {
		more := m.Options.Tokenizer.Count(f.Text("system")) + readImages(f)
		if q.Prompts = api.RequiredPrompt(m, f, "prompt"); q.Prompts != nil {
			q.Prompts[0].Tokens += more
		}
	}
	o := f.Object("options")
	if n, ok := o.Integer("num_predict"); ok && n > 0 { // less means no limit
		q.MaxTokens = n
	}
	q.Seed = o.Seed("seed")
}

// ollamaMessages reads the messages, which form one prompt.
func ollamaMessages(m *api.Model, f *api.Fields) []api.Prompt {
	var p api.Prompt
	for _, message := range f.List("messages", "non-empty list") {
		if message.Type() != fastjson.TypeObject {
			f.Fail("messages", "list of messages")
			return nil
		}
		if content := message.Get("content"); content != nil && content.Type() != fastjson.TypeString {
			f.Fail("messages.content", "string")
		}
		api.ReadMessage(m, f, message, &p)
		p.Tokens += readImages(f.In(message))
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

// ollamaAnswer is a line of a stream, or the whole answer.
type ollamaAnswer struct {
	Model     string         `json:"model"`
	CreatedAt time.Time      `json:"created_at"`
	Message   *ollamaMessage `json:"message,omitempty"` // of a chat
	Response  *string        `json:"response,omitempty"`
	Thinking  string         `json:"thinking,omitempty"`
	Done      bool           `json:"done"`
	*ollamaEnd
}

type ollamaMessage struct {
	Role     string `json:"role"`
	Content  string `json:"content"`
	Thinking string `json:"thinking,omitempty"`
}

// ollamaEnd has the members of the end of an answer, with durations in nanoseconds.
type ollamaEnd struct {
	Reason             string `json:"done_reason,omitempty"`
	TotalDuration      int64  `json:"total_duration"`
	LoadDuration       int64  `json:"load_duration"`
	PromptEvalCount    int    `json:"prompt_eval_count"`
	PromptEvalDuration int64  `json:"prompt_eval_duration"`
	EvalCount          int    `json:"eval_count"`
	EvalDuration       int64  `json:"eval_duration"`
}

func (p ollama) answer(x *api.Answer, text, thinking string) *ollamaAnswer {
	a := &ollamaAnswer{Model: x.Request.Model, CreatedAt: time.Unix(0, x.Now()).UTC()}
	if p.chat {
		a.Message = &ollamaMessage{Role: "assistant", Content: text, Thinking: thinking}
	} else {
		a.Response, a.Thinking = &text, thinking
	}
	return a
}

// finished returns the end of an answer, after sent tokens.
func (p ollama) finished(x *api.Answer, text, thinking string, sent int) *ollamaAnswer {
	a := p.answer(x, text, thinking)
	now := x.Now()
	first := min(x.FirstNs, now)
	a.Done = true
	a.ollamaEnd = &ollamaEnd{
		TotalDuration: now - x.Truth.AcceptNs, LoadDuration: x.Truth.BodyReadNs - x.Truth.AcceptNs,
		PromptEvalCount: x.Truth.PromptTokens, PromptEvalDuration: first - x.Truth.BodyReadNs,
		EvalCount: sent, EvalDuration: now - first,
	}
	if x.Options.FinishChunk != options.FinishMissing {
		a.Reason = x.Choices[0].Finish
	}
	return a
}

func (p ollama) document(dst []byte, x *api.Answer) ([]byte, string) {
	c := &x.Choices[0]
	whole := p.finished(x, c.Text(c.Reasoning, c.Total), c.Text(0, c.Reasoning), c.Total)
	return api.AppendJSON(dst, whole), "application/json; charset=utf-8"
}

func (p ollama) content(e *api.Events, c *api.Choice, from, to int, _ bool) {
	text, thinking := c.Text(from, to), ""
	if from < c.Reasoning {
		text, thinking = "", text
	}
	e.JSON("", p.answer(e.Answer, text, thinking), true)
}

// close adds the line that ends the answer.
func (p ollama) close(e *api.Events) {
	e.JSON("", p.finished(e.Answer, "", "", e.Answer.Truth.OutputTokens), false)
}

// ServeOllamaModels handles GET /api/tags and /api/ps.
func ServeOllamaModels(m *api.Model, w http.ResponseWriter, _ *http.Request) {
	type details struct {
		Format string `json:"format"`
	}
	type model struct {
		Name    string  `json:"name"`
		Model   string  `json:"model"`
		Size    int     `json:"size"`
		Details details `json:"details"`
	}
	var models []model
	for _, name := range m.Models() {
		models = append(models, model{Name: name, Model: name, Details: details{"mock"}})
	}
	api.OK(w, map[string]any{"models": models})
}
