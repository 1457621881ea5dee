// Package anthropic implements the Messages API of Anthropic.
package anthropic

import (
	"bytes"
	"errors"
	"net/http"
	"strconv"
	"strings"

	"github.com/valyala/fastjson"

	"aiperfd/internal/mock/api"
	"aiperfd/internal/mock/apierror"
	"aiperfd/internal/mock/jsonappend"
	"aiperfd/internal/mock/options"
	"aiperfd/internal/mock/seed"
)

// messages is POST /v1/messages, Anthropic's API, which vLLM serves too.
type messages struct{ streams api.Script }

var _ api.Protocol = (*messages)(nil)

// NewMessages returns the protocol of POST /v1/messages.
func NewMessages() *messages {
	p := &messages{}
	p.streams = api.Script{
		ContentType: api.EventStream, Begin: p.begin, First: p.first,
		Content: p.content, Finish: p.finish, Close: p.close, Fail: p.fail,
	}
	return p
}

func (*messages) Reasons() bool { return true }

func (p *messages) Script() *api.Script { return &p.streams }

func (*messages) Refusal(dst []byte, e *apierror.Error) []byte {
	return AppendError(dst, e)
}

// AppendError appends an error in Anthropic's shape.
func AppendError(dst []byte, e *apierror.Error) []byte {
	dst = append(dst, `{"type":"error","error":{"type":`...)
	dst = jsonappend.String(dst, errorKind(e.Status))
	dst = append(dst, `,"message":`...)
	dst = jsonappend.String(dst, e.Message)
	return append(dst, "}}"...)
}

