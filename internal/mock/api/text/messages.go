package text

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/valyala/fastjson"

	"aiperfd/internal/mock/api"
	"aiperfd/internal/mock/options"
	"aiperfd/internal/mock/random"
)

// NewMessages returns the protocol of POST /v1/messages.
func NewMessages() *api.Protocol {
	blocks := &api.PartScript{Open: openBlock, Delta: blockDelta, Close: closeBlock}
	return &api.Protocol{
		Read: api.ReadJSON(readMessages), Document: messageDocument, Refuse: AppendMessageError, Reasons: true,
		Script: &api.Script{
			ContentType: api.EventStream, Begin: beginMessage, Content: blocks.Content, Finish: blocks.Finish,
			Close: endMessage, Fail: failMessage,
		},
	}
}

// messageError is an error in Anthropic's shape.
type messageError struct {
	Type  string             `json:"type"`
	Error messageErrorDetail `json:"error"`
}

type messageErrorDetail struct {
	Type    string `json:"type"`
	Message string `json:"message"`
}

// AppendMessageError appends an error in Anthropic's shape.
func AppendMessageError(dst []byte, e *api.Error) []byte {
	return api.AppendJSON(dst, messageError{"error", messageErrorDetail{messageErrorKind(e.Status), e.Message}})
}

// messageErrorKind returns Anthropic's name for the class of a status.
func messageErrorKind(status int) string {
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

func readMessages(m *api.Model, _ *http.Request, f *api.Fields, q *api.Request) {
	q.Model, q.Stream = f.Text("model"), f.Flag("stream")
	if q.MaxTokens = f.Count("max_tokens", 1); q.MaxTokens == 0 {
		f.Refuse("max_tokens", "max_tokens: Field required")
	}
	q.Prompts = []api.Prompt{readAnthropic(m, f)}
	q.Constraints = readMessageConstraints(f)
}

// readAnthropic reads system and messages, which form one prompt.
func readAnthropic(m *api.Model, f *api.Fields) api.Prompt {
	var p api.Prompt
	if v, ok := f.Get("system"); ok {
		readBlocks(m, f, v, "system", &p)
	}
	for _, message := range f.List("messages", "non-empty list") {
		in := f.In(message)
		role := in.Text("role")
		if role != "user" && role != "assistant" {
			in.Refuse("messages", `messages: Unexpected role "`+api.Shorten(role)+
				`". The Messages API accepts "user" and "assistant".`)
		}
		p.Hash = random.Hash(p.Hash, []byte(role))
		echo := ""
		if content, ok := in.Get("content"); ok {
			echo = readBlocks(m, in, content, "messages.content", &p)
		} else {
			in.Fail("messages.content", "string or list of blocks")
		}
		if m.Options.Content == options.ContentEcho && role == "user" {
			p.Echo = echo
		}
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
		p.Hash = random.Hash(p.Hash, block.MarshalTo(nil))
		p.Tokens += api.MediaTokens
	case "text", "thinking", "image":
		api.ReadPart(m, f, block, p, echo)
	case "redacted_thinking":
	default:
		f.Refuse("messages", "Unknown block type: "+api.Shorten(kind))
	}
}

// readMessageConstraints reads tools and tool_choice of a Messages request; nil means
// that no tool is called. Server tools (such as web search) are never called.
func readMessageConstraints(f *api.Fields) *api.Constraints {
	list, ok := f.Get("tools")
	if !ok {
		return nil
	}
	if list.Type() != fastjson.TypeArray {
		f.Fail("tools", "list")
		return nil
	}
	w := &api.Constraints{}
	for _, v := range list.GetArray() {
		if kind := string(v.GetStringBytes("type")); kind != "" && kind != "custom" {
			continue
		}
		t := api.Tool{Name: string(v.GetStringBytes("name"))}
		if t.Name == "" {
			f.Fail("tools.name", "string")
			return nil
		}
		if schema := v.Get("input_schema"); schema != nil && schema.Type() == fastjson.TypeObject {
			t.Schema = schema.MarshalTo(nil)
		}
		w.Tools = append(w.Tools, t)
	}
	readMessageChoice(w, f)
	if len(w.Tools) == 0 || hasResult(f.Value.GetArray("messages")) {
		return nil
	}
	return w
}

// readMessageChoice reads Anthropic's tool_choice.
func readMessageChoice(w *api.Constraints, f *api.Fields) {
	choice := f.Member("tool_choice")
	if choice == nil {
		return
	}
	w.OneCall = choice.GetBool("disable_parallel_tool_use")
	switch kind := string(choice.GetStringBytes("type")); kind {
	case "auto":
	case "any":
		w.MustCall = true
	case "none":
		w.Tools = nil
	case "tool":
		w.Only(f, string(choice.GetStringBytes("name")))
	default:
		f.Refuse("tool_choice", fmt.Sprintf("tool_choice: type should be 'auto', 'any', 'tool' or 'none', got %q.", kind))
	}
}

// hasResult reports whether the last message contains the result of a tool, so that the
// answer must be text.
func hasResult(messages []*fastjson.Value) bool {
	if len(messages) == 0 {
		return false
	}
	for _, block := range messages[len(messages)-1].GetArray("content") {
		if string(block.GetStringBytes("type")) == "tool_result" {
			return true
		}
	}
	return false
}

// ServeCountTokens handles POST /v1/messages/count_tokens.
func ServeCountTokens(m *api.Model, w http.ResponseWriter, r *http.Request) {
	buf := new(bytes.Buffer)
	var refusal *api.Error
	if err := m.ReadBody(w, r, buf); err != nil && !errors.As(err, &refusal) {
		return // the client has disconnected
	}
	var q *api.Request
	if refusal == nil {
		q, refusal = api.ReadJSON(func(m *api.Model, _ *http.Request, f *api.Fields, q *api.Request) {
			q.Model, q.Prompts = f.Text("model"), []api.Prompt{readAnthropic(m, f)}
		})(m, r, buf.Bytes())
	}
	if refusal != nil {
		api.Respond(w, refusal.Status, AppendMessageError(nil, refusal))
		return
	}
	api.Respond(w, http.StatusOK, fmt.Appendf(nil, `{"input_tokens":%d}`, q.PromptTokens()))
}
