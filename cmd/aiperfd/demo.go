package main

import (
	"os"

	"github.com/spf13/cobra"

	"aiperfd/internal/app"
	"aiperfd/internal/app/terminal"
)

func newDemoCommand() *cobra.Command {
	var d app.Demo
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Run daemon, simulated server and one benchmark in one process",
		Long: `Start the daemon and a simulated inference server in one process, run a
benchmark of a few seconds, and print its results and the URLs of the API. On a
terminal the daemon keeps running until Ctrl+C; with --once it exits after the
results.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			d.Out, d.Version = cmd.OutOrStdout(), version
			d.Once = d.Once || !terminal.IsTerminal(os.Stdout)
			return d.Run(cmd.Context())
		},
	}
	cmd.Flags().BoolVar(&d.Once, "once", false, "exit after the results")
	cmd.Flags().IntVar(&d.Port, "api-port", 0, "`port` of the daemon; 0 picks a free one")
	cmd.Flags().StringVar(&d.DataDir, "data-dir", "", "`folder` for the results; default a temporary one")
	return cmd
}
