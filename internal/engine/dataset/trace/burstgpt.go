package trace

import (
	"encoding/json"
	"time"

	"aiperfd/internal/engine/dataset/source"
)

// burstGPT is the format of the traces of BurstGPT (github.com/HPMLL/BurstGPT).
func burstGPT() format {
	return format{
		Format: source.Format{
			Name:   "burst_gpt_trace",
			Trace:  true,
			Timed:  func(*source.Head) bool { return true },
			Needs:  "the columns Timestamp, Request tokens and Response tokens",
			Detect: func(h *source.Head) bool { return h.Table() && h.HasAny("Timestamp") && h.HasAny("Request tokens") },

			Numbers: []string{"Timestamp", "Request tokens", "Response tokens"},
		},
		decoder: func() decoder { return decodeBurstGPT },
	}
}

func decodeBurstGPT(data []byte) (r Request, problems source.Problems) {
	var m struct {
		Timestamp json.RawMessage `json:"Timestamp"`
		Input     json.RawMessage `json:"Request tokens"`
		Output    json.RawMessage `json:"Response tokens"`
	}
	var f fields
	if !f.object(data, &m) {
		return r, f.problems
	}
	f.required("Timestamp", m.Timestamp, func() { r.At, r.Timed = f.time("Timestamp", m.Timestamp, time.Second), true })
	f.required("Request tokens", m.Input, func() { r.Input = f.output("Request tokens", m.Input) })
	f.required("Response tokens", m.Output, func() { r.Output = f.output("Response tokens", m.Output) })
	return r, f.problems
}
