package tokenizer

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"aiperfd/internal/engine/tokenizer/pattern"
)

// TestWordsInClasses: outside a class \w has the fractions and superscripts of
// Latin-1, inside it has not. The expected tokens are those of tokenizers 0.23.3.
func TestWordsInClasses(t *testing.T) {
	for expr, want := range map[string][]string{
		`\w+`:      {"a½b²c_9Ⅷ", "①", "़"},
		`\W`:       {"a½b²c_9Ⅷ", "①", "़"},
		`[\w]+`:    {"a", "½", "b", "²", "c_9Ⅷ", "①", "़"},
		`[a\w]+`:   {"a", "½", "b", "²", "c_9Ⅷ", "①", "़"},
		`[^\w]`:    {"a", "½", "b", "²", "c_9Ⅷ", "①", "़"},
		`[\W]`:     {"a", "½", "b", "²", "c_9Ⅷ", "①", "़"},
		`[\w½²]+`:  {"a½b²c_9Ⅷ", "①", "़"},
		`[^\W\d]+`: {"a", "½", "b", "²", "c_", "9", "Ⅷ", "①", "़"},
	} {
		m, _, err := pattern.Compile(expr)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, p := range (splitter{matcher: m, behavior: behaviorIsolated}).split(new(scratch), nil, piece{"a½b²c_9Ⅷ①़", true}) {
			got = append(got, p.text)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-reference +ours):\n%s", expr, diff)
		}
	}
}

// TestSwallowedTokens: what an added token has swallowed with the blanks around it
// is found no more, unless it reaches beyond them. The ids are tokenizers 0.23.3's.
func TestSwallowedTokens(t *testing.T) {
	const model = `"model":{"type":"WordLevel","vocab":{"?":0,"a":1,"b":2},"unk_token":"?"},"pre_tokenizer":{"type":"WhitespaceSplit"}`
	both := read(t, `{"added_tokens":[{"id":3,"content":"  ","lstrip":true,"rstrip":true},{"id":4,"content":"\n","lstrip":true,"rstrip":true}],`+model+`}`)
	mixed := read(t, `{"added_tokens":[{"id":3,"content":"  ","lstrip":true,"rstrip":true},{"id":4,"content":" x"},{"id":5,"content":"\ty","lstrip":true},`+
		`{"id":6,"content":"r","rstrip":true},{"id":7,"content":" w","single_word":true}],`+model+`}`)
	for _, tt := range []struct {
		tok  Tokenizer
		text string
		want []int
	}{
		{both, "a  b", []int{1, 3, 2}}, {both, "a   b", []int{1, 3, 2}}, {both, "a \n b", []int{1, 4, 2}}, {both, "a  \n  b", []int{1, 3, 2}},
		{both, "a \n\n b", []int{1, 4, 2}}, {both, "    ", []int{3}}, {both, "\n\n", []int{4}},
		{mixed, "a   xb", []int{1, 3, 4, 2}}, {mixed, "a    xb", []int{1, 3, 0}}, {mixed, "a  \tyb", []int{1, 3, 5, 2}},
		{mixed, "ar \tyb", []int{1, 6, 5, 2}}, {mixed, "ar xb", []int{1, 6, 4, 2}}, {mixed, "ar  b", []int{1, 6, 2}}, {mixed, "ar w b", []int{1, 6, 0, 2}},
	} {
		if got := tt.tok.Encode(tt.text); !cmp.Equal(got, tt.want) {
			t.Errorf("Encode(%q) = %v, want %v", tt.text, got, tt.want)
		}
	}
}

func read(t *testing.T, file string) Tokenizer {
	t.Helper()
	tok, err := Read("test", []byte(file))
	if err != nil {
		t.Fatal(err)
	}
	return tok
}

// TestDecodeNormalizedTokens: an added token that is searched for in normalized text
// is its normalized form, as tokenizers 0.23.3 has it.
func TestDecodeNormalizedTokens(t *testing.T) {
	tok := read(t, `{"added_tokens":[{"id":3,"content":"<ÉX>","normalized":true},{"id":4,"content":"<Y>"}],"normalizer":{"type":"Lowercase"},`+
		`"model":{"type":"WordLevel","vocab":{"?":0,"a":1,"b":2},"unk_token":"?"},"pre_tokenizer":{"type":"WhitespaceSplit"}}`)
	if got, want := tok.Encode("a <ÉX> b <éx> <Y>"), []int{1, 3, 2, 3, 4}; !cmp.Equal(got, want) {
		t.Errorf("Encode = %v, want %v", got, want)
	}
	if got, want := tok.Decode([]int{3, 1, 4}), "<éx> a <Y>"; got != want {
		t.Errorf("Decode = %q, want %q", got, want)
	}
}
