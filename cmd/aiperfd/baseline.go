package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"aiperfd/internal/app"
	"aiperfd/internal/compare"
	"aiperfd/internal/ctl"
	"aiperfd/internal/results"
	"aiperfd/internal/run"
	"aiperfd/internal/view"
)

const baselineLong = `A baseline is a name for runs that aiperfd gate compares candidates with. It has
revisions, which do not change: a new one takes the place of the one before it,
and name@2 still means the second one.

Baselines and their runs are in a data folder, that of a daemon or one of their
own. A daemon may use it meanwhile. The runs of a baseline are pinned, so that
the rules of retention keep them.`

func newBaselineCommand() *cobra.Command {
	cmd := group(&cobra.Command{Use: "baseline", Short: "Name runs that others are compared with", Long: baselineLong},
		newBaselineSetCommand(), newBaselineMeasureCommand(), newBaselineListCommand(), newBaselineShowCommand(),
		newBaselinePromoteCommand(), newBaselineRemoveCommand())
	return cmd
}

// baselineFunc does the work of a command on baselines.
type baselineFunc func(context.Context, *cobra.Command, *app.Baselines, []string) error

// onBaselines makes the function of a command that works on the baselines of a data folder.
func onBaselines(dir *string, create bool, do baselineFunc) func(*cobra.Command, []string) error {
	return interruptible(func(ctx context.Context, cmd *cobra.Command, args []string) error {
		all, err := app.OpenBaselines(ctx, *dir, create)
		if err != nil {
			return err
		}
		return errors.Join(withExitCode(do(ctx, cmd, all, args)), all.Close())
	})
}

func newBaselineSetCommand() *cobra.Command {
	var dir, note string
	cmd := &cobra.Command{
		Use:   "set NAME RUN...",
		Short: "Make runs the newest revision of a baseline",
		Long: `Make runs the newest revision of a baseline: folders that aiperfd has written,
which are copied into the data folder, or ids of runs in it. A folder of repeats
stands for all of them. The runs must put the same load on their servers.`,
		Example: `  aiperfd baseline set main gate --note 'release 1.4'`,
		Args:    cobra.MinimumNArgs(2),
	}
	cmd.Flags().StringVar(&note, "note", "", "`text` to keep with the revision")
	addDataDir(cmd, &dir)
	cmd.RunE = onBaselines(&dir, true, func(
		ctx context.Context, cmd *cobra.Command, all *app.Baselines, args []string,
	) error {
		return printRevision(cmd, args[0])(all.Set(ctx, args[0], args[1:], note, false))
	})
	return cmd
}

// printRevision returns a function that prints a new revision.
func printRevision(cmd *cobra.Command, name string) func(*run.Revision, error) error {
	return func(r *run.Revision, err error) error {
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(plainOut(cmd), "%s@%d: %s\n", name, r.Number, view.Plural(len(r.Runs), "run"))
		return err
	}
}

func newBaselineMeasureCommand() *cobra.Command {
	var dir, note, output string
	var runs int
	cmd := &cobra.Command{
		Use:   "measure NAME [FILE] [-- FLAGS OF PROFILE]",
		Short: "Measure runs for the newest revision of a baseline",
		Long: `Measure a document, or the flags of aiperfd profile after --, several times as
aiperfd gate does, and make the runs the newest revision of a baseline.`,
		Example: `  aiperfd baseline measure main bench.yaml --runs 5`,
		Args:    cobra.MinimumNArgs(1),
	}
	const usual = 5
	cmd.Flags().IntVar(&runs, "runs", usual, "`number` of runs")
	cmd.Flags().StringVar(&note, "note", "", "`text` to keep with the revision")
	cmd.Flags().StringVar(&output, "output-dir", "", "`folder` of the runs (default baseline-NAME); they are copied from there")
	addDataDir(cmd, &dir)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		const most = 100
		if runs < 1 || runs > most {
			return exitWith(exitUsage, fmt.Errorf("--runs %d: must be between 1 and %d", runs, most))
		}
		if err := errors.Join(run.CheckBaselineName(args[0]), dataDirFromEnv(cmd)); err != nil {
			return exitWith(exitUsage, err)
		}
		trials, _, err := readTrials("baseline measure", args[1:], max(-1, cmd.ArgsLenAtDash()-1))
		if err != nil {
			return err
		}
		if output == "" {
			output = "baseline-" + args[0]
		}
		folders, err := trials.Measure(cmd.Context(), output, runs)
		if err != nil {
			return withExitCode(err)
		}
		all, err := app.OpenBaselines(cmd.Context(), dir, true)
		if err != nil {
			return err
		}
		err = printRevision(cmd, args[0])(all.Set(cmd.Context(), args[0], folders, note, false))
		return errors.Join(withExitCode(err), all.Close())
	}
	return cmd
}

