// Package anthropic is the codec of Anthropic's Messages API.
package anthropic

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/endpoint/answer"
	"aiperfd/internal/engine/endpoint/codec"
)

// anthropicMaxTokens is the length limit if a turn has none: the API demands
// one.
const anthropicMaxTokens = 1024

// Messages is Anthropic's API, which vLLM, SGLang and gateways serve as well.
func Messages() codec.Kind {
	return codec.Kind{
		Name: "messages", Aliases: []string{"anthropic"},
		Path: "/v1/messages", Title: "LLM Metrics",
		Caps: bench.Caps{
			Streams: true, ProducesTokens: true, TokenizesInput: true, Reasoning: true,
			System: true, History: true, Images: true, UsageUnasked: true,
		},
		Optional:  codec.Optional{Messages: true},
		Authorize: authorizeMessages,
		Encode:    encodeMessages,
		Decode:    answer.Decode(Grammar()),
	}
}

// authorizeMessages sets the headers of Anthropic's API. Servers of others that
// speak it check a bearer token as a rule.
func authorizeMessages(h http.Header, key string, hosts []string) {
	h.Set("Anthropic-Version", "2023-06-01")
	if key == "" {
		return
	}
	h.Set("X-Api-Key", key)
	if slices.ContainsFunc(hosts, func(host string) bool { return !isAnthropic(host) }) {
		h.Set("Authorization", "Bearer "+key)
	}
}

// isAnthropic reports whether a host, with or without a port, is Anthropic's own.
func isAnthropic(host string) bool {
	host, _, _ = strings.Cut(strings.ToLower(host), ":")
	return host == "anthropic.com" || strings.HasSuffix(host, ".anthropic.com")
}

// encodeMessages writes a body for POST /v1/messages (Anthropic API reference,
// "Create a message").
func encodeMessages(dst []byte, r *codec.Request) ([]byte, error) {
	r, err := codec.WithoutMessages(r)
	if err != nil {
		return dst, err
	}
	system, list, err := dialogue(r)
	if err != nil {
		return dst, err
	}
	t := r.Turn
	t.MaxTokens = cmp.Or(max(0, t.MaxTokens), anthropicMaxTokens)
	with := *r
	with.Turn = t
	b := codec.NewBody(&with, codec.RawField("messages", appendDialogue(make([]byte, 0, codec.MessagesSize(r)), list)), codec.FieldMaxTokens)
	if system != "" {
		b.Set("system", codec.AppendString(nil, system))
	}
	if r.Turn.Tools != nil {
		tools, err := inputTools(r.Turn.Tools)
		if err != nil {
			return dst, err
		}
		b.Set("tools", tools)
	}
	if err := b.MergeUser(r); err != nil {
		return dst, err
	}
	renameStop(b)
	b.SetStreamOptions(&codec.Settings{}) // only the user's options: usage comes by default
	return b.Append(dst), nil
}

// inputTools returns the tools of the chat API as this API has them: a schema of the
// input in place of parameters.
func inputTools(tools json.RawMessage) (json.RawMessage, error) {
	list, err := codec.Functions(tools)
	if err != nil {
		return nil, err
	}
	return codec.AppendList(nil, list, func(dst []byte, function *[]codec.Field) []byte {
		for k := range *function {
			if f := &(*function)[k]; f.Name == "parameters" {
				f.Name = "input_schema"
			}
		}
		return codec.AppendObject(dst, *function)
	}), nil
}

// renameStop gives the user's stop strings the name that they have here.
func renameStop(b *codec.Body) {
	const theirs, ours = "stop_sequences", "stop"
	value := b.Get(ours)
	if value == nil {
		return
	}
	b.Set(ours, nil)
	if b.Get(theirs) != nil {
		return
	}
	if trimmed := bytes.TrimSpace(value); len(trimmed) > 0 && trimmed[0] == '"' {
		value = slices.Concat(json.RawMessage("["), trimmed, json.RawMessage("]"))
	}
	b.Set(theirs, value)
}

// messageBlock is one block of a message.
type messageBlock struct {
	text  string
	image *bench.Media
	call  *bench.ToolCall
	of    string // ID of the call whose result text is; empty = none
}

// anthropicMessage is one message: the role and its blocks, in their order.
type anthropicMessage struct {
	role   string
	blocks []messageBlock
}

