package text

import (
	"encoding/json"
	"strconv"
	"strings"

	"aiperfd/internal/mock/api"
	"aiperfd/internal/mock/options"
)

// The events of a streamed response (OpenAI API reference, "Streaming events"):
// created and in_progress are sent with the head. Every item is added, then its part, then
// the deltas of the part; then both are done. A tool call is an item without a part: it is
// added with its name and without arguments, receives them in pieces, and is done. Like the
// name event of a chat, the event that adds it is content: the name is its first token. As
// in vLLM the last event is always of type completed; the status of the response in it may
// differ.

// responseEvent is an event that is not a delta. Only its type and number are always there.
type responseEvent struct {
	Type         string          `json:"type"`
	Number       int             `json:"sequence_number"`
	Response     *responseObject `json:"response,omitempty"`
	ItemID       string          `json:"item_id,omitempty"`
	OutputIndex  *int            `json:"output_index,omitempty"`
	ContentIndex *int            `json:"content_index,omitempty"`
	Item         *responseItem   `json:"item,omitempty"`
	Part         *responsePart   `json:"part,omitempty"`
	Text         *string         `json:"text,omitempty"`
	Logprobs     []int           `json:"logprobs,omitzero"` // always empty
	Name         string          `json:"name,omitempty"`
	Arguments    *string         `json:"arguments,omitempty"`
}

// send adds the event. content means that it has a token.
func (v *responseEvent) send(e *api.Events, content bool) {
	v.Number = e.Number
	e.Number++
	e.JSON("event: "+v.Type+e.EOL+"data: ", v, content)
}

// sendAll adds events without tokens.
func sendAll(e *api.Events, events ...*responseEvent) {
	for _, v := range events {
		v.send(e, false)
	}
}

func beginResponse(e *api.Events) {
	r := newResponse(e.Answer)
	created := &responseEvent{Type: "response.created", Response: r}
	sendAll(e, created, &responseEvent{Type: "response.in_progress", Response: r})
	e.Flush()
}

// openItem adds the beginning of the item of a part.
func openItem(e *api.Events, _ *api.Choice, part api.Part) {
	added := &responseEvent{Type: "response.output_item.added", OutputIndex: &part.Index, Item: newItem(e.Answer, part)}
	if part.Kind == api.Call {
		added.send(e, true)
		return
	}
	sendAll(e, added, &responseEvent{
		Type: "response.content_part.added", ItemID: added.Item.ID, OutputIndex: &part.Index, ContentIndex: new(int),
		Part: newPart(part, ""),
	})
}

// closeItem adds the ends of a part, which all repeat its text or its arguments.
func closeItem(e *api.Events, c *api.Choice, part api.Part) {
	item := newItem(e.Answer, part).fill(c, part)
	done := &responseEvent{Type: "response.output_item.done", OutputIndex: &part.Index, Item: item}
	if part.Kind == api.Call {
		sendAll(e, &responseEvent{
			Type: "response.function_call_arguments.done", ItemID: item.ID, OutputIndex: &part.Index,
			Name: item.Name, Arguments: item.Arguments,
		}, done)
		return
	}
	content := item.Content[0]
	sendAll(e, &responseEvent{
		Type: "response." + content.Type + ".done", ItemID: item.ID, OutputIndex: &part.Index, ContentIndex: new(int),
		Text: &content.Text, Logprobs: content.Logprobs,
	}, &responseEvent{
		Type: "response.content_part.done", ItemID: item.ID, OutputIndex: &part.Index, ContentIndex: new(int), Part: content,
	}, done)
}

// responseDelta adds an event with tokens. It is rendered by hand, because it is what
// streams consist of.
func responseDelta(e *api.Events, c *api.Choice, part api.Part, from, to int) {
	kind := [...]string{
		api.Reasoning: "response.reasoning_text.delta", api.Text: "response.output_text.delta",
		api.Call: "response.function_call_arguments.delta",
	}[part.Kind]
	e.B = append(e.B, "event: "...)
	e.B = append(e.B, kind...)
	e.B = append(e.B, e.EOL...)
	e.B = append(e.B, `data: {"type":"`...)
	e.B = append(e.B, kind...)
	e.B = append(e.B, `","sequence_number":`...)
	e.B = strconv.AppendInt(e.B, int64(e.Number), 10)
	e.Number++
	e.B = append(e.B, `,"item_id":`...)
	e.B = api.AppendString(e.B, itemID(e.Answer, part))
	e.B = append(e.B, `,"output_index":`...)
	e.B = strconv.AppendInt(e.B, int64(part.Index), 10)
	if part.Kind != api.Call {
		e.B = append(e.B, `,"content_index":0`...)
	}
	e.B = append(e.B, `,"delta":"`...)
	e.B = append(c.AppendTokens(e.B, from, to), '"')
	if part.Kind == api.Text {
		e.B = append(e.B, `,"logprobs":[]`...)
	}
	e.B = append(e.B, '}')
	e.End(true)
}

