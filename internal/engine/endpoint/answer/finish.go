package answer

import (
	"strings"

	"aiperfd/internal/engine/bench"
)

// FinishReason normalises why a choice ended; raw must not be empty.
func FinishReason(raw string) bench.Finish {
	switch strings.ToLower(raw) {
	case "stop", "eos_token", "stop_sequence", "end_turn", "eos", "complete":
		return bench.FinishStop
	case "length", "max_tokens", "max_output_tokens", "model_context_window_exceeded":
		return bench.FinishLength
	case "tool_calls", "tool_use", "tool_call":
		return bench.FinishToolCalls
	case "function_call":
		return bench.FinishFunctionCall
	case "content_filter", "refusal":
		return bench.FinishContentFilter
	case "error":
		return bench.FinishError
	case "abort":
		return bench.FinishAbort
	}
	return bench.FinishOther
}
