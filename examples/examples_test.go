// Package examples_test checks that the documents in this folder are accepted.
package examples_test

import (
	"os"
	"path/filepath"
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

// The workloads are read from the root of the repository, as their comments say.
func TestWorkloads(t *testing.T) {
	t.Chdir("..")
	files, err := filepath.Glob("examples/workloads/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if len(files) != 12 {
		t.Fatalf("%d workloads, want 12", len(files))
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			doc, _, err := config.Load(data, config.LoadOptions{Format: config.YAML, Choices: plan.Choices()})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := plan.Compile(doc); err != nil {
				t.Fatal(err)
			}
		})
	}
}
