package jinja

import "testing"

// TestBlanks: blanks before a block go if it begins its line, as Jinja's
// lstrip_blocks has it, and the line break after it goes.
func TestBlanks(t *testing.T) {
	for source, want := range map[string]string{
		"{{ 1 }} {% if true %}x{% endif %}":                        "1 x",
		"a {% if true %}x{% endif %} {% if true %}y{% endif %}":    "a x y",
		"{{ 1 }}\n  {% if true %}x{% endif %}":                     "1\nx",
		"  {% if true %}\n  x\n  {% endif %}\ny":                   "  x\ny",
		"{# c #} {% if true %}x{% endif %}":                        " x",
		"{{ '{%' }} {% if true %}{{ \"}}\" }} {# \" #}{% endif %}": "{% }} ",
		"{{ 1 }} {%- if true %} x {%- endif %} y":                  "1 x y",
		"{% raw %} {% if %} {{ {% endraw %}":                       " {% if %} {{ ",
		"{ {{ 1 }} } {":                                            "{ 1 } {",
		"  {%+ if true %}x{% endif %}":                             "  x",
	} {
		got, err := render(source, Options{TrimBlocks: true})
		if err != nil || got != want {
			t.Errorf("%q = %q, %v; want %q", source, got, err, want)
		}
	}
}
