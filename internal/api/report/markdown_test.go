package report

import (
	"strings"
	"testing"
)

func TestEscape(t *testing.T) {
	for _, tt := range []struct{ name, in, want string }{
		{"plain", "qwen-7b, 30 req/s (p99 = 1.5)", "qwen-7b, 30 req/s (p99 = 1.5)"},
		{"end of a cell", "a | b\nc\r\n|", `a \| b c  \|`},
		{"HTML", `<img src=x onerror="alert(1)"> &amp;`, `&lt;img src=x onerror="alert(1)"&gt; &amp;amp;`},
		{"emphasis and code", "*a* _b_ `c` ~d~ ![e](f) \\", "\\*a\\* \\_b\\_ \\`c\\` \\~d\\~ \\!\\[e\\](f) \\\\"},
		{"mention", "@everyone a@b", "@\u200beveryone a@\u200bb"},
		{"reference", "see #12", "see \\#\u200b12"},
		{"link", "https://evil.example/x", "https:\u200b//evil.example/x"},
		{"direction of writing", "a\u202eb\x1b[31mc", `ab\[31mc`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := escape(tt.in); got != tt.want {
				t.Errorf("escape(%q) = %q, want %q", tt.in, got, tt.want)
			}
		})
	}
}

// Nothing of a text begins a line that is not the writer's.
func TestMarkdownLines(t *testing.T) {
	const hostile = "x\n# heading\n\n| a | b |\n- item"
	doc := text{
		Title: hostile, Alerts: []alert{{hostile, []string{hostile}}}, Facts: []string{"run: " + hostile}, Origin: hostile,
		Tables: []table{{Title: hostile, Header: []string{hostile, "n"}, Left: 1, Rows: [][]string{{hostile, "1"}}, More: hostile}},
		Lists:  []list{{hostile, []string{hostile}}},
	}
	lines := strings.Split(strings.TrimSuffix(doc.markdown(), "\n"), "\n")
	var got []string
	for _, line := range lines {
		first, _, _ := strings.Cut(line, " ")
		got = append(got, first)
	}
	want := "##  > >  run:  **x  | | |  <sub>x  **x  -  <sub>x"
	if text := strings.Join(got, " "); text != want {
		t.Errorf("beginnings of the lines = %q, want %q, of\n%s", text, want, strings.Join(lines, "\n"))
	}
}

func TestNumber(t *testing.T) {
	for v, want := range map[float64]string{
		0: "0", 0.012345: "0.012", 1.005: "1", 5: "5", 38.94: "38.9", 647.4: "647", 999.9: "1,000", 999.4: "999", 1454.2: "1,454", 1234567: "1,234,567", -0.5: "-0.5", -12345: "-12,345",
	} {
		if got := number(&v); got != want {
			t.Errorf("number(%v) = %s, want %s", v, got, want)
		}
	}
	if got := number(nil); got != absent {
		t.Errorf("number(nil) = %s", got)
	}
}
