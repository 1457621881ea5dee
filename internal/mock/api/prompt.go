package api

import (
	"encoding/binary"
	"strings"

	"github.com/valyala/fastjson"

	"aiperfd/internal/mock/options"
	"aiperfd/internal/mock/random"
	"aiperfd/internal/mock/token"
)

// ChatPrompts reads the messages, which form one prompt.
func ChatPrompts(m *Model, f *Fields) []Prompt {
	v, ok := f.Get("messages")
	if !ok || v.Type() != fastjson.TypeArray {
		f.Fail("messages", "list")
		return nil
	}
	messages := v.GetArray()
	if len(messages) == 0 {
		f.Refuse("messages", "messages should have at least 1 item.")
	}
	var p Prompt
	for _, message := range messages {
		if message.Type() != fastjson.TypeObject {
			f.Fail("messages", "list of messages")
			return nil
		}
		ReadMessage(m, f, message, &p)
	}
	return []Prompt{p}
}

// ReadMessage adds one message to p.
func ReadMessage(m *Model, f *Fields, message *fastjson.Value, p *Prompt) {
	msg := f.In(message)
	role := msg.Text("role")
	if role == "" {
		msg.Fail("messages.role", "string")
	}
	p.Hash = random.Hash(p.Hash, []byte(role))
	p.role = role
	content, ok := msg.Get("content")
	if !ok {
		return
	}
	var echo strings.Builder
	switch content.Type() {
	case fastjson.TypeString:
		ReadText(m, content.GetStringBytes(), p, &echo)
	case fastjson.TypeArray:
		for _, part := range content.GetArray() {
			ReadPart(m, msg, part, p, &echo)
		}
	case fastjson.TypeNull, fastjson.TypeObject, fastjson.TypeNumber, fastjson.TypeTrue, fastjson.TypeFalse:
		msg.Fail("messages.content", "string or list of parts")
	}
	if m.Options.Content == options.ContentEcho && role == "user" {
		p.Echo = echo.String()
	}
}

// ReadText adds a text to p. It is also written to echo if the answer is to repeat it.
func ReadText(m *Model, b []byte, p *Prompt, echo *strings.Builder) {
	p.Hash = random.Hash(p.Hash, b)
	text := string(b)
	if m.Options.Accelerator != nil {
		from := len(p.ids)
		p.ids = append(p.ids, m.Options.Tokenizer.Identify(text)...)
		for i := from; i < len(p.ids); i++ {
			p.ids[i] = ofRole(p.role, p.ids[i])
		}
		p.Tokens += len(p.ids) - from
	} else {
		p.Tokens += m.Options.Tokenizer.Count(text)
	}
	if m.Options.Content == options.ContentEcho {
		echo.WriteString(text)
	}
}

// ReadPart adds one element of a list content.
func ReadPart(m *Model, msg *Fields, part *fastjson.Value, p *Prompt, echo *strings.Builder) {
	kind := string(part.GetStringBytes("type"))
	switch kind {
	case "text", "input_text", "output_text", "refusal", "thinking":
		key := "text"
		if kind == "refusal" || kind == "thinking" {
			key = kind
		}
		v := part.Get(key)
		if v == nil || v.Type() != fastjson.TypeString {
			msg.Fail("messages.content."+key, "string")
			return
		}
		ReadText(m, v.GetStringBytes(), p, echo)
	case "image_url", "input_image", "image", "input_audio", "audio_url", "video_url", "video", "file", "input_file":
		p.addMedia(m, part.MarshalTo(nil))
	default:
		msg.Refuse("messages", "Unknown part type: "+Shorten(kind))
	}
}

// addMedia counts an image, an audio clip or a video.
func (p *Prompt) addMedia(m *Model, data []byte) {
	p.Hash = random.Hash(p.Hash, data)
	p.Tokens += MediaTokens
	if m.Options.Accelerator == nil {
		return
	}
	own := random.Hash(0, data)
	for i := range MediaTokens {
		p.ids = append(p.ids, uint32(random.Mix(uint64(own), uint64(i))))
	}
}

// CompletionPrompts reads a string, a list of strings, a list of token ids or a list of
// such lists. Texts get the special tokens of the tokenizer, as with vLLM.
func CompletionPrompts(m *Model, f *Fields) []Prompt {
	v, ok := f.Get("prompt")
	if !ok {
		f.Fail("prompt", "string or list")
		return nil
	}
	special := f.Boolean("add_special_tokens", true)
	if v.Type() == fastjson.TypeString {
		return []Prompt{framedPrompt(m, v.GetStringBytes(), special)}
	}
	list, err := v.Array()
	if err != nil || len(list) == 0 {
		f.Fail("prompt", "string or non-empty list")
		return nil
	}
	if list[0].Type() == fastjson.TypeNumber {
		return []Prompt{TokenPrompt(f, list)}
	}
	prompts := make([]Prompt, 0, len(list))
	for _, e := range list {
		if e.Type() == fastjson.TypeString {
			prompts = append(prompts, framedPrompt(m, e.GetStringBytes(), special))
			continue
		}
		ids, err := e.Array()
		if err != nil || len(ids) == 0 {
			f.Fail("prompt", "list of strings or of token id lists")
			return nil
		}
		prompts = append(prompts, TokenPrompt(f, ids))
	}
	return prompts
}

// TextPrompt returns a prompt that consists of a text.
func TextPrompt(m *Model, b []byte) Prompt {
	var p Prompt
	var echo strings.Builder
	ReadText(m, b, &p, &echo)
	p.Echo = echo.String()
	return p
}

// framedPrompt returns a prompt that consists of a text, with the special tokens of the
// tokenizer around it if special is set.
func framedPrompt(m *Model, b []byte, special bool) Prompt {
	p := TextPrompt(m, b)
	before, after := token.Framing(m.Options.Tokenizer)
	if !special || len(before)+len(after) == 0 {
		return p
	}
	p.Tokens += len(before) + len(after)
	if m.Options.Accelerator != nil {
		ids := make([]uint32, 0, p.Tokens)
		for _, id := range before {
			ids = append(ids, uint32(id))
		}
		ids = append(ids, p.ids...)
		for _, id := range after {
			ids = append(ids, uint32(id))
		}
		p.ids = ids
	}
	return p
}

// RequiredPrompt reads a required text as the only prompt; nil if it is not there.
func RequiredPrompt(m *Model, f *Fields, name string) []Prompt {
	v, ok := f.Get(name)
	if !ok || v.Type() != fastjson.TypeString {
		f.Fail(name, "string")
		return nil
	}
	return []Prompt{TextPrompt(m, v.GetStringBytes())}
}

// TokenPrompt returns a prompt of token ids, which cannot be echoed as text.
func TokenPrompt(f *Fields, ids []*fastjson.Value) Prompt {
	p := Prompt{Tokens: len(ids)}
	var b [8]byte
	for _, v := range ids {
		id, err := v.Int64()
		if err != nil || id < 0 {
			f.Fail("prompt", "list of token ids")
			return p
		}
		binary.LittleEndian.PutUint64(b[:], uint64(id))
		p.Hash = random.Hash(p.Hash, b[:])
		p.ids = append(p.ids, uint32(id))
	}
	return p
}
