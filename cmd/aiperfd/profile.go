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
	given, err := flags.Parse(args, os.LookupEnv)
	if err != nil {
		return exitWith(exitUsage, problemList(err))
	}
	given.Options.Choices = plan.Choices()
	var repeat *app.Repeat
	given.Folder = func(dir string) (document []byte, err error) {
		repeat, document, err = app.OpenRepeat(dir)
		return document, err
	}
	doc, problems, err := given.Document()
	var missing error
	if repeat != nil {
		missing = repeat.MissingSecrets(doc, err)
	}
	var compiled *plan.Plan
	if err == nil {
		compiled, err = plan.Compile(doc)
	}
	if err != nil {
		err = problemList(given.Explain(err))
	}
	if err = errors.Join(err, missing); err != nil {
		return exitWith(exitUsage, err)
	}
	makeFolder := app.MakeFolder
	if doc.Study() != nil {
		makeFolder = app.MakeStudyFolder
	}
	folder, err := makeFolder(doc, given.Given("--artifact-dir"))
	if err != nil {
		return exitWith(exitUsage, err)
	}
	p := &app.Profile{
		Document: doc, Plan: compiled, Folder: folder, Warnings: problems, Out: out, Version: version, Repeat: repeat,
		Command: redact.CommandLine(programName, append([]string{"profile"}, args...), given),
	}
	if strings.Contains(p.Command, redact.Placeholder) {
		p.Warnings = append(p.Warnings, problem.Problem{Pointer: "#", Code: problem.CodeExposed, Detail: exposed})
	}
	if poolOnly(given) {
		p.Warnings = append(p.Warnings, problem.Problem{Pointer: "#", Code: problem.CodePoolOnly, Detail: poolNote})
	}
	return withExitCode(p.Run(ctx))
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
		app.InvalidClient: exitClient,
	}[ended.Outcome], err)
}
