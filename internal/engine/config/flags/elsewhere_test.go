package flags

import (
	"regexp"
	"strings"
	"testing"

	"aiperfd/internal/engine/config/elsewhere"
)

// TestElsewhere: the command line has every flag that the tables of other tools give as an
// equivalent, and takes its values.
func TestElsewhere(t *testing.T) {
	checked := 0
	for _, tool := range elsewhere.Tools() {
		for _, row := range tool.Rows {
			for _, snippet := range append(elsewhere.Snippets(row.Ours), elsewhere.Snippets(row.Differs)...) {
				name, _, _ := strings.Cut(snippet, " ")
				theirs := strings.Contains(row.Theirs, "`"+name+" ") && !strings.Contains(row.Ours, name) // a remark on them
				if !strings.HasPrefix(snippet, "--") || theirs {
					continue
				}
				checked++
				if err := tryFlags(snippet); err != nil {
					t.Errorf("%s: %s: %v", row.Theirs, snippet, err)
				}
			}
		}
	}
	if checked < 150 {
		t.Errorf("%d equivalents were checked", checked)
	}
}

// tryFlags says why the parser does not take a command line.
func tryFlags(snippet string) error {
	quoted := regexp.MustCompile(`"[^"]*"|'[^']*'|\S+`)
	args := quoted.FindAllString(snippet, -1)
	for i := range args {
		if strings.ContainsAny(args[i][:1], `"'`) {
			args[i] = args[i][1 : len(args[i])-1]
		}
	}
	if len(args) == 1 { // the name alone
		args[0], _, _ = strings.Cut(args[0], "=")
		_, _, ok := (&Flags{table: flagTable()}).find(args[0])
		if ok {
			return nil
		}
	}
	_, err := Parse(args, nil)
	return err
}
