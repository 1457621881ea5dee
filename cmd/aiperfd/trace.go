package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/dataset/agentic"
	"aiperfd/internal/engine/dataset/file"
	"aiperfd/internal/engine/durable"
	"aiperfd/internal/engine/plainjson"
	"aiperfd/internal/view"
)

const traceLong = `Read recorded sessions of coding agents: what is in them, and their session
graphs.

IN is a file or a folder of the format weka_trace (kv-cache-tester, the
semianalysis_cc_traces_weka corpora): one JSON object per file, or one per line
(gzip and zstd are recognised); or what trace convert has written. In a folder,
all files are read.

Requests that a capture has mixed into one stream are divided into the agents
that sent them, by their blocks, times and models, with the rules of AIPerf
0.13; --no-split keeps them as they are. How many streams were found this way
is reported, because a part of it is heuristic.

A trace with a problem is an error that names the file, the trace, the request
and the member, up to 20 at once. What can be repaired is counted.`

// traceOptions are the flags of the commands that read traces.
type traceOptions struct{ noSplit, strict, skip bool }

func (o *traceOptions) add(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.BoolVar(&o.noSplit, "no-split", false, "keep requests of several agents in the stream in which they were recorded")
	fs.BoolVar(&o.strict, "strict-traces", false, "refuse members that the format does not have")
	fs.BoolVar(&o.skip, "skip-bad-records", false, "leave out traces with problems, and count them")
}

// read calls each with the graphs of a file.
func (o *traceOptions) read(cmd *cobra.Command, path string, each func(*agentic.Graph) error) (agentic.Repairs, error) {
	ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	rules := agentic.DefaultRules()
	rules.Split = !o.noSplit
	options := agentic.Options{Rules: rules, Strict: o.strict, SkipBad: o.skip, Cache: agentic.CacheFolder()}
	repairs, err := agentic.Read(ctx, file.File{Path: path}, options, each)
	switch {
	case ctx.Err() != nil:
		return repairs, exitWith(exitCancelled, errors.New("cancelled"))
	case err != nil:
		return repairs, exitWith(exitUsage, fmt.Errorf("read %s:\n%w", path, err))
	}
	return repairs, nil
}

func newTraceCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "trace",
		Short: "Describe, convert and generate sessions of coding agents",
		Long:  traceLong,
		Args:  cobra.NoArgs,
	}
	cmd.AddCommand(newTraceDescribeCommand(), newTraceConvertCommand(), newTraceGenerateCommand())
	return cmd
}

func newTraceDescribeCommand() *cobra.Command {
	var o traceOptions
	output := ""
	cmd := &cobra.Command{
		Use:   "describe IN",
		Short: "Print requests, agents, lengths, gaps and reuse of traces",
		Long: `Print what is in the traces of a file or folder: requests, streams by kind,
lengths of prompts and answers, gaps, duration of sessions, and what a prefix
cache without limits could reuse.

The hit rate is that of the recording: leading blocks of a prompt that an
earlier request of the same trace has sent, divided by all blocks. An edit is a
turn whose blocks do not begin with all blocks of the turn before it, for
example because the context was compacted.`,
		Example: "  aiperfd trace describe traces/\n  aiperfd trace describe traces.jsonl.gz -o json",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if output != "text" && output != "json" {
				return exitWith(exitUsage, fmt.Errorf("--output %q: must be text or json", output))
			}
			var s agentic.Summary
			var err error
			s.Repairs, err = o.read(cmd, args[0], func(g *agentic.Graph) error {
				s.Add(g)
				return nil
			})
			if err != nil {
				return err
			}
			s.Finish()
			if output == "json" {
				return plainjson.WriteIndent(plainOut(cmd), &s)
			}
			return printSummary(plainOut(cmd), &s)
		},
	}
	o.add(cmd)
	cmd.Flags().StringVarP(&output, "output", "o", "text", "`form` of the output: text or json")
	return cmd
}

func newTraceConvertCommand() *cobra.Command {
	var o traceOptions
	cmd := &cobra.Command{
		Use:   "convert IN OUT",
		Short: "Write the session graphs of traces, one per line",
		Long: `Write the session graphs of the traces of a file or folder to OUT, one JSON
object of the form ` + agentic.FormatGraph + ` per line; - is standard output. A graph has
the streams of a trace, which request spawned each, and which requests waited
for which. The blocks of a request are written as the number that it shares
with the request before it in its stream, and the ids that follow. OUT is
replaced only if all traces could be read.`,
		Example: "  aiperfd trace convert traces/ graphs.jsonl",
		Args:    cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			if args[1] == "-" {
				_, err := o.read(cmd, args[0], func(g *agentic.Graph) error { return agentic.Write(plainOut(cmd), g) })
				return err
			}
			traces := 0
			err := durable.Replace(args[1], 0o644, func(w io.Writer) error {
				_, err := o.read(cmd, args[0], func(g *agentic.Graph) error {
					traces++
					return agentic.Write(w, g)
				})
				return err
			})
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(plainOut(cmd), "%s written to %s\n", view.Plural(traces, "trace"), args[1])
			return err
		},
	}
	o.add(cmd)
	return cmd
}

