//go:build !race

package redact_test

import (
	"testing"

	"aiperfd/internal/engine/redact"
)

// Not with the race detector, which empties pools.
func TestSetAllocations(t *testing.T) {
	s := redact.NewSet("canary-value", "other-canary")
	text := harmlessText()
	b := []byte(text)
	if n := testing.AllocsPerRun(20, func() {
		if s.String(text) != text || len(s.Bytes(b)) != len(b) {
			t.Error("text changed")
		}
	}); n != 0 {
		t.Errorf("%v allocations for text without secrets, want 0", n)
	}
}