func (a *Responses) close(e *api.Events) {
	t := &e.Answer.Truth
	r := newWholeResponse(e.Answer, t.OutputTokens, t.ReasoningTokens)
	a.keep(e.Answer, t.OutputTokens, api.AppendJSON(nil, r))
	if e.Answer.Options.FinishChunk != options.FinishMissing {
		sendAll(e, &responseEvent{Type: "response.completed", Response: r})
	}
}

func failResponse(e *api.Events, failure *api.Error) {
	r := newResponse(e.Answer)
	r.Status, r.Error = "failed", &responseError{"server_error", failure.Message}
	sendAll(e, &responseEvent{Type: "response.failed", Response: r})
}

// responseObject is a response.
type responseObject struct {
	ID                string          `json:"id"`
	Object            string          `json:"object"`
	CreatedAt         int64           `json:"created_at"`
	Status            string          `json:"status"`
	Error             *responseError  `json:"error"`
	Incomplete        *incomplete     `json:"incomplete_details"`
	Instructions      *string         `json:"instructions"`
	MaxOutputTokens   *int            `json:"max_output_tokens"`
	Model             string          `json:"model"`
	Output            []*responseItem `json:"output"`
	ParallelToolCalls json.RawMessage `json:"parallel_tool_calls"`
	Previous          *string         `json:"previous_response_id"`
	Reasoning         json.RawMessage `json:"reasoning"`
	ServiceTier       string          `json:"service_tier"`
	Store             bool            `json:"store"`
	Temperature       json.RawMessage `json:"temperature"`
	Text              json.RawMessage `json:"text"`
	ToolChoice        json.RawMessage `json:"tool_choice"`
	Tools             json.RawMessage `json:"tools"`
	TopP              json.RawMessage `json:"top_p"`
	Truncation        json.RawMessage `json:"truncation"`
	Usage             *responseUsage  `json:"usage"`
	User              json.RawMessage `json:"user"`
	Metadata          json.RawMessage `json:"metadata"`
}

type responseError struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

type incomplete struct {
	Reason string `json:"reason"`
}

type responseUsage struct {
	Input         int           `json:"input_tokens"`
	InputDetails  inputDetails  `json:"input_tokens_details"`
	Output        int           `json:"output_tokens"`
	OutputDetails outputDetails `json:"output_tokens_details"`
	Total         int           `json:"total_tokens"`
}

type inputDetails struct {
	Cached     int `json:"cached_tokens"`
	CacheWrite int `json:"cache_write_tokens"`
}

type outputDetails struct {
	Reasoning int `json:"reasoning_tokens"`
}

// newResponse returns a response that is in progress.
func newResponse(x *api.Answer) *responseObject {
	extra := api.PayloadOf[*responsesRequest](x)
	repeat := func(name, otherwise string) json.RawMessage {
		if v, ok := extra.repeated[name]; ok {
			return v
		}
		return json.RawMessage(otherwise)
	}
	r := &responseObject{
		ID: responseID(x), Object: "response", CreatedAt: x.Created(), Status: "in_progress",
		Instructions: textOrNull(extra.instructions), Model: x.Request.Model, Output: []*responseItem{},
		ParallelToolCalls: repeat("parallel_tool_calls", "true"), Previous: textOrNull(extra.previous),
		Reasoning: repeat("reasoning", `{"effort":null,"summary":null}`), ServiceTier: "default", Store: extra.store,
		Temperature: repeat("temperature", "1.0"), Text: repeat("text", `{"format":{"type":"text"}}`),
		ToolChoice: repeat("tool_choice", `"auto"`), Tools: repeat("tools", "[]"), TopP: repeat("top_p", "1.0"),
		Truncation: repeat("truncation", `"disabled"`), User: repeat("user", "null"), Metadata: repeat("metadata", "{}"),
	}
	if x.Request.MaxTokens > 0 {
		r.MaxOutputTokens = &x.Request.MaxTokens
	}
	return r
}

