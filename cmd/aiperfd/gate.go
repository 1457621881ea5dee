package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"aiperfd/internal/app"
	"aiperfd/internal/app/terminal"
	"aiperfd/internal/compare"
	"aiperfd/internal/ctl"
	"aiperfd/internal/engine/config"
	"aiperfd/internal/engine/config/flags"
	"aiperfd/internal/engine/config/problem"
	"aiperfd/internal/engine/redact"
)

const gateLong = `Say whether a candidate may pass: measure it, judge rules on the results, and
stop as soon as they decide.

The candidate is a document, or the flags of aiperfd profile after --. Each run
has other prompts, and other ones than any earlier gate or baseline, unless the
document gives a seed or a file that has them. After 3, 5 and 8 runs (--looks)
the rules are judged, and the first decision ends the measurement. --candidate
judges runs that are there.

A rule is a limit on a statistic of a metric, in the unit of the metric,

  time_to_first_token:p95<400    good_request_fraction>0.95

or on its change from a baseline, which it may get worse by less than that:

  time_to_first_token:p95<+5%    output_token_throughput>-3%

A change fails if it is as large as that and surely not chance, and passes if it
is surely smaller; a limit fails or passes if the interval of the candidate lies
beyond or within it. The chance that any rule fails although nothing has changed
is at most 5 % for all rules and looks together (Pocock, Holm). Otherwise the
rule is not decided, and counts as --on-inconclusive says.

The baseline is a name (aiperfd baseline), or folders or ids of runs. With fewer
than 3 runs of it, only limits are decided.

The exit code is 0 if the candidate passes, 3 if it fails, 5 if that is not
decided, 4 if the numbers are not valid or not comparable or if there is no
baseline, 1 if a run failed, 2 for wrong usage and 130 if cancelled.

The answer is printed, and written to gate.json, gate.md and gate.junit.xml.`

// The ways to map the outcome of a gate to exit codes.
const (
	codesFull   = "full"
	codesSimple = "simple"
)

// gateFlags are the flags of a gate.
type gateFlags struct {
	app.GateOptions
	rules, looks       []string
	inconclusive       string
	codes, annotations string
	format             string
}

func newGateCommand() *cobra.Command {
	var o gateFlags
	cmd := &cobra.Command{
		Use:   "gate [FILE] [-- FLAGS OF PROFILE]",
		Short: "Say whether a candidate may pass",
		Long:  gateLong,
		Example: `  aiperfd gate bench.yaml --rule 'time_to_first_token:p95<400'
  aiperfd gate --baseline main --rule 'output_token_throughput>-3%' \
      -- --url localhost:8000 --streaming --concurrency 8 --request-count 500
  aiperfd gate --candidate new --baseline old --rule 'ttft:p95<+5%'`,
	}
	fs := cmd.Flags()
	fs.StringArrayVar(&o.rules, "rule", nil, "`rule` to judge (repeatable)")
	fs.StringVar(&o.Base, "baseline", "",
		"`name` or name@revision of a baseline, or folders or ids of runs, separated by commas")
	fs.StringSliceVar(&o.Candidate, "candidate", nil,
		"folder or id of `runs` to judge, instead of a measurement (repeatable)")
	fs.StringSliceVar(&o.looks, "looks", nil, "`numbers` of runs after which the rules are judged (default 3,5,8)")
	fs.DurationVar(&o.Budget, "budget", 0, "`time` that the measurement may take, such as 45m (default without limit)")
	fs.StringVar(&o.inconclusive, "on-inconclusive", string(compare.CountsAsError),
		"what a rule that is not decided counts as: error, pass or fail")
	fs.StringSliceVar(&o.Allow, "allow", nil, "JSON `pointer` of a value of the load that may differ (repeatable)")
	fs.StringVar(&o.Dir, "output-dir", "",
		"`folder` of the answer and of the runs (default gate, or gate-2 and so on if that is used)")
	fs.StringVar(&o.format, "format", formatText, "text, json or md")
	fs.StringVar(&o.annotations, "annotations", "", "also print annotations of this `runner`: github")
	fs.StringVar(&o.codes, "exit-codes", codesFull, "full, or simple: 0 = pass, 1 = fail, 2 = anything else")
	addDataDir(cmd, &o.DataDir)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		err := o.run(cmd, args)
		if o.codes == codesSimple {
			return simpleCode(err)
		}
		return err
	}
	return cmd
}

