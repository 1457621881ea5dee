package main

import (
	"github.com/spf13/cobra"

	"aiperfd/internal/ctl"
)

// newCtlCommand returns the client of the daemon, with the exit codes of the program for
// wrong arguments.
func newCtlCommand() *cobra.Command {
	cmd := ctl.New(version)
	cmd.Args = knownCommand
	usageBelow(cmd)
	return cmd
}

// usageBelow adds the exit code to the argument checks of all commands below a command.
func usageBelow(cmd *cobra.Command) {
	for _, sub := range cmd.Commands() {
		sub.Args = usage(sub.Args)
		usageBelow(sub)
	}
}
