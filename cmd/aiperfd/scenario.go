package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"aiperfd/internal/engine/config/scenario"
)

const scenarioLong = `Show the named benchmarks of profile --scenario: which settings a run must have,
over which recorded sessions, and within which limits its result counts. The
rules of a version never change; the digest of their text identifies them.`

func newScenarioCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "scenario", Short: "List and show named benchmarks and their rules", Long: scenarioLong, Args: cobra.NoArgs}
	cmd.AddCommand(
		&cobra.Command{
			Use: "list", Short: "List the scenarios, with their versions and digests", Args: cobra.NoArgs,
			RunE: func(cmd *cobra.Command, _ []string) error {
				return listScenarios(plainOut(cmd))
			},
		},
		&cobra.Command{
			Use: "show NAME", Short: "Print the rules of a scenario, or of a version of it: NAME@VERSION", Args: cobra.ExactArgs(1),
			ValidArgsFunction: func(*cobra.Command, []string, string) (names []string, _ cobra.ShellCompDirective) {
				for _, s := range scenario.All() {
					names = append(names, s.ID())
				}
				return names, cobra.ShellCompDirectiveNoFileComp
			},
			RunE: func(cmd *cobra.Command, args []string) error {
				s, err := scenario.Find(args[0])
				if err != nil {
					return exitWith(exitUsage, fmt.Errorf("scenario %q: %w", args[0], err))
				}
				_, err = fmt.Fprintf(plainOut(cmd), "%s# sha256 %s\n", s.Text, s.SHA256)
				return err
			},
		},
	)
	return cmd
}

// listScenarios prints a line per scenario, with the beginning of the digest of its rules.
func listScenarios(w io.Writer) error {
	wide := 0
	for _, s := range scenario.All() {
		wide = max(wide, len(s.ID()))
	}
	for _, s := range scenario.All() {
		gap := strings.Repeat(" ", wide-len(s.ID()))
		if _, err := fmt.Fprintf(w, "%s%s  %s  %s\n", s.ID(), gap, s.SHA256[:12], s.About); err != nil {
			return err
		}
	}
	return nil
}
