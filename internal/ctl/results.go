package ctl

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"aiperfd/internal/api/report"
	"aiperfd/internal/app/terminal"
	"aiperfd/internal/client"
	"aiperfd/internal/compare"
	"aiperfd/internal/engine/export"
	"aiperfd/internal/run"
)

const resultsLong = `Print the results of a run: the report that aiperfd profile prints, or with
-o json the answer of the API. For a study, it is the table of its runs.`

// maxReport is the size of the largest result.json that is printed.
const maxReport = 64 << 20

func resultsCommand(g *globals) *cobra.Command {
	detail := string(export.Brief)
	cmd := &cobra.Command{
		Use:     "results ID",
		Short:   "Print the results of a run",
		Long:    resultsLong,
		Example: "  aiperfd ctl results latest\n  aiperfd ctl results latest --report full",
		Args:    cobra.ExactArgs(1),
		RunE: g.online([]string{formatJSON, formatYAML}, func(ctx context.Context, s *session, args []string) error {
			switch export.Detail(detail) {
			case export.Brief, export.AIPerf, export.Full:
			default:
				return usageError("--report %q: must be brief, aiperf or full", detail)
			}
			r, err := s.find(ctx, args[0])
			if err != nil {
				return err
			}
			if s.output != "" {
				data, err := s.Results(ctx, r.ID)
				if err != nil {
					return err
				}
				return s.printJSON(s.out, data)
			}
			return printResults(ctx, s, r, export.Detail(detail))
		}),
	}
	cmd.Flags().StringVar(&detail, "report", detail, "how much to print: brief, aiperf or full")
	completeRuns(g, cmd, false)
	return cmd
}

// printResults prints the report of a run, or the table of a study.
func printResults(ctx context.Context, s *session, r *client.Run, detail export.Detail) error {
	switch {
	case !r.State.Terminal():
		return fmt.Errorf("run %s has not ended: it is %s; aiperfd ctl watch follows it", r.ID, r.State)
	case r.Kind == run.KindSweep:
		list, err := s.Children(ctx, r.ID, maxLimit)
		if err != nil {
			return err
		}
		return s.printRuns(list.Items, time.Now())
	}
	files, err := s.Files(ctx, r.ID)
	if err != nil {
		return err
	}
	name := export.NamesFor("").Result
	for i := range files.Files {
		f := &files.Files[i]
		if f.Name != name && !strings.HasSuffix(f.Name, "_"+name) || strings.Contains(f.Name, "/") {
			continue
		}
		data, err := s.File(ctx, r.ID, f, maxReport)
		if err != nil {
			return err
		}
		report, err := export.ReadResult(bytes.NewReader(data))
		if err != nil {
			return err
		}
		o := export.ConsoleOptions{Width: widthOf(s.cmd), ASCII: terminal.ASCIIOnly(os.Getenv), Detail: detail, Errors: 20}
		if out, ok := s.cmd.OutOrStdout().(*os.File); ok {
			o.Color = terminal.Colored(out)
		}
		return export.Console(s.cmd.OutOrStdout(), report, o)
	}
	if err := outcome(r); err != nil {
		return fmt.Errorf("run %s has no results: %w", r.ID, err)
	}
	return fmt.Errorf("run %s has no %s; aiperfd ctl artifacts lists its files", r.ID, name)
}

func configCommand(g *globals) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "config ID",
		Short: "Print the document of a run, with all defaults and without secrets",
		Args:  cobra.ExactArgs(1),
		RunE: g.online([]string{formatJSON, formatYAML}, func(ctx context.Context, s *session, args []string) error {
			id, err := s.Resolve(ctx, args[0])
			if err != nil {
				return err
			}
			data, err := s.Config(ctx, id)
			if err != nil {
				return err
			}
			if s.output == "" {
				s.output = formatYAML
			}
			return s.printJSON(s.out, data)
		}),
	}
	completeRuns(g, cmd, false)
	return cmd
}

func versionCommand(g *globals) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the versions of this program and of the daemon",
		Args:  cobra.NoArgs,
		RunE: g.online([]string{formatJSON, formatYAML}, func(ctx context.Context, s *session, _ []string) error {
			v, err := s.Version(ctx)
			if s.output != "" {
				if err != nil {
					return err
				}
				return s.printValue(s.out, map[string]any{"client": map[string]string{"version": g.version}, "server": v, "url": s.Server()})
			}
			fmt.Fprintf(s.out, "client  aiperfd %s\n", g.version)
			if err != nil {
				return err
			}
			more := ""
			if v.APILevel > 0 {
				more = fmt.Sprintf(", API level %d, %s", v.APILevel, v.Compat)
			}
			_, err = fmt.Fprintf(s.out, "server  %s %s at %s%s\n", v.Name, v.Version, s.Server(), more)
			return err
		}),
	}
}

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
