package format

import (
	"encoding/json"
	"fmt"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/dataset/file"
	"aiperfd/internal/engine/dataset/source"
)

// session is one decoded record of format multi_turn.
type session struct {
	id    string
	mode  bench.ContextMode
	turns []json.RawMessage
}

// multiTurn reads conversations, one per record.
func multiTurn() source.Format {
	const name = "multi_turn"
	table := []member[session]{
		{source.Field{Name: "session_id", Type: "string", Doc: "Id of the conversation. Records with the same id continue it."}, func(s *session, v json.RawMessage) error {
			return decodeString(v, &s.id)
		}},
		{source.Field{Name: "turns", Type: "list of objects", Doc: "The turns: objects with the members of [single_turn](#single_turn) except session_id and type. " +
			"A first turn with the role system and only text becomes the system message of the conversation if the endpoint type takes one, " +
			"unless it is the only turn or the second one has that role too."}, func(s *session, v json.RawMessage) (err error) {
			s.turns, err = decodeList(v)
			return err
		}},
		{contextModeField("deltas_without_responses"), func(s *session, v json.RawMessage) (err error) {
			s.mode, err = decodeMode(v)
			return err
		}},
		{source.Field{Name: "type", Type: "string", Doc: "Name of the format, multi_turn."}, decodeName[session](name)},
	}
	return source.Format{
		Name:   name,
		Doc:    "One conversation per line. Each turn is sent with the turns before it and the server's answers to them.",
		Fields: docs(table),
		Hoist:  true,
		Needs:  "turns with text, image, audio or video",
		Detect: func(h *source.Head) bool {
			first := h.First("turns")
			return !h.Folder && first != nil && !source.HasAny(first, "messages", "forks", "spawns")
		},
		New: func(o *source.Options) func(file.Record) ([]source.Row, []string) {
			d, s := &rowReader{newObject(rowMembers()), newAttacher(o.Open)}, newObject(table)
			return func(record file.Record) ([]source.Row, []string) { return d.session(s, record.Data) }
		},
	}
}

// contextModeField documents the member context_mode.
func contextModeField(otherwise string) source.Field {
	return source.Field{Name: "context_mode", Type: "string", Doc: "What the turns hold. deltas_without_responses: what is new; the server's answers are added. " +
		"deltas_with_responses: what is new, with recorded answers; the server's are not added. message_array_with_responses: everything " +
		"that is sent. Default " + otherwise + "."}
}

func decodeMode(v json.RawMessage) (bench.ContextMode, error) {
	var name string
	if err := decodeString(v, &name); err != nil {
		return 0, err
	}
	mode, err := bench.ParseContextMode(name)
	if err != nil {
		return 0, fmt.Errorf("%q: %w", clip(name), err)
	}
	return mode, nil
}

// session decodes a conversation.
func (d *rowReader) session(decoder *object[session], raw []byte) ([]source.Row, []string) {
	var s session
	all := decoder.decode(&s, raw)
	if len(all) == 0 && s.turns == nil {
		all = append(all, "turns is missing")
	}
	out := source.Row{Session: s.id, Conversation: bench.Conversation{Mode: s.mode, Turns: make([]bench.Turn, len(s.turns))}}
	refs := make(map[int]*[3]attachment)
	for i, v := range s.turns {
		r, t, wrong := d.read(v)
		all = append(all, wrong.below(fmt.Sprintf("turns[%d]", i))...)
		if out.Conversation.Turns[i] = t; r.hasFiles(&t) {
			refs[i] = &r.media
		}
	}
	if len(all) > 0 {
		return nil, all
	}
	if len(refs) > 0 {
		out.Finish = func(turns []bench.Turn) error {
			for i, media := range refs {
				if err := d.media.finish(&turns[i], media); err != nil {
					return fmt.Errorf("turns[%d].%w", i, err)
				}
			}
			return nil
		}
	}
	return []source.Row{out}, nil
}
