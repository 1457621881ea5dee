// Package examples_test checks that the documents in this folder are accepted.
package examples_test

import (
	"os"
	"testing"

	"aiperfd/internal/engine/config"
	"aiperfd/internal/engine/plan"
)

func TestDocuments(t *testing.T) {
	tests := []struct {
		file     string
		phases   int
		requests int64 // of the first profiling phase
	}{
		{"bench.yaml", 1, 200},
		{"bench-full.yaml", 3, 1000},
		{"lengths.yaml", 2, 1000},
		{"video.yaml", 1, 200},
	}
	for _, tt := range tests {
		t.Run(tt.file, func(t *testing.T) {
			data, err := os.ReadFile(tt.file)
			if err != nil {
				t.Fatal(err)
			}
			doc, warnings, err := config.Load(data, config.LoadOptions{
				Format: config.YAML, Untrusted: true, Choices: plan.Choices(),
			})
			if err != nil {
				t.Fatal(err)
			}
			for _, w := range warnings {
				t.Errorf("warning: %v", w)
			}
			plan, err := plan.Compile(doc)
			if err != nil {
				t.Fatal(err)
			}
			if len(plan.Phases) != tt.phases {
				t.Fatalf("%d phases, want %d", len(plan.Phases), tt.phases)
			}
			for _, p := range plan.Phases {
				if p.ProfilingIndex == 0 && p.Requests != tt.requests {
					t.Errorf("first profiling phase: %d requests, want %d", p.Requests, tt.requests)
				}
			}
		})
	}
}