func newBaselineListCommand() *cobra.Command {
	var dir string
	cmd := &cobra.Command{Use: "list", Short: "List baselines", Args: cobra.NoArgs}
	asJSON := cmd.Flags().Bool("json", false, "print JSON")
	addDataDir(cmd, &dir)
	cmd.RunE = onBaselines(&dir, false, func(
		ctx context.Context, cmd *cobra.Command, all *app.Baselines, _ []string,
	) error {
		list, err := all.List(ctx)
		if err != nil || *asJSON {
			return errors.Join(err, printJSON(plainOut(cmd), list))
		}
		columns, rows := ctl.BaselineTable(list)
		t := view.Table{Columns: columns, Rows: rows}
		_, err = fmt.Fprint(plainOut(cmd), t.Text(0))
		return err
	})
	return cmd
}

func newBaselineShowCommand() *cobra.Command {
	var dir string
	cmd := &cobra.Command{Use: "show NAME", Short: "Show the revisions of a baseline as JSON", Args: cobra.ExactArgs(1)}
	addDataDir(cmd, &dir)
	cmd.RunE = onBaselines(&dir, false, func(
		ctx context.Context, cmd *cobra.Command, all *app.Baselines, args []string,
	) error {
		b, err := all.Get(ctx, args[0])
		if err != nil {
			return err
		}
		return printJSON(plainOut(cmd), b)
	})
	return cmd
}

func newBaselinePromoteCommand() *cobra.Command {
	var dir, note string
	cmd := &cobra.Command{
		Use:   "promote NAME GATE",
		Short: "Make the candidate of a gate that passed the newest revision",
		Long: `Make the candidate of a gate the newest revision of a baseline. GATE is the
folder of the gate, with its file gate.json; its verdict must be pass.`,
		Example: `  aiperfd baseline promote main gate`,
		Args:    cobra.ExactArgs(2),
	}
	cmd.Flags().StringVar(&note, "note", "", "`text` to keep with the revision")
	addDataDir(cmd, &dir)
	cmd.RunE = onBaselines(&dir, true, func(
		ctx context.Context, cmd *cobra.Command, all *app.Baselines, args []string,
	) error {
		data, err := os.ReadFile(filepath.Join(args[1], compare.GateJSON))
		if err != nil {
			return err
		}
		var answer compare.GateAnswer
		err = json.Unmarshal(data, &answer)
		if err != nil || answer.Schema != results.AnswerSchema || answer.Kind != "gate" {
			return exitWith(exitUsage, fmt.Errorf("%s is not the answer of a gate", filepath.Join(args[1], compare.GateJSON)))
		}
		if answer.Verdict != compare.Passes {
			return exitWith(exitUsage, fmt.Errorf("the verdict of %s is %s; only a candidate that passed is promoted",
				args[1], strings.ReplaceAll(string(answer.Verdict), "_", " ")))
		}
		return printRevision(cmd, args[0])(all.Promote(ctx, args[0], args[1], answer.Runs, note))
	})
	return cmd
}

func newBaselineRemoveCommand() *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use:     "rm NAME[@REVISION]",
		Aliases: []string{"remove"},
		Short:   "Remove a baseline, or one of its revisions",
		Long:    `Remove a baseline, or one of its revisions. Its runs stay, and stay pinned.`,
		Args:    cobra.ExactArgs(1),
	}
	addDataDir(cmd, &dir)
	cmd.RunE = onBaselines(&dir, false, func(
		ctx context.Context, cmd *cobra.Command, all *app.Baselines, args []string,
	) error {
		name, revision, err := run.SplitBaseline(args[0])
		if err != nil {
			return exitWith(exitUsage, err)
		}
		return all.Remove(ctx, name, revision)
	})
	return cmd
}
