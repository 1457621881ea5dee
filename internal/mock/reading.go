package mock

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/valyala/fastjson"

	"aiperfd/internal/mock/apierror"
	"aiperfd/internal/mock/jsonappend"
	"aiperfd/internal/mock/seed"
)

// maxInputs bounds the texts of one request, as OpenAI does.
const maxInputs = 2048

// reading is the protocol of an API that reads texts and generates none: its answer
// is one document, ready before it is due. T is what the request comes to.
type reading[T any] struct {
	// accept reads the members of a request. It returns what the answer is made of,
	// and what the model reads, each by itself; nothing is possible.
	accept func(m *model, f *fields) (T, []prompt)
	// answer appends the document. It is not to keep items beyond x.items.
	answer func(dst []byte, x *answer, in T) []byte
	// refuse appends an error; nil = in vLLM's shape.
	refuse func(dst []byte, e *apierror.Error) []byte
	// apart requests are answered without the model.
	apart bool
}

var _ protocol = reading[int]{}

func (p reading[T]) read(m *model, _ *http.Request, body []byte) (*textRequest, *apierror.Error) {
	q := &textRequest{n: 1, silent: true, apart: p.apart}
	refusal := m.parseJSON(body, func(f *fields) {
		q.model = f.text("model")
		q.payload, q.prompts = p.accept(m, f)
		if len(q.prompts) > maxInputs && f.err == nil {
			f.err = apierror.BadRequest("input", fmt.Sprintf("at most %d texts are possible, got %d.", maxInputs, len(q.prompts)))
		}
		if f.err != nil {
			return
		}
		if len(q.prompts) == 0 {
			q.prompts = make([]prompt, 1)
		}
		f.err = m.checkRequest(q)
	})
	return q, refusal
}

func (reading[T]) reasons() bool { return false }

func (reading[T]) script() *script { return nil }

func (p reading[T]) document(dst []byte, x *answer) ([]byte, string) {
	in, _ := x.q.payload.(T)
	return p.answer(dst, x, in), "application/json"
}

func (p reading[T]) refusal(dst []byte, e *apierror.Error) []byte {
	if p.refuse == nil {
		return apierror.Append(dst, e)
	}
	return p.refuse(dst, e)
}

// read returns texts as what a model reads.
func (m *model) read(texts []string) []prompt {
	prompts := make([]prompt, len(texts))
	for i, text := range texts {
		prompts[i].tokens = m.opt.Tokenizer.Count(text)
	}
	return prompts
}

// appendListHead opens a list object as vLLM writes it, up to and including the
// bracket of data.
func (x *answer) appendListHead(dst []byte, prefix string) []byte {
	dst = append(dst, `{"id":`...)
	dst = jsonappend.String(dst, prefix+x.requestID())
	dst = append(dst, `,"object":"list","created":`...)
	dst = strconv.AppendInt(dst, x.truth.AcceptNs/int64(time.Second), 10)
	dst = append(dst, `,"model":`...)
	dst = jsonappend.String(dst, x.q.model)
	return append(dst, `,"data":[`...)
}

// appendListEnd closes a list object, with its usage.
func (x *answer) appendListEnd(dst []byte) []byte {
	dst = append(dst, ']')
	if x.opt.Usage != UsageNever {
		dst = x.appendInputUsage(append(dst, ','))
		dst = append(dst[:len(dst)-1], `,"completion_tokens":0,"prompt_tokens_details":null}`...)
	}
	return append(dst, '}')
}

// appendInputUsage appends the member "usage" of an API without output.
func (x *answer) appendInputUsage(dst []byte) []byte {
	dst = append(dst, `"usage":{"prompt_tokens":`...)
	dst = strconv.AppendInt(dst, int64(x.truth.PromptTokens), 10)
	dst = append(dst, `,"total_tokens":`...)
	dst = strconv.AppendInt(dst, int64(x.truth.PromptTokens), 10)
	return append(dst, '}')
}

// oneOf reads the first of several members that the request has; "" if it has none.
func (f *fields) oneOf(names ...string) string {
	for _, name := range names {
		if _, ok := f.get(name); ok {
			return name
		}
	}
	return ""
}

// texts reads a member that is a text or a list of texts; list tells which. A text
// may be an object around one: {"text": …}, or {"content": parts}, whose media
// become words of their own.
func (f *fields) texts(name string) (texts []string, list bool) {
	v, ok := f.get(name)
	if !ok {
		f.fail(name, "string or list")
		return nil, false
	}
	if v.Type() != fastjson.TypeArray {
		text, ok := textOf(v)
		if !ok {
			f.fail(name, "string or list of strings")
		}
		return []string{text}, false
	}
	items := v.GetArray()
	texts = make([]string, len(items))
	for i, item := range items {
		if texts[i], ok = textOf(item); !ok {
			f.fail(name, "string or list of strings")
		}
	}
	return texts, true
}

// textOf returns the text that v is, or holds; a list of token ids stands for
// itself.
func textOf(v *fastjson.Value) (string, bool) {
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
				return textOf(inner)
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
		text, ok := textOf(item)
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

// mediaWord is the word that stands for an image, an audio clip or a video.
func mediaWord(v *fastjson.Value) string {
	return fmt.Sprintf("media%08x", seed.Hash(0, v.MarshalTo(nil)))
}

// inputs reads what embeddings are made of: input, or the messages of a chat, which
// are one text.
func inputs(m *model, f *fields) ([]string, []prompt) {
	if _, ok := f.get("messages"); ok {
		read := (chatDialect{}).prompts(m, f)
		if f.err != nil {
			return nil, nil
		}
		text, ok := joined(contents(f.v.GetArray("messages")))
		if !ok {
			f.fail("messages", "list of messages with text")
		}
		return []string{text}, read
	}
	var texts []string
	if v, _ := f.get("input"); v != nil && isTokens(v) { // one text
		text, ok := joined(v.GetArray())
		if !ok {
			f.fail("input", "list of token ids")
		}
		texts = []string{text}
	} else {
		texts, _ = f.texts("input")
	}
	if len(texts) == 0 && f.err == nil {
		f.err = apierror.BadRequest("input", "input should have at least 1 item.")
	}
	return texts, m.read(texts)
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
