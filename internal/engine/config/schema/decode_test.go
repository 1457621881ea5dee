package schema

import (
	"errors"
	"testing"

	"aiperfd/internal/engine/config/problem"
	"aiperfd/internal/engine/config/tree"
)

// Every row of the table of unsupported fields is readable, and its value passes.
func TestUnsupportedFields(t *testing.T) {
	paths := []string{"", "metadata", "benchmark", "benchmark.models.items.0", "benchmark.endpoint", "benchmark.datasets.0",
		"benchmark.datasets.0.prompts", "benchmark.phases.0", "benchmark.artifacts", "benchmark.tokenizer", "benchmark.runtime"}
	rows := 0
	for _, path := range paths {
		for _, f := range FieldAt(path).Lacks {
			rows++
			off, _, err := tree.ParseJSON([]byte(f.Off))
			if err != nil {
				t.Fatalf("%s.%s: %v", path, f.Name, err)
			}
			l := NewDecoder(&problem.Report{}, DecodeOptions{})
			l.unsupported(off, f)
			if err := l.Err(); err != nil || len(l.Warnings()) > 0 {
				t.Errorf("%s.%s: its own default is refused: %v %v", path, f.Name, err, l.Warnings())
			}
			l.unsupported(&tree.Node{Shape: tree.Number, Scalar: "977"}, f)
			invalid, _ := errors.AsType[*problem.Invalid](l.Err())
			if found := len(l.Warnings()); invalid == nil && found != 1 || invalid != nil && found+len(invalid.Problems) != 1 {
				t.Errorf("%s.%s: 977 is accepted without a problem", path, f.Name)
			}
		}
	}
	if rows < 35 {
		t.Errorf("%d rows, want at least 35", rows)
	}
}
