package answer

import (
	"testing"

	"aiperfd/internal/engine/bench"
)

func TestFinishReason(t *testing.T) {
	for want, raws := range map[bench.Finish][]string{
		bench.FinishStop:          {"stop", "eos_token", "stop_sequence", "end_turn", "eos", "complete", "COMPLETE"},
		bench.FinishLength:        {"length", "max_tokens", "MAX_TOKENS", "max_output_tokens", "model_context_window_exceeded"},
		bench.FinishToolCalls:     {"tool_calls", "tool_use", "TOOL_CALL"},
		bench.FinishFunctionCall:  {"function_call"},
		bench.FinishContentFilter: {"content_filter", "refusal"},
		bench.FinishError:         {"error", "ERROR"}, bench.FinishAbort: {"abort"}, bench.FinishOther: {"x"},
	} {
		for _, raw := range raws {
			if got := FinishReason(raw); got != want {
				t.Errorf("finishReason(%q) = %q, want %q", raw, got, want)
			}
		}
	}
}
