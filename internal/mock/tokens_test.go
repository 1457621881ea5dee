package mock

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func TestWordsPieces(t *testing.T) {
	tests := []struct {
		text string
		want []string
	}{
		{"", nil},
		{"Hello, world!", []string{"Hello", ",", " world", "!"}},
		{"tokenization works", []string{"tokeni", "zation", " works"}},
		{"in 2026, 1234567", []string{"in", " 202", "6", ",", " 123", "456", "7"}},
		{"a  b\n\nc\td ", []string{"a", " ", " b", "\n\n", "c", "\t", "d", " "}},
		{"Überstraße", []string{"Überst", "raße"}},
		{"日本 語", []string{"日", "本", " 語"}},
		{"a\xffb", []string{"a", "\xff", "b"}},
	}
	for _, tt := range tests {
		got := (Words{}).Pieces(tt.text)
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("Pieces(%q) (-want +got):\n%s", tt.text, diff)
		}
	}
}

func FuzzWords(f *testing.F) {
	for _, s := range []string{"", " ", "Hello, world", "a\xff\xfe b", "日本\u00a0x", "  \n x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		pieces := Words{}.Pieces(s)
		if joined := strings.Join(pieces, ""); joined != s {
			t.Errorf("pieces of %q join to %q", s, joined)
		}
		if n := (Words{}).Count(s); n != len(pieces) {
			t.Errorf("Count(%q) = %d, want %d", s, n, len(pieces))
		}
	})
}

func FuzzAppendJSONString(f *testing.F) {
	for _, s := range []string{"", "a\"b\\c", "\x00\x1f\x7f\n\r\t", "é😀\u2028", "a\xffb\xc3"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		var got string
		text := appendJSONString(nil, s)
		if err := json.Unmarshal(text, &got); err != nil {
			t.Fatalf("appendJSONString(%q) = %s: %v", s, text, err)
		}
		if want := string([]rune(s)); got != want {
			t.Errorf("%q reads back as %q, want %q", s, got, want)
		}
	})
}

func TestProse(t *testing.T) {
	c := newCorpus(Words{}, prose)
	words := len(strings.Fields(prose))
	perWord := float64(len(c.pieces)) / float64(words)
	if perWord < 1.1 || perWord > 1.5 {
		t.Errorf("%.2f tokens a word, want about 1.3", perWord)
	}
	if len(c.starts) < 40 {
		t.Errorf("%d places to begin, want at least 40", len(c.starts))
	}
	for _, start := range c.starts {
		text := passage{pieces: c.pieces, start: start}
		var got []byte
		for i := range len(c.pieces) + 30 { // once around
			got = text.appendJSON(got, i)
		}
		var plain string
		if err := json.Unmarshal([]byte(`"`+string(got)+`"`), &plain); err != nil {
			t.Fatalf("passage %d is not a JSON string: %v", start, err)
		}
		if n := (Words{}).Count(plain); n != len(c.pieces)+30 {
			t.Errorf("passage %d counts %d tokens, want %d", start, n, len(c.pieces)+30)
		}
		if plain[0] < 'A' || plain[0] > 'Z' || !utf8.ValidString(plain) {
			t.Errorf("passage %d begins with %q", start, plain[:10])
		}
	}
}
