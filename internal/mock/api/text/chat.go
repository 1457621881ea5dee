package text

import (
	"strconv"

	"aiperfd/internal/mock/api"
)

// chat is POST /v1/chat/completions.
type chat struct{}

var _ dialect = chat{}

func (chat) names() (idPrefix, object, chunk string) {
	return "chatcmpl-", "chat.completion", "chat.completion.chunk"
}

func (chat) isChat() bool { return true }

func (chat) openDelta(dst []byte, role bool, field string) []byte {
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

func (chat) closeDelta(dst []byte, role bool, field string) []byte {
	if role || field != "" {
		dst = append(dst, '"')
	}
	return append(dst, '}')
}

func (chat) appendMessage(dst []byte, c *api.Choice, reasoningField string) []byte {
	dst = append(dst, `,"message":{"role":"assistant"`...)
	if c.Reasoning > 0 {
		dst = append(dst, `,"`...)
		dst = append(dst, reasoningField...)
		dst = append(dst, `":"`...)
		dst = c.AppendTokens(dst, 0, c.Reasoning)
		dst = append(dst, '"')
	}
	switch {
	case c.Total == c.Reasoning && c.Reasoning > 0:
		return append(dst, `,"content":null,"refusal":null,"tool_calls":[]}`...)
	case len(c.Calls) > 0:
		dst = append(dst, `,"content":null,"refusal":null,"tool_calls":[`...)
		return append(appendCalls(dst, c), "]}"...)
	case c.Refused:
		dst = append(dst, `,"content":null,"refusal":"`...)
		dst = c.AppendTokens(dst, c.Reasoning, c.Total)
		return append(dst, `","tool_calls":[]}`...)
	}
	dst = append(dst, `,"content":"`...)
	dst = c.AppendTokens(dst, c.Reasoning, c.Total)
	return append(dst, `","refusal":null,"tool_calls":[]}`...)
}

// constraints reads tools, structured output and logprobs.
func (chat) constraints(f *api.Fields) *api.Constraints {
	w := api.ReadStructured(f)
	if w == nil {
		w = &api.Constraints{}
	}
	w.ReadTools(f, api.NestedTools)
	if w.Logprobs = f.Flag("logprobs"); w.Logprobs {
		w.ReadTop(f, "top_logprobs")
	}
	if w.Empty() {
		return nil
	}
	if api.LastIs(f.Value.GetArray("messages"), "role", "tool") {
		w.Tools = nil // the call was made, so the answer is text
	}
	return w
}

// appendCalls appends the calls of an answer in one piece, up to the sent tokens.
func appendCalls(dst []byte, c *api.Choice) []byte {
	for _, part := range c.Parts() {
		if part.Kind != api.Call {
			continue
		}
		if part.Call > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, `{"id":`...)
		dst = api.AppendString(dst, c.Calls[part.Call].ID)
		dst = append(dst, `,"type":"function","function":{"name":"`...)
		dst = c.AppendTokens(dst, part.From, part.From+1)
		dst = append(dst, `","arguments":"`...)
		dst = c.AppendTokens(dst, part.From+1, part.To)
		dst = append(dst, `"}}`...)
	}
	return dst
}

// appendCallDelta appends the delta with the tokens from … to−1, which belong to call n:
// its name, or a part of its arguments.
func appendCallDelta(dst []byte, role bool, c *api.Choice, n, from, to int) []byte {
	dst = append(dst, `,"delta":{`...)
	if role {
		dst = append(dst, `"role":"assistant",`...)
	}
	dst = append(dst, `"tool_calls":[{"index":`...)
	dst = strconv.AppendInt(dst, int64(n), 10)
	if call := &c.Calls[n]; from == c.Reasoning+call.From {
		dst = append(dst, `,"id":`...)
		dst = api.AppendString(dst, call.ID)
		dst = append(dst, `,"type":"function","function":{"name":"`...)
		dst = c.AppendTokens(dst, from, to)
		return append(dst, `","arguments":""}}]}`...)
	}
	dst = append(dst, `,"function":{"arguments":"`...)
	dst = c.AppendTokens(dst, from, to)
	return append(dst, `"}}]}`...)
}

func (chat) prompts(m *api.Model, f *api.Fields) []api.Prompt { return api.ChatPrompts(m, f) }
