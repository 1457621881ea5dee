package codec

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"aiperfd/internal/engine/bench"
)

// MessagesSize estimates the length of the messages, to allocate once.
func MessagesSize(r *Request) int {
	const perMessage = 48
	size := 2*perMessage + len(r.System) + len(r.Context) + textSize(r.Turn)
	for i := range r.History {
		e := &r.History[i]
		size += 2*perMessage + textSize(e.Turn) + len(e.Answer.Text)
	}
	return size + size/16 // room for escapes
}

func textSize(t bench.Turn) int {
	n := len(t.Messages)
	if t.Script != nil {
		n += t.Script.Size(t.Mark)
	}
	for _, s := range t.Texts {
		n += len(s) + 32
	}
	return n + mediaSize(t.Images) + mediaSize(t.Audios) + mediaSize(t.Videos)
}

// AppendMessages appends the conversation: system, context, earlier turns with
// their answers, this turn. The run's system message is put in front of a
// system message that the data itself starts with.
func AppendMessages(dst []byte, r *Request) []byte {
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
		if history[i].Unanswered {
			m.calls = nil
			continue
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
	calls []bench.ToolCall // of the last answer: the calls that a tool's turn returns
}

func (m *messages) open(role string) {
	if m.count++; m.count > 1 {
		m.dst = append(m.dst, ',')
	}
	m.dst = append(m.dst, `{"role":`...)
	m.dst = AppendString(m.dst, role)
	m.dst = append(m.dst, `,"content":`...)
}

func (m *messages) text(role, content string) {
	m.open(role)
	m.dst = append(AppendString(m.dst, content), '}')
}

// turn appends a turn: a single text is a bare string, other content is a list of parts.
func (m *messages) turn(t bench.Turn) {
	role := cmp.Or(t.Role, "user")
	media := len(t.Images) + len(t.Audios) + len(t.Videos)
	switch {
	case t.Script != nil:
		if m.count++; m.count > 1 {
			m.dst = append(m.dst, ',')
		}
		m.dst = t.Script.AppendMessages(m.dst, t.Mark)
	case t.Messages != nil:
		m.raw(t.Messages)
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

// raw appends the messages of a list as they are.
func (m *messages) raw(list json.RawMessage) {
	list = bytes.TrimSpace(bytes.TrimSuffix(bytes.TrimPrefix(bytes.TrimSpace(list), []byte("[")), []byte("]")))
	if len(list) == 0 {
		return
	}
	if m.count++; m.count > 1 {
		m.dst = append(m.dst, ',')
	}
	m.dst = append(m.dst, list...)
}

// results appends what tools returned, a message for each call in their order. The
// ids are those of the answer that was really given.
func (m *messages) results(texts []string) {
	for i, call := range m.calls {
		if m.count++; m.count > 1 {
			m.dst = append(m.dst, ',')
		}
		m.dst = AppendObject(m.dst, []Field{
			TextField("role", "tool"), TextField("tool_call_id", call.ID),
			TextField("content", ResultOf(texts, i, len(m.calls))),
		})
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
		dst = append(AppendString(dst, s), '}')
	}
	for i := range t.Images {
		part("image_url")
		dst = append(AppendMediaURL(append(dst, `{"url":`...), &t.Images[i]), '}')
		if uuid := t.Images[i].UUID; uuid != "" {
			dst = AppendString(append(dst, `,"uuid":`...), uuid)
		}
		dst = append(dst, '}')
	}
	for i := range t.Audios {
		if a := &t.Audios[i]; a.URL != "" {
			part("audio_url")
			dst = append(AppendMediaURL(append(dst, `{"url":`...), a), '}', '}')
		} else {
			part("input_audio")
			dst = AppendInputAudio(dst, a)
			dst = append(dst, '}')
		}
	}
	for i := range t.Videos {
		part("video_url")
		dst = append(AppendMediaURL(append(dst, `{"url":`...), &t.Videos[i]), '}', '}')
	}
	return dst
}

// answer appends the text and the tool calls of an answer, without its reasoning.
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
		m.dst = AppendString(m.dst, c.Text)
	}
	m.dst = append(m.dst, `,"tool_calls":`...)
	m.dst = AppendList(m.dst, c.ToolCalls, func(dst []byte, call *bench.ToolCall) []byte {
		function := AppendObject(nil, []Field{TextField("name", call.Name), TextField("arguments", call.Arguments)})
		id := TextField("id", call.ID)
		return AppendObject(dst, []Field{id, TextField("type", "function"), {"function", function}})
	})
	m.dst = append(m.dst, '}')
}

// JoinPrompt joins the texts of a conversation with spaces, for APIs without roles.
func JoinPrompt(r *Request) string {
	var parts []string
	add := func(texts ...string) {
		for _, s := range texts {
			if s != "" {
				parts = append(parts, s)
			}
		}
	}
	add(r.System, r.Context)
	for i := range r.History {
		add(r.History[i].Turn.Texts...)
		add(r.History[i].Answer.Text)
	}
	add(r.Turn.Texts...)
	return strings.Join(parts, " ")
}

// OnePrompt joins system message, context and texts for a dialect that has one
// text, no roles, and therefore no earlier turns.
func OnePrompt(r *Request, kind string) (string, error) {
	if n := len(r.History); n > 0 {
		return "", fmt.Errorf("endpoint type %s takes conversations of one turn; this is turn %d of its conversation", kind, n+1)
	}
	return JoinPrompt(r), nil
}

// EachTurn calls turn with the turns of a conversation but the first ones, whose number is
// taken, and answered after each earlier one. The answer is nil where the server's is not
// part of the conversation.
func EachTurn(r *Request, taken int, turn func(*bench.Turn) error, answered func(*bench.Choice)) error {
	for i := range r.History {
		e := &r.History[i]
		if i >= taken {
			if err := turn(&e.Turn); err != nil {
				return err
			}
		}
		answer := &e.Answer
		if e.Unanswered {
			answer = nil
		}
		answered(answer)
	}
	return turn(&r.Turn)
}

// ModelOf returns the model that a request names.
func ModelOf(r *Request) string {
	if r.Turn.Model != "" {
		return r.Turn.Model
	}
	return r.Model
}

// FoldSystem splits a conversation into its system message and the rest: the
// run's message, and the one that the data itself starts with unless there is nothing
// else. taken is the number of turns that the system message has taken, 0 or 1.
func FoldSystem(r *Request) (system string, taken int) {
	if len(r.History) == 0 {
		return r.System, 0
	}
	first := &r.History[0].Turn
	if first.Role != "system" || HasMedia(first) {
		return r.System, 0
	}
	system = r.System
	for _, s := range first.Texts {
		if system != "" && s != "" {
			system += "\n\n"
		}
		system += s
	}
	return system, 1
}

// HasMedia reports whether a turn has images, audio or video.
func HasMedia(t *bench.Turn) bool { return len(t.Images)+len(t.Audios)+len(t.Videos) > 0 }

// ResultOf returns the result of call number i of n: its text, and for the last
// one all that are left.
func ResultOf(texts []string, i, n int) string {
	if i >= len(texts) {
		return ""
	}
	var out strings.Builder
	out.WriteString(texts[i])
	if i == n-1 {
		for _, s := range texts[n:] {
			out.WriteString("\n" + s)
		}
	}
	return out.String()
}
