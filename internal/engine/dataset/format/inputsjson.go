package format

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/dataset/file"
	"aiperfd/internal/engine/dataset/source"
)

// inputsSession is one decoded element of inputs.json.
type inputsSession struct {
	id       string
	mode     bench.ContextMode
	payloads []json.RawMessage
}

// inputsJSON reads the file inputs.json of a run.
func inputsJSON() source.Format {
	table := []member[inputsSession]{
		field("session_id", decodeString, func(s *inputsSession) *string { return &s.id }),
		field("payloads", decodeList, func(s *inputsSession) *[]json.RawMessage { return &s.payloads }),
		field("context_mode", decodeMode, func(s *inputsSession) *bench.ContextMode { return &s.mode }),
	}
	return source.Format{
		Name:   "inputs_json",
		Key:    "data",
		Needs:  "an object with data, a list of objects with payloads",
		Detect: func(h *source.Head) bool { return h.First("payloads") != nil },
		New: func(*source.Options) source.Decoder {
			d := newObject(table)
			return func(record file.Record) (source.Row, error) {
				s := inputsSession{mode: bench.MessageArrayWithResponses}
				all := d.decode(&s, record.Data)
				if len(all) == 0 && s.payloads == nil {
					all = append(all, "payloads is missing")
				}
				if len(all) == 0 {
					all = s.compact()
				}
				if len(all) > 0 {
					return source.Row{}, all
				}
				r, err := s.row()
				r.Session = s.id
				return r, err
			}
		},
	}
}

// compact removes the white space with which inputs.json is indented.
func (s *inputsSession) compact() (all source.Problems) {
	for i, body := range s.payloads {
		if err := decodeObject(body, &s.payloads[i]); err != nil {
			all = append(all, fmt.Sprintf("payloads[%d]: %v", i, err))
		}
	}
	return all
}

// row returns the conversation.
func (s *inputsSession) row() (source.Row, error) {
	if s.mode == bench.MessageArrayWithResponses {
		return payloads(s.payloads...), nil
	}
	c := bench.Conversation{Mode: s.mode, Turns: make([]bench.Turn, len(s.payloads))}
	var common []json.RawMessage // the messages that begin every body, which the history contains
	for i, body := range s.payloads {
		t, messages, err := chatTurn(body, "max_completion_tokens", "max_tokens", "model", "stream", "stream_options")
		if err != nil {
			return source.Row{}, fmt.Errorf("payloads[%d]: %w", i, err)
		}
		if i == 0 {
			common = messages[:len(messages)-1]
		} else if t.Messages, err = withoutPrefix(messages, common); err != nil {
			return source.Row{}, fmt.Errorf("payloads[%d]: %w", i, err)
		}
		c.Turns[i] = t
	}
	return source.Row{Conversation: c}, nil
}

// chatTurn returns the turn of a chat request, and its messages. The members named by
// without are left to the run.
func chatTurn(body json.RawMessage, without ...string) (t bench.Turn, messages []json.RawMessage, err error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(body, &members); err != nil {
		return t, nil, err
	}
	if json.Unmarshal(members["messages"], &messages) != nil || len(messages) == 0 {
		return t, nil, errors.New("messages: must be a list of messages")
	}
	t.Messages, t.Tools = members["messages"], members["tools"]
	for _, name := range []string{"max_completion_tokens", "max_tokens"} {
		if v, ok := members[name]; ok && string(v) != "null" {
			if err = decodeTokens(v, &t.MaxTokens); err != nil {
				return t, nil, fmt.Errorf("%s: %w", name, err)
			}
		}
	}
	for _, name := range append(without, "messages", "tools") {
		delete(members, name)
	}
	if len(members) > 0 {
		t.ExtraBody, err = json.Marshal(members)
	}
	return t, messages, err
}

// withoutPrefix returns messages without those with which they begin.
func withoutPrefix(messages, prefix []json.RawMessage) (json.RawMessage, error) {
	if len(messages) > len(prefix) {
		same := 0
		for same < len(prefix) && bytes.Equal(messages[same], prefix[same]) {
			same++
		}
		if same == len(prefix) {
			messages = messages[same:]
		}
	}
	return json.Marshal(messages)
}
