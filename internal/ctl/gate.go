package ctl

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"aiperfd/internal/api/wire"
	"aiperfd/internal/client"
	"aiperfd/internal/compare"
	"aiperfd/internal/engine/config"
	"aiperfd/internal/engine/config/tree"
	"aiperfd/internal/engine/durable"
	"aiperfd/internal/results"
	"aiperfd/internal/run"
)

const gateLong = `Say whether a candidate may pass, as aiperfd gate does, with a daemon that
measures and judges: the document is submitted again and again, each time with
other prompts, until the rules are decided. --candidate judges runs that the
daemon has.

The rules are those of --rule; a gate in the document is for aiperfd gate.
--baseline names a baseline of the daemon, of which the newest revision with the
workload and the target of the candidate counts. Rules that are limits need no
revision.

The exit code is 0 if the candidate passes, 3 if it fails, 5 if that is not
decided, 4 if the numbers are not valid or not comparable or if there is no
baseline, 1 if a run failed, 2 for wrong usage or an invalid document, 124 if
--timeout has passed, and 130 if interrupted or if a run was cancelled. A run
that goes on when the command ends is cancelled.`

// gateFlags are the flags of a gate.
type gateFlags struct {
	wire.Judgement
	baseline  string
	candidate []string
	dir       string
}

func gateCommand(g *globals) *cobra.Command {
	var o gateFlags
	cmd := &cobra.Command{
		Use:   "gate [FILE|-] --baseline NAME --rule RULE",
		Short: "Let the daemon measure a candidate, and say whether it may pass",
		Long:  gateLong,
		Example: `  aiperfd ctl gate bench.yaml --baseline main --rule 'ttft:p95<+5%' --dir gate
  aiperfd ctl gate --candidate nightly --baseline main --rule 'ttft:p95<400'`,
		Args: cobra.MaximumNArgs(1),
		RunE: g.online([]string{formatJSON, formatYAML}, func(ctx context.Context, s *session, args []string) error {
			if err := o.check(args); err != nil {
				return &ExitError{exitUsage, err}
			}
			return s.gate(ctx, &o, args)
		}),
	}
	fs := cmd.Flags()
	fs.StringArrayVar(&o.Rules, "rule", nil, "`rule` to judge (repeatable)")
	fs.StringVar(&o.baseline, "baseline", "", "`name` of a baseline of the daemon")
	fs.StringSliceVar(&o.candidate, "candidate", nil, "`ID` of a run to judge, instead of a measurement (repeatable)")
	fs.IntSliceVar(&o.Looks, "looks", nil, "`numbers` of runs after which the rules are judged (default 3,5,8)")
	fs.StringVar(&o.OnInconclusive, "on-inconclusive", string(compare.CountsAsError),
		"what a rule that is not decided counts as: error, pass or fail")
	fs.StringVar(&o.dir, "dir", "", "`folder` for gate.json, gate.md and gate.junit.xml")
	return cmd
}

// check returns all that is wrong with the flags.
func (o *gateFlags) check(args []string) error {
	var faults []error
	if o.baseline == "" {
		faults = append(faults, errors.New("--baseline: name the baseline"))
	} else if err := run.CheckBaselineName(o.baseline); err != nil {
		faults = append(faults, fmt.Errorf("--baseline: %w", err))
	}
	if len(o.Rules) == 0 {
		faults = append(faults, errors.New("--rule: a gate needs at least one rule"))
	}
	for _, text := range o.Rules {
		if _, err := compare.ParseRule(text, config.ObjectiveAliases()); err != nil {
			faults = append(faults, fmt.Errorf("--rule: %w", err))
		}
	}
	if len(o.Looks) > 0 {
		if err := compare.CheckLooks(o.Looks); err != nil {
			faults = append(faults, fmt.Errorf("--%w", err))
		}
	}
	if !compare.OnInconclusive(o.OnInconclusive).Known() {
		faults = append(faults, fmt.Errorf("--on-inconclusive %q: must be one of: error, pass, fail", o.OnInconclusive))
	}
	if (len(args) > 0) == (len(o.candidate) > 0) {
		faults = append(faults, errors.New("name either a document, or runs with --candidate"))
	}
	return errors.Join(faults...)
}

// gate measures if necessary, judges, and prints and writes the answer.
func (s *session) gate(ctx context.Context, o *gateFlags, args []string) error {
	var a *compare.GateAnswer
	var data json.RawMessage
	var err error
	if len(o.candidate) > 0 {
		if o.Runs, err = s.resolveAll(ctx, o.candidate); err != nil {
			return err
		}
		a, data, err = s.judge(ctx, o)
	} else {
		a, data, err = s.measureGate(ctx, o, args[0])
	}
	if err != nil {
		return err
	}
	if o.dir != "" {
		if err := writeGate(o.dir, a, data); err != nil {
			return err
		}
	}
	if s.output != "" {
		err = s.printJSON(s.out, data)
	} else {
		_, err = fmt.Fprint(s.out, a.Text(widthOf(s.cmd)))
	}
	if err != nil {
		return err
	}
	return GateError(a)
}

