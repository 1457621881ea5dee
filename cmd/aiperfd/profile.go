package main

import (
	"context"
	"errors"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"aiperfd/internal/app"
	"aiperfd/internal/app/terminal"
	"aiperfd/internal/engine/config"
	"aiperfd/internal/engine/config/flags"
	"aiperfd/internal/engine/config/problem"
	"aiperfd/internal/engine/plan"
	"aiperfd/internal/engine/redact"
)

// programName is the first word of the recorded command line: AIPerf's name, as
// its users' scripts expect it.
const programName = "aiperf"

func newProfileCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:                "profile [flags]",
		Short:              "Run a benchmark or a sweep, with the flags of aiperf profile",
		SuggestFor:         []string{"benchmark", "bench", "run"},
		DisableFlagParsing: true, // the flags have AIPerf's grammar
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case slices.Contains(args, "--help-all"):
				return flags.Usage(cmd.OutOrStdout(), new(plan.Choices()))
			case slices.Contains(args, "--help") || slices.Contains(args, "-h"):
				return flags.UsageShort(cmd.OutOrStdout(), new(plan.Choices()))
			case len(args) == 0:
				if err := flags.UsageShort(cmd.ErrOrStderr(), new(plan.Choices())); err != nil {
					return err
				}
				return exitWith(exitUsage, errors.New("no flags; to benchmark the only model of http://localhost:8000, give --url localhost:8000"))
			}
			return profile(cmd.Context(), args, cmd.OutOrStdout())
		},
		ValidArgsFunction: func(_ *cobra.Command, before []string, word string) ([]string, cobra.ShellCompDirective) {
			choices := plan.Choices()
			words, files := flags.Complete(&choices, before, word)
			if files {
				return words, cobra.ShellCompDirectiveDefault
			}
			return words, cobra.ShellCompDirectiveNoFileComp
		},
	}
	cmd.SetHelpFunc(func(cmd *cobra.Command, _ []string) {
		if err := flags.UsageShort(cmd.OutOrStdout(), new(plan.Choices())); err != nil {
			terminal.PrintError(cmd.ErrOrStderr(), err)
		}
	})
	return cmd
}

// profile runs one benchmark in the foreground.
func profile(ctx context.Context, args []string, out io.Writer) error {
	c, err := readCommand(args, nil)
	if err != nil {
		return err
	}
	return c.run(ctx, out)
}

// run performs the benchmark, or the study, in the foreground.
func (c *benchmarkCommand) run(ctx context.Context, out io.Writer) error {
	if b := &c.document.Benchmark; b.OTel.Receive && b.Runtime.APIPort == nil {
		return exitWith(exitUsage, errors.New("--otel-receive: needs --api-port, at which servers send their spans"))
	}
	makeFolder := app.MakeFolder
	if c.document.Study() != nil {
		makeFolder = app.MakeStudyFolder
	}
	folder, err := makeFolder(c.document, c.flags.Given("--artifact-dir"))
	if err != nil {
		return exitWith(exitUsage, err)
	}
	p := &app.Profile{
		Document: c.document, Plan: c.plan, Folder: folder, Warnings: c.warnings, Out: out, Version: version, Repeat: c.repeat,
		Command: c.line, StrictAnswer: c.strict,
	}
	if p.Spawn, p.Bus, err = c.cluster(); err != nil {
		return exitWith(exitUsage, err)
	}
	return withExitCode(p.Run(ctx))
}

