package main

import (
	"bytes"
	"strings"
	"testing"
)

// The help of every command fits a terminal of 80 columns.
func TestHelpWidth(t *testing.T) {
	for _, args := range [][]string{{}, {"serve"}, {"token"}, {"token", "new"}, {"token", "list"}, {"token", "remove"}, {"profile"}, {"mock"}, {"demo"}, {"certify"}, {"validate"}, {"healthcheck"}, {"version"}, {"completion"}, {"config"}, {"config", "init"}, {"config", "expand"}, {"config", "show-defaults"}, {"plot"}, {"export"}, {"analyze-trace"}} {
		root := newRootCommand()
		var out bytes.Buffer
		root.SetOut(&out)
		root.SetArgs(append(args, "--help"))
		if err := root.ExecuteContext(t.Context()); err != nil {
			t.Fatal(err)
		}
		if out.Len() < 150 {
			t.Errorf("help of %q: %s", args, out.String())
		}
		for line := range strings.Lines(out.String()) {
			if n := len([]rune(strings.TrimSuffix(line, "\n"))); n > 80 {
				t.Errorf("help of %q: a line has %d columns: %s", args, n, line)
			}
		}
	}
}
