package tree

import (
	"bytes"
	"testing"
)

// Documents have the given size, differ, and are the same for the same seed. Most are
// documents still: otherwise they would test the parser alone.
func TestDocument(t *testing.T) {
	const size = 1 << 16
	source := []byte(`{"a": [1, {"b": "x"}], "c": {"d": null, "e": true}}`)
	one, err := NewMutator(7, size, source)
	if err != nil {
		t.Fatal(err)
	}
	two, _ := NewMutator(7, size, source)
	parsed, largest := 0, 0
	seen := make(map[string]bool)
	for range 400 {
		text, format := one.Document()
		again, _ := two.Document()
		if !bytes.Equal(text, again) {
			t.Fatal("the same seed gave another document")
		}
		largest = max(largest, len(text))
		seen[string(text)] = true
		if _, _, err := Parse(text, format, 100_000); err == nil {
			parsed++
		}
	}
	if parsed < 150 || largest != size || len(seen) < 250 {
		t.Errorf("of 400 documents %d can be parsed and %d differ, the largest has %d bytes; want 150, 250, %d", parsed, len(seen), largest, size)
	}
}
