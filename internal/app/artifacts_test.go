package app

import (
	"strings"
	"testing"

	"aiperfd/internal/engine/config"
)

// TestAutoName: the name of every model results in a valid name of a folder.
func TestAutoName(t *testing.T) {
	one := 1
	for model, want := range map[string]string{
		"org/name":               "org_name-openai-chat-concurrency1",
		`..\a:b`:                 ".._a_b-openai-chat-concurrency1",
		strings.Repeat("m", 300): strings.Repeat("m", 175) + "-openai-chat-concurrency1",
		strings.Repeat("é", 300): strings.Repeat("é", 87) + "-openai-chat-concurrency1",
	} {
		b := config.Benchmark{Phases: []config.Phase{{Kind: "profiling", Concurrency: &one}}}
		b.Endpoint.Type = "chat"
		if got := autoName(&b, []string{model}); got != want {
			t.Errorf("%.20s: %d bytes, %s; want %s", model, len(got), got, want)
		}
	}
}
