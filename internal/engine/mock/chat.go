package mock

import (
	"strings"

	"github.com/valyala/fastjson"
)

// chatDialect is POST /v1/chat/completions.
type chatDialect struct{}

var _ dialect = chatDialect{}

func (chatDialect) names() (idPrefix, object, chunk string) {
	return "chatcmpl-", "chat.completion", "chat.completion.chunk"
}

func (chatDialect) hasRole() bool { return true }

func (chatDialect) hasReasoning() bool { return true }

func (chatDialect) openDelta(dst []byte, role bool, field string) []byte {
	dst = append(dst, `,"delta":{`...)
	if role {
		dst = append(dst, `"role":"assistant"`...)
		if field == "" {
			return append(dst, `,"content":"`...)
		}
		dst = append(dst, ',')
	}
	if field == "" {
		return dst
	}
	dst = append(dst, '"')
	dst = append(dst, field...)
	return append(dst, `":"`...)
}

func (chatDialect) closeDelta(dst []byte, role bool, field string) []byte {
	if role || field != "" {
		dst = append(dst, '"')
	}
	return append(dst, '}')
}

func (chatDialect) appendMessage(dst []byte, c *choice, reasoningField string) []byte {
	dst = append(dst, `,"message":{"role":"assistant"`...)
	if c.reasoning > 0 {
		dst = append(dst, `,"`...)
		dst = append(dst, reasoningField...)
		dst = append(dst, `":"`...)
		dst = c.appendTokens(dst, 0, c.reasoning)
		dst = append(dst, '"')
	}
	dst = append(dst, `,"content":`...)
	if c.total == c.reasoning && c.reasoning > 0 {
		return append(dst, `null,"refusal":null,"tool_calls":[]}`...)
	}
	dst = append(dst, '"')
	dst = c.appendTokens(dst, c.reasoning, c.total)
	return append(dst, `","refusal":null,"tool_calls":[]}`...)
}

// prompts reads the messages: they make one prompt.
func (chatDialect) prompts(s *Server, f *fields) []prompt {
	v, ok := f.get("messages")
	if !ok || v.Type() != fastjson.TypeArray {
		f.fail("messages", "list")
		return nil
	}
	messages := v.GetArray()
	if len(messages) == 0 && f.err == nil {
		f.err = badRequest("messages", "messages should have at least 1 item.")
	}
	var p prompt
	for _, m := range messages {
		if m.Type() != fastjson.TypeObject {
			f.fail("messages", "list of messages")
			return nil
		}
		readMessage(s, f, m, &p)
	}
	return []prompt{p}
}

// readMessage adds one message to p.
func readMessage(s *Server, f *fields, m *fastjson.Value, p *prompt) {
	msg := &fields{v: m, err: f.err}
	defer func() { f.err = msg.err }()
	role := msg.text("role")
	if role == "" {
		msg.fail("messages.role", "string")
	}
	p.hash = hashText(p.hash, []byte(role))
	p.role = role
	content, ok := msg.get("content")
	if !ok {
		return
	}
	var said strings.Builder
	switch content.Type() {
	case fastjson.TypeString:
		readText(s, content.GetStringBytes(), p, &said)
	case fastjson.TypeArray:
		for _, part := range content.GetArray() {
			readPart(s, msg, part, p, &said)
		}
	case fastjson.TypeNull, fastjson.TypeObject, fastjson.TypeNumber, fastjson.TypeTrue, fastjson.TypeFalse:
		msg.fail("messages.content", "string or list of parts")
	}
	if s.opt.Content == ContentEcho && role == "user" {
		p.echo = said.String()
	}
}

func readText(s *Server, b []byte, p *prompt, said *strings.Builder) {
	p.hash = hashText(p.hash, b)
	text := string(b)
	if s.opt.Accelerator != nil {
		from := len(p.ids)
		p.ids = identify(p.ids, s.opt.Tokenizer, text)
		for i := from; i < len(p.ids); i++ {
			p.ids[i] = spoken(p.role, p.ids[i])
		}
		p.tokens += len(p.ids) - from
	} else {
		p.tokens += s.opt.Tokenizer.Count(text)
	}
	if s.opt.Content == ContentEcho {
		said.WriteString(text)
	}
}

// readPart adds one element of a list content.
func readPart(s *Server, msg *fields, part *fastjson.Value, p *prompt, said *strings.Builder) {
	kind := string(part.GetStringBytes("type"))
	switch kind {
	case "text", "input_text", "output_text", "refusal", "thinking":
		key := "text"
		if kind == "refusal" || kind == "thinking" {
			key = kind
		}
		v := part.Get(key)
		if v == nil || v.Type() != fastjson.TypeString {
			msg.fail("messages.content."+key, "string")
			return
		}
		readText(s, v.GetStringBytes(), p, said)
	case "image_url", "input_image", "image", "input_audio", "audio_url", "video_url", "video", "file":
		p.addMedia(s, part.MarshalTo(nil))
	default:
		if msg.err == nil {
			msg.err = badRequest("messages", "Unknown part type: "+kind[:min(len(kind), 100)])
		}
	}
}

// addMedia counts an image, a sound or a video.
func (p *prompt) addMedia(s *Server, data []byte) {
	p.hash = hashText(p.hash, data)
	p.tokens += mediaTokens
	if s.opt.Accelerator == nil {
		return
	}
	own := hashText(0, data)
	for i := range mediaTokens {
		p.ids = append(p.ids, uint32(mix64(uint64(own), uint64(i))))
	}
}
