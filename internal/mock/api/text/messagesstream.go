package text

import (
	"encoding/json"
	"strconv"
	"strings"

	"aiperfd/internal/mock/api"
	"aiperfd/internal/mock/options"
)

// Signature is a placeholder for Anthropic's signature of thinking blocks.
const Signature = "c2lnbmF0dXJl"

// messageObject is a whole message, or one that has just begun.
type messageObject struct {
	ID           string          `json:"id"`
	Type         string          `json:"type"`
	Role         string          `json:"role"`
	Model        string          `json:"model"`
	Content      []*messageBlock `json:"content"`
	StopReason   *string         `json:"stop_reason"`
	StopSequence *string         `json:"stop_sequence"` // always null
	Usage        *messageUsage   `json:"usage"`
}

func newMessageObject(x *api.Answer, output, reasoning int) *messageObject {
	return &messageObject{
		ID: "msg_" + x.RequestID(), Type: "message", Role: "assistant", Model: x.Request.Model, Content: []*messageBlock{},
		Usage: newMessageUsage(x, output, reasoning),
	}
}

// messageUsage has the tokens of a message.
type messageUsage struct {
	Input         int              `json:"input_tokens"`
	CacheCreation int              `json:"cache_creation_input_tokens"`
	CacheRead     int              `json:"cache_read_input_tokens"`
	Output        int              `json:"output_tokens"`
	Details       *thinkingDetails `json:"output_tokens_details,omitempty"`
}

type thinkingDetails struct {
	Thinking int `json:"thinking_tokens"`
}

func newMessageUsage(x *api.Answer, output, reasoning int) *messageUsage {
	if x.Options.Usage == options.UsageNever {
		return nil
	}
	u := &messageUsage{Input: x.Truth.PromptTokens, Output: output}
	if x.Options.ReasoningTokens > 0 {
		u.Details = &thinkingDetails{reasoning}
	}
	return u
}

func stopReason(x *api.Answer) *string {
	reason := "end_turn"
	switch finish := x.Choices[0].Finish; {
	case x.Options.FinishChunk == options.FinishMissing:
		return nil
	case finish == "length":
		reason = "max_tokens"
	case finish == "tool_calls":
		reason = "tool_use"
	}
	return &reason
}

// messageBlock is a block of the content: thinking, text or the use of a tool.
type messageBlock struct {
	Type      string          `json:"type"`
	Text      *string         `json:"text,omitempty"`
	Thinking  *string         `json:"thinking,omitempty"`
	Signature *string         `json:"signature,omitempty"`
	ID        string          `json:"id,omitempty"`
	Name      string          `json:"name,omitempty"`
	Input     json.RawMessage `json:"input,omitempty"`
}

// newMessageBlock returns the block of a part with a text or, of a call, an input.
func newMessageBlock(c *api.Choice, part api.Part, text, signature string) *messageBlock {
	switch part.Kind {
	case api.Reasoning:
		return &messageBlock{Type: "thinking", Thinking: &text, Signature: &signature}
	case api.Text:
		return &messageBlock{Type: "text", Text: &text}
	case api.Call:
	}
	input := json.RawMessage(text)
	if !json.Valid(input) { // it is truncated, or has not begun
		input = json.RawMessage("{}")
	}
	id := "toolu_" + strings.TrimPrefix(c.Calls[part.Call].ID, "call_")
	return &messageBlock{Type: "tool_use", ID: id, Name: c.Text(part.From, part.From+1), Input: input}
}

func messageDocument(dst []byte, x *api.Answer) ([]byte, string) {
	output, reasoning := api.Tokens(x.Choices)
	m, c := newMessageObject(x, output, reasoning), &x.Choices[0]
	for _, part := range c.Parts() {
		from := part.From
		if part.Kind == api.Call {
			from++ // after its name
		}
		m.Content = append(m.Content, newMessageBlock(c, part, c.Text(from, part.To), Signature))
	}
	m.StopReason = stopReason(x)
	return api.AppendJSON(dst, m), api.JSON
}

// messageEvent is an event that has no tokens, except for that which begins a call: the name of the
// tool is its first token (Anthropic API reference, "Streaming messages").
type messageEvent struct {
	Type    string         `json:"type"`
	Message *messageObject `json:"message,omitempty"`
	Index   *int           `json:"index,omitempty"`
	Block   *messageBlock  `json:"content_block,omitempty"`
	Delta   any            `json:"delta,omitempty"`
}

func sendMessageEvent(e *api.Events, kind string, v any, content bool) {
	e.JSON("event: "+kind+e.EOL+"data: ", v, content)
}

func (v *messageEvent) send(e *api.Events, content bool) { sendMessageEvent(e, v.Type, v, content) }

func beginMessage(e *api.Events) {
	(&messageEvent{Type: "message_start", Message: newMessageObject(e.Answer, 0, 0)}).send(e, false)
	(&messageEvent{Type: "ping"}).send(e, false)
	e.Flush()
}

// openBlock adds the beginning of a block.
func openBlock(e *api.Events, c *api.Choice, part api.Part) {
	start := &messageEvent{Type: "content_block_start", Index: &part.Index, Block: newMessageBlock(c, part, "", "")}
	start.send(e, part.Kind == api.Call)
}

// blockDelta adds an event with tokens. It is rendered by hand, because it is what streams
// consist of.
func blockDelta(e *api.Events, c *api.Choice, part api.Part, from, to int) {
	e.B = append(e.B, "event: content_block_delta"...)
	e.B = append(e.B, e.EOL...)
	e.B = append(e.B, `data: {"type":"content_block_delta","index":`...)
	e.B = strconv.AppendInt(e.B, int64(part.Index), 10)
	switch part.Kind {
	case api.Reasoning:
		e.B = append(e.B, `,"delta":{"type":"thinking_delta","thinking":"`...)
	case api.Text:
		e.B = append(e.B, `,"delta":{"type":"text_delta","text":"`...)
	case api.Call:
		e.B = append(e.B, `,"delta":{"type":"input_json_delta","partial_json":"`...)
	}
	e.B = append(c.AppendTokens(e.B, from, to), `"}}`...)
	e.End(true)
}

// closeBlock adds the end of a block; thinking blocks are signed.
func closeBlock(e *api.Events, _ *api.Choice, part api.Part) {
	if part.Kind == api.Reasoning {
		signed := struct {
			Type      string `json:"type"`
			Signature string `json:"signature"`
		}{"signature_delta", Signature}
		(&messageEvent{Type: "content_block_delta", Index: &part.Index, Delta: signed}).send(e, false)
	}
	(&messageEvent{Type: "content_block_stop", Index: &part.Index}).send(e, false)
}

// messageDelta is the event at the end of a message.
type messageDelta struct {
	Type  string        `json:"type"`
	Delta messageStop   `json:"delta"`
	Usage *messageUsage `json:"usage"`
}

type messageStop struct {
	Reason   *string `json:"stop_reason"`
	Sequence *string `json:"stop_sequence"` // always null
}

func endMessage(e *api.Events) {
	t := &e.Answer.Truth
	used := newMessageUsage(e.Answer, t.OutputTokens, t.ReasoningTokens)
	last := messageDelta{"message_delta", messageStop{Reason: stopReason(e.Answer)}, used}
	sendMessageEvent(e, last.Type, last, false)
	(&messageEvent{Type: "message_stop"}).send(e, false)
}

func failMessage(e *api.Events, failure *api.Error) {
	e.B = AppendMessageError(append(e.B, "event: error"+e.EOL+"data: "...), failure)
	e.End(false)
}
