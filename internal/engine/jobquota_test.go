package engine

import (
	"strings"
	"testing"

	"aiperfd/internal/engine/config"
	"aiperfd/internal/engine/plan"
)

// More polls than Runpod allows are announced; other servers have no such limit.
func TestPollQuota(t *testing.T) {
	for _, tt := range []struct {
		name, endpoint, load string
		want                 bool
	}{
		{"too many by themselves", `url: "https://api.runpod.ai/v2/E", type: runpod`, "concurrency: 201", true},
		{"as many as are allowed", `url: "https://api.runpod.ai/v2/E", type: runpod`, "concurrency: 200", false},
		{"too many for the interval", `url: "https://api.runpod.ai/v2/E", type: runpod, jobs: {pollInterval: 0.1}`, "concurrency: 21", true},
		{"another server", `url: "http://h/v2/E", type: runpod, jobs: {pollInterval: 0.1}`, "concurrency: 1000", false},
		{"no polls", `url: "https://api.runpod.ai/v2/E/openai/v1", type: chat`, "concurrency: 1000", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d, _, err := config.Load([]byte("benchmark: {model: m, endpoint: {"+tt.endpoint+"}, phases: [{requests: 2000, "+tt.load+"}]}"), config.LoadOptions{Choices: plan.Choices()})
			if err != nil {
				t.Fatal(err)
			}
			compiled, err := plan.Compile(d)
			if err != nil {
				t.Fatal(err)
			}
			warnings := pollWarnings(compiled)
			got := false
			for _, w := range warnings {
				got = got || w.Code == "poll-quota" && strings.Contains(w.Detail, "expect HTTP 429")
			}
			if got != tt.want {
				t.Errorf("warned = %v, want %v: %+v", got, tt.want, warnings)
			}
		})
	}
}
