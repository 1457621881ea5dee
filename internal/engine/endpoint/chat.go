package endpoint

import (
	"cmp"
	"slices"

	"aiperfd/internal/engine/bench"
)

// chat is OpenAI's chat API, as vLLM, SGLang and most others serve it.
func chat() Kind {
	return Kind{
		Name: "chat", Aliases: []string{"openai-chat"},
		Path: "/v1/chat/completions", Title: "LLM Metrics",
		Caps: bench.Caps{
			Streams: true, ProducesTokens: true, TokenizesInput: true, Reasoning: true,
			System: true, History: true, Images: true, Audio: true, Video: true, Hints: true,
		},
		Encode: encodeChat, Decode: decodeWith(openAI()),
	}
}

// encodeChat writes a body for POST /v1/chat/completions (OpenAI API reference,
// "Create chat completion").
func encodeChat(dst []byte, r *Request) ([]byte, error) {
	maxField := fieldMaxCompletion
	if r.Settings.LegacyMaxTokens {
		maxField = fieldMaxTokens
	}
	messages := appendMessages(make([]byte, 0, messagesSize(r)), r)
	return newBody(r, Field{"messages", messages}, maxField).finish(dst, r, maxField)
}

// messagesSize estimates the length of the messages, to allocate once.
func messagesSize(r *Request) int {
	const perMessage = 48
	size := 2*perMessage + len(r.System) + len(r.Context) + textSize(r.Turn)
	for i := range r.History {
		e := &r.History[i]
		size += 2*perMessage + textSize(e.Turn) + len(e.Answer.Text)
	}
	return size + size/16 // room for escapes
}

func textSize(t bench.Turn) int {
	n := 0
	for _, s := range t.Texts {
		n += len(s) + 32
	}
	return n + mediaSize(t.Images) + mediaSize(t.Audios) + mediaSize(t.Videos)
}

// appendMessages appends the conversation: system, context, earlier turns with
// their answers, this turn. The run's system message is put in front of a
// system message that the data itself starts with.
func appendMessages(dst []byte, r *Request) []byte {
	m := messages{dst: append(dst, '[')}
	history := r.History
	first := r.Turn
	if len(history) > 0 {
		first = history[0].Turn
	}
	systemFirst := first.Role == "system"
	if systemFirst {
		m.turn(withSystem(first, r.System))
	} else if r.System != "" {
		m.text("system", r.System)
	}
	if r.Context != "" {
		m.text("user", r.Context)
	}
	for i := range history {
		if i > 0 || !systemFirst {
			m.turn(history[i].Turn)
		}
		m.answer(&history[i].Answer)
	}
	if len(history) > 0 || !systemFirst {
		m.turn(r.Turn)
	}
	return append(m.dst, ']')
}

// withSystem returns a system turn with the run's system message in front.
func withSystem(t bench.Turn, system string) bench.Turn {
	switch {
	case system == "":
	case len(t.Texts) == 0:
		t.Texts = []string{system}
	case len(t.Texts) == 1:
		t.Texts = []string{system + "\n\n" + t.Texts[0]}
	default:
		t.Texts = slices.Concat([]string{system}, t.Texts)
	}
	return t
}

// messages appends chat messages, separated by commas.
type messages struct {
	dst   []byte
	count int
	calls []bench.ToolCall // of the last answer: what a tool's turn is about
}

func (m *messages) open(role string) {
	if m.count++; m.count > 1 {
		m.dst = append(m.dst, ',')
	}
	m.dst = append(m.dst, `{"role":`...)
	m.dst = appendString(m.dst, role)
	m.dst = append(m.dst, `,"content":`...)
}

func (m *messages) text(role, content string) {
	m.open(role)
	m.dst = append(appendString(m.dst, content), '}')
}

// turn appends a turn: one text alone is a bare string, anything else are parts.
func (m *messages) turn(t bench.Turn) {
	role := cmp.Or(t.Role, "user")
	media := len(t.Images) + len(t.Audios) + len(t.Videos)
	switch {
	case role == "tool" && len(m.calls) > 0 && media == 0:
		m.results(t.Texts)
	case len(t.Texts)+media == 0:
		m.text(role, "")
	case len(t.Texts) == 1 && media == 0:
		m.text(role, t.Texts[0])
	default:
		m.open(role)
		m.dst = append(appendParts(append(m.dst, '['), &t), ']', '}')
	}
}

// results appends what tools returned, a message for each call in their order. The
// ids are those of the answer that was really given.
func (m *messages) results(texts []string) {
	for i, call := range m.calls {
		if m.count++; m.count > 1 {
			m.dst = append(m.dst, ',')
		}
		m.dst = append(m.dst, `{"role":"tool","tool_call_id":`...)
		m.dst = appendString(m.dst, call.ID)
		m.dst = append(m.dst, `,"content":`...)
		m.dst = append(appendString(m.dst, resultOf(texts, i, len(m.calls))), '}')
	}
}

// appendParts appends the parts of a turn's content: texts, images, audios, videos.
func appendParts(dst []byte, t *bench.Turn) []byte {
	first := len(dst)
	part := func(kind string) {
		if len(dst) > first {
			dst = append(dst, ',')
		}
		dst = append(dst, `{"type":"`...)
		dst = append(dst, kind...)
		dst = append(dst, `","`...)
		dst = append(dst, kind...)
		dst = append(dst, `":`...)
	}
	for _, s := range t.Texts {
		part("text")
		dst = append(appendString(dst, s), '}')
	}
	for i := range t.Images {
		part("image_url")
		dst = append(appendMediaURL(append(dst, `{"url":`...), &t.Images[i]), '}', '}')
	}
	for i := range t.Audios {
		if a := &t.Audios[i]; a.URL != "" {
			part("audio_url")
			dst = append(appendMediaURL(append(dst, `{"url":`...), a), '}', '}')
		} else {
			part("input_audio")
			dst = appendInputAudio(dst, a)
			dst = append(dst, '}')
		}
	}
	for i := range t.Videos {
		part("video_url")
		dst = append(appendMediaURL(append(dst, `{"url":`...), &t.Videos[i]), '}', '}')
	}
	return dst
}

// answer appends what the model said, as it said it, without its reasoning.
func (m *messages) answer(c *bench.Choice) {
	m.calls = c.ToolCalls
	if len(c.ToolCalls) == 0 {
		m.text("assistant", c.Text)
		return
	}
	m.open("assistant")
	if c.Text == "" {
		m.dst = append(m.dst, "null"...)
	} else {
		m.dst = appendString(m.dst, c.Text)
	}
	m.dst = append(m.dst, `,"tool_calls":[`...)
	for i, call := range c.ToolCalls {
		if i > 0 {
			m.dst = append(m.dst, ',')
		}
		m.dst = append(m.dst, `{"id":`...)
		m.dst = appendString(m.dst, call.ID)
		m.dst = append(m.dst, `,"type":"function","function":{"name":`...)
		m.dst = appendString(m.dst, call.Name)
		m.dst = append(m.dst, `,"arguments":`...)
		m.dst = append(appendString(m.dst, call.Arguments), '}', '}')
	}
	m.dst = append(m.dst, ']', '}')
}
