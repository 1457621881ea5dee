package mock

import (
	"bytes"
	"errors"
	"net/http"
	"strconv"
	"strings"

	"github.com/valyala/fastjson"

	"aiperfd/internal/mock/apierror"
	"aiperfd/internal/mock/jsonappend"
	"aiperfd/internal/mock/seed"
)

// messagesAPI is POST /v1/messages, Anthropic's API, as vLLM serves it too.
type messagesAPI struct{ streams script }

var _ protocol = (*messagesAPI)(nil)

func newMessages() *messagesAPI {
	p := &messagesAPI{}
	p.streams = script{
		contentType: eventStream, begin: p.begin, first: p.first,
		content: p.content, finish: p.finish, close: p.close, fail: p.fail,
	}
	return p
}

func (*messagesAPI) reasons() bool { return true }

func (p *messagesAPI) script() *script { return &p.streams }

func (*messagesAPI) refusal(dst []byte, e *apierror.Error) []byte {
	return appendAnthropicError(dst, e)
}

// appendAnthropicError appends an error in Anthropic's shape.
func appendAnthropicError(dst []byte, e *apierror.Error) []byte {
	dst = append(dst, `{"type":"error","error":{"type":`...)
	dst = jsonappend.String(dst, anthropicKind(e.Status))
	dst = append(dst, `,"message":`...)
	dst = jsonappend.String(dst, e.Message)
	return append(dst, "}}"...)
}

// anthropicKind returns Anthropic's name for the class of a status.
func anthropicKind(status int) string {
	switch status {
	case http.StatusUnauthorized:
		return "authentication_error"
	case http.StatusForbidden:
		return "permission_error"
	case http.StatusNotFound:
		return "not_found_error"
	case http.StatusRequestEntityTooLarge:
		return "request_too_large"
	case http.StatusTooManyRequests:
		return "rate_limit_error"
	case http.StatusServiceUnavailable, 529:
		return "overloaded_error"
	}
	if status >= http.StatusInternalServerError {
		return "api_error"
	}
	return "invalid_request_error"
}

func (*messagesAPI) read(m *model, _ *http.Request, body []byte) (*textRequest, *apierror.Error) {
	q := &textRequest{n: 1}
	refusal := m.parseJSON(body, func(f *fields) {
		q.model, q.stream = f.text("model"), f.boolean("stream")
		q.readLimit(f, "max_tokens")
		if q.maxTokens == 0 && f.err == nil {
			f.err = apierror.BadRequest("max_tokens", "max_tokens: Field required")
		}
		q.prompts = []prompt{readAnthropic(m, f)}
		q.wish = readMessageWishes(f)
		if f.err == nil {
			f.err = m.checkRequest(q)
		}
	})
	return q, refusal
}

// readAnthropic reads system and messages: they make one prompt.
func readAnthropic(m *model, f *fields) prompt {
	var p prompt
	if v, ok := f.get("system"); ok {
		readBlocks(m, f, v, "system", &p)
	}
	v, ok := f.get("messages")
	list := v.GetArray()
	if !ok || len(list) == 0 {
		f.fail("messages", "non-empty list")
		return p
	}
	for _, message := range list {
		in := &fields{v: message, err: f.err}
		role := in.text("role")
		if in.err == nil && role != "user" && role != "assistant" {
			in.err = apierror.BadRequest("messages", "messages: Unexpected role \""+role[:min(len(role), 100)]+"\". The Messages API accepts \"user\" and \"assistant\".")
		}
		p.hash = seed.Hash(p.hash, []byte(role))
		said := ""
		if content, ok := in.get("content"); ok {
			said = readBlocks(m, in, content, "messages.content", &p)
		} else {
			in.fail("messages.content", "string or list of blocks")
		}
		if m.opt.Content == ContentEcho && role == "user" {
			p.echo = said
		}
		f.err = in.err
	}
	return p
}

// readBlocks adds a text or a list of blocks to p and returns what it says.
func readBlocks(m *model, f *fields, v *fastjson.Value, name string, p *prompt) string {
	var said strings.Builder
	switch v.Type() {
	case fastjson.TypeString:
		readText(m, v.GetStringBytes(), p, &said)
	case fastjson.TypeArray:
		for _, block := range v.GetArray() {
			readBlock(m, f, block, p, &said)
		}
	case fastjson.TypeNull, fastjson.TypeObject, fastjson.TypeNumber, fastjson.TypeTrue, fastjson.TypeFalse:
		f.fail(name, "string or list of blocks")
	}
	return said.String()
}

