package openai

import (
	"cmp"
	"encoding/json"
	"fmt"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/endpoint/answer"
	"aiperfd/internal/engine/endpoint/codec"
)

// Responses is OpenAI's newer API for everything that chat does.
func Responses() codec.Kind {
	return codec.Kind{
		Name: "responses", Path: "/v1/responses", Title: "LLM Metrics",
		Caps: bench.Caps{
			Streams: true, ProducesTokens: true, TokenizesInput: true, Reasoning: true,
			System: true, History: true, Images: true, Audio: true, UsageUnasked: true,
		},
		Optional: codec.Optional{Messages: true},
		Encode:   encodeResponses,
		Decode:   answer.Decode(ResponsesGrammar()),
	}
}

// encodeResponses writes a body for POST /v1/responses (OpenAI API reference,
// "Create a model response"). System messages are its instructions.
func encodeResponses(dst []byte, r *codec.Request) ([]byte, error) {
	r, err := codec.WithoutMessages(r)
	if err != nil {
		return dst, err
	}
	in := inputItems{dst: make([]byte, 0, codec.MessagesSize(r))}
	system, err := in.conversation(r)
	if err != nil {
		return dst, err
	}
	b := codec.NewBody(r, codec.RawField("input", in.dst), codec.FieldMaxOutput)
	if system != "" {
		b.Set("instructions", codec.AppendString(nil, system))
	}
	if r.Turn.Tools != nil {
		tools, err := responseTools(r.Turn.Tools)
		if err != nil {
			return dst, err
		}
		b.Set("tools", tools)
	}
	if err := b.MergeUser(r); err != nil {
		return dst, err
	}
	b.SetStreamOptions(r.Settings)
	return b.Append(dst), nil
}

// responseTools returns the tools of the chat API as this API has them: the members of
// the function stand beside the type.
func responseTools(tools json.RawMessage) (json.RawMessage, error) {
	list, err := codec.Functions(tools)
	if err != nil {
		return nil, err
	}
	return codec.AppendList(nil, list, func(dst []byte, function *[]codec.Field) []byte {
		return codec.AppendObject(dst, append([]codec.Field{codec.TextField("type", "function")}, *function...))
	}), nil
}

// inputItems appends the items of a conversation, separated by commas.
type inputItems struct {
	dst   []byte
	first int              // offset of the list
	calls []bench.ToolCall // of the last answer: the calls that a tool's turn returns
}

// conversation appends the list of items: context, earlier turns with their
// answers, this turn. It returns the system message, which is none of them.
func (m *inputItems) conversation(r *codec.Request) (system string, err error) {
	system, taken := codec.FoldSystem(r)
	m.dst = append(m.dst, '[')
	m.first = len(m.dst)
	if r.Context != "" {
		m.message("user", r.Context)
	}
	err = codec.EachTurn(r, taken, m.turn, func(c *bench.Choice) {
		if m.calls = nil; c != nil {
			m.answer(c)
		}
	})
	m.dst = append(m.dst, ']')
	return system, err
}

// item appends an item.
func (m *inputItems) item(kind string, members ...codec.Field) {
	if len(m.dst) > m.first {
		m.dst = append(m.dst, ',')
	}
	m.dst = codec.AppendObject(m.dst, append([]codec.Field{codec.TextField("type", kind)}, members...))
}

func (m *inputItems) message(role, text string) {
	m.item("message", codec.TextField("role", role), codec.TextField("content", text))
}

// turn appends a turn: what tools returned for the calls of the last answer, or a
// message, whose content is a bare string if it is one text.
func (m *inputItems) turn(t *bench.Turn) error {
	role := cmp.Or(t.Role, "user")
	switch {
	case role == "tool" && len(m.calls) > 0 && !codec.HasMedia(t):
		m.outputs(t.Texts)
		return nil
	case role == "tool": // nothing was called: it is sent as text
		role = "user"
	}
	if !codec.HasMedia(t) && len(t.Texts) < 2 {
		text := ""
		if len(t.Texts) == 1 {
			text = t.Texts[0]
		}
		m.message(role, text)
		return nil
	}
	parts, err := contentParts(t, role)
	m.item("message", codec.TextField("role", role), codec.RawField("content", parts))
	return err
}

// outputs appends what tools returned, one text for each call in their order;
// calls beyond the texts returned nothing.
func (m *inputItems) outputs(texts []string) {
	for i, call := range m.calls {
		m.item("function_call_output", codec.TextField("call_id", call.ID),
			codec.TextField("output", codec.ResultOf(texts, i, len(m.calls))))
	}
}

// contentParts returns the parts of a turn's content: texts, images, audios.
func contentParts(t *bench.Turn, role string) ([]byte, error) {
	list := inputItems{dst: []byte{'['}, first: 1}
	kind := "input_text"
	if role == "assistant" {
		kind = "output_text"
	}
	for _, s := range t.Texts {
		list.item(kind, codec.TextField("text", s))
	}
	for i := range t.Images {
		list.item("input_image", codec.RawField("image_url", codec.AppendMediaURL(nil, &t.Images[i])))
	}
	for i := range t.Audios {
		a := &t.Audios[i]
		if a.URL != "" {
			return nil, fmt.Errorf("audio %q: endpoint type responses needs audio data, not a URL", a.URL)
		}
		list.item("input_audio", codec.RawField("input_audio", codec.AppendInputAudio(nil, a)))
	}
	return append(list.dst, ']'), nil
}

// answer appends the items of an answer, without its reasoning, which servers accept
// only if it is encrypted. An answer of reasoning alone is an empty message.
func (m *inputItems) answer(c *bench.Choice) {
	text := cmp.Or(c.Text, c.Refusal)
	if text != "" || len(c.ToolCalls) == 0 {
		m.message("assistant", text)
	}
	for _, call := range c.ToolCalls {
		m.item("function_call", codec.TextField("call_id", call.ID), codec.TextField("name", call.Name),
			codec.TextField("arguments", call.Arguments))
	}
	m.calls = c.ToolCalls
}
