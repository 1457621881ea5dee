package terminal

import (
	"bytes"
	"testing"
)

func TestPlain(t *testing.T) {
	text := "{\n  \"a\": \"\x1b[31mé\u009b2J\u202e\x9b\a\x7f€\U0001F600\"\n}\n"
	const want = "{\n  \"a\": \"[31mé2J€\U0001F600\"\n}\n"
	for size := 1; size <= len(text); size++ {
		var out bytes.Buffer
		w := &plain{out: &out}
		for rest := []byte(text); len(rest) > 0; {
			n := min(size, len(rest))
			if wrote, err := w.Write(rest[:n]); wrote != n || err != nil {
				t.Fatalf("wrote %d of %d: %v", wrote, n, err)
			}
			rest = rest[n:]
		}
		if got := out.String(); got != want {
			t.Errorf("in pieces of %d: %q, want %q", size, got, want)
		}
	}
	var out bytes.Buffer
	if Plain(&out) != &out {
		t.Error("a buffer is taken for a terminal")
	}
}