// readBlock adds one content block to p.
func readBlock(m *model, f *fields, block *fastjson.Value, p *prompt, said *strings.Builder) {
	kind := string(block.GetStringBytes("type"))
	switch kind {
	case "tool_use":
		readText(m, block.GetStringBytes("name"), p, said)
		if input := block.Get("input"); input != nil {
			readText(m, input.MarshalTo(nil), p, said)
		}
	case "tool_result":
		if content := block.Get("content"); content != nil {
			said.WriteString(readBlocks(m, f, content, "messages.content.content", p))
		}
	case "document":
		p.hash = seed.Hash(p.hash, block.MarshalTo(nil))
		p.tokens += mediaTokens
	case "text", "thinking", "image":
		readPart(m, f, block, p, said)
	case "redacted_thinking":
	default:
		if f.err == nil {
			f.err = apierror.BadRequest("messages", "Unknown block type: "+kind[:min(len(kind), 100)])
		}
	}
}

// serveCountTokens is POST /v1/messages/count_tokens.
func serveCountTokens(m *model, w http.ResponseWriter, r *http.Request) {
	buf := new(bytes.Buffer)
	var refusal *apierror.Error
	if err := m.readBody(w, r, buf); err != nil && !errors.As(err, &refusal) {
		return // nobody waits for an answer
	}
	q := &textRequest{n: 1}
	if refusal == nil {
		refusal = m.parseJSON(buf.Bytes(), func(f *fields) {
			q.model = f.text("model")
			q.prompts = []prompt{readAnthropic(m, f)}
			if f.err == nil {
				f.err = m.checkRequest(q)
			}
		})
	}
	if refusal != nil {
		_ = apierror.WriteJSON(w, refusal.Status, appendAnthropicError(nil, refusal))
		return
	}
	body := strconv.AppendInt([]byte(`{"input_tokens":`), int64(q.promptTokens()), 10)
	_ = apierror.WriteJSON(w, http.StatusOK, append(body, '}'))
}

func (*messagesAPI) document(dst []byte, x *answer) ([]byte, string) {
	c := &x.choices[0]
	dst = appendMessageHead(dst, x)
	dst = append(dst, `"content":[`...)
	if c.reasoning > 0 {
		dst = append(dst, `{"type":"thinking","thinking":"`...)
		dst = append(appendSide(dst, c, thoughts), `","signature":"`+signature+`"}`...)
	}
	switch {
	case len(c.calls) > 0:
		dst = appendToolUses(dst, c)
	case c.total > c.reasoning:
		if c.reasoning > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, `{"type":"text","text":"`...)
		dst = append(appendSide(dst, c, spoken), `"}`...)
	}
	dst = append(dst, `],"stop_reason":`...)
	dst = appendStopReason(dst, x, c)
	dst = append(dst, `,"stop_sequence":null,`...)
	output, reasoning := tokens(x.choices)
	dst = appendMessageUsage(dst, x, output, reasoning)
	return append(dst, '}'), "application/json"
}

// appendMessageHead opens a message, up to its content.
func appendMessageHead(dst []byte, x *answer) []byte {
	dst = append(dst, `{"id":`...)
	dst = jsonappend.String(dst, "msg_"+x.requestID())
	dst = append(dst, `,"type":"message","role":"assistant","model":`...)
	return append(jsonappend.String(dst, x.q.model), ',')
}

func appendStopReason(dst []byte, x *answer, c *choice) []byte {
	switch {
	case x.opt.FinishChunk == FinishMissing:
		return append(dst, "null"...)
	case c.finish == "length":
		return append(dst, `"max_tokens"`...)
	case c.finish == "tool_calls":
		return append(dst, `"tool_use"`...)
	}
	return append(dst, `"end_turn"`...)
}

// appendMessageUsage appends the member usage.
func appendMessageUsage(dst []byte, x *answer, output, reasoning int) []byte {
	if x.opt.Usage == UsageNever {
		return append(dst, `"usage":null`...)
	}
	dst = append(dst, `"usage":{"input_tokens":`...)
	dst = strconv.AppendInt(dst, int64(x.truth.PromptTokens), 10)
	dst = append(dst, `,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":`...)
	dst = strconv.AppendInt(dst, int64(output), 10)
	if x.opt.ReasoningTokens > 0 {
		dst = append(dst, `,"output_tokens_details":{"thinking_tokens":`...)
		dst = append(strconv.AppendInt(dst, int64(reasoning), 10), '}')
	}
	return append(dst, '}')
}
