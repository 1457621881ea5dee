package trace

import (
	"bytes"
	"encoding/json"
	"strings"
	"time"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/dataset/file"
	"aiperfd/internal/engine/dataset/source"
)

// mooncake is the format of the traces of Mooncake, as AIPerf 0.13 extends it.
func mooncake() format {
	return format{
		Format: source.Format{
			Name:      "mooncake_trace",
			BlockSize: defaultBlockSize,
			Trace:     true,
			Timed:     func(h *source.Head) bool { return h.HasAny("timestamp") },
			Needs:     "input_length, text_input or payload, or messages with timestamp, delay, session_id or output_length",
			Detect: func(h *source.Head) bool {
				return !h.Folder && !h.Table() && !h.HasAny("chat_id") && (h.HasAny("input_length", "text_input", "payload") ||
					h.HasAny("messages") && h.HasAny("timestamp", "delay", "session_id", "output_length"))
			},
		},
		decoder: func() decoder { return decodeMooncake },
	}
}

func decodeMooncake(data []byte) (r Request, problems source.Problems) {
	var m struct {
		Input     json.RawMessage `json:"input_length"`
		IDs       json.RawMessage `json:"hash_ids"`
		Text      json.RawMessage `json:"text_input"`
		Messages  json.RawMessage `json:"messages"`
		Tools     json.RawMessage `json:"tools"`
		Payload   json.RawMessage `json:"payload"`
		Output    json.RawMessage `json:"output_length"`
		Timestamp json.RawMessage `json:"timestamp"`
		Delay     json.RawMessage `json:"delay"`
		Session   json.RawMessage `json:"session_id"`
		Extra     json.RawMessage `json:"extra"`
		Type      json.RawMessage `json:"type"`
	}
	var f fields
	if !f.object(data, &m) {
		return r, f.problems
	}
	if given(m.Type) && string(m.Type) != `"mooncake_trace"` {
		f.fail("type", "%s: this file is read as mooncake_trace", file.Clip(string(m.Type)))
	}
	if given(m.Output) {
		r.Output = f.output("output_length", m.Output)
	}
	if given(m.Timestamp) {
		r.At, r.Timed = f.time("timestamp", m.Timestamp, time.Millisecond), true
	}
	if given(m.Delay) {
		r.delay = f.time("delay", m.Delay, time.Millisecond)
	}
	if given(m.Session) {
		r.Session = f.text("session_id", m.Session)
	}
	if given(m.Extra) {
		r.turn.ExtraBody = f.merge("extra", m.Extra)
	}
	f.content(&r, [...]json.RawMessage{generated: m.Input, text: m.Text, messages: m.Messages, payload: m.Payload})
	f.only(&r, "hash_ids", m.IDs, generated)
	f.only(&r, "tools", m.Tools, messages)
	switch {
	case len(f.problems) > 0:
	case given(m.IDs):
		r.IDs = f.ids("hash_ids", m.IDs)
	case given(m.Tools):
		r.turn.Tools = f.list("tools", m.Tools, "")
	case r.kind == payload && r.turn.ExtraBody != nil:
		f.fail("extra", "a payload is sent as it is")
	}
	return r, f.problems
}

// content decodes the one member that says what is sent.
func (f *fields) content(r *Request, kinds [4]json.RawMessage) {
	var have []string
	for k, v := range kinds {
		if given(v) {
			r.kind = kind(k)
			have = append(have, r.kind.String())
		}
	}
	const accepted = "exactly one of input_length, text_input, messages and payload must be given"
	switch {
	case len(have) == 0:
		f.problems = append(f.problems, accepted)
		return
	case len(have) > 1:
		f.problems = append(f.problems, strings.Join(have, " and ")+" are given; "+accepted)
		return
	}
	name, v := have[0], kinds[r.kind]
	switch r.kind {
	case generated:
		r.Input = int(f.whole(name, v, 1, maxTokens))
	case text:
		r.turn.Texts = []string{f.text(name, v)}
	case messages:
		r.turn.Messages, r.mode = f.list(name, v, "role"), bench.MessageArrayWithResponses
	case payload:
		r.turn.Payload, r.mode = f.merge(name, v), bench.MessageArrayWithResponses
	}
}

// only checks that a member is given only with its kind.
func (f *fields) only(r *Request, name string, v json.RawMessage, with kind) {
	if given(v) && r.kind != with {
		f.fail(name, "needs %s", with)
	}
}

// compact returns valid JSON without white space, in memory of its own.
func compact(v json.RawMessage) json.RawMessage {
	var b bytes.Buffer
	if json.Compact(&b, v) != nil {
		return nil
	}
	return b.Bytes()
}
