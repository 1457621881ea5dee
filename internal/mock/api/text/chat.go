package text

import (
	"strconv"

	"aiperfd/internal/mock/api"
)

// openDelta and closeDelta enclose the text of one stream event. An empty field means an event
// without text.
func (p *text) openDelta(dst []byte, role bool, field string) []byte {
	if !p.chat {
		return append(dst, `,"text":"`...)
	}
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

func (p *text) closeDelta(dst []byte, role bool, field string) []byte {
	if !p.chat {
		return append(dst, '"')
	}
	if role || field != "" {
		dst = append(dst, '"')
	}
	return append(dst, '}')
}

// appendMessage appends the text members of a choice of a plain answer.
func (p *text) appendMessage(dst []byte, c *api.Choice, reasoningField string) []byte {
	if !p.chat {
		dst = append(dst, `,"text":"`...)
		return append(c.AppendTokens(dst, 0, c.Total), '"')
	}
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

// constraints reads structured output, logprobs and, of a chat, tools; nil = none.
func (p *text) constraints(f *api.Fields) *api.Constraints {
	w := api.ReadStructured(f)
	if p.chat {
		w.ReadTools(f, api.NestedTools)
		if w.Logprobs = f.Flag("logprobs"); w.Logprobs {
			w.ReadTop(f, "top_logprobs")
		}
	} else if _, ok := f.Get("logprobs"); ok {
		w.Logprobs = true
		w.ReadTop(f, "logprobs")
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

func appendLogprob(dst []byte, v float64) []byte { return strconv.AppendFloat(dst, v, 'f', 3, 64) }

// appendChatLogprobs appends chat's object with the probabilities of the tokens from … to−1 of c
// and of top tokens in each place.
func appendChatLogprobs(dst []byte, c *api.Choice, from, to, top int) []byte {
	dst = append(dst, `{"content":[`...)
	for i := from; i < to; i++ {
		if i > from {
			dst = append(dst, ',')
		}
		dst = appendTokenLogprob(dst, c.TokenText(i), c.Logprob(i))
		dst = append(dst, `,"top_logprobs":[`...)
		c.Alternatives(i, top, func(k int, text string, logprob float64) {
			if k > 0 {
				dst = append(dst, ',')
			}
			dst = appendTokenLogprob(dst, text, logprob)
			dst = append(dst, '}')
		})
		dst = append(dst, "]}"...)
	}
	return append(dst, "]}"...)
}

// appendTokenLogprob opens the object of a token.
func appendTokenLogprob(dst []byte, text string, logprob float64) []byte {
	dst = append(dst, `{"token":`...)
	dst = api.AppendString(dst, text)
	dst = append(dst, `,"logprob":`...)
	dst = appendLogprob(dst, logprob)
	dst = append(dst, `,"bytes":[`...)
	for i := range len(text) {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = strconv.AppendInt(dst, int64(text[i]), 10)
	}
	return append(dst, ']')
}

// appendTextLogprobs is appendChatLogprobs for completions.
func appendTextLogprobs(dst []byte, c *api.Choice, from, to, top int) []byte {
	dst = append(dst, `{"text_offset":[`...)
	list := func(each func(i int)) {
		for i := from; i < to; i++ {
			if i > from {
				dst = append(dst, ',')
			}
			each(i)
		}
	}
	offset := 0
	for i := range from {
		offset += len(c.TokenText(i))
	}
	list(func(i int) {
		dst = strconv.AppendInt(dst, int64(offset), 10)
		offset += len(c.TokenText(i))
	})
	dst = append(dst, `],"token_logprobs":[`...)
	list(func(i int) { dst = appendLogprob(dst, c.Logprob(i)) })
	dst = append(dst, `],"tokens":[`...)
	list(func(i int) { dst = api.AppendString(dst, c.TokenText(i)) })
	dst = append(dst, `],"top_logprobs":[`...)
	list(func(i int) {
		dst = append(dst, '{')
		c.Alternatives(i, top, func(k int, text string, logprob float64) {
			if k > 0 {
				dst = append(dst, ',')
			}
			dst = api.AppendString(dst, text)
			dst = append(dst, ':')
			dst = appendLogprob(dst, logprob)
		})
		dst = append(dst, '}')
	})
	return append(dst, "]}"...)
}
