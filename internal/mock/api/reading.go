package api

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/valyala/fastjson"

	"aiperfd/internal/mock/apierror"
	"aiperfd/internal/mock/jsonappend"
	"aiperfd/internal/mock/options"
	"aiperfd/internal/mock/seed"
)

// MaxInputs is the maximum number of texts of a request, which is that of OpenAI.
const MaxInputs = 2048

// Reading is the protocol of an API that reads texts and generates none. The answer is
// one document, which is computed before it is due. T is the content of the answer.
type Reading[T any] struct {
	// Accept reads the members of a request. It returns the content of the answer, and
	// the inputs of the model, of which there may be none.
	Accept func(m *Model, f *Fields) (T, []Prompt)
	// Answer appends the document, with as many items as x.Items allows.
	Answer func(dst []byte, x *Answer, in T) []byte
	// Refuse appends an error; nil = in vLLM's shape.
	Refuse func(dst []byte, e *apierror.Error) []byte
	// NoModel means that requests are answered without the model.
	NoModel bool
}

var _ Protocol = Reading[int]{}

// Read implements Protocol.
func (p Reading[T]) Read(m *Model, _ *http.Request, body []byte) (*Request, *apierror.Error) {
	q := &Request{N: 1, NoOutput: true, NoModel: p.NoModel}
	refusal := m.ParseJSON(body, func(f *Fields) {
		q.Model = f.Text("model")
		q.Payload, q.Prompts = p.Accept(m, f)
		if len(q.Prompts) > MaxInputs && f.Err == nil {
			f.Err = apierror.BadRequest("input", fmt.Sprintf("at most %d texts are possible, got %d.", MaxInputs, len(q.Prompts)))
		}
		if f.Err != nil {
			return
		}
		if len(q.Prompts) == 0 {
			q.Prompts = make([]Prompt, 1)
		}
		f.Err = m.CheckRequest(q)
	})
	return q, refusal
}

// Reasons implements Protocol.
func (Reading[T]) Reasons() bool { return false }

// Script implements Protocol.
func (Reading[T]) Script() *Script { return nil }

// Document implements Protocol.
func (p Reading[T]) Document(dst []byte, x *Answer) ([]byte, string) {
	in, _ := x.Request.Payload.(T)
	return p.Answer(dst, x, in), "application/json"
}

// Refusal implements Protocol.
func (p Reading[T]) Refusal(dst []byte, e *apierror.Error) []byte {
	if p.Refuse == nil {
		return apierror.Append(dst, e)
	}
	return p.Refuse(dst, e)
}

// AppendListHead appends the beginning of a list object in vLLM's form, up to and
// including the bracket of data.
func (x *Answer) AppendListHead(dst []byte, prefix string) []byte {
	dst = append(dst, `{"id":`...)
	dst = jsonappend.String(dst, prefix+x.RequestID())
	dst = append(dst, `,"object":"list","created":`...)
	dst = strconv.AppendInt(dst, x.Truth.AcceptNs/int64(time.Second), 10)
	dst = append(dst, `,"model":`...)
	dst = jsonappend.String(dst, x.Request.Model)
	return append(dst, `,"data":[`...)
}

// AppendListEnd appends the end of a list object, with its usage.
func (x *Answer) AppendListEnd(dst []byte) []byte {
	dst = append(dst, ']')
	if x.Options.Usage != options.UsageNever {
		dst = x.AppendInputUsage(append(dst, ','))
		dst = append(dst[:len(dst)-1], `,"completion_tokens":0,"prompt_tokens_details":null}`...)
	}
	return append(dst, '}')
}

// AppendInputUsage appends the member "usage" of an API without output.
func (x *Answer) AppendInputUsage(dst []byte) []byte {
	dst = append(dst, `"usage":{"prompt_tokens":`...)
	dst = strconv.AppendInt(dst, int64(x.Truth.PromptTokens), 10)
	dst = append(dst, `,"total_tokens":`...)
	dst = strconv.AppendInt(dst, int64(x.Truth.PromptTokens), 10)
	return append(dst, '}')
}

