package dataset

import (
	"strings"
	"testing"
)

func TestWriteDocs(t *testing.T) {
	var b strings.Builder
	if err := WriteDocs(&b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"## synthetic\n\n", "| `prompts.isl` | distribution | ", "## single_turn\n\n", "| `output_length` | integer | Maximum output tokens, at least 1. |\n",
		"| `coding` | ", "| `shuffle` | A random permutation, ",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the documentation has no %q:\n%s", want, b.String())
		}
	}
}
