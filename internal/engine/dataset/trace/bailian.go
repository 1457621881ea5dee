package trace

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"time"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/dataset/source"
)

// bailian is the format of the usage traces of Alibaba Cloud Bailian
// (github.com/alibaba-edu/qwen-bailian-usagetraces-anon).
func bailian() format {
	return format{
		Format: source.Format{
			Name:      "bailian_trace",
			BlockSize: 16,
			Trace:     true,
			Timed:     func(*source.Head) bool { return true },
			Needs:     "chat_id and input_length",
			Detect:    func(h *source.Head) bool { return !h.Folder && h.HasAny("chat_id") && h.HasAny("input_length") },
		},
		decoder: func() decoder {
			roots := source.NewRecent[int64, int64](manyRecent)
			return func(data []byte) (Request, source.Problems) { return decodeBailian(data, &roots) }
		},
	}
}

// decodeBailian decodes a record. roots has the first chat of the conversation of each.
func decodeBailian(data []byte, roots *source.Recent[int64, int64]) (r Request, problems source.Problems) {
	var m struct {
		Chat      json.RawMessage `json:"chat_id"`
		Parent    json.RawMessage `json:"parent_chat_id"`
		Timestamp json.RawMessage `json:"timestamp"`
		Input     json.RawMessage `json:"input_length"`
		Output    json.RawMessage `json:"output_length"`
		IDs       json.RawMessage `json:"hash_ids"`
	}
	var f fields
	if !f.object(data, &m) {
		return r, f.problems
	}
	chat, parent := int64(0), int64(-1)
	f.required("chat_id", m.Chat, func() { chat = f.whole("chat_id", m.Chat, 0, math.MaxInt64) })
	if given(m.Parent) {
		parent = f.whole("parent_chat_id", m.Parent, -1, math.MaxInt64)
	}
	f.required("timestamp", m.Timestamp, func() { r.At, r.Timed = f.time("timestamp", m.Timestamp, time.Second), true })
	f.required("input_length", m.Input, func() { r.Input = int(f.whole("input_length", m.Input, 1, maxTokens)) })
	f.required("output_length", m.Output, func() { r.Output = f.output("output_length", m.Output) })
	if given(m.IDs) {
		r.IDs = f.ids("hash_ids", m.IDs)
	}
	root := chat
	if parent >= 0 {
		var ok bool
		if root, ok = roots.Get(parent); !ok {
			f.problems = append(f.problems, fmt.Sprintf("parent_chat_id: no record with the chat_id %d is among the last %d before this one", parent, manyRecent))
		}
	}
	if len(f.problems) == 0 {
		roots.Set(chat, root)
	}
	r.Session, r.mode = strconv.FormatInt(root, 10), bench.MessageArrayWithResponses
	return r, f.problems
}