// textOrNull returns a text that may be missing.
func textOrNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// newWholeResponse returns a response with its output, of which output tokens were sent.
func newWholeResponse(x *api.Answer, output, reasoning int) *responseObject {
	r, c := newResponse(x), &x.Choices[0]
	r.Status = "completed"
	if c.Finish == "length" {
		r.Status, r.Incomplete = "incomplete", &incomplete{"max_output_tokens"}
	}
	for _, part := range c.Parts() {
		r.Output = append(r.Output, newItem(x, part).fill(c, part))
	}
	if x.Options.Usage != options.UsageNever {
		in := x.Truth.PromptTokens
		r.Usage = &responseUsage{Input: in, Output: output, OutputDetails: outputDetails{reasoning}, Total: in + output}
	}
	return r
}

// document appends the response.
func (a *Responses) document(dst []byte, x *api.Answer) ([]byte, string) {
	output, reasoning := api.Tokens(x.Choices)
	begin := len(dst)
	dst = api.AppendJSON(dst, newWholeResponse(x, output, reasoning))
	a.keep(x, output, dst[begin:])
	return dst, api.JSON
}

// responseItem is an item of the output: reasoning, a message or a call.
type responseItem struct {
	ID        string          `json:"id"`
	Type      string          `json:"type"`
	Role      string          `json:"role,omitempty"`
	Summary   []int           `json:"summary,omitzero"` // always empty
	CallID    string          `json:"call_id,omitempty"`
	Name      string          `json:"name,omitempty"`
	Arguments *string         `json:"arguments,omitempty"`
	Content   []*responsePart `json:"content,omitzero"`
	Status    string          `json:"status"`
}

// responsePart is the only part of an item with text.
type responsePart struct {
	Type        string `json:"type"`
	Annotations []int  `json:"annotations,omitzero"` // always empty
	Logprobs    []int  `json:"logprobs,omitzero"`    // always empty
	Text        string `json:"text"`
}

// itemID returns the id of the item of a part. That of a call differs from the call's own.
func itemID(x *api.Answer, part api.Part) string {
	switch part.Kind {
	case api.Reasoning:
		return "rs_" + x.RequestID()
	case api.Text:
		return "msg_" + x.RequestID()
	case api.Call:
	}
	return "fc_" + strings.TrimPrefix(x.Choices[0].Calls[part.Call].ID, "call_")
}

// newItem returns the item of a part as it begins: without text or arguments.
func newItem(x *api.Answer, part api.Part) *responseItem {
	item := &responseItem{ID: itemID(x, part), Status: "in_progress"}
	switch part.Kind {
	case api.Reasoning:
		item.Type, item.Summary, item.Content = "reasoning", []int{}, []*responsePart{}
	case api.Text:
		item.Type, item.Role, item.Content = "message", "assistant", []*responsePart{}
	case api.Call:
		c := &x.Choices[0]
		item.Type, item.CallID, item.Arguments = "function_call", c.Calls[part.Call].ID, new(string)
		item.Name = c.Text(part.From, part.From+1)
	}
	return item
}

// fill completes an item.
func (item *responseItem) fill(c *api.Choice, part api.Part) *responseItem {
	item.Status = "completed"
	var whole bool
	if part.Kind == api.Call {
		arguments := c.Text(part.From+1, part.To)
		item.Arguments = &arguments
		whole = c.Reasoning+c.Calls[part.Call].To <= c.Total
	} else {
		item.Content = append(item.Content, newPart(part, c.Text(part.From, part.To)))
		whole = part.Kind == api.Reasoning || c.Finish != "length"
	}
	if !whole {
		item.Status = "incomplete"
	}
	return item
}

// newPart returns the part of an item with a text.
func newPart(part api.Part, text string) *responsePart {
	if part.Kind == api.Reasoning {
		return &responsePart{Type: "reasoning_text", Text: text}
	}
	return &responsePart{Type: "output_text", Annotations: []int{}, Logprobs: []int{}, Text: text}
}
