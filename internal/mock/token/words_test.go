package token

import (
	"strings"
	"testing"

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
