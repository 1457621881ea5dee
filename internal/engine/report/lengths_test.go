package report

import (
	"encoding/json"
	"testing"

	"aiperfd/internal/engine/endpoint"
	"aiperfd/internal/engine/plan"
)

// TestLengthAdvice: the advice about responses of the wrong length depends on the API,
// and does not repeat what the user has already tried.
func TestLengthAdvice(t *testing.T) {
	extra := func(name, value string) []endpoint.Field {
		return []endpoint.Field{{Name: name, Value: json.RawMessage(value)}}
	}
	const ended = "the model ended its responses early"
	for _, tt := range []struct {
		name, kind string
		settings   endpoint.Settings
		diff       float64
		want       string
	}{
		{"short", "chat", endpoint.Settings{}, -20,
			ended + "; to get the length requested, use --osl-exact (vLLM, SGLang)"},
		{"short, ignore_eos set", "chat", endpoint.Settings{Extra: extra("ignore_eos", "true")}, -20,
			ended + ", although ignore_eos is set: the server ignores it, or the context of the model was full"},
		{"short, ignore_eos off", "completions", endpoint.Settings{Extra: extra("ignore_eos", "false")}, -20,
			ended + "; to get the length requested, use --osl-exact (vLLM, SGLang)"},
		{"short, min_tokens set", "completions", endpoint.Settings{Extra: extra("min_tokens", "9")}, -20,
			ended + ", although min_tokens is set: the server ignores it, or the context of the model was full"},
		{"short, exact", "chat", endpoint.Settings{ExactLength: true}, -20,
			ended + ", although --osl-exact (ignore_eos and a minimum length) is set: the server ignores it, or the context of the model was full"},
		{"short, responses", "responses", endpoint.Settings{}, -20,
			ended + "; to get the length requested, use --extra-inputs ignore_eos:true (vLLM, SGLang)"},
		{"short, an API without it", "messages", endpoint.Settings{}, -20, ended},
		{"short, TGI", "huggingface_generate", endpoint.Settings{}, -20, ended},
		{"long", "chat", endpoint.Settings{}, 20, "the server seems not to support max_completion_tokens; try --use-legacy-max-tokens"},
		{"long, old name", "chat", endpoint.Settings{LegacyMaxTokens: true}, 20, "the server seems to ignore the limit in the request"},
	} {
		kind, ok := endpoint.Lookup(tt.kind)
		if !ok {
			t.Fatal(tt.kind)
		}
		if got := lengthAdvice(&plan.Plan{Measure: plan.Measure{Kind: kind, Settings: tt.settings}}, tt.diff); got != tt.want {
			t.Errorf("%s: %s\nwant: %s", tt.name, got, tt.want)
		}
	}
}
