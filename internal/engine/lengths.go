package engine

import (
	"fmt"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/metric"
	"aiperfd/internal/engine/plan"
)

// lengthDoubts says where the lengths in a result are not what the user asked for
// or believes them to be. substituted = the built-in tokenizer stands in for the
// model's, and the result says by how much its counts are off.
func lengthDoubts(plan *plan.Plan, rs metric.Results, substituted bool) []bench.Warning {
	var out []bench.Warning
	average := func(tag string) float64 {
		if m := rs.Find(tag); m != nil {
			if v, ok := m.Get(metric.Avg); ok {
				return v
			}
		}
		return 0
	}
	requests := average("request_count")
	if requests == 0 {
		return nil
	}
	if plan.Tokens.Server && plan.Kind.Caps.ProducesTokens {
		if told := count(rs, "output_sequence_length"); told < int64(requests) {
			out = append(out, bench.Warning{Code: "server-usage-missing", Detail: fmt.Sprintf(
				"%.0f of %.0f responses had no usage block, the only source of token counts here: lengths and token rates exclude them%s",
				requests-float64(told), requests, usageAdvice(plan))})
		}
	}
	if off := average("osl_mismatch_count"); off > 0 {
		diff := average("osl_mismatch_diff_pct")
		out = append(out, bench.Warning{Code: "output-length", Detail: fmt.Sprintf(
			"%.0f of %.0f responses did not have the requested length (%+.0f %% on average, %.0f tokens): %s",
			off, requests, diff, average("output_sequence_length"), lengthAdvice(plan, diff))})
	}
	// A server that ranks reads the query once with each text, and counts it so.
	if off := average("usage_discrepancy_count"); off > 0 && !plan.Kind.Caps.Named && !substituted {
		out = append(out, bench.Warning{Code: "usage-discrepancy", Detail: fmt.Sprintf(
			"the server's token counts differ from the client's by more than 10 %% in %.0f of %.0f responses: %s",
			off, requests, discrepancyReasons(plan, average("usage_prompt_tokens_diff_pct")))})
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

func usageAdvice(plan *plan.Plan) string {
	if plan.Settings.Streaming && !plan.Settings.StreamUsage && !plan.Kind.Caps.UsageUnasked {
		return "; streams contain usage only if stream_options requests it"
	}
	return "; without --use-server-token-count the client counts them"
}

// otherUnit is the distance of the server's count of a text from the client's, in
// percent, beyond which the server hardly counts tokens: texts have three to five
// characters per token in every usual vocabulary, and tokens three quarters of a word.
const otherUnit = 100

// discrepancyReasons says why two counts may differ; diff is how far apart they are
// for the input, in percent.
func discrepancyReasons(plan *plan.Plan, diff float64) string {
	if plan.Kind.Caps.ProducesTokens {
		return "they use different tokenizers, the chat template adds to the prompt, or images and audio count as tokens"
	}
	reasons := "they use different tokenizers, the server adds tokens to each text, or images and audio count as tokens"
	if caps := &plan.Kind.Caps; diff > otherUnit && !caps.Images && !caps.Audio && !caps.Video {
		reasons = fmt.Sprintf("they are %.0f %% apart on average, as if the server counted something other than tokens, for example characters", diff)
	}
	return reasons + "; lengths and token rates use the server's counts"
}

// lengthForcing says how to get responses of the length requested, where the API
// has a way that was not tried.
func lengthForcing(plan *plan.Plan) string {
	for _, f := range plan.Settings.Extra {
		if f.Name == "ignore_eos" && string(f.Value) == "true" || f.Name == "min_tokens" {
			return ", although " + f.Name + " is set: the server ignores it, or the context of the model was full"
		}
	}
	switch plan.Kind.Name {
	case "chat", "completions", "responses": // vLLM and SGLang add it to OpenAI's APIs
		return "; to get the length requested, use --extra-inputs ignore_eos:true or min_tokens:N (vLLM, SGLang)"
	}
	return ""
}

// lengthAdvice names the usual reason for answers of the wrong length.
func lengthAdvice(plan *plan.Plan, diff float64) string {
	switch {
	case diff < 0:
		return "the model ended its responses early" + lengthForcing(plan)
	case plan.Kind.Name == "chat" && !plan.Settings.LegacyMaxTokens:
		return "the server seems not to support max_completion_tokens; try --use-legacy-max-tokens"
	}
	return "the server seems to ignore the limit in the request"
}