func newTraceGenerateCommand() *cobra.Command {
	c := agentic.Corpus{Traces: 8, Requests: 145, Context: 990_016}
	seed := uint64(0)
	cmd := &cobra.Command{
		Use:   "generate OUT",
		Short: "Write generated traces of coding agents, for trials offline",
		Long: `Write generated traces of the format weka_trace to OUT, one per line; - is
standard output. Lengths of prompts and answers, what turns add and change,
pauses and sub-agents are drawn from distributions whose figures are about
those of the corpora semianalysis_cc_traces_weka. 393 traces with the defaults
are about as large as the published corpus. A result that was measured with
generated traces is comparable only with others of the same traces.

The same options write the same bytes, and more traces begin with the same
ones.`,
		Example: "  aiperfd trace generate traces.jsonl\n  aiperfd trace generate small.jsonl --traces 2 --requests 10 --context 16384",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c.Seed = bench.Seed(seed)
			if err := c.Check(); err != nil {
				return exitWith(exitUsage, fmt.Errorf("--%w", err))
			}
			if args[0] == "-" {
				return c.Generate(plainOut(cmd))
			}
			if err := durable.Replace(args[0], 0o644, c.Generate); err != nil {
				return err
			}
			_, err := fmt.Fprintf(plainOut(cmd), "%s written to %s\n", view.Plural(c.Traces, "trace"), args[0])
			return err
		},
	}
	fs := cmd.Flags()
	fs.IntVar(&c.Traces, "traces", c.Traces, "`number` of traces")
	fs.IntVar(&c.Requests, "requests", c.Requests, "mean `number` of requests of the main stream of a trace")
	fs.IntVar(&c.Context, "context", c.Context, "longest prompt, in `tokens`")
	fs.Uint64Var(&seed, "seed", seed, "`seed` of all draws")
	return cmd
}

// printSummary prints a summary for people.
func printSummary(out io.Writer, s *agentic.Summary) error {
	fmt.Fprintf(out, "%s, %s (%d of main streams, %d of others), blocks of %s tokens\n", view.Plural(s.Traces, "trace"),
		view.Plural(s.Requests, "request"), s.MainRequests, s.Requests-s.MainRequests, joinInts(s.Block))
	var kinds []string
	for _, k := range []agentic.Kind{agentic.Main, agentic.Sub, agentic.Agent, agentic.Group, agentic.Auxiliary} {
		if n := s.Streams[k]; n > 0 {
			kinds = append(kinds, fmt.Sprintf("%d %s", n, k))
		}
	}
	inferred := ""
	if s.Inferred > 0 {
		inferred = fmt.Sprintf("; %d of them inferred from blocks, times and models", s.Inferred)
	}
	fmt.Fprintf(out, "Streams: %s%s\n", strings.Join(kinds, ", "), inferred)
	fmt.Fprintf(out, "%s waited for other streams; at most %s at a time in a trace\n", view.Plural(s.Joins, "request"), view.Plural(s.Parallel, "request"))
	if len(s.Models) > 0 {
		fmt.Fprintf(out, "Models: %s\n", strings.Join(s.Models, ", "))
	}
	fmt.Fprintln(out)
	for _, line := range summaryTable(s).Lines(0) {
		fmt.Fprintln(out, "  "+line)
	}
	fmt.Fprintf(out, "\nLargest context: %d tokens (prompt and answer)\n", s.Context)
	if s.HitRate != nil {
		fmt.Fprintf(out, "Prefix cache without limits, as recorded: hit rate %.1f %%; %.1f %% of the blocks sent are distinct\n", 100**s.HitRate, 100**s.Unique)
	}
	if s.Edits != nil {
		fmt.Fprintf(out, "Edits: %.1f %% of the later turns change what the turn before them had sent\n", 100**s.Edits)
	}
	if s.Without > 0 {
		fmt.Fprintf(out, "%s without blocks\n", view.Plural(s.Without, "request"))
	}
	return printRepairs(out, &s.Repairs)
}

// printRepairs prints what was repaired or left out.
func printRepairs(out io.Writer, r *agentic.Repairs) (err error) {
	for _, line := range r.Notes() {
		_, err = fmt.Fprintf(out, "Note: %s\n", line)
	}
	return err
}

func joinInts(list []int) string {
	var out []string
	for _, v := range slices.Sorted(slices.Values(list)) {
		out = append(out, fmt.Sprint(v))
	}
	return strings.Join(out, ", ")
}

// summaryTable returns the table of the distributions.
func summaryTable(s *agentic.Summary) *view.Table {
	t := &view.Table{Columns: []view.Column{{}}}
	for _, name := range []string{"mean", "min", "p50", "p90", "p99", "max"} {
		t.Columns = append(t.Columns, view.Column{Title: name, Number: true})
	}
	for _, row := range []struct {
		name  string
		of    agentic.Distribution
		whole bool
	}{
		{"input tokens", s.Input, true}, {"output tokens", s.Output, true}, {"new blocks per request", s.New, true},
		{"gap to the next turn, s", s.Gap, false}, {"requests per trace", s.Turns, true}, {"session, s", s.Session, false},
	} {
		cells := []string{row.name, view.Figure(row.of.Mean)}
		for _, v := range []float64{row.of.Min, row.of.P50, row.of.P90, row.of.P99, row.of.Max} {
			if row.whole {
				cells = append(cells, view.Whole(int64(v)))
			} else {
				cells = append(cells, view.Figure(v))
			}
		}
		t.Rows = append(t.Rows, cells)
	}
	return t
}
