package format

import (
	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/dataset/file"
	"aiperfd/internal/engine/dataset/source"
)

// singleTurn reads independent requests, one per record.
func singleTurn() source.Format {
	const name = "single_turn"
	table := append(rowMembers(),
		field("session_id", decodeString, func(r *row) *string { return &r.session }),
		typeMember[row](name),
	)
	return source.Format{
		Name:  name,
		Needs: "text, image, audio or video, and no turns or prompt",
		Detect: func(h *source.Head) bool {
			return !h.Folder && !h.Table() && h.HasAny("text", "texts", "image", "images", "audio", "audios", "video", "videos") &&
				!h.HasAny("turns", "messages") && (h.HasAny("text", "texts") || !hasPrompt(h))
		},
		New: func(o *source.Options) source.Decoder {
			d := &rowReader{newObject(table), newAttacher(o.Open)}
			sent := source.NewRecent[imageKey, struct{}](manyImages)
			return func(record file.Record) (source.Row, error) {
				r, t, all := d.read(record.Data)
				if r.delay != nil && r.session == "" {
					all = append(all, "delay: needs a session_id, since a record of its own has no previous answer to wait after")
				}
				if len(all) > 0 {
					return source.Row{}, all
				}
				if o.StripImages {
					r.strip(&t, &sent)
				}
				out := wholeRequest(t)
				out.Session = r.session
				if r.hasFiles(&t) {
					out.Finish = func(turns []bench.Turn) error { return d.media.finish(&turns[0], &r.media) }
				}
				return out, nil
			}
		},
	}
}

// wholeRequest returns the conversation of a request that is sent without a history.
func wholeRequest(t bench.Turn) source.Row {
	return source.Row{Conversation: bench.Conversation{Mode: bench.MessageArrayWithResponses, Turns: []bench.Turn{t}}}
}