// cluster returns how many load generators the command starts on this machine, or where others join.
func (c *benchmarkCommand) cluster() (spawn int, o app.BusOptions, err error) {
	f, cluster := c.flags, c.document.Benchmark.Cluster
	o = app.BusOptions{
		Listen: f.Text("--bus-listen"), URL: f.Text("--bus-url"), Creds: f.Text("--bus-creds"), Prefix: f.Text("--bus-prefix"),
		CA: f.Text("--bus-ca"), Cert: f.Text("--bus-cert"), Key: f.Text("--bus-key"), ClientCA: f.Text("--bus-client-ca"),
		Insecure: f.Given("--insecure-bus"),
	}
	joins := o.Listen != "" || o.URL != ""
	switch {
	case f.Given("--spawn-workers") && (f.Given("--workers") || joins):
		return 0, o, errors.New("--spawn-workers: starts the load generators itself; " +
			"it conflicts with --workers, --bus-listen and --bus-url")
	case checkBus(&o) != nil:
		return 0, o, checkBus(&o)
	case f.Given("--spawn-workers"):
		return cluster.Workers, app.BusOptions{}, nil
	case cluster == nil && joins:
		return 0, o, errors.New("--bus-listen and --bus-url: need --workers, the number of load generators")
	case cluster != nil && !joins:
		return 0, o, errors.New("--workers (cluster.workers): needs --bus-listen, the address at which load generators join, " +
			"or --bus-url; --spawn-workers starts them on this machine")
	case cluster == nil:
		return 0, o, nil
	}
	o.Tokens, err = busTokens(f.Text("--bus-token-file"))
	return 0, o, err
}

// benchmarkCommand is a command line with the flags of a benchmark, and what it means.
type benchmarkCommand struct {
	flags    *flags.Flags
	document *config.Document
	plan     *plan.Plan
	warnings []problem.Problem
	repeat   *app.Repeat // nil = it repeats no run
	line     string      // redacted
	strict   bool        // an answer that is open has an exit code of its own
}

// readCommand reads the flags of a benchmark, which may be that of two servers, and compiles its document. other is the
// second one; nil = there is none.
func readCommand(args []string, other *flags.Other) (*benchmarkCommand, error) {
	c := new(benchmarkCommand)
	var err error
	if c.flags, err = flags.Parse(args, os.LookupEnv); err != nil {
		return nil, exitWith(exitUsage, problemList(err))
	}
	c.flags.Options.Choices, c.flags.Other = plan.Choices(), other
	c.flags.Folder = func(dir string) (document []byte, err error) {
		c.repeat, document, err = app.OpenRepeat(dir)
		return document, err
	}
	c.document, c.warnings, err = c.flags.Document()
	var missing error
	if c.repeat != nil {
		missing = c.repeat.MissingSecrets(c.document, err)
	}
	if err == nil {
		c.plan, err = plan.Compile(c.document)
	}
	if err != nil {
		err = problemList(c.flags.Explain(err))
	}
	if err = errors.Join(err, missing); err != nil {
		return nil, exitWith(exitUsage, err)
	}
	c.line = redact.CommandLine(programName, append([]string{"profile"}, args...), c.flags)
	if strings.Contains(c.line, redact.Placeholder) {
		c.warnings = append(c.warnings, problem.Problem{Pointer: "#", Code: problem.CodeExposed, Detail: exposed})
	}
	if poolOnly(c.flags) {
		c.warnings = append(c.warnings, problem.Problem{Pointer: "#", Code: problem.CodePoolOnly, Detail: poolNote})
	}
	return c, nil
}

// poolNote is the warning for people whose other tool sends --num-prompts requests.
const poolNote = "--num-prompts sets how many different prompts there are, as in AIPerf, and nothing says how many requests to send; " +
	"give --request-count or --benchmark-duration"

// poolOnly reports whether a command line sets the size of the pool of prompts, and nothing
// that ends the run.
func poolOnly(f *flags.Flags) bool {
	ends := []string{"--request-count", "--benchmark-duration", "--num-sessions", "--config", "--input-file", "--public-dataset"}
	return f.Given("--num-prompts") && !slices.ContainsFunc(ends, f.Given)
}

// exposed is the warning for a command line with a secret.
const exposed = "the command line contains a secret, and other users of this machine can see it while the command runs; " +
	"use --api-key-file or AIPERFD_API_KEY for an API key, and ${NAME} in a document (--config) for other secrets"

// withExitCode adds the exit code of an outcome.
func withExitCode(err error) error {
	var ended *app.OutcomeError
	if !errors.As(err, &ended) {
		return err
	}
	return exitWith(map[app.Outcome]int{
		app.Failed: exitFailed, app.BadInput: exitUsage, app.Cancelled: exitCancelled, app.MissedSLO: exitSLO,
		app.InvalidClient: exitClient, app.Undecided: exitUndecided,
	}[ended.Outcome], err)
}
