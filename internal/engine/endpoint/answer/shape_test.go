package answer

import (
	"testing"
)

// TestShapeText checks texts that need a look at every byte.
func TestShapeText(t *testing.T) {
	for _, tt := range []struct{ inside, want string }{
		{`\n\t\"\\\/\b\f\r`, "\n\t\"\\/\b\f\r"}, {`\u0041é\u00e9`, "Aéé"}, {`\ud83d\ude00`, "😀"}, {`\u0000`, "\x00"}, {"\x7f", "\x7f"},
	} {
		got, ok := appendUnescaped([]byte("> "), []byte(tt.inside))
		if !ok || string(got) != "> "+tt.want {
			t.Errorf("appendUnescaped(%q) = %q, %v; want %q", tt.inside, got, ok, tt.want)
		}
	}
	bad := []string{`\`, `\x`, `\u12`, `\u12g4`, `\ud83d`, `\ud83dx`, `\ud83d\n`, `\ude00\ud83d`, "\xff", "\xff\\n", "a\\n\xe2\x82"}
	for _, inside := range bad {
		if got, ok := appendUnescaped(nil, []byte(inside)); ok {
			t.Errorf("appendUnescaped(%q) = %q, want none", inside, got)
		}
		if isPlain([]byte(inside)) {
			t.Errorf("isPlain(%q)", inside)
		}
	}
}
