package ctl

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"aiperfd/internal/api/report"
	"aiperfd/internal/app/terminal"
	"aiperfd/internal/compare"
)

const reportLong = `Make a report of a run, of a sweep, or of up to 10 runs compared with the first.

html is one page with the charts of the dashboard and everything that they
need: it can be sent and kept, opens without a network, and can be printed. md
is a summary in Markdown for pull requests, on standard output.

aiperfd report makes the same reports of folders, without a daemon.`

func reportCommand(g *globals) *cobra.Command {
	var format, file string
	cmd := &cobra.Command{
		Use:     "report ID...",
		Short:   "Write an HTML page or a Markdown summary of runs",
		Long:    reportLong,
		Example: "  aiperfd ctl report latest --file run.html\n  aiperfd ctl report 0199f1c2b7c8 latest --format md",
		Args:    cobra.RangeArgs(1, compare.MaxRuns),
		RunE: g.online(nil, func(ctx context.Context, s *session, args []string) error {
			kind, err := report.ParseFormat(format, file)
			if err != nil {
				return usageError("--format %w", err)
			}
			ids, err := s.comparable(ctx, args)
			if err != nil {
				return err
			}
			body, err := s.Report(ctx, ids, string(kind))
			if err != nil {
				return err
			}
			return WriteReport(s.cmd.OutOrStdout(), kind, file, body)
		}),
	}
	fs := cmd.Flags()
	fs.StringVar(&format, "format", "", "html or md (default: by the name of the file, else html)")
	fs.StringVar(&file, "file", "", "write to this `file`; - is standard output (default report.html for html, standard output for md)")
	completeRuns(g, cmd, true)
	return cmd
}

// WriteReport writes a report to a file, whose name it prints, or to out if the file is - or if
// none is given for a summary.
func WriteReport(out io.Writer, kind report.Format, file string, body []byte) error {
	if file == "" && kind == report.HTML {
		file = "report.html"
	}
	if file == "" || file == "-" {
		_, err := out.Write(body)
		return err
	}
	if err := os.WriteFile(file, body, 0o666); err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	_, err := fmt.Fprintln(terminal.Plain(out), file)
	return err
}
