package token

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// byteCodec has one token per byte, and a decoder that drops a leading space, as those of
// SentencePiece models do.
type byteCodec struct{}

func (byteCodec) Count(text string) int { return len(text) }

func (byteCodec) Encode(text string) []int {
	ids := make([]int, 0, len(text)+1)
	for _, b := range []byte(text) {
		ids = append(ids, int(b))
	}
	return ids
}

func (byteCodec) Decode(ids []int) string {
	var b []byte
	for _, id := range ids {
		b = append(b, byte(id))
	}
	return strings.TrimPrefix(strings.ToValidUTF8(string(b), "\uFFFD"), " ")
}

func TestCodecPieces(t *testing.T) {
	tests := []struct {
		text string
		want []string
	}{
		{"", []string{}},
		{"a b", []string{"a", " ", "b"}},
		{"é!", []string{"", "é", "!"}},
		{"x😀y", []string{"x", "", "", "", "😀", "y"}},
	}
	for _, tt := range tests {
		got := FromCodec(byteCodec{}).Pieces(tt.text)
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("Pieces(%q) (-want +got):\n%s", tt.text, diff)
		}
	}
}
