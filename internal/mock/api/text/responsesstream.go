package text

import (
	"strconv"

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
func openItem(e *api.Events, part api.Part) {
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

func responseContent(e *api.Events, c *api.Choice, from, to int, _ bool) {
	part := c.PartAt(from)
	if from == part.From {
		if from > 0 {
			closeItem(e, c, c.PartAt(from-1))
		}
		openItem(e, part)
	}
	if from > part.From || part.Kind != api.Call {
		responseDelta(e, c, part, from, to)
	}
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

func finishResponse(e *api.Events, c *api.Choice) {
	if c.Total > 0 {
		closeItem(e, c, c.PartAt(c.Total-1))
	}
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
