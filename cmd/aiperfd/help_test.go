package main

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// The help of every command fits a terminal of 80 columns.
func TestHelpWidth(t *testing.T) {
	checkHelp(t, newRootCommand(), nil)
}

func checkHelp(t *testing.T, cmd *cobra.Command, args []string) {
	t.Helper()
	root := newRootCommand()
	var out bytes.Buffer
	root.SetOut(&out)
	root.SetArgs(append(args, "--help"))
	if err := root.ExecuteContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	if out.Len() < 100 {
		t.Errorf("help of %q: %s", args, out.String())
	}
	for line := range strings.Lines(out.String()) {
		if n := len([]rune(strings.TrimSuffix(line, "\n"))); n > 80 {
			t.Errorf("help of %q: a line has %d columns: %s", args, n, line)
		}
	}
	for _, below := range cmd.Commands() {
		if below.IsAvailableCommand() {
			checkHelp(t, below, append(slices.Clip(args), below.Name()))
		}
	}
}