// measureGate submits a document until the rules are decided, or the last look is over.
func (s *session) measureGate(
	ctx context.Context, o *gateFlags, path string,
) (*compare.GateAnswer, json.RawMessage, error) {
	data, media, err := readDocument(s.cmd.InOrStdin(), path)
	if err != nil {
		return nil, nil, &ExitError{exitUsage, err}
	}
	if len(o.Looks) == 0 {
		o.Looks = compare.DefaultLooks()
	}
	if err := s.needBaseline(ctx, o); err != nil {
		return nil, nil, err
	}
	most := o.Looks[len(o.Looks)-1]
	for {
		trial, media, err := withSeed(data, media, len(o.Runs))
		if err != nil {
			return nil, nil, &ExitError{exitUsage, err}
		}
		r, err := s.Submit(ctx, trial, media)
		if err != nil {
			return nil, nil, err
		}
		if err := s.awaitTrial(ctx, r); err != nil {
			return nil, nil, err
		}
		o.Runs = append(o.Runs, r.ID)
		a, answer, err := s.judge(ctx, o)
		if err != nil || a.Final {
			return a, answer, err
		}
		fmt.Fprintf(s.err, "run %d of at most %d: not decided yet\n", len(o.Runs), most)
	}
}

// needBaseline is an error if a rule needs a baseline and there is none, before anything is measured.
func (s *session) needBaseline(ctx context.Context, o *gateFlags) error {
	for _, text := range o.Rules {
		if rule, err := compare.ParseRule(text, config.ObjectiveAliases()); err == nil && rule.MaxRegression == nil {
			continue
		}
		_, err := s.Baseline(ctx, o.baseline, 0)
		return o.missing(err)
	}
	return nil
}

// missing adds to an error of a baseline that is not there how to make one.
func (o *gateFlags) missing(err error) error {
	var p *client.Problem
	if !errors.As(err, &p) || p.Name != "not-found" {
		return err
	}
	return &ExitError{exitInvalid, fmt.Errorf("%w\nmake one: submit the document of the reference some times, and "+
		"aiperfd ctl baseline set %s with the ids of these runs", err, o.baseline)}
}

// awaitTrial waits until a run of a candidate has ended, and cancels it if nobody waits any more.
func (s *session) awaitTrial(ctx context.Context, r *client.Run) error {
	stop := func() {
		const patience = 10 * time.Second
		late, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
		defer cancel()
		if _, err := s.Cancel(late, r.ID, wire.Cancel{}); err != nil {
			fmt.Fprintf(s.err, "run %s was not cancelled: %v\n", r.ID, err)
		}
	}
	if r.Kind == run.KindSweep {
		stop()
		return usageError("the document asks for several runs; name the document of one configuration")
	}
	w := newWatcher(s, s.cmd.ErrOrStderr())
	w.quiet = true
	err := w.follow(ctx, r)
	if ctx.Err() != nil {
		stop()
		return err
	}
	if code, ok := errors.AsType[*ExitError](err); ok && code.Code == exitSLO {
		return nil // an objective of the document is no rule; the answer has a doubt
	}
	return err
}

// judge asks the daemon for its answer.
func (s *session) judge(ctx context.Context, o *gateFlags) (*compare.GateAnswer, json.RawMessage, error) {
	data, err := s.Judge(ctx, o.baseline, &o.Judgement)
	if err != nil {
		return nil, nil, o.missing(err)
	}
	a := new(compare.GateAnswer)
	if err := json.Unmarshal(data, a); err != nil {
		return nil, nil, fmt.Errorf("read the answer: %w", err)
	}
	return a, data, nil
}

// withSeed returns the document of a run, counted from 0. One that gives a seed would send the same prompts each time,
// which a prefix cache knows then; each run has one of its own. Without one, the daemon draws it.
func withSeed(data []byte, media string, index int) ([]byte, string, error) {
	format := tree.YAML
	if media == mediaJSON {
		format = tree.JSON
	}
	root, _, err := tree.Parse(data, format, maxValues)
	if err != nil {
		return nil, "", err
	}
	if root.Shape != tree.Object || root.Get("randomSeed") == nil {
		return data, media, nil
	}
	var seed uint64
	if err := json.Unmarshal(root.Get("randomSeed").JSON(), &seed); err != nil {
		return data, media, nil // the daemon says what is wrong with it
	}
	const positive = 1<<63 - 1
	derived := rand.New(rand.NewPCG(seed, uint64(index))).Uint64() & positive
	root.Set("randomSeed", &tree.Node{Shape: tree.Number, Scalar: strconv.FormatUint(derived, 10)})
	return root.JSON(), mediaJSON, nil
}

// writeGate writes the answer in all its forms.
func writeGate(dir string, a *compare.GateAnswer, data json.RawMessage) error {
	files, err := a.Files()
	if err != nil {
		return err
	}
	files[compare.GateJSON] = data
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	for name, text := range files {
		if err := durable.WriteFile(filepath.Join(dir, name), durable.Shared, text); err != nil {
			return fmt.Errorf("write the answer: %w", err)
		}
	}
	return nil
}

// GateError returns the error with the exit code of an answer; nil if the candidate passes.
func GateError(a *compare.GateAnswer) error {
	code := map[results.Verdict]int{
		compare.Fails: exitSLO, compare.Inconclusive: exitUndecided, compare.Invalid: exitInvalid,
		compare.NotComparable: exitInvalid,
	}[a.Verdict]
	if code == 0 {
		return nil
	}
	return &ExitError{code, errors.New("gate: " + a.Headline())}
}
