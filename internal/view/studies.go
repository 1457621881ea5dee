package view

import (
	"fmt"
	"strings"
)

// Study is a study in the text of [NotComparable].
type Study struct {
	Name  string
	Runs  []string // those that are named
	Total int      // of all its runs
	More  string   // where the others are listed; empty = nowhere
}

// NotComparable says that studies cannot be compared with single runs, and which runs of them can.
func NotComparable(studies []Study) string {
	lines := []string{
		"sweeps and repeated runs have no results of their own to put beside those of a run; name runs of them instead",
	}
	for _, s := range studies {
		lines = append(lines, fmt.Sprintf("%s is a study of %s:", s.Name, Plural(s.Total, "run")))
		for _, run := range s.Runs {
			lines = append(lines, "  "+run)
		}
		if more := s.Total - len(s.Runs); more > 0 {
			lines = append(lines, fmt.Sprintf("  and %d more%s", more, s.More))
		}
	}
	return strings.Join(lines, "\n")
}