// errorKind returns Anthropic's name for the class of a status.
func errorKind(status int) string {
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

func (*messages) Read(m *api.Model, _ *http.Request, body []byte) (*api.Request, *apierror.Error) {
	q := &api.Request{N: 1}
	refusal := m.ParseJSON(body, func(f *api.Fields) {
		q.Model, q.Stream = f.Text("model"), f.Boolean("stream")
		q.ReadLimit(f, "max_tokens")
		if q.MaxTokens == 0 && f.Err == nil {
			f.Err = apierror.BadRequest("max_tokens", "max_tokens: Field required")
		}
		q.Prompts = []api.Prompt{readAnthropic(m, f)}
		q.Constraints = readMessageConstraints(f)
		if f.Err == nil {
			f.Err = m.CheckRequest(q)
		}
	})
	return q, refusal
}

// readAnthropic reads system and messages, which form one prompt.
func readAnthropic(m *api.Model, f *api.Fields) api.Prompt {
	var p api.Prompt
	if v, ok := f.Get("system"); ok {
		readBlocks(m, f, v, "system", &p)
	}
	v, ok := f.Get("messages")
	list := v.GetArray()
	if !ok || len(list) == 0 {
		f.Fail("messages", "non-empty list")
		return p
	}
	for _, message := range list {
		in := &api.Fields{Value: message, Err: f.Err}
		role := in.Text("role")
		if in.Err == nil && role != "user" && role != "assistant" {
			in.Err = apierror.BadRequest("messages", "messages: Unexpected role \""+role[:min(len(role), 100)]+"\". The Messages API accepts \"user\" and \"assistant\".")
		}
		p.Hash = seed.Hash(p.Hash, []byte(role))
		echo := ""
		if content, ok := in.Get("content"); ok {
			echo = readBlocks(m, in, content, "messages.content", &p)
		} else {
			in.Fail("messages.content", "string or list of blocks")
		}
		if m.Options.Content == options.ContentEcho && role == "user" {
			p.Echo = echo
		}
		f.Err = in.Err
	}
	return p
}

// readBlocks adds a text or a list of blocks to p and returns its text.
func readBlocks(m *api.Model, f *api.Fields, v *fastjson.Value, name string, p *api.Prompt) string {
	var echo strings.Builder
	switch v.Type() {
	case fastjson.TypeString:
		api.ReadText(m, v.GetStringBytes(), p, &echo)
	case fastjson.TypeArray:
		for _, block := range v.GetArray() {
			readBlock(m, f, block, p, &echo)
		}
	case fastjson.TypeNull, fastjson.TypeObject, fastjson.TypeNumber, fastjson.TypeTrue, fastjson.TypeFalse:
		f.Fail(name, "string or list of blocks")
	}
	return echo.String()
}

// readBlock adds one content block to p.
func readBlock(m *api.Model, f *api.Fields, block *fastjson.Value, p *api.Prompt, echo *strings.Builder) {
	kind := string(block.GetStringBytes("type"))
	switch kind {
	case "tool_use":
		api.ReadText(m, block.GetStringBytes("name"), p, echo)
		if input := block.Get("input"); input != nil {
			api.ReadText(m, input.MarshalTo(nil), p, echo)
		}
	case "tool_result":
		if content := block.Get("content"); content != nil {
			echo.WriteString(readBlocks(m, f, content, "messages.content.content", p))
		}
	case "document":
		p.Hash = seed.Hash(p.Hash, block.MarshalTo(nil))
		p.Tokens += api.MediaTokens
	case "text", "thinking", "image":
		api.ReadPart(m, f, block, p, echo)
	case "redacted_thinking":
	default:
		if f.Err == nil {
			f.Err = apierror.BadRequest("messages", "Unknown block type: "+kind[:min(len(kind), 100)])
		}
	}
}

// ServeCountTokens handles POST /v1/messages/count_tokens.
func ServeCountTokens(m *api.Model, w http.ResponseWriter, r *http.Request) {
	buf := new(bytes.Buffer)
	var refusal *apierror.Error
	if err := m.ReadBody(w, r, buf); err != nil && !errors.As(err, &refusal) {
		return // the client has disconnected
	}
	q := &api.Request{N: 1}
	if refusal == nil {
		refusal = m.ParseJSON(buf.Bytes(), func(f *api.Fields) {
			q.Model = f.Text("model")
			q.Prompts = []api.Prompt{readAnthropic(m, f)}
			if f.Err == nil {
				f.Err = m.CheckRequest(q)
			}
		})
	}
	if refusal != nil {
		_ = apierror.WriteJSON(w, refusal.Status, AppendError(nil, refusal))
		return
	}
	body := strconv.AppendInt([]byte(`{"input_tokens":`), int64(q.PromptTokens()), 10)
	_ = apierror.WriteJSON(w, http.StatusOK, append(body, '}'))
}

func (*messages) Document(dst []byte, x *api.Answer) ([]byte, string) {
	c := &x.Choices[0]
	dst = appendMessageHead(dst, x)
	dst = append(dst, `"content":[`...)
	if c.Reasoning > 0 {
		dst = append(dst, `{"type":"thinking","thinking":"`...)
		dst = append(api.AppendSide(dst, c, api.Reasoning), `","signature":"`+Signature+`"}`...)
	}
	switch {
	case len(c.Calls) > 0:
		dst = appendToolUses(dst, c)
	case c.Total > c.Reasoning:
		if c.Reasoning > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, `{"type":"text","text":"`...)
		dst = append(api.AppendSide(dst, c, api.Text), `"}`...)
	}
	dst = append(dst, `],"stop_reason":`...)
	dst = appendStopReason(dst, x, c)
	dst = append(dst, `,"stop_sequence":null,`...)
	output, reasoning := api.Tokens(x.Choices)
	dst = appendMessageUsage(dst, x, output, reasoning)
	return append(dst, '}'), "application/json"
}

// appendMessageHead appends a message up to its content.
func appendMessageHead(dst []byte, x *api.Answer) []byte {
	dst = append(dst, `{"id":`...)
	dst = jsonappend.String(dst, "msg_"+x.RequestID())
	dst = append(dst, `,"type":"message","role":"assistant","model":`...)
	return append(jsonappend.String(dst, x.Request.Model), ',')
}

func appendStopReason(dst []byte, x *api.Answer, c *api.Choice) []byte {
	switch {
	case x.Options.FinishChunk == options.FinishMissing:
		return append(dst, "null"...)
	case c.Finish == "length":
		return append(dst, `"max_tokens"`...)
	case c.Finish == "tool_calls":
		return append(dst, `"tool_use"`...)
	}
	return append(dst, `"end_turn"`...)
}

// appendMessageUsage appends the member usage.
func appendMessageUsage(dst []byte, x *api.Answer, output, reasoning int) []byte {
	if x.Options.Usage == options.UsageNever {
		return append(dst, `"usage":null`...)
	}
	dst = append(dst, `"usage":{"input_tokens":`...)
	dst = strconv.AppendInt(dst, int64(x.Truth.PromptTokens), 10)
	dst = append(dst, `,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":`...)
	dst = strconv.AppendInt(dst, int64(output), 10)
	if x.Options.ReasoningTokens > 0 {
		dst = append(dst, `,"output_tokens_details":{"thinking_tokens":`...)
		dst = append(strconv.AppendInt(dst, int64(reasoning), 10), '}')
	}
	return append(dst, '}')
}
