package codec

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"aiperfd/internal/engine/bench"
)

// chatMessage is a message of the chat API.
type chatMessage struct {
	Role    string          `json:"role"`
	Content json.RawMessage `json:"content"`
	Calls   []struct {
		ID       string `json:"id"`
		Function struct {
			Name      string `json:"name"`
			Arguments string `json:"arguments"`
		} `json:"function"`
	} `json:"tool_calls"`
	CallID string `json:"tool_call_id"`
}

// Said is a message: who said what.
type Said struct {
	Role  string // empty = "user"
	Texts []string
}

// MessagesOf returns the messages of a turn, or of its body, with their texts. Content that
// is no text is left out; a body without chat messages has none.
func MessagesOf(t *bench.Turn) []Said {
	raw := messagesIn(t)
	if t.Payload != nil {
		var body struct {
			Messages json.RawMessage `json:"messages"`
		}
		if json.Unmarshal(t.Payload, &body) != nil || body.Messages == nil {
			return nil
		}
		raw = body.Messages
	} else if raw == nil {
		return []Said{{t.Role, t.Texts}}
	}
	var messages []chatMessage
	if json.Unmarshal(raw, &messages) != nil {
		return nil
	}
	out := make([]Said, len(messages))
	for i := range messages {
		texts, _ := messages[i].texts()
		out[i] = Said{messages[i].Role, texts}
	}
	return out
}

// messagesIn returns the array of chat messages of a turn; nil = it has none.
func messagesIn(t *bench.Turn) json.RawMessage {
	if t.Script == nil {
		return t.Messages
	}
	list := append(make([]byte, 0, len("[]")+t.Script.Size(t.Mark)), '[')
	return append(t.Script.AppendMessages(list, t.Mark), ']')
}

// WithoutMessages returns a request whose turns have roles and texts instead of chat
// messages, for APIs that have messages of their own. It returns r if no turn has chat
// messages.
func WithoutMessages(r *Request) (*Request, error) {
	has := func(e bench.Exchange) bool { return e.Turn.HasMessages() }
	if !r.Turn.HasMessages() && !slices.ContainsFunc(r.History, has) {
		return r, nil
	}
	var history []bench.Exchange
	for i := range r.History {
		e := &r.History[i]
		var err error
		if history, err = appendTurns(history, &e.Turn); err != nil {
			return nil, err
		}
		if last := &history[len(history)-1]; last.Unanswered {
			last.Answer, last.Unanswered = e.Answer, e.Unanswered
		}
	}
	history, err := appendTurns(history, &r.Turn)
	if err != nil {
		return nil, err
	}
	out := *r
	last := history[len(history)-1]
	if !last.Unanswered {
		return nil, errors.New("messages: the last one is of the assistant; this endpoint type needs another one at the end")
	}
	turn := r.Turn
	turn.Script, turn.Messages, turn.Role, turn.Texts, turn.Images = nil, nil, last.Turn.Role, last.Turn.Texts, last.Turn.Images
	out.History, out.Turn = history[:len(history)-1], turn
	return &out, nil
}

// appendTurns appends the messages of a turn as turns and answers, at least one.
func appendTurns(list []bench.Exchange, t *bench.Turn) ([]bench.Exchange, error) {
	raw := messagesIn(t)
	if raw == nil {
		return append(list, bench.Exchange{Turn: *t, Unanswered: true}), nil
	}
	var messages []chatMessage
	if err := json.Unmarshal(raw, &messages); err != nil || len(messages) == 0 {
		return nil, errors.New("messages: must be a list of messages with role and content")
	}
	for i := range messages {
		var err error
		if list, err = messages[i].append(list); err != nil {
			return nil, fmt.Errorf("message %d: %w", i, err)
		}
	}
	return list, nil
}

// append appends a message: one of the assistant as the answer to the turn before it,
// one of a tool to the other results for the same answer.
func (m *chatMessage) append(list []bench.Exchange) ([]bench.Exchange, error) {
	texts, err := m.texts()
	if err != nil {
		return nil, err
	}
	var last *bench.Exchange
	if len(list) > 0 {
		last = &list[len(list)-1]
	}
	switch {
	case m.Role == "assistant" && last != nil && last.Unanswered:
		last.Answer, last.Unanswered = bench.Choice{Text: strings.Join(texts, "\n")}, false
		for _, c := range m.Calls {
			last.Answer.ToolCalls = append(last.Answer.ToolCalls, bench.ToolCall{ID: c.ID, Name: c.Function.Name, Arguments: c.Function.Arguments})
		}
		return list, nil
	case len(m.Calls) > 0:
		return nil, errors.New("tool_calls: must follow a message of another role")
	case m.Role == "tool":
		return m.appendResult(list, texts)
	}
	return append(list, bench.Exchange{Turn: bench.Turn{Role: m.Role, Texts: texts}, Unanswered: true}), nil
}

// appendResult appends what a tool returned, in the order of the calls.
func (m *chatMessage) appendResult(list []bench.Exchange, texts []string) ([]bench.Exchange, error) {
	text := strings.Join(texts, "\n")
	last := len(list) - 1
	if last >= 0 && list[last].Unanswered && list[last].Turn.Role == "tool" {
		last--
	} else {
		list = append(list, bench.Exchange{Turn: bench.Turn{Role: "tool"}, Unanswered: true})
	}
	if last < 0 {
		return nil, errors.New("role tool: there is no tool call before it")
	}
	calls, turn := list[last].Answer.ToolCalls, &list[len(list)-1].Turn
	at := slices.IndexFunc(calls, func(c bench.ToolCall) bool { return c.ID == m.CallID })
	if at < 0 {
		return nil, fmt.Errorf("tool_call_id %q: no tool call before it has this id", m.CallID)
	}
	for len(turn.Texts) <= at {
		turn.Texts = append(turn.Texts, "")
	}
	turn.Texts[at] = text
	return list, nil
}

// texts returns the texts of a message. It is an error if there is other content.
func (m *chatMessage) texts() ([]string, error) {
	if len(m.Content) == 0 || isNull(m.Content) {
		return nil, nil
	}
	var one string
	if json.Unmarshal(m.Content, &one) == nil {
		return []string{one}, nil
	}
	var parts []struct{ Type, Text string }
	if err := json.Unmarshal(m.Content, &parts); err != nil {
		return nil, errors.New("content: must be a text or a list of parts")
	}
	var out []string
	var err error
	for _, p := range parts {
		if p.Type != "text" {
			err = fmt.Errorf("content of type %q: this endpoint type takes only texts in messages", p.Type)
			continue
		}
		out = append(out, p.Text)
	}
	return out, err
}

// Functions returns the tools of a turn as functions with name, description and
// parameters, for APIs that write them in another way.
func Functions(tools json.RawMessage) (list [][]Field, err error) {
	var all []struct {
		Type     string          `json:"type"`
		Function json.RawMessage `json:"function"`
	}
	if err := json.Unmarshal(tools, &all); err != nil {
		return nil, errors.New("tools: must be a list of tools")
	}
	for i, tool := range all {
		fields, err := Fields(tool.Function)
		if tool.Type != "function" || err != nil {
			return nil, fmt.Errorf("tool %d: must be of type function, with a function", i)
		}
		list = append(list, fields)
	}
	return list, nil
}
