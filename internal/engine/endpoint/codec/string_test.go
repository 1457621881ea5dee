package codec

import (
	"encoding/json"
	"testing"
)

// FuzzAppendString checks our string writer against the standard decoder.
func FuzzAppendString(f *testing.F) {
	f.Add("a\"\\\n\x00\u2028\xff<é\U0001F600")
	f.Fuzz(func(t *testing.T, s string) {
		var got string
		if err := json.Unmarshal(AppendString(nil, s), &got); err != nil {
			t.Fatalf("appendString(%q) is not JSON: %v", s, err)
		}
		if want := string([]rune(s)); got != want {
			t.Errorf("appendString(%q) decodes to %q, want %q", s, got, want)
		}
	})
}