// dialogue returns a conversation as messages of user and assistant in turn, and
// the system message, which is none of them.
func dialogue(r *codec.Request) (system string, list []anthropicMessage, err error) {
	system, taken := codec.FoldSystem(r)
	add := func(role string, blocks ...messageBlock) {
		if n := len(list); n > 0 && list[n-1].role == role {
			list[n-1].blocks = append(list[n-1].blocks, blocks...)
			return
		}
		list = append(list, anthropicMessage{role, blocks})
	}
	if r.Context != "" {
		add("user", messageBlock{text: r.Context})
	}
	var calls []bench.ToolCall
	turn := func(t *bench.Turn) error {
		role, blocks, err := blocksOf(t, calls)
		if err == nil {
			add(role, blocks...)
		}
		return err
	}
	err = codec.EachTurn(r, taken, turn, func(c *bench.Choice) {
		if calls = nil; c != nil {
			add("assistant", answerBlocks(c)...)
			calls = c.ToolCalls
		}
	})
	return system, list, err
}

// blocksOf returns a turn as a message. The turn of a tool is what was returned
// for the calls of the last answer; if nothing was called, it is sent as text.
func blocksOf(t *bench.Turn, calls []bench.ToolCall) (role string, blocks []messageBlock, err error) {
	role = cmp.Or(t.Role, "user")
	switch role {
	case "user", "assistant":
	case "tool":
		role = "user"
		if len(calls) > 0 {
			for i := range calls {
				blocks = append(blocks, messageBlock{text: codec.ResultOf(t.Texts, i, len(calls)), of: calls[i].ID})
			}
			t = &bench.Turn{Images: t.Images}
		}
	default:
		return "", nil, fmt.Errorf("role %q: endpoint type messages takes user, assistant and tool, "+
			"and system in the first turn of several", role)
	}
	for _, s := range t.Texts {
		blocks = append(blocks, messageBlock{text: s})
	}
	for i := range t.Images {
		blocks = append(blocks, messageBlock{image: &t.Images[i]})
	}
	return role, blocks, nil
}

// answerBlocks returns the blocks of an answer, without its reasoning, which the API
// accepts only with its signature.
func answerBlocks(c *bench.Choice) []messageBlock {
	var blocks []messageBlock
	if text := cmp.Or(c.Text, c.Refusal); text != "" {
		blocks = append(blocks, messageBlock{text: text})
	}
	for i := range c.ToolCalls {
		blocks = append(blocks, messageBlock{call: &c.ToolCalls[i]})
	}
	return blocks
}

// appendDialogue appends messages; one text alone is a bare string.
func appendDialogue(dst []byte, list []anthropicMessage) []byte {
	return codec.AppendList(dst, list, func(dst []byte, m *anthropicMessage) []byte {
		dst = append(dst, `{"role":"`...)
		dst = append(dst, m.role...)
		dst = append(dst, `","content":`...)
		blocks := nonEmpty(m.blocks)
		switch {
		case len(blocks) == 0:
			dst = append(dst, `""`...)
		case len(blocks) == 1 && blocks[0].isPlain():
			dst = codec.AppendString(dst, blocks[0].text)
		default:
			dst = codec.AppendList(dst, blocks, func(dst []byte, b *messageBlock) []byte { return b.append(dst) })
		}
		return append(dst, '}')
	})
}

// isPlain reports whether a block is text and nothing else.
func (b *messageBlock) isPlain() bool { return b.image == nil && b.call == nil && b.of == "" }

// nonEmpty returns the blocks without empty texts, which the API refuses.
func nonEmpty(blocks []messageBlock) []messageBlock {
	return slices.DeleteFunc(slices.Clone(blocks), func(b messageBlock) bool { return b.isPlain() && b.text == "" })
}

func (b *messageBlock) append(dst []byte) []byte {
	text := codec.TextField
	switch {
	case b.image != nil:
		data := codec.RawField("data", codec.AppendMediaData(nil, b.image))
		source := []codec.Field{text("type", "base64"), text("media_type", b.image.MIME), data}
		if b.image.URL != "" {
			source = []codec.Field{text("type", "url"), text("url", b.image.URL)}
		}
		image := codec.RawField("source", codec.AppendObject(nil, source))
		return codec.AppendObject(dst, []codec.Field{text("type", "image"), image})
	case b.call != nil:
		return codec.AppendObject(dst, []codec.Field{
			text("type", "tool_use"), text("id", b.call.ID), text("name", b.call.Name),
			codec.RawField("input", []byte(inputOf(b.call))),
		})
	case b.of != "":
		return codec.AppendObject(dst, []codec.Field{
			text("type", "tool_result"), text("tool_use_id", b.of), text("content", b.text),
		})
	}
	return codec.AppendObject(dst, []codec.Field{text("type", "text"), text("text", b.text)})
}

// inputOf returns the arguments of a call as the object that they have to be;
// arguments that were cut off are none.
func inputOf(call *bench.ToolCall) string {
	if s := strings.TrimSpace(call.Arguments); strings.HasPrefix(s, "{") && json.Valid([]byte(s)) {
		return s
	}
	return "{}"
}
