package answer

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// TestCountNumbers compares folded documents with what the standard decoder finds in them.
func TestCountNumbers(t *testing.T) {
	for in, want := range map[string]string{
		`{"a":[1,2,3]}`:                `{"a":[3]}`,
		`{"a":[ -0.5e+3 , 1E9,0 ]}`:    `{"a":[3]}`,
		`[1,2]`:                        `[1,2]`,
		`[[1,2],[3],[]]`:               `[[2],[1],[]]`,
		`{"a":[[1],[[2,3]]]}`:          `{"a":[[1],[[2]]]}`,
		`{"a":[1,"[2,3]",null]}`:       `{"a":[1,"[2,3]",null]}`,
		`{"a\"[1,2]":"[1,2]","b":[4]}`: `{"a\"[1,2]":"[1,2]","b":[1]}`,
		`{"a":[01]}`:                   `{"a":[01]}`,
		`{"a":[1,]}`:                   `{"a":[1,]}`,
		`{"a":[1.]}`:                   `{"a":[1.]}`,
		`{"a":[1e]}`:                   `{"a":[1e]}`,
		`{"a":[-]}`:                    `{"a":[-]}`,
		`{"a":[1 2]}`:                  `{"a":[1 2]}`,
		`{"a":[1,2`:                    `{"a":[1,2`,
		`}]]{"a":[1,2]`:                `}]]{"a":[1,2]`,
		`"x`:                           `"x`,
		``:                             ``,
	} {
		if got := string(countNumbers([]byte("_"), []byte(in))); got != "_"+want {
			t.Errorf("%s folds to %s, want _%s", in, got, want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		piece := rapid.SampledFrom([]string{`[`, `]`, `,`, `1`, `-2.5e3`, `{`, `}`, `"a":`, `"[1"`, `[1,2]`, ` `, `null`, `0`, `.`})
		doc := strings.Join(rapid.SliceOfN(piece, 0, 14).Draw(t, "pieces"), "")
		folded := countNumbers(nil, []byte(doc))
		if json.Valid([]byte(doc)) != json.Valid(folded) {
			t.Fatalf("%s folds to %s: one is JSON, the other is not", doc, folded)
		}
		var v any
		if json.Unmarshal([]byte(doc), &v) != nil {
			return
		}
		var got any
		if err := json.Unmarshal(folded, &got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(slowFold(v, true), got); diff != "" {
			t.Fatalf("%s folds to %s (-want +got):\n%s", doc, folded, diff)
		}
	})
}

// slowFold is countNumbers on decoded values.
func slowFold(v any, root bool) any {
	switch v := v.(type) {
	case map[string]any:
		for k := range v {
			v[k] = slowFold(v[k], false)
		}
	case []any:
		numbers := len(v) > 0 && !slices.ContainsFunc(v, func(e any) bool { _, ok := e.(float64); return !ok })
		if numbers && !root {
			return []any{float64(len(v))}
		}
		for i := range v {
			v[i] = slowFold(v[i], false)
		}
	}
	return v
}
