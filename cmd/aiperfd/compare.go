package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"aiperfd/internal/app"
	"aiperfd/internal/app/terminal"
	"aiperfd/internal/compare"
	"aiperfd/internal/ctl"
)

const compareLong = `Say whether the runs B are better or worse than the runs A, how sure that is,
and what would decide it.

A and B are each a folder that aiperfd profile has written, several of them
separated by commas, or a folder of repeats (--num-profile-runs), which stands
for all of them. Two sweeps are compared value by value. With --data-dir they
are ids of runs of a daemon.

With at least 3 runs on each side, the runs are compared by Welch's test, and
the answer is about the configurations. One run on each side is compared by
blocks of its requests, or request by request if both have the same seed, and
the answer is about these two runs only. One new run can be compared with 5 or
more of A. The chance that any metric is called better or worse although nothing
has changed is about 5 % (Holm).

equivalent means that the change is surely smaller than the margin: 3 % for
means and p50, 5 % for p95, 1 point for rates of errors. Runs of different loads
are not comparable; --allow accepts a difference.

With --run, A and B are documents: both are measured --repeats times, each run
with other prompts and in the order A B B A, so that a change of the server in
time does not look like one between A and B. If they have no server in common,
both send the same prompts. answer.json, answer.md and comparison.csv in the
folder of the runs have the answer.

With --fail-if-worse the exit code is 3 if a metric is worse by that much or
more (a rate of errors by that many points), 5 if that is not decided, 4 if the
runs are not comparable or the load generator distorted a number that is
needed, and 0 otherwise. Without it, --strict-answer exits with 5 if the answer
is not decided. --plan prints for each metric how much runs of a side differ,
and how many runs on each side find a change as large as the margin.`

// formats of the answer.
const (
	formatText     = "text"
	formatJSON     = "json"
	formatMarkdown = "md"
	formatCSV      = "csv"
)

func newCompareCommand() *cobra.Command {
	var q ctl.QuestionFlags
	var format, limit, dataDir string
	var strict, plan bool
	var measured interleavedFlags
	cmd := &cobra.Command{
		Use:   "compare A B",
		Short: "Say whether runs are better or worse than others",
		Long:  compareLong,
		Example: `  aiperfd compare before after
  aiperfd compare main1,main2,main3 new1,new2,new3 --format md
  aiperfd compare baseline candidate --fail-if-worse 10%
  aiperfd compare --run old.yaml new.yaml --repeats 5`,
		Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			question, err := q.Question(args[0], args[1])
			var worse float64
			faults := []error{err, checkFormat(format, plan)}
			if limit != "" {
				worse, err = compare.ParseShare(limit)
				if err != nil {
					err = fmt.Errorf("--fail-if-worse %w", err)
				}
				faults = append(faults, err)
			}
			faults = append(faults, measured.check(cmd))
			if err := errors.Join(faults...); err != nil {
				return exitWith(exitUsage, err)
			}
			var answer *compare.Answer
			if measured.run {
				answer, err = measured.compare(cmd, args, question)
			} else {
				answer, err = app.Compare(cmd.Context(), version, dataDir, question)
			}
			if err != nil {
				return withExitCode(err)
			}
			if err := printAnswer(cmd, answer, format, plan); err != nil {
				return err
			}
			switch {
			case limit != "":
				return gate(answer, worse, limit)
			case strict && answer.Open():
				return exitWith(exitUndecided, errors.New("--strict-answer: "+answer.Headline("B")))
			}
			return nil
		},
	}
	fs := cmd.Flags()
	fs.StringVar(&format, "format", formatText, "text, json, md or csv")
	fs.StringVar(&limit, "fail-if-worse", "", "exit with 3 if a metric is worse by this `share` or more, for example 10%")
	fs.BoolVar(&strict, "strict-answer", false, "exit with 5 if the answer is not decided")
	fs.BoolVar(&plan, "plan", false, "also print how many runs on each side find a change as large as the margin")
	q.Register(fs)
	measured.register(fs)
	fs.StringVar(&dataDir, "data-dir", "", "data `directory` of the daemon that ran the benchmarks; A and B are ids")
	return cmd
}

