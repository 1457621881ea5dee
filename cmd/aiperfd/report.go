package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"aiperfd/internal/api/report"
	"aiperfd/internal/app"
	"aiperfd/internal/ctl"
)

const reportLong = `Write a report of a run, of a sweep, or of up to 10 runs compared with the
first.

html is one page with the charts of the dashboard and everything that they
need: it can be sent and kept, opens without a network, and can be printed. md
is a summary in Markdown for pull requests, on standard output.

A RUN is a folder that aiperfd profile has written, or with --data-dir the id of
a run in the data directory of a daemon, which may be running. Without RUN, it
is the newest run in ./artifacts. aiperfd ctl report asks a daemon instead.`

func newReportCommand() *cobra.Command {
	var o app.ReportOptions
	var format, output string
	cmd := &cobra.Command{
		Use:   "report [RUN]...",
		Short: "Write an HTML page or a Markdown summary of runs",
		Long:  reportLong,
		Example: `  aiperfd report artifacts/run -o run.html
  aiperfd report before after -o comparison.html
  aiperfd report artifacts/run --format md >> "$GITHUB_STEP_SUMMARY"`,
		RunE: func(cmd *cobra.Command, args []string) error {
			var err error
			if o.Format, err = report.ParseFormat(format, output); err != nil {
				return exitWith(exitUsage, fmt.Errorf("--format %w", err))
			}
			if o.DataDir != "" && len(args) == 0 {
				return exitWith(exitUsage, errors.New("--data-dir: name the ids of the runs"))
			}
			o.Runs, o.Version = args, version
			body, err := app.Report(cmd.Context(), o)
			if err != nil {
				return withExitCode(err)
			}
			return ctl.WriteReport(cmd.OutOrStdout(), o.Format, output, body)
		},
	}
	fs := cmd.Flags()
	fs.StringVar(&format, "format", "", "html or md (default: by the name of the output, else html)")
	fs.StringVarP(&output, "output", "o", "", "write to this `file`; - is standard output (default report.html for html, standard output for md)")
	fs.StringVar(&o.DataDir, "data-dir", "", "data `directory` of the daemon that ran the benchmarks")
	return cmd
}