// OneOf reads the first of several members that is present; "" if none is.
func (f *Fields) OneOf(names ...string) string {
	for _, name := range names {
		if _, ok := f.Get(name); ok {
			return name
		}
	}
	return ""
}

// Texts reads a member that is a text or a list of texts; list reports which. A text may
// be wrapped in an object: {"text": …}, or {"content": parts}, whose media become
// separate words.
func (f *Fields) Texts(name string) (texts []string, list bool) {
	v, ok := f.Get(name)
	if !ok {
		f.Fail(name, "string or list")
		return nil, false
	}
	if v.Type() != fastjson.TypeArray {
		text, ok := TextOf(v)
		if !ok {
			f.Fail(name, "string or list of strings")
		}
		return []string{text}, false
	}
	items := v.GetArray()
	texts = make([]string, len(items))
	for i, item := range items {
		if texts[i], ok = TextOf(item); !ok {
			f.Fail(name, "string or list of strings")
		}
	}
	return texts, true
}

// TextOf returns the text that v is or contains. Token ids become words.
func TextOf(v *fastjson.Value) (string, bool) {
	switch v.Type() {
	case fastjson.TypeString:
		return string(v.GetStringBytes()), true
	case fastjson.TypeArray:
		return joined(v.GetArray())
	case fastjson.TypeObject:
		for _, name := range [...]string{"text", "content", "image", "image_url", "input_audio", "audio_url", "video_url"} {
			inner := v.Get(name)
			switch {
			case inner == nil || inner.Type() == fastjson.TypeNull:
			case name == "text" || name == "content":
				return TextOf(inner)
			default:
				return mediaWord(inner), true
			}
		}
	case fastjson.TypeNull, fastjson.TypeTrue, fastjson.TypeFalse, fastjson.TypeNumber:
	}
	return "", false
}

func joined(items []*fastjson.Value) (string, bool) {
	var b strings.Builder
	for i, item := range items {
		text, ok := TextOf(item)
		if item.Type() == fastjson.TypeNumber {
			text, ok = "token"+item.String(), true
		}
		if !ok {
			return "", false
		}
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(text)
	}
	return b.String(), true
}

// mediaWord returns a word that represents an image, an audio clip or a video.
func mediaWord(v *fastjson.Value) string {
	return fmt.Sprintf("media%08x", seed.Hash(0, v.MarshalTo(nil)))
}

// Inputs reads the inputs of embeddings: the member input, or the messages of a chat,
// which are one text.
func Inputs(m *Model, f *Fields) ([]string, []Prompt) {
	if _, ok := f.Get("messages"); ok {
		read := ChatPrompts(m, f)
		if f.Err != nil {
			return nil, nil
		}
		text, ok := joined(contents(f.Value.GetArray("messages")))
		if !ok {
			f.Fail("messages", "list of messages with text")
		}
		return []string{text}, read
	}
	var texts []string
	if v, _ := f.Get("input"); v != nil && isTokens(v) { // one text
		text, ok := joined(v.GetArray())
		if !ok {
			f.Fail("input", "list of token ids")
		}
		texts = []string{text}
	} else {
		texts, _ = f.Texts("input")
	}
	if len(texts) == 0 && f.Err == nil {
		f.Err = apierror.BadRequest("input", "input should have at least 1 item.")
	}
	return texts, m.Read(texts)
}

func isTokens(v *fastjson.Value) bool {
	items := v.GetArray()
	return len(items) > 0 && items[0].Type() == fastjson.TypeNumber
}

// contents returns the content of each message that has one.
func contents(messages []*fastjson.Value) []*fastjson.Value {
	var all []*fastjson.Value
	for _, m := range messages {
		if c := m.Get("content"); c != nil && c.Type() != fastjson.TypeNull {
			all = append(all, c)
		}
	}
	return all
}