// checkFormat returns what is wrong with the format of an answer; plan adds a table to it.
func checkFormat(format string, plan bool) error {
	switch format {
	case formatText, formatMarkdown:
		return nil
	case formatJSON, formatCSV:
		if plan {
			return errors.New("--plan: only with --format text or md; json and csv have it always")
		}
		return nil
	}
	return fmt.Errorf("--format %q: must be text, json, md or csv", format)
}

// interleavedFlags are the flags of a comparison that measures.
type interleavedFlags struct {
	run     bool
	repeats int
	dir     string
}

// register adds the flags to those of a command.
func (f *interleavedFlags) register(fs *pflag.FlagSet) {
	const usual = 5
	fs.BoolVar(&f.run, "run", false, "measure the documents A and B alternately")
	fs.IntVar(&f.repeats, "repeats", usual, "with --run: `number` of runs of each")
	fs.StringVar(&f.dir, "output-dir", "", "with --run: `folder` of the runs (default comparison, or comparison-2 and so on)")
}

// check returns what is wrong with the flags.
func (f *interleavedFlags) check(cmd *cobra.Command) error {
	const most = 100
	var faults []error
	for _, name := range []string{"repeats", "output-dir"} {
		if cmd.Flags().Changed(name) && !f.run {
			faults = append(faults, fmt.Errorf("--%s: only with --run", name))
		}
	}
	if f.run && cmd.Flags().Changed("data-dir") {
		faults = append(faults, errors.New("--data-dir: with --run, A and B are documents"))
	}
	if f.repeats < 1 || f.repeats > most {
		faults = append(faults, fmt.Errorf("--repeats %d: must be between 1 and %d", f.repeats, most))
	}
	return errors.Join(faults...)
}

// compare measures two documents and compares them.
func (f *interleavedFlags) compare(cmd *cobra.Command, files []string, q compare.Question) (*compare.Answer, error) {
	m := app.Interleaved{Repeats: f.repeats, Dir: f.dir, Status: cmd.ErrOrStderr()}
	if m.Dir == "" {
		m.Dir = app.FreeFolder("comparison")
	}
	for i, trials := range []**app.Trials{&m.A, &m.B} {
		var err error
		if *trials, _, err = readTrials("compare --run", files[i:i+1], -1); err != nil {
			return nil, err
		}
	}
	return m.Compare(cmd.Context(), q)
}

// printAnswer prints the answer on standard output.
func printAnswer(cmd *cobra.Command, answer *compare.Answer, format string, plan bool) error {
	out := plainOut(cmd)
	switch format {
	case formatJSON:
		return printJSON(out, answer)
	case formatMarkdown:
		text := answer.Markdown()
		if plan {
			t := answer.Plan()
			text += "\n" + compare.PlanTitle + ":\n\n" + t.Markdown()
		}
		_, err := fmt.Fprint(out, text)
		return err
	case formatCSV:
		_, err := out.Write(answer.CSV())
		return err
	}
	width := 0
	if f, ok := cmd.OutOrStdout().(*os.File); ok {
		width = terminal.Columns(f)
	}
	text := answer.Text(width)
	if plan {
		t := answer.Plan()
		text += "\n" + compare.PlanTitle + ":\n\n" + t.Text(width)
	}
	_, err := fmt.Fprint(out, text)
	return err
}

// printJSON prints a value as indented JSON.
func printJSON(out io.Writer, v any) error {
	e := json.NewEncoder(out)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

// gate returns the error for an answer by the limit on how much worse B may be.
func gate(answer *compare.Answer, worse float64, limit string) error {
	if v := answer.Verdict; v == compare.NotComparable || v == compare.Invalid {
		return exitWith(exitClient, errors.New("--fail-if-worse: "+answer.Headline("B")))
	}
	outcome, which := answer.Regressed(worse)
	names := make([]string, len(which))
	for i, m := range which {
		names[i] = m.Header + " " + m.Statistic
	}
	list := strings.Join(names, ", ")
	switch outcome {
	case compare.Failed:
		return exitWith(exitSLO, fmt.Errorf("--fail-if-worse: worse by %s or more: %s", limit, list))
	case compare.Undecided:
		if list == "" {
			list = "no metric can be tested"
		}
		return exitWith(exitUndecided, fmt.Errorf("--fail-if-worse: not decided whether B is worse by %s: %s", limit, list))
	case compare.Passed:
	}
	return nil
}
