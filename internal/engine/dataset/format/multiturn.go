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
		field("session_id", decodeString, func(s *session) *string { return &s.id }),
		field("turns", decodeList, func(s *session) *[]json.RawMessage { return &s.turns }),
		field("context_mode", decodeMode, func(s *session) *bench.ContextMode { return &s.mode }),
		typeMember[session](name),
	}
	return source.Format{
		Name:  name,
		Hoist: true,
		Needs: "turns with text, image, audio or video",
		Detect: func(h *source.Head) bool {
			first := h.First("turns")
			return !h.Folder && first != nil && !source.HasAny(first, "messages", "forks", "spawns")
		},
		New: func(o *source.Options) source.Decoder {
			d, s := &rowReader{newObject(rowMembers()), newAttacher(o.Open)}, newObject(table)
			return func(record file.Record) (source.Row, error) { return d.session(s, record.Data) }
		},
	}
}

func decodeMode(v json.RawMessage, to *bench.ContextMode) error {
	var name string
	if err := decodeString(v, &name); err != nil {
		return err
	}
	mode, err := bench.ParseContextMode(name)
	if err != nil {
		return fmt.Errorf("%q: %w", file.Clip(name), err)
	}
	*to = mode
	return nil
}

// session decodes a conversation.
func (d *rowReader) session(decoder *object[session], raw []byte) (source.Row, error) {
	var s session
	all := decoder.decode(&s, raw)
	if len(all) == 0 && s.turns == nil {
		all = append(all, "turns is missing")
	}
	out := source.Row{Session: s.id, Conversation: bench.Conversation{Mode: s.mode, Turns: make([]bench.Turn, len(s.turns))}}
	refs := make(map[int]*[3]attachment)
	for i, v := range s.turns {
		r, t, wrong := d.read(v)
		all = append(all, wrong.Below(fmt.Sprintf("turns[%d]", i))...)
		if out.Conversation.Turns[i] = t; r.hasFiles(&t) {
			refs[i] = &r.media
		}
	}
	if len(all) > 0 {
		return source.Row{}, all
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
	return out, nil
}
