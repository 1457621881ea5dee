package engine

import (
	"fmt"

	"aiperfd/internal/engine/metric"
)

// lengthDoubts says where the lengths in a result are not what the user asked
// for or believes them to be.
func lengthDoubts(plan *Plan, rs metric.Results) []Warning {
	var out []Warning
	average := func(tag string) float64 {
		if m := rs.Find(tag); m != nil {
			if v, ok := m.Get(metric.Avg); ok {
				return v
			}
		}
		return 0
	}
	requests := average("request_count")
	if requests == 0 || !plan.Kind.Caps.ProducesTokens {
		return nil
	}
	if plan.Tokens.Server {
		if told := count(rs, "output_sequence_length"); told < int64(requests) {
			out = append(out, Warning{Code: "server-usage-missing", Detail: fmt.Sprintf(
				"%.0f of %.0f answers had no usage block, and token counts were to come from there only: lengths and token rates leave these answers out%s",
				requests-float64(told), requests, usageAdvice(plan))})
		}
	}
	if off := average("osl_mismatch_count"); off > 0 {
		diff := average("osl_mismatch_diff_pct")
		out = append(out, Warning{Code: "output-length", Detail: fmt.Sprintf(
			"%.0f of %.0f answers were not as long as asked for (%+.0f %% on average, %.0f tokens): %s",
			off, requests, diff, average("output_sequence_length"), lengthAdvice(plan, diff))})
	}
	if off := average("usage_discrepancy_count"); off > 0 {
		out = append(out, Warning{Code: "usage-discrepancy", Detail: fmt.Sprintf(
			"in %.0f of %.0f answers the server's token counts differ from the client's by more than 10 %%: the two use different tokenizers, the chat template adds to the prompt, or pictures and sounds count as tokens, too",
			off, requests)})
	}
	return out
}

// count is the number of records that have a metric.
func count(rs metric.Results, tag string) int64 {
	if m := rs.Find(tag); m != nil {
		return m.Count
	}
	return 0
}

func usageAdvice(plan *Plan) string {
	if plan.Settings.Streaming && !plan.Settings.StreamUsage && !plan.Kind.Caps.UsageUnasked {
		return "; streams carry usage only if stream_options asks for it"
	}
	return "; without --use-server-token-count the client counts"
}

// lengthAdvice names the usual reason for answers of the wrong length.
func lengthAdvice(plan *Plan, diff float64) string {
	switch {
	case diff < 0:
		return "the model ended its answers by itself; --extra-inputs ignore_eos:true or min_tokens:N makes servers that know them go on"
	case plan.Kind.Name == "chat" && !plan.Settings.LegacyMaxTokens:
		return "the server seems not to know max_completion_tokens; try --use-legacy-max-tokens"
	}
	return "the server seems to ignore the limit in the request"
}
