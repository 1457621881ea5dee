package mock

import (
	"strconv"
	"strings"

	"github.com/valyala/fastjson"

	"aiperfd/internal/mock/apierror"
	"aiperfd/internal/mock/jsonappend"
	"aiperfd/internal/mock/seed"
	"aiperfd/internal/mock/token"
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
	switch {
	case c.total == c.reasoning && c.reasoning > 0:
		return append(dst, `,"content":null,"refusal":null,"tool_calls":[]}`...)
	case len(c.calls) > 0:
		dst = append(dst, `,"content":null,"refusal":null,"tool_calls":[`...)
		return append(c.appendCalls(dst), "]}"...)
	case c.refused:
		dst = append(dst, `,"content":null,"refusal":"`...)
		dst = c.appendTokens(dst, c.reasoning, c.total)
		return append(dst, `","tool_calls":[]}`...)
	}
	dst = append(dst, `,"content":"`...)
	dst = c.appendTokens(dst, c.reasoning, c.total)
	return append(dst, `","refusal":null,"tool_calls":[]}`...)
}

// wishes reads tools, structured output and logprobs.
func (chatDialect) wishes(f *fields) *wishes {
	w := readStructured(f)
	if w == nil {
		w = &wishes{}
	}
	w.readTools(f, nestedTools)
	if w.logprobs = f.boolean("logprobs"); w.logprobs {
		w.readTop(f, "top_logprobs")
	}
	if w.empty() {
		return nil
	}
	if lastIs(f.v.GetArray("messages"), "role", "tool") {
		w.tools = nil // the call was made; now the answer is wanted
	}
	return w
}

// appendCalls appends the calls of a whole answer, as far as they have come.
func (c *choice) appendCalls(dst []byte) []byte {
	for i := range c.calls {
		from, to := c.span(i)
		if from >= to {
			break
		}
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, `{"id":`...)
		dst = jsonappend.String(dst, c.calls[i].id)
		dst = append(dst, `,"type":"function","function":{"name":"`...)
		dst = c.appendTokens(dst, from, from+1)
		dst = append(dst, `","arguments":"`...)
		dst = c.appendTokens(dst, from+1, to)
		dst = append(dst, `"}}`...)
	}
	return dst
}

// appendCallDelta appends the delta with the tokens from … to−1, which are of call
// n: its name, or a part of its arguments.
func appendCallDelta(dst []byte, role bool, c *choice, n, from, to int) []byte {
	dst = append(dst, `,"delta":{`...)
	if role {
		dst = append(dst, `"role":"assistant",`...)
	}
	dst = append(dst, `"tool_calls":[{"index":`...)
	dst = strconv.AppendInt(dst, int64(n), 10)
	if call := &c.calls[n]; from == c.reasoning+call.from {
		dst = append(dst, `,"id":`...)
		dst = jsonappend.String(dst, call.id)
		dst = append(dst, `,"type":"function","function":{"name":"`...)
		dst = c.appendTokens(dst, from, to)
		return append(dst, `","arguments":""}}]}`...)
	}
	dst = append(dst, `,"function":{"arguments":"`...)
	dst = c.appendTokens(dst, from, to)
	return append(dst, `"}}]}`...)
}

// prompts reads the messages: they make one prompt.
func (chatDialect) prompts(m *model, f *fields) []prompt {
	v, ok := f.get("messages")
	if !ok || v.Type() != fastjson.TypeArray {
		f.fail("messages", "list")
		return nil
	}
	messages := v.GetArray()
	if len(messages) == 0 && f.err == nil {
		f.err = apierror.BadRequest("messages", "messages should have at least 1 item.")
	}
	var p prompt
	for _, message := range messages {
		if message.Type() != fastjson.TypeObject {
			f.fail("messages", "list of messages")
			return nil
		}
		readMessage(m, f, message, &p)
	}
	return []prompt{p}
}

// readMessage adds one message to p.
func readMessage(m *model, f *fields, message *fastjson.Value, p *prompt) {
	msg := &fields{v: message, err: f.err}
	defer func() { f.err = msg.err }()
	role := msg.text("role")
	if role == "" {
		msg.fail("messages.role", "string")
	}
	p.hash = seed.Hash(p.hash, []byte(role))
	p.role = role
	content, ok := msg.get("content")
	if !ok {
		return
	}
	var said strings.Builder
	switch content.Type() {
	case fastjson.TypeString:
		readText(m, content.GetStringBytes(), p, &said)
	case fastjson.TypeArray:
		for _, part := range content.GetArray() {
			readPart(m, msg, part, p, &said)
		}
	case fastjson.TypeNull, fastjson.TypeObject, fastjson.TypeNumber, fastjson.TypeTrue, fastjson.TypeFalse:
		msg.fail("messages.content", "string or list of parts")
	}
	if m.opt.Content == ContentEcho && role == "user" {
		p.echo = said.String()
	}
}

func readText(m *model, b []byte, p *prompt, said *strings.Builder) {
	p.hash = seed.Hash(p.hash, b)
	text := string(b)
	if m.opt.Accelerator != nil {
		from := len(p.ids)
		p.ids = token.Identify(p.ids, m.opt.Tokenizer, text)
		for i := from; i < len(p.ids); i++ {
			p.ids[i] = ofRole(p.role, p.ids[i])
		}
		p.tokens += len(p.ids) - from
	} else {
		p.tokens += m.opt.Tokenizer.Count(text)
	}
	if m.opt.Content == ContentEcho {
		said.WriteString(text)
	}
}

// readPart adds one element of a list content.
func readPart(m *model, msg *fields, part *fastjson.Value, p *prompt, said *strings.Builder) {
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
		readText(m, v.GetStringBytes(), p, said)
	case "image_url", "input_image", "image", "input_audio", "audio_url", "video_url", "video", "file", "input_file":
		p.addMedia(m, part.MarshalTo(nil))
	default:
		if msg.err == nil {
			msg.err = apierror.BadRequest("messages", "Unknown part type: "+kind[:min(len(kind), 100)])
		}
	}
}

// addMedia counts an image, an audio clip or a video.
func (p *prompt) addMedia(m *model, data []byte) {
	p.hash = seed.Hash(p.hash, data)
	p.tokens += mediaTokens
	if m.opt.Accelerator == nil {
		return
	}
	own := seed.Hash(0, data)
	for i := range mediaTokens {
		p.ids = append(p.ids, uint32(seed.Mix(uint64(own), uint64(i))))
	}
}