// run measures and judges.
func (o *gateFlags) run(cmd *cobra.Command, args []string) error {
	if err := dataDirFromEnv(cmd); err != nil {
		return err
	}
	if err := o.checkSource(args); err != nil {
		return exitWith(exitUsage, err)
	}
	if len(o.Candidate) == 0 {
		trials, doc, err := readTrials("gate", args, cmd.ArgsLenAtDash())
		if err != nil {
			return err
		}
		o.Trials = trials
		if err := o.follow(cmd, doc.Gate); err != nil {
			return exitWith(exitUsage, err)
		}
	}
	if err := o.check(); err != nil {
		return exitWith(exitUsage, err)
	}
	if o.Dir == "" {
		o.Dir = app.GateFolder()
	}
	o.Version, o.Status = version, cmd.ErrOrStderr()
	answer, err := app.Gate(cmd.Context(), &o.GateOptions)
	if missing, ok := errors.AsType[*app.ErrMissingBaseline](err); ok {
		return exitWith(exitClient, fmt.Errorf("%w\nmake one: %s", missing, o.remedy(args, cmd.ArgsLenAtDash())))
	}
	if answer == nil {
		return withExitCode(err)
	}
	if shown := printGate(cmd, answer, o.format, o.annotations != ""); shown != nil {
		return errors.Join(err, shown)
	}
	if err != nil {
		return withExitCode(err)
	}
	return ctl.GateError(answer)
}

// follow takes what a document says about its gate; flags come first.
func (o *gateFlags) follow(cmd *cobra.Command, g *config.Gate) error {
	if g == nil {
		return nil
	}
	given := cmd.Flags().Changed
	if !given("baseline") {
		o.Base = g.Baseline
	}
	if !given("looks") {
		for _, n := range g.Looks {
			o.looks = append(o.looks, strconv.Itoa(n))
		}
	}
	if !given("budget") {
		o.Budget = g.Budget.Time.Duration()
	}
	if !given("on-inconclusive") && g.OnInconclusive != "" {
		o.inconclusive = g.OnInconclusive
	}
	if given("rule") {
		return nil
	}
	var faults []error
	for i, r := range g.Rules {
		rule := compare.Rule{
			Metric: cmp.Or(config.ObjectiveAliases()[strings.ToLower(r.Metric)], r.Metric), Stat: r.Stat, Max: r.Max, Min: r.Min,
			OnInconclusive: compare.OnInconclusive(r.OnInconclusive),
		}
		if r.MaxRegression != "" {
			share, err := compare.ParseShare(r.MaxRegression)
			if err != nil {
				faults = append(faults, fmt.Errorf("gate.rules[%d].maxRegression: %w", i, err))
				continue
			}
			rule.MaxRegression = &share
		}
		o.Rules = append(o.Rules, rule)
	}
	if faults == nil {
		faults = append(faults, compare.CheckRules(o.Rules))
	}
	return errors.Join(faults...)
}

// check reads the flags, and returns all that is wrong with them.
func (o *gateFlags) check() error {
	var faults []error
	for _, text := range o.rules {
		rule, err := compare.ParseRule(text, config.ObjectiveAliases())
		if err != nil {
			faults = append(faults, fmt.Errorf("--rule: %w", err))
			continue
		}
		o.Rules = append(o.Rules, rule)
	}
	if len(o.rules) == 0 && len(o.Rules) == 0 {
		faults = append(faults, errors.New("--rule: a gate needs at least one rule"))
	}
	for _, text := range o.looks {
		n, err := strconv.Atoi(strings.TrimSpace(text))
		if err != nil {
			faults = append(faults, fmt.Errorf("--looks: %q is not a number of runs", text))
		}
		o.Looks = append(o.Looks, n)
	}
	if len(o.looks) > 0 && len(faults) == 0 {
		if err := compare.CheckLooks(o.Looks); err != nil {
			faults = append(faults, fmt.Errorf("--%w", err))
		}
	}
	o.OnInconclusive = compare.OnInconclusive(o.inconclusive)
	for _, f := range []struct {
		flag, value string
		accepted    []string
	}{
		{"--on-inconclusive", o.inconclusive, []string{"error", "pass", "fail"}},
		{"--format", o.format, []string{formatText, formatJSON, formatMarkdown}},
		{"--exit-codes", o.codes, []string{codesFull, codesSimple}},
		{"--annotations", o.annotations, []string{"", "github"}},
	} {
		if !slices.Contains(f.accepted, f.value) {
			choices := strings.TrimPrefix(strings.Join(f.accepted, ", "), ", ")
			faults = append(faults, fmt.Errorf("%s %q: must be one of: %s", f.flag, f.value, choices))
		}
	}
	if o.Budget < 0 {
		faults = append(faults, fmt.Errorf("--budget %v: must not be negative", o.Budget))
	}
	relative := slices.ContainsFunc(o.Rules, func(r compare.Rule) bool { return r.MaxRegression != nil })
	if relative && o.Base == "" {
		faults = append(faults, errors.New("--baseline: a rule on a change needs one"))
	}
	return errors.Join(faults...)
}

