package format

import (
	"bytes"
	"encoding/json"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/dataset/file"
	"aiperfd/internal/engine/dataset/source"
)

// rawPayload reads request bodies, each sent as it is.
func rawPayload() source.Format {
	return source.Format{
		Name:   "raw_payload",
		Folder: true,
		Needs:  "a model with messages, prompt or input",
		Detect: func(h *source.Head) bool {
			if hasMessages(h) {
				return !h.Chat || h.Folder || h.HasAny("model")
			}
			return h.HasAny("model") && h.HasAny("prompt", "input")
		},
		New: func(o *source.Options) source.Decoder {
			folder := o.File.IsFolder()
			return func(record file.Record) (source.Row, error) {
				if err := file.CheckObject(record.Data); err != nil {
					return source.Row{}, err
				}
				r := payloads(bytes.Clone(record.Data))
				if folder {
					r.Session = record.Place.File
				}
				return r, nil
			}
		},
	}
}

// payloads returns a conversation of bodies.
func payloads(bodies ...json.RawMessage) source.Row {
	r := source.Row{
		Conversation: bench.Conversation{Mode: bench.MessageArrayWithResponses, Turns: make([]bench.Turn, len(bodies))},
	}
	for i, body := range bodies {
		r.Conversation.Turns[i].Payload = body
	}
	return r
}
