package flags

import (
	"regexp"
	"strings"
	"testing"

	"aiperfd/internal/engine/plan"
)

// TestElsewhere: each equivalent that the tables of other tools give is a command line that
// runs, if it has its files; and a remark names flags that exist.
func TestElsewhere(t *testing.T) {
	checked := 0
	for _, tool := range Tools() {
		for _, row := range tool.Rows {
			for _, snippet := range Snippets(row.Ours) {
				if strings.HasPrefix(snippet, "--") {
					checked++
					tryFlags(t, snippet, true)
				}
			}
			for _, snippet := range Snippets(row.Differs) {
				name, _, _ := strings.Cut(snippet, " ")
				theirs := strings.Contains(row.Theirs, "`"+name+" ") && !strings.Contains(row.Ours, name) // a remark on them
				if strings.HasPrefix(snippet, "--") && !theirs {
					checked++
					tryFlags(t, snippet, false)
				}
			}
		}
	}
	if checked < 150 {
		t.Errorf("%d equivalents were checked", checked)
	}
}

// tryFlags parses a command line and, if it is complete, loads its document.
func tryFlags(t *testing.T, snippet string, complete bool) {
	t.Helper()
	quoted := regexp.MustCompile(`"[^"]*"|'[^']*'|\S+`)
	args := quoted.FindAllString(snippet, -1)
	for i := range args {
		if strings.ContainsAny(args[i][:1], `"'`) {
			args[i] = args[i][1 : len(args[i])-1]
		}
	}
	if len(args) == 1 { // the name alone
		args[0], _, _ = strings.Cut(args[0], "=")
		if _, _, ok := (&Flags{table: flagTable()}).find(args[0]); !ok {
			t.Errorf("there is no flag %s", args[0])
		}
		return
	}
	given, err := Parse(append([]string{"--streaming"}, args...), nil)
	if err != nil {
		t.Errorf("%s: %v", snippet, err)
		return
	}
	if !complete {
		return
	}
	given.Options.Choices = plan.Choices()
	_, _, err = given.Document()
	for line := range strings.Lines(errorText(err)) {
		if !strings.Contains(line, "no such file") && !strings.Contains(line, "cannot be read") { // nobody has these files
			t.Errorf("%s: %s", snippet, line)
		}
	}
}