// checkSource returns what is wrong with where the candidate comes from.
func (o *gateFlags) checkSource(args []string) error {
	switch {
	case len(o.Candidate) > 0 && len(args) > 0:
		return errors.New("--candidate judges runs that are there; it takes neither a document nor flags of profile")
	case len(o.Candidate) > 0 && o.Budget > 0:
		return errors.New("--budget: nothing is measured with --candidate")
	case len(o.Candidate) == 0 && len(args) == 0:
		return errors.New("name a document, give flags of aiperfd profile after --, or judge runs with --candidate")
	}
	return nil
}

// readTrials reads the document, and the flags of profile behind --, of a command that measures it several times.
// dash is the number of arguments before --, and -1 without one.
func readTrials(command string, args []string, dash int) (*app.Trials, *config.Document, error) {
	given := args
	if dash != 0 {
		files := args
		given = nil
		if dash > 0 {
			files, given = args[:dash], args[dash:]
		}
		if len(files) != 1 {
			return nil, nil, exitWith(exitUsage, fmt.Errorf(
				"%d documents are named, want one; flags of aiperfd profile follow after --", len(files)))
		}
		given = append([]string{"--config", files[0]}, given...)
	}
	for _, flag := range []string{"--num-profile-runs", "--artifact-dir", "--output-artifact-dir"} {
		if slices.ContainsFunc(given, func(a string) bool { return a == flag || strings.HasPrefix(a, flag+"=") }) {
			return nil, nil, exitWith(exitUsage, fmt.Errorf("%s: aiperfd %s decides that", flag, command))
		}
	}
	const repeats = "2" // that the document is one of repeats; how many there are follows from the results
	c, err := readCommand(append(slices.Clone(given), "--num-profile-runs", repeats), nil)
	if err != nil {
		return nil, nil, err
	}
	ofGate := func(p problem.Problem) bool { return p.Pointer == "#/gate" } // says that profile does not judge
	trials, err := app.NewTrials(app.TrialOptions{
		Document: c.document, Warnings: slices.DeleteFunc(c.warnings, ofGate), Version: version,
		Command: redact.CommandLine(programName, append([]string{"profile"}, given...), c.flags),
	})
	if err != nil {
		return nil, nil, exitWith(exitUsage, err)
	}
	return trials, c.document, nil
}

// printGate prints an answer on standard output.
func printGate(cmd *cobra.Command, a *compare.GateAnswer, format string, annotations bool) error {
	out := plainOut(cmd)
	text := ""
	switch format {
	case formatJSON:
		if err := printJSON(out, a); err != nil {
			return err
		}
	case formatMarkdown:
		text = a.Markdown()
	default:
		width := 0
		if f, ok := cmd.OutOrStdout().(*os.File); ok {
			width = terminal.Columns(f)
		}
		text = a.Text(width)
	}
	if annotations {
		text += a.Annotations()
	}
	_, err := fmt.Fprint(out, text)
	return err
}

// simpleCode returns an error with its exit code folded: 1 if the candidate fails, 2 for anything else.
func simpleCode(err error) error {
	const fails, rest = 1, 2
	if err == nil {
		return nil
	}
	if exit, ok := errors.AsType[*ctl.ExitError](err); ok && exit.Code == exitSLO {
		return exitWith(fails, exit.Err)
	}
	return exitWith(rest, err)
}

// remedy returns the command that makes the baseline of a gate.
func (o *gateFlags) remedy(args []string, dash int) string {
	name, _, _ := strings.Cut(o.Base, "@")
	words := []string{name, "--data-dir", o.DataDir}
	if len(o.Candidate) > 0 {
		return redact.CommandLine("aiperfd baseline set", append(words, o.Candidate...), new(flags.Flags))
	}
	if dash >= 0 {
		words = append(append(append(words, args[:dash]...), "--"), args[dash:]...)
	} else {
		words = append(words, args...)
	}
	return redact.CommandLine("aiperfd baseline measure", words, new(flags.Flags))
}
