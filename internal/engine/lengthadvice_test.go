package engine

import (
	"strings"
	"testing"

	"aiperfd/internal/engine/endpoint"
)

// TestLengthAdvice: nobody is told to pass what was passed.
func TestLengthAdvice(t *testing.T) {
	const advised = "--extra-inputs ignore_eos:true"
	for name, want := range map[string]bool{"": true, "temperature": true, "ignore_eos": false, "min_tokens": false} {
		plan := &Plan{}
		if name != "" {
			plan.Settings.Extra = []endpoint.Field{{Name: name, Value: []byte("true")}}
		}
		if got := lengthAdvice(plan, -20); strings.Contains(got, advised) != want {
			t.Errorf("with %q: %s", name, got)
		}
	}
}
