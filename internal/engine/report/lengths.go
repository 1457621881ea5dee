package report

import (
	"fmt"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/export"
	"aiperfd/internal/engine/metric"
	"aiperfd/internal/engine/plan"
)

// missingUsage warns that the server did not count tokens, although the client does not
// count either.
func missingUsage(in *Input, rep *export.Report) []bench.Warning {
	requests := average(rep.Results, "request_count")
	if requests == 0 || !in.Plan.Tokens.Server || !in.Plan.Kind.Caps.ProducesTokens {
		return nil
	}
	counted := count(rep.Results, "output_sequence_length")
	if counted >= int64(requests) {
		return nil
	}
	return warn("server-usage-missing",
		"%.0f of %.0f responses had no usage block, the only source of token counts here: lengths and token rates exclude them%s",
		requests-float64(counted), requests, usageAdvice(in.Plan))
}

// outputLength warns that responses did not have the requested length.
func outputLength(in *Input, rep *export.Report) []bench.Warning {
	requests, off := average(rep.Results, "request_count"), average(rep.Results, "osl_mismatch_count")
	if requests == 0 || off <= 0 {
		return nil
	}
	diff := average(rep.Results, "osl_mismatch_diff_pct")
	return warn("output-length", "%.0f of %.0f responses did not have the requested length (%+.0f %% on average, %.0f tokens): %s",
		off, requests, diff, average(rep.Results, "output_sequence_length"), lengthAdvice(in.Plan, diff))
}

// usageDiscrepancy warns that the client and the server count differently. A server
// that ranks reads the query once per text, and counts it so; for a substitute of the
// tokenizer, its own warning gives the difference.
func usageDiscrepancy(in *Input, rep *export.Report) []bench.Warning {
	requests, off := average(rep.Results, "request_count"), average(rep.Results, "usage_discrepancy_count")
	if requests == 0 || off <= 0 || in.Plan.Kind.Caps.Named || in.Tokens.Substituted {
		return nil
	}
	return warn("usage-discrepancy", "the server's token counts differ from the client's by more than 10 %% in %.0f of %.0f responses: %s",
		off, requests, discrepancyReasons(in.Plan, average(rep.Results, "usage_prompt_tokens_diff_pct")))
}

// count returns the number of records that have a metric.
func count(rs metric.Results, tag string) int64 {
	if m := rs.Find(tag); m != nil {
		return m.Count
	}
	return 0
}

// usageAdvice describes how to get token counts.
func usageAdvice(plan *plan.Plan) string {
	if plan.Settings.Streaming && !plan.Settings.StreamUsage && !plan.Kind.Caps.UsageUnasked {
		return "; streams contain usage only if stream_options requests it"
	}
	return "; without --use-server-token-count the client counts them"
}

// otherUnit is the difference between the server's count of a text and the client's,
// in percent, above which the server probably does not count tokens: texts have three
// to five characters per token in every usual vocabulary, and tokens three quarters of
// a word.
const otherUnit = 100

// discrepancyReasons lists why two counts may differ. diff is their difference for the
// input, in percent.
func discrepancyReasons(plan *plan.Plan, diff float64) string {
	if plan.Kind.Caps.ProducesTokens {
		return "they use different tokenizers, the chat template adds to the prompt, or images, audio or video count as tokens"
	}
	reasons := "they use different tokenizers, the server adds tokens to each text, or images, audio or video count as tokens"
	if caps := &plan.Kind.Caps; diff > otherUnit && !caps.Images && !caps.Audio && !caps.Video {
		reasons = fmt.Sprintf("they are %.0f %% apart on average, as if the server counted something other than tokens, for example characters", diff)
	}
	return reasons + "; lengths and token rates use the server's counts"
}

// lengthForcing describes how to get responses of the length requested, if the API has a
// way that was not tried.
func lengthForcing(plan *plan.Plan) string {
	if plan.Settings.ExactLength {
		return ", although --osl-exact (ignore_eos and a minimum length) is set: the server ignores it, or the context of the model was full"
	}
	for _, f := range plan.Settings.Extra {
		if f.Name == "ignore_eos" && string(f.Value) == "true" || f.Name == "min_tokens" {
			return ", although " + f.Name + " is set: the server ignores it, or the context of the model was full"
		}
	}
	switch {
	case plan.Kind.ExactLength:
		return "; to get the length requested, use --osl-exact (vLLM, SGLang)"
	case plan.Kind.Name == "responses": // vLLM and SGLang add it to OpenAI's API
		return "; to get the length requested, use --extra-inputs ignore_eos:true (vLLM, SGLang)"
	}
	return ""
}

// lengthAdvice names the usual reason for responses of the wrong length. diff is their
// difference from the length requested, in percent.
func lengthAdvice(plan *plan.Plan, diff float64) string {
	switch {
	case diff < 0:
		return "the model ended its responses early" + lengthForcing(plan)
	case plan.Kind.Name == "chat" && !plan.Settings.LegacyMaxTokens:
		return "the server seems not to support max_completion_tokens; try --use-legacy-max-tokens"
	}
	return "the server seems to ignore the limit in the request"
}
