package token

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestProse(t *testing.T) {
	c := NewCorpus(Words{}, Prose)
	words := len(strings.Fields(Prose))
	perWord := float64(len(c.Pieces)) / float64(words)
	if perWord < 1.1 || perWord > 1.5 {
		t.Errorf("%.2f tokens a word, want about 1.3", perWord)
	}
	if len(c.Starts) < 40 {
		t.Errorf("%d places to begin, want at least 40", len(c.Starts))
	}
	for _, start := range c.Starts {
		text := Passage{Pieces: c.Pieces, Start: start}
		var got []byte
		for i := range len(c.Pieces) + 30 { // once around
			got = text.AppendJSON(got, i)
		}
		var plain string
		if err := json.Unmarshal([]byte(`"`+string(got)+`"`), &plain); err != nil {
			t.Fatalf("passage %d is not a JSON string: %v", start, err)
		}
		if n := (Words{}).Count(plain); n != len(c.Pieces)+30 {
			t.Errorf("passage %d counts %d tokens, want %d", start, n, len(c.Pieces)+30)
		}
		if plain[0] < 'A' || plain[0] > 'Z' || !utf8.ValidString(plain) {
			t.Errorf("passage %d begins with %q", start, plain[:10])
		}
	}
}
