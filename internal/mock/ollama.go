package mock

import (
	"encoding/base64"
	"net/http"
	"strconv"
	"time"

	"github.com/valyala/fastjson"

	"aiperfd/internal/mock/apierror"
	"aiperfd/internal/mock/jsonappend"
)

// ollama is one of Ollama's two APIs for text.
type ollama struct {
	chat    bool
	streams script
}

var _ protocol = (*ollama)(nil)

// newOllama returns the protocol of /api/chat, or else of /api/generate.
func newOllama(chat bool) *ollama {
	p := &ollama{chat: chat}
	p.streams = script{
		contentType: "application/x-ndjson", lines: true,
		content: p.content, close: p.close, fail: p.fail,
	}
	return p
}

func (p *ollama) read(m *model, _ *http.Request, body []byte) (*textRequest, *apierror.Error) {
	q := &textRequest{}
	refusal := m.parseJSON(body, func(f *fields) {
		q.model, q.stream = f.text("model"), true
		if q.model == "" && f.err == nil {
			f.err = apierror.BadRequest("model", "model is required")
		}
		if _, ok := f.get("stream"); ok {
			q.stream = f.boolean("stream")
		}
		if p.chat {
			q.prompts = ollamaMessages(m, f)
		} else {
			q.prompts = f.required(m, "prompt")
			if q.prompts != nil {
				q.prompts[0].tokens += m.opt.Tokenizer.Count(f.text("system")) + readImages(f)
			}
		}
		o := f.object("options")
		if n, ok := o.integer("num_predict"); ok && n > 0 { // less means no limit
			q.maxTokens = n
		}
		q.seed = o.seed("seed")
		f.err = o.err
		m.admit(f, q)
	})
	return q, refusal
}

// ollamaMessages reads the messages: they make one prompt.
func ollamaMessages(m *model, f *fields) []prompt {
	v, ok := f.get("messages")
	if !ok || v.Type() != fastjson.TypeArray || len(v.GetArray()) == 0 {
		f.fail("messages", "non-empty list")
		return nil
	}
	var p prompt
	for _, message := range v.GetArray() {
		if message.Type() != fastjson.TypeObject {
			f.fail("messages", "list of messages")
			return nil
		}
		if content := message.Get("content"); content != nil && content.Type() != fastjson.TypeString {
			f.fail("messages.content", "string")
		}
		readMessage(m, f, message, &p)
		msg := &fields{v: message, err: f.err}
		p.tokens += readImages(msg)
		f.err = msg.err
	}
	return []prompt{p}
}

// readImages checks that images are a list of base64 texts and returns what they
// count.
func readImages(f *fields) int {
	v, ok := f.get("images")
	if !ok {
		return 0
	}
	if v.Type() != fastjson.TypeArray {
		f.fail("images", "list of base64 strings")
		return 0
	}
	for _, image := range v.GetArray() {
		text := image.GetStringBytes()
		n, err := base64.StdEncoding.Decode(make([]byte, base64.StdEncoding.DecodedLen(len(text))), text)
		if err != nil || n == 0 {
			f.fail("images", "list of base64 strings")
		}
	}
	return mediaTokens * len(v.GetArray())
}

func (p *ollama) reasons() bool { return true }

func (*ollama) refusal(dst []byte, e *apierror.Error) []byte {
	return appendSimpleError(dst, e.Message)
}

func (p *ollama) document(dst []byte, x *answer) ([]byte, string) {
	c := &x.choices[0]
	dst = p.open(dst, x)
	if p.chat {
		dst = append(dst, `"message":{"role":"assistant",`...)
	}
	dst = p.said(dst, c, c.reasoning, c.total)
	if c.reasoning > 0 {
		dst = appendText(append(dst, `,"thinking":`...), c, 0, c.reasoning)
	}
	if p.chat {
		dst = append(dst, '}')
	}
	return appendOllamaDone(dst, x, c, c.total), "application/json; charset=utf-8"
}

// open opens an object.
func (*ollama) open(dst []byte, x *answer) []byte {
	dst = jsonappend.String(append(dst, `{"model":`...), x.q.model)
	dst = append(dst, `,"created_at":"`...)
	dst = time.Unix(0, x.now()).UTC().AppendFormat(dst, time.RFC3339Nano)
	return append(dst, `",`...)
}

// said appends the member with the answer's own text.
func (p *ollama) said(dst []byte, c *choice, from, to int) []byte {
	name := `"response":`
	if p.chat {
		name = `"content":`
	}
	return appendText(append(dst, name...), c, from, to)
}

// appendOllamaDone appends what an answer ends with, after sent tokens.
func appendOllamaDone(dst []byte, x *answer, c *choice, sent int) []byte {
	dst = append(dst, `,"done":true`...)
	if x.opt.FinishChunk != FinishMissing {
		dst = jsonappend.String(append(dst, `,"done_reason":`...), c.finish)
	}
	now := x.now()
	first := min(x.firstNs, now)
	for _, part := range []struct {
		name string
		n    int64
	}{
		{"total_duration", now - x.truth.AcceptNs}, {"load_duration", x.truth.BodyReadNs - x.truth.AcceptNs},
		{"prompt_eval_count", int64(x.truth.PromptTokens)}, {"prompt_eval_duration", first - x.truth.BodyReadNs},
		{"eval_count", int64(sent)}, {"eval_duration", now - first},
	} {
		dst = append(dst, `,"`...)
		dst = append(dst, part.name...)
		dst = append(dst, `":`...)
		dst = strconv.AppendInt(dst, part.n, 10)
	}
	return append(dst, '}')
}

func (p *ollama) script() *script { return &p.streams }

func (p *ollama) content(e *events, c *choice, from, to int, _ bool) error {
	isThought := from < c.reasoning
	e.b = p.open(e.b, e.x)
	if p.chat {
		e.b = append(e.b, `"message":{"role":"assistant",`...)
	}
	if isThought {
		e.b = p.said(e.b, c, 0, 0)
		e.b = appendText(append(e.b, `,"thinking":`...), c, from, to)
	} else {
		e.b = p.said(e.b, c, from, to)
	}
	if p.chat {
		e.b = append(e.b, '}')
	}
	e.b = append(e.b, `,"done":false}`...)
	return e.end(true)
}

// close adds the line that ends the answer.
func (p *ollama) close(e *events) error {
	c := &e.x.choices[0]
	e.b = p.open(e.b, e.x)
	if p.chat {
		e.b = append(e.b, `"message":{"role":"assistant",`...)
	}
	e.b = p.said(e.b, c, 0, 0)
	if p.chat {
		e.b = append(e.b, '}')
	}
	e.b = appendOllamaDone(e.b, e.x, c, e.x.truth.OutputTokens)
	return e.end(false)
}

func (*ollama) fail(e *events, apology *apierror.Error) error {
	e.b = appendSimpleError(e.b, apology.Message)
	return e.end(false)
}

// serveOllamaModels answers GET /api/tags and /api/ps.
func serveOllamaModels(m *model, w http.ResponseWriter, _ *http.Request) {
	dst := []byte(`{"models":[`)
	for i, name := range m.models() {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = jsonappend.String(append(dst, `{"name":`...), name)
		dst = jsonappend.String(append(dst, `,"model":`...), name)
		dst = append(dst, `,"size":0,"details":{"format":"mock"}}`...)
	}
	_ = apierror.WriteJSON(w, http.StatusOK, append(dst, "]}"...))
}
