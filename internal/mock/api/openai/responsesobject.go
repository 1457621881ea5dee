package openai

import (
	"strconv"
	"time"

	"aiperfd/internal/mock/api"
	"aiperfd/internal/mock/apierror"
	"aiperfd/internal/mock/jsonappend"
	"aiperfd/internal/mock/options"
)

// Document appends the response object.
func (p *responses) Document(dst []byte, x *api.Answer) ([]byte, string) {
	output, reasoning := api.Tokens(x.Choices)
	begin := len(dst)
	dst = appendResponse(dst, x, &standing{choice: &x.Choices[0], output: output, reasoning: reasoning})
	p.keep(x, output, dst[begin:])
	return dst, "application/json"
}

// standing is the state of a response.
type standing struct {
	choice            *api.Choice     // its text; nil while it is in progress and if it failed
	failure           *apierror.Error // nil = none
	output, reasoning int             // tokens
}

func (st *standing) status() (status, why string) {
	switch {
	case st.failure != nil:
		return "failed", "null"
	case st.choice == nil:
		return "in_progress", "null"
	case st.choice.Finish == "length":
		return "incomplete", `{"reason":"max_output_tokens"}`
	}
	return "completed", "null"
}

// appendResponse appends the response object.
func appendResponse(dst []byte, x *api.Answer, st *standing) []byte {
	q := x.Request
	extra, _ := q.Payload.(*responsesRequest)
	status, why := st.status()
	dst = append(dst, `{"id":`...)
	dst = jsonappend.String(dst, responseID(x))
	dst = append(dst, `,"object":"response","created_at":`...)
	dst = strconv.AppendInt(dst, x.Truth.AcceptNs/int64(time.Second), 10)
	dst = append(dst, `,"status":"`+status+`","error":`...)
	if st.failure == nil {
		dst = append(dst, "null"...)
	} else {
		dst = jsonappend.String(append(dst, `{"code":"server_error","message":`...), st.failure.Message)
		dst = append(dst, '}')
	}
	dst = append(dst, `,"incomplete_details":`+why...)
	dst = appendTextOrNull(append(dst, `,"instructions":`...), extra.instructions)
	dst = append(dst, `,"max_output_tokens":`...)
	if q.MaxTokens > 0 {
		dst = strconv.AppendInt(dst, int64(q.MaxTokens), 10)
	} else {
		dst = append(dst, "null"...)
	}
	dst = append(dst, `,"model":`...)
	dst = jsonappend.String(dst, q.Model)
	dst = append(dst, `,"output":[`...)
	if st.choice != nil {
		dst = appendOutput(dst, x, st.choice)
	}
	dst = extra.appendMember(append(dst, ']'), "parallel_tool_calls", "true")
	dst = appendTextOrNull(append(dst, `,"previous_response_id":`...), extra.previous)
	dst = extra.appendMember(dst, "reasoning", `{"effort":null,"summary":null}`)
	dst = strconv.AppendBool(append(dst, `,"service_tier":"default","store":`...), extra.store)
	dst = extra.appendMember(dst, "temperature", "1.0")
	dst = extra.appendMember(dst, "text", `{"format":{"type":"text"}}`)
	dst = extra.appendMember(dst, "tool_choice", `"auto"`)
	dst = extra.appendMember(dst, "tools", "[]")
	dst = extra.appendMember(dst, "top_p", "1.0")
	dst = extra.appendMember(dst, "truncation", `"disabled"`)
	dst = append(dst, `,"usage":`...)
	if st.choice == nil || x.Options.Usage == options.UsageNever {
		dst = append(dst, "null"...)
	} else {
		dst = appendUsageOf(dst, x, st.output, st.reasoning)
	}
	dst = extra.appendMember(dst, "user", "null")
	return append(extra.appendMember(dst, "metadata", "{}"), '}')
}

// appendTextOrNull appends a text that may be missing.
func appendTextOrNull(dst []byte, s string) []byte {
	if s == "" {
		return append(dst, "null"...)
	}
	return jsonappend.String(dst, s)
}

// extent is the part of an item that an event contains.
type extent uint8

const (
	begun extent = iota
	whole
)

// appendUsageOf appends the usage object of a response.
func appendUsageOf(dst []byte, x *api.Answer, output, reasoning int) []byte {
	dst = append(dst, `{"input_tokens":`...)
	dst = strconv.AppendInt(dst, int64(x.Truth.PromptTokens), 10)
	dst = append(dst, `,"input_tokens_details":{"cached_tokens":0,"cache_write_tokens":0},"output_tokens":`...)
	dst = strconv.AppendInt(dst, int64(output), 10)
	dst = append(dst, `,"output_tokens_details":{"reasoning_tokens":`...)
	dst = strconv.AppendInt(dst, int64(reasoning), 10)
	dst = append(dst, `},"total_tokens":`...)
	dst = strconv.AppendInt(dst, int64(x.Truth.PromptTokens+output), 10)
	return append(dst, '}')
}

// appendOutput appends the complete items of an answer.
func appendOutput(dst []byte, x *api.Answer, c *api.Choice) []byte {
	if c.Reasoning > 0 {
		dst = appendItem(dst, x, c, api.Reasoning, whole)
	}
	if c.Total == c.Reasoning {
		return dst
	}
	if c.Reasoning > 0 {
		dst = append(dst, ',')
	}
	if len(c.Calls) == 0 {
		return appendItem(dst, x, c, api.Text, whole)
	}
	for n := range c.CallAt(c.Total-1) + 1 {
		if n > 0 {
			dst = append(dst, ',')
		}
		dst = appendCall(dst, c, n, whole)
	}
	return dst
}

// appendItem appends the item of the reasoning or of the answer, without content if it
// has just begun.
func appendItem(dst []byte, x *api.Answer, c *api.Choice, of api.Side, part extent) []byte {
	dst = append(dst, `{"id":`...)
	dst = appendItemID(dst, x, of)
	status := "in_progress"
	if part == whole {
		if status = "completed"; of == api.Text && c.Finish == "length" {
			status = "incomplete"
		}
	}
	if of == api.Reasoning {
		dst = append(dst, `,"type":"reasoning","summary":[],"content":[`...)
	} else {
		dst = append(dst, `,"type":"message","role":"assistant","content":[`...)
	}
	if part == whole {
		dst = appendPart(dst, c, of, whole)
	}
	dst = append(dst, `],"status":"`...)
	return append(append(dst, status...), '"', '}')
}

// appendPart appends the only part of an item, without text if it has just begun.
func appendPart(dst []byte, c *api.Choice, of api.Side, part extent) []byte {
	if of == api.Reasoning {
		dst = append(dst, `{"type":"reasoning_text","text":"`...)
	} else {
		dst = append(dst, `{"type":"output_text","annotations":[],"logprobs":[],"text":"`...)
	}
	if part == whole {
		dst = api.AppendSide(dst, c, of)
	}
	return append(dst, '"', '}')
}

func appendItemID(dst []byte, x *api.Answer, of api.Side) []byte {
	prefix := "msg_"
	if of == api.Reasoning {
		prefix = "rs_"
	}
	return jsonappend.String(dst, prefix+x.RequestID())
}

// appendMember appends a member with the value from the request, else with a default.
func (r *responsesRequest) appendMember(dst []byte, name, otherwise string) []byte {
	dst = append(append(append(dst, ',', '"'), name...), '"', ':')
	if v, ok := r.repeated[name]; ok {
		return append(dst, v...)
	}
	return append(dst, otherwise...)
}
