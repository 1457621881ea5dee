package report

import (
	"strings"
	"testing"
)

// Nothing of a text begins a line that is not the writer's.
func TestMarkdownLines(t *testing.T) {
	const hostile = "x\n# heading\n\n| a | b |\n- item"
	doc := text{
		Title: hostile, Alerts: []alert{{hostile, []string{hostile}}}, Facts: []string{"run: " + hostile}, Origin: hostile,
		Tables: []table{newTable(hostile, []string{hostile}, "n")},
		Lists:  []list{{hostile, []string{hostile}}},
	}
	doc.Tables[0].Rows, doc.Tables[0].More = [][]string{{hostile, "1"}}, hostile
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
