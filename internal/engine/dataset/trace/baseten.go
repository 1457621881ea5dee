package trace

import (
	"encoding/json"
	"math"
	"strconv"
	"time"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/dataset/source"
)

// FormatBaseten is the name of the format of the completion traces of Baseten.
const FormatBaseten = "baseten_trace"

// baseten is the format of the completion traces of Baseten.
func baseten() format {
	return format{
		Format: source.Format{
			Name:   FormatBaseten,
			Trace:  true,
			Timed:  func(*source.Head) bool { return true },
			Needs:  "timestamp_start_unix_ms and prompt",
			Detect: func(h *source.Head) bool { return h.HasAny("timestamp_start_unix_ms") && h.HasAny("prompt") },
		},
		recorded: true,

		decoder: func() decoder {
			begun, zero := false, time.Duration(0)
			return func(data []byte) (Request, source.Problems) {
				r, problems := decodeBaseten(data)
				if !begun && len(problems) == 0 {
					begun, zero = true, r.At
				}
				r.At -= zero
				return r, problems
			}
		},
	}
}

// Baseten are the options of the format baseten_trace.
type Baseten struct {
	IdleCap time.Duration // longest time between two requests of the trace, in its own time; 0 = any
	// Closed sends later turns of a session as long after the answer to the one before as in the recording, instead
	// of at their times.
	Closed bool
	Strict bool // every record is a conversation of its own
	// NoHints leaves hash_ids and block_size out of bodies, and NoLeast min_tokens.
	NoHints, NoLeast bool
}

// Adds names the members that the format adds to bodies with these options.
func (b *Baseten) Adds() (names []string) {
	if !b.NoLeast {
		names = append(names, "min_tokens")
	}
	if !b.NoHints {
		names = append(names, "hash_ids", "block_size")
	}
	return names
}

func decodeBaseten(data []byte) (r Request, problems source.Problems) {
	var m struct {
		Start    json.RawMessage `json:"timestamp_start_unix_ms"`
		Prompt   json.RawMessage `json:"prompt"`
		Input    json.RawMessage `json:"input_tokens"`
		Output   json.RawMessage `json:"output_tokens"`
		Provided json.RawMessage `json:"provided_session_id"`
		Derived  json.RawMessage `json:"poor_man_session_id"`
		IDs      json.RawMessage `json:"total_hashes"`
		Size     json.RawMessage `json:"block_size"`
		Took     json.RawMessage `json:"duration_e2e_ms"`
	}
	var f fields
	if !f.object(data, &m) {
		return r, f.problems
	}
	r.kind, r.mode = text, bench.MessageArrayWithResponses
	f.required("timestamp_start_unix_ms", m.Start, func() {
		r.At, r.Timed = time.Duration(f.whole("timestamp_start_unix_ms", m.Start, 0, math.MaxInt64/int64(time.Millisecond)))*time.Millisecond, true
	})
	f.required("prompt", m.Prompt, func() { r.turn.Texts = []string{f.text("prompt", m.Prompt)} })
	f.required("input_tokens", m.Input, func() { r.Input = int(f.whole("input_tokens", m.Input, 0, maxTokens)) })
	f.required("output_tokens", m.Output, func() { r.Output = f.output("output_tokens", m.Output) })
	r.hints = &hints{}
	if given(m.IDs) {
		r.IDs = f.ids("total_hashes", m.IDs)
		r.hints.IDs = compact(m.IDs)
	}
	if given(m.Size) {
		r.hints.BlockSize = f.whole("block_size", m.Size, 1, maxTokens)
	}
	if given(m.Took) {
		r.took = f.time("duration_e2e_ms", m.Took, time.Millisecond)
	}
	switch {
	case given(m.Provided) && m.Provided[0] == '"':
		r.Session = f.text("provided_session_id", m.Provided)
	case given(m.Provided):
		r.Session = strconv.FormatInt(f.whole("provided_session_id", m.Provided, 0, math.MaxInt64), 10)
	case given(m.Derived):
		r.Session = strconv.FormatInt(f.whole("poor_man_session_id", m.Derived, 0, math.MaxInt64), 10)
	}
	return r, f.problems
}

// hints are members of the body that a format adds.
type hints struct {
	MinTokens bench.Tokens    `json:"min_tokens,omitempty"` // at least 1
	IDs       json.RawMessage `json:"hash_ids,omitempty"`
	BlockSize int64           `json:"block_size,omitempty"`
}

// apply adds the hints that are wanted to a turn whose length is known.
func (h *hints) apply(t *bench.Turn, ids []int64, b *Baseten) {
	if h.BlockSize > 0 {
		t.BlockIDs, t.BlockSize = ids, int(h.BlockSize)
	}
	if !b.NoLeast {
		h.MinTokens = t.MaxTokens
	}
	if b.NoHints {
		h.IDs, h.BlockSize = nil, 0
	}
	if len(b.Adds()) > 0 {
		t.ExtraBody, _ = json.Marshal(h) // numbers, and a valid list
	}
}
