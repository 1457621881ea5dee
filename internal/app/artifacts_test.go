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

// TestLoadName: every load gives a name to the folder.
func TestLoadName(t *testing.T) {
	two, rate := 2, 1.5
	for _, tt := range []struct {
		phase config.Phase
		want  string
	}{
		{config.Phase{Type: "concurrency", Concurrency: &two}, "concurrency2"},
		{config.Phase{Type: "poisson", Rate: &rate}, "request_rate1.5"},
		{config.Phase{Type: "poisson", Rate: &rate, Concurrency: &two}, "concurrency2-request_rate1.5"},
		{config.Phase{Type: "poisson", SessionRate: &rate}, "session_rate1.5"},
		{config.Phase{Type: "poisson", RateSeries: &config.RateSeries{}}, "rate_series"},
		{config.Phase{Type: config.UserCentric, Rate: &rate, Users: &two}, "user_centric-users2-qps1.5"},
		{config.Phase{Type: config.FixedSchedule}, "fixed_schedule"},
		{config.Phase{Type: config.FixedSchedule, Concurrency: &two}, "fixed_schedule"},
	} {
		if got := loadName(&tt.phase); got != tt.want {
			t.Errorf("loadName(%+v) = %q, want %q", tt.phase, got, tt.want)
		}
	}
}
