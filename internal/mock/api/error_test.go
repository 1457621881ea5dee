package api

import (
	"encoding/json"
	"testing"
)

func FuzzAppendJSONString(f *testing.F) {
	for _, s := range []string{"", "a\"b\\c", "\x00\x1f\x7f\n\r\t", "é😀\u2028", "a\xffb\xc3"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		var got string
		text := AppendString(nil, s)
		if err := json.Unmarshal(text, &got); err != nil {
			t.Fatalf("appendJSONString(%q) = %s: %v", s, text, err)
		}
		if want := string([]rune(s)); got != want {
			t.Errorf("%q reads back as %q, want %q", s, got, want)
		}
	})
}
