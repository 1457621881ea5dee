package answer

import (
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	big := strings.Repeat(" ", bigDocument)
	for _, tt := range []struct {
		name, data        string
		ok, repaired, bad bool
	}{
		{"object", `{"a":1}`, true, false, false},
		{"byte order mark", "\xef\xbb\xbf[]", true, false, false},
		{"numbers NaN", `[NaN,{"a":Infinity},-Infinity,-1]`, true, true, false},
		{"NaN in a string", `["NaN \" Infinity"]`, true, false, false},
		{"nan in lower case", `[nan]`, false, false, false},
		{"inf", `[inf]`, false, false, false},
		{"odd numbers", `[1-2]`, false, false, false},
		{"leading zero", `[01]`, false, false, false},
		{"bad escape", `["\q"]`, false, false, false},
		{"line break in a string", "[\"a\nb\"]", false, false, false},
		{"NaN and worse", `[NaN,]`, false, false, false},
		{"two documents", `{} {}`, false, false, false},
		{"empty", ``, false, false, false},
		{"no UTF-8", "[\"\xff\"]", true, false, true},
		{"deep", strings.Repeat("[", 400) + strings.Repeat("]", 400), false, false, false},
		{"big", big + `{"a":1}`, true, false, false},
		{"big and broken", big + `{"a":x}`, false, false, false},
		{"big with NaN", big + `[NaN]`, true, true, false},
		{"too many values", "[" + strings.Repeat("0,", maxValues) + "0]", false, false, false},
	} {
		var p Parser
		v := p.Parse([]byte(tt.data))
		if (v != nil) != tt.ok || p.Repaired != tt.repaired || p.InvalidUTF8 != tt.bad {
			t.Errorf("%s: parsed %v, repaired %v, invalid UTF-8 %v; want %v, %v, %v",
				tt.name, v != nil, p.Repaired, p.InvalidUTF8, tt.ok, tt.repaired, tt.bad)
		}
	}
}

func TestToValidUTF8(t *testing.T) {
	// The example of Unicode 16, section 3.9, table 3-8, and its neighbours.
	for in, want := range map[string]string{
		"é😀":               "é😀",
		"\xf0\x80\x80\x41": "���A",
		"\xf0\x9f\x98A":    "�A",
		"\xf1\x80\x80\xe1\x80\xc2\x62\x80\x63\x80\xbf\x64": "���b�c��d",
		"\xed\xa0\x80": "���",
		"\xe0\x9f\xc3": "���",
		"\xf4\x90":     "��",
		"\xe2\x82":     "�",
		"\xc1\xbf":     "��",
	} {
		if got := string(ToValidUTF8([]byte(in))); got != want {
			t.Errorf("toValidUTF8(%q) = %q, want %q", in, got, want)
		}
	}
}
