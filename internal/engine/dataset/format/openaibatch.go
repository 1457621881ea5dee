package format

import (
	"encoding/json"
	"fmt"
	"net/http"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/dataset/file"
	"aiperfd/internal/engine/dataset/source"
)

// batchLine is one decoded line of a batch file.
type batchLine struct {
	id, method, url string
	body            json.RawMessage
}

// openAIBatch reads the input of OpenAI's batch API ("Batch API", guide and reference).
func openAIBatch() source.Format {
	table := []member[batchLine]{
		field("custom_id", decodeString, func(l *batchLine) *string { return &l.id }),
		field("method", decodeString, func(l *batchLine) *string { return &l.method }),
		field("url", decodeString, func(l *batchLine) *string { return &l.url }),
		field("body", decodeObject, func(l *batchLine) *json.RawMessage { return &l.body }),
	}
	return source.Format{
		Name:   "openai_batch",
		Needs:  "custom_id and body",
		Detect: func(h *source.Head) bool { return !h.Folder && h.HasAny("custom_id") && h.HasAny("body") },
		New: func(o *source.Options) source.Decoder {
			d := newObject(table)
			return func(record file.Record) (source.Row, error) {
				var l batchLine
				all := d.decode(&l, record.Data)
				t, wrong := l.turn(o)
				return wholeRequest(t), append(all, wrong...).OrNil()
			}
		},
	}
}

// turn returns the request of a line, and what is wrong with the line as a whole.
func (l *batchLine) turn(o *source.Options) (t bench.Turn, all source.Problems) {
	if l.id == "" {
		all = append(all, "custom_id is missing")
	}
	if l.method != "" && l.method != http.MethodPost {
		all = append(all, fmt.Sprintf("method: must be POST, not %q", file.Clip(l.method)))
	}
	if o.Path != nil && l.url != "" {
		if err := o.Path(l.url); err != nil {
			all = append(all, "url: "+err.Error())
		}
	}
	if l.body == nil {
		return t, append(all, "body is missing")
	}
	if l.url != "/v1/chat/completions" {
		return bench.Turn{Payload: l.body}, all
	}
	t, err := messagesTurn(l.body)
	if err != nil {
		all = append(all, "body."+err.Error())
	}
	return t, all
}
