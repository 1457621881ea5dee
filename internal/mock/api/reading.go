package api

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/valyala/fastjson"

	"aiperfd/internal/mock/options"
	"aiperfd/internal/mock/random"
)

// MaxInputs is the maximum number of texts of a request, which is that of OpenAI.
const MaxInputs = 2048

// Reading describes an API that reads texts and generates none. The answer is one document,
// which is computed before it is due. T is the content of the answer.
type Reading[T any] struct {
	// Accept reads the members of a request. It returns the content of the answer, and
	// the inputs of the model, of which there may be none.
	Accept func(m *Model, f *Fields) (T, []Prompt)
	// Answer returns the document, with as many items as x.Items allows.
	Answer func(x *Answer, in T) any
	// Refuse appends an error; nil = in vLLM's shape.
	Refuse func(dst []byte, e *Error) []byte
	// NoModel means that requests are answered without the model.
	NoModel bool
}

// Protocol returns the protocol of the API.
func (p Reading[T]) Protocol() *Protocol {
	return &Protocol{
		Read: ReadJSON(func(m *Model, _ *http.Request, f *Fields, q *Request) {
			q.NoOutput, q.NoModel, q.Model = true, p.NoModel, f.Text("model")
			q.Payload, q.Prompts = p.Accept(m, f)
			if n := len(q.Prompts); n > MaxInputs {
				f.Refuse("input", fmt.Sprintf("at most %d texts are possible, got %d.", MaxInputs, n))
			}
			if len(q.Prompts) == 0 {
				q.Prompts = make([]Prompt, 1)
			}
		}),
		Document: func(dst []byte, x *Answer) ([]byte, string) {
			return AppendJSON(dst, p.Answer(x, PayloadOf[T](x))), JSON
		},
		Refuse: p.Refuse,
	}
}

// List is a list of items in vLLM's form.
type List[T any] struct {
	ID      string     `json:"id"`
	Object  string     `json:"object"`
	Created int64      `json:"created"`
	Model   string     `json:"model"`
	Data    []T        `json:"data"`
	Usage   *ListUsage `json:"usage,omitempty"`
}

// ListUsage is the usage of a list.
type ListUsage struct {
	InputUsage
	CompletionTokens int  `json:"completion_tokens"`
	Details          *int `json:"prompt_tokens_details"` // always null
}

// InputUsage is the usage of an API without output.
type InputUsage struct {
	PromptTokens int `json:"prompt_tokens"`
	TotalTokens  int `json:"total_tokens"`
}

// NewList returns the list of n items of an answer.
func NewList[T any](x *Answer, idPrefix string, n int, item func(i int) T) *List[T] {
	list := &List[T]{
		ID: idPrefix + x.RequestID(), Object: "list", Created: x.Created(), Model: x.Request.Model, Data: Items(x, n, item),
	}
	if usage := x.InputUsage(); usage != nil {
		list.Usage = &ListUsage{InputUsage: *usage}
	}
	return list
}

// Items returns n items, or as many as x.Items allows.
func Items[T any](x *Answer, n int, item func(i int) T) []T {
	items := make([]T, x.Items(n))
	for i := range items {
		items[i] = item(i)
	}
	return items
}

// InputUsage returns the usage of an API without output, or nil if the options omit it.
func (x *Answer) InputUsage() *InputUsage {
	if x.Options.Usage == options.UsageNever {
		return nil
	}
	return &InputUsage{x.Truth.PromptTokens, x.Truth.PromptTokens}
}

// Created returns the second in which the request arrived.
func (x *Answer) Created() int64 { return x.Truth.AcceptNs / int64(time.Second) }

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
	return fmt.Sprintf("media%08x", random.Hash(0, v.MarshalTo(nil)))
}

// Inputs reads the inputs of embeddings: the member input, or the messages of a chat,
// which are one text.
func Inputs(m *Model, f *Fields) ([]string, []Prompt) {
	if _, ok := f.Get("messages"); ok {
		read := ChatPrompts(m, f)
		if f.Failed() {
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
	if len(texts) == 0 {
		f.Refuse("input", "input should have at least 1 item.")
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
