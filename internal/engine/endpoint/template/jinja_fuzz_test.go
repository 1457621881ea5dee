package template

import (
	"strings"
	"testing"

	"aiperfd/internal/engine/jinja"
)

// FuzzTemplate: no template crashes, and none makes more than it may.
func FuzzTemplate(f *testing.F) {
	for _, s := range []string{
		`{"text": {{ text|tojson }}}`, `{"t": "{{ text }}", "n": {{ max_tokens }}}`, `{% for t in texts %}{{ t }}{% if not loop.last %},{% endif %}{% endfor %}`,
		`{% set x = 1 %}{{ x + 1 }}`, `{{ missing }}`, `{% include "/body" %}`, `{% macro m(a) %}{{ a }}{% endmacro %}{{ m(text) }}`, `{{ "a" * 9 }}`, `{{`, `{#`,
	} {
		f.Add(s, "a \"text\"")
	}
	f.Fuzz(func(t *testing.T, source, text string) {
		if len(source) > 1<<10 || len(text) > 1<<10 {
			return
		}
		j, err := parseJinja(source)
		if err != nil {
			return
		}
		out, err := j.Render(map[string]any{"text": text, "texts": []string{text, "b"}, "max_tokens": 3})
		if err == nil && len(out) > jinja.MaxRendered {
			t.Errorf("%d bytes", len(out))
		}
	})
}

// TestTemplateBounds: a template cannot call itself, and neither long nor deep ones
// take the process down.
func TestTemplateBounds(t *testing.T) {
	for name, source := range map[string]string{
		"include":   `{% include "/body" %}`,
		"extends":   `{% extends "/body" %}`,
		"import":    `{% import "/body" as b %}`,
		"recursion": `{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}`,
		"call":      `{% call m() %}{% endcall %}`,
		"length":    strings.Repeat(" ", jinja.MaxSource+1),
		"depth":     "{{ " + strings.Repeat("(", jinja.MaxSource-100),
		"lists":     "{{ " + strings.Repeat("[", jinja.MaxSource-100),
		"blocks":    strings.Repeat("{% if 1 %}", jinja.MaxSource/10-1),
	} {
		if _, err := parseJinja(source); err == nil {
			t.Errorf("%s: the template is accepted", name)
		}
	}
}
