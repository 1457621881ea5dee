package format

import (
	"encoding/json"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/dataset/file"
	"aiperfd/internal/engine/dataset/source"
)

// singleTurn reads independent requests, one per record.
func singleTurn() source.Format {
	const name = "single_turn"
	table := append(rowMembers(),
		member[row]{source.Field{Name: "session_id", Type: "string", Doc: "Records with the same id form one conversation, in the order of the file."}, func(r *row, v json.RawMessage) error {
			return decodeString(v, &r.session)
		}},
		member[row]{source.Field{Name: "type", Type: "string", Doc: "Name of the format, single_turn."}, decodeName[row](name)},
	)
	return source.Format{
		Name: name,
		Doc: "One request per line (JSONL; gzip and zstd are recognised). Records with the same `session_id` are " +
			"sent one after the other, each as a complete request without history.",
		Fields: docs(table),
		Needs:  "text, image, audio or video, and no turns or prompt",
		Detect: func(h *source.Head) bool {
			return !h.Folder && !h.Table() && h.HasAny("text", "texts", "image", "images", "audio", "audios", "video", "videos") &&
				!h.HasAny("turns", "messages") && (h.HasAny("text", "texts") || !hasPrompt(h))
		},
		New: func(o *source.Options) func(file.Record) ([]source.Row, []string) {
			d := &rowReader{newObject(table), newAttacher(o.Open)}
			return func(record file.Record) ([]source.Row, []string) {
				r, t, all := d.read(record.Data)
				if r.delay != nil && r.session == "" {
					all = append(all, "delay: needs a session_id, since a record of its own has no previous answer to wait after")
				}
				if len(all) > 0 {
					return nil, all
				}
				out := source.Row{
					Session:      r.session,
					Conversation: bench.Conversation{Mode: bench.MessageArrayWithResponses, Turns: []bench.Turn{t}},
				}
				if r.hasFiles(&t) {
					out.Finish = func(turns []bench.Turn) error { return d.media.finish(&turns[0], &r.media) }
				}
				return []source.Row{out}, nil
			}
		},
	}
}
