package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"aiperfd/internal/engine/dataset/file"
	"aiperfd/internal/engine/dataset/trace"
	"aiperfd/internal/engine/plainjson"
	"aiperfd/internal/view"
)

const analyzeLong = `Analyze a trace: lengths of prompts and answers, arrivals, sessions, and what a
prefix cache without limits would save. FILE is in a format of a trace that
docs/datasets.md lists; gzip and zstd are recognised. It is read once, and a
second time if it has hash ids.

The result is printed as text. --output-file writes it as JSON as well, with the
names of AIPerf; - prints only that.

Memory does not depend on the size of the file. Prefixes are analyzed until
there are 1.5 million different ones; the result says how many requests that
was. Up to 524,288 sessions are distinguished.`

func newAnalyzeCommand() *cobra.Command {
	var format, output string
	blockSize := 0
	cmd := &cobra.Command{
		Use:     "analyze-trace FILE",
		Short:   "Analyze lengths, arrivals and shared prefixes of a trace",
		Long:    analyzeLong,
		Example: "  aiperfd analyze-trace trace.jsonl\n  aiperfd analyze-trace trace.jsonl --block-size 16 --output-file analysis.json",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("block-size") && blockSize < 1 {
				return exitWith(exitUsage, fmt.Errorf("--block-size %d: must be at least 1", blockSize))
			}
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			report, err := trace.Analyze(ctx, file.File{Path: args[0]}, format, blockSize)
			switch {
			case ctx.Err() != nil:
				return exitWith(exitCancelled, errors.New("cancelled"))
			case err != nil:
				return exitWith(exitUsage, fmt.Errorf("analyze %s: %w", args[0], err))
			case output == "-":
				return plainjson.WriteIndent(plainOut(cmd), report)
			case output != "":
				if err := writeAnalysis(output, report); err != nil {
					return err
				}
			}
			return printAnalysis(plainOut(cmd), report)
		},
	}
	fs := cmd.Flags()
	fs.IntVar(&blockSize, "block-size", 0, "`tokens` per hash id (default: that of the format, 512 of mooncake_trace)")
	fs.StringVar(&format, "format", "", "format of the trace (default: what the first record looks like)")
	fs.StringVar(&output, "output-file", "", "write the analysis as JSON to this `file`; - = standard output")
	return cmd
}

func writeAnalysis(name string, report *trace.Report) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	return errors.Join(plainjson.WriteIndent(f, report), f.Close())
}

// printAnalysis prints an analysis for people.
func printAnalysis(out io.Writer, r *trace.Report) error {
	fmt.Fprintf(out, "%s of %s, %s",
		view.Plural(r.Requests, "request"), r.Format, view.Plural(r.Sessions.Count, "session"))
	fmt.Fprintf(out, " of %.2f requests on average and %d at most\n", r.Sessions.MeanTurns, r.Sessions.MaxTurns)
	if !r.Sessions.Exact {
		fmt.Fprintln(out, "There are more sessions; only this number was tracked.")
	}
	if r.Skipped > 0 {
		fmt.Fprintf(out, "%s with problems left out; aiperfd validate lists them\n", view.Plural(r.Skipped, "record"))
	}
	fmt.Fprintln(out)
	for _, line := range distributions(r).Lines(0) {
		fmt.Fprintln(out, "  "+line)
	}
	if r.HitRates != nil {
		fmt.Fprintf(out, "\nPrefix cache without limits: %.1f %% of input tokens in it, hit rate %.1f %%\n", 100*r.CacheableShare, 100*r.HitRate)
		fmt.Fprintf(out, "Prefixes: %d different ones of blocks of %d tokens; %.1f %% of all occurrences are repeated; %s shared\n",
			r.UniquePrefixes, r.BlockSize, 100*r.PrefixReuse, view.Plural(r.PrefixGroups, "first block"))
		if r.PrefixRequests < r.Requests {
			fmt.Fprintf(out, "These are of the first %d requests, since there are more prefixes than are compared.\n", r.PrefixRequests)
		}
	}
	a := r.Arrivals
	if a == nil {
		_, err := fmt.Fprintln(out, "\nThe trace has no times.")
		return err
	}
	fmt.Fprintf(out, "\nArrivals: %.2f per second for %.1f s; gaps of %.1f ms on average\n", a.Rate, a.Seconds, a.GapMean)
	fmt.Fprintf(out, "Index of dispersion of gaps %.2f (Poisson 1), burstiness %.2f (constant -1, Poisson 0)\n", a.GapDispersion, a.Burstiness)
	for _, c := range a.Counts {
		fmt.Fprintf(out, "Index of dispersion of counts in %v s: %.2f (Poisson 1)\n", c.Seconds, c.Dispersion)
	}
	if a.Disorder > 0 {
		fmt.Fprintf(out, "%s before those of more than 1,024 records earlier\n", view.Plural(a.Disorder, "time"))
	}
	return nil
}

// distributions returns the table of the distributions in an analysis.
func distributions(r *trace.Report) *view.Table {
	t := &view.Table{Columns: []view.Column{{Number: true}}}
	for _, name := range []string{"mean", "sd", "min", "p25", "p50", "p75", "max"} {
		t.Columns = append(t.Columns, view.Column{Title: name, Number: true})
	}
	for _, row := range []struct {
		name  string
		stats *trace.Stats
		unit  float64
	}{
		{"input tokens", r.ISL, 1}, {"output tokens", r.OSL, 1},
		{"shared tokens", r.Context, 1}, {"other tokens", r.Unique, 1},
		{"hit rate, %", r.HitRates, 100},
	} {
		if s := row.stats; s != nil {
			cells := []string{row.name}
			for _, v := range []float64{s.Mean, s.StdDev, s.Min, s.P25, s.Median, s.P75, s.Max} {
				cells = append(cells, fmt.Sprintf("%.1f", v*row.unit))
			}
			t.Rows = append(t.Rows, cells)
		}
	}
	return t
}
