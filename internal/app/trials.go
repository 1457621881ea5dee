package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"path/filepath"
	"time"

	"github.com/rs/zerolog"

	"aiperfd/internal/compare"
	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/config"
	"aiperfd/internal/engine/config/problem"
	"aiperfd/internal/engine/config/vary"
	"aiperfd/internal/engine/plan"
	"aiperfd/internal/run"
	"aiperfd/internal/store"
)

// Trials measures one document several times: each run has a seed and a folder of its own, and the
// warm-up of the document.
type Trials struct {
	document *config.Document // asks for repeats
	warnings []problem.Problem
	command  string
	version  string
	taken    int
}

// TrialOptions are the parameters of [NewTrials]. Warnings may be empty.
type TrialOptions struct {
	Document *config.Document // with multiRun.numRuns of 2 or more, see [ErrOneRun]
	Warnings []problem.Problem
	Command  string // the command line, redacted
	Version  string
}

// ErrOneRun means that a document cannot be measured several times by [Trials].
var ErrOneRun = errors.New("the document asks for a sweep; name the document of one configuration")

// NewTrials prepares the runs of a document. One that gives no seed has a fresh one drawn, so that no prefix cache
// knows its prompts from an earlier measurement; those of its runs follow from it.
func NewTrials(o TrialOptions) (*Trials, error) {
	study := o.Document.Study()
	if study == nil || study.Sweep != nil {
		return nil, ErrOneRun
	}
	study.MultiRun.VarySeedPerTrial, study.MultiRun.DisableWarmupAfterFirst = true, false
	if !study.SeedGiven() {
		study.Seed = rand.Int64()
	}
	return &Trials{document: o.Document, warnings: o.Warnings, command: o.Command, version: o.Version}, nil
}

// Seed returns the seed from which those of the runs follow.
func (t *Trials) Seed() int64 { return t.document.Study().Seed }

// followSeed makes the runs send the same prompts as the runs of another document, unless both documents give a seed.
func (t *Trials) followSeed(other *Trials) {
	mine, others := t.document.Study(), other.document.Study()
	switch {
	case !mine.SeedGiven():
		mine.Seed = others.Seed
	case !others.SeedGiven():
		others.Seed = mine.Seed
	}
}

// cell returns the document of the next run and its plan.
func (t *Trials) cell() (*config.Document, *plan.Plan, error) {
	doc, _, err := t.document.Study().Cell(&vary.Variation{Label: "base"}, t.taken)
	if err != nil {
		return nil, nil, err
	}
	if doc.Benchmark.Runtime.UI == "dashboard" {
		doc.Benchmark.Runtime.UI = "simple" // the display of one run, and there are several
	}
	compiled, err := plan.Compile(doc)
	return doc, compiled, err
}

// Describe returns what the runs will be, without performing one.
func (t *Trials) Describe() (*run.Run, error) {
	doc, compiled, err := t.cell()
	if err != nil {
		return nil, err
	}
	a, err := newApp(options{
		store: store.NewSingle("."), role: single, DaemonOptions: DaemonOptions{Log: zerolog.Nop(), Version: t.version},
	})
	if err != nil {
		return nil, err
	}
	return a.engine.Describe(doc, run.Submission{Via: "cli", Compiled: compiled})
}

// errOverdue means that a run was ended because it took longer than it may.
var errOverdue = errors.New("the run took longer than it may")

// Next performs the next run, in a folder that it makes. A run that goes on for longer than limit (0 = without limit)
// is ended, and the error is errOverdue. It is an [*OutcomeError] if the run ended without results, or was cancelled.
func (t *Trials) Next(ctx context.Context, folder string, limit time.Duration) (compare.Input, error) {
	doc, compiled, err := t.cell()
	if err != nil {
		return compare.Input{}, err
	}
	bounded := limit > 0 && (doc.Metadata.Deadline == 0 || limit < doc.Metadata.Deadline.Duration())
	if bounded {
		doc.Metadata.Deadline = config.Seconds(limit.Seconds())
	}
	f := &Folder{Path: folder, named: true}
	if err := f.claim(); err != nil {
		return compare.Input{}, err
	}
	p := &Profile{Document: doc, Plan: compiled, Folder: f, Command: t.command, Out: io.Discard, Version: t.version}
	if t.taken == 0 {
		p.Warnings = t.warnings
	}
	t.taken++
	err = p.Run(ctx)
	if ended, ok := errors.AsType[*OutcomeError](err); ok {
		switch ended.Outcome {
		case MissedSLO, InvalidClient, Undecided: // the run has results, which say so themselves
		case Failed, BadInput, Cancelled:
			if r, err := store.ReadCopy(folder); bounded && err == nil && r.Error != nil && r.Error.Code == run.DeadlinePassed {
				return compare.Input{}, errOverdue
			}
			return compare.Input{}, ended
		}
	} else if err != nil {
		return compare.Input{}, err
	}
	in, err := openInputs(ctx, "", []string{folder})
	if err != nil {
		return compare.Input{}, err
	}
	if r := in[0].Run; r.State != bench.StateCompleted {
		return compare.Input{}, &OutcomeError{Failed, cmp.Or(r.StateReason, "run failed")}
	}
	return in[0], nil
}

// Measure performs runs in folders below dir, and returns these.
func (t *Trials) Measure(ctx context.Context, dir string, runs int) ([]string, error) {
	var folders []string
	for i := range runs {
		folders = append(folders, trialFolder(dir, i))
		if _, err := t.Next(ctx, folders[i], 0); err != nil {
			return nil, fmt.Errorf("run %d of %d: %w", i+1, runs, err)
		}
	}
	return folders, nil
}

// trialFolder returns the folder of a run, by its number from 0.
func trialFolder(dir string, number int) string {
	return filepath.Join(dir, fmt.Sprintf("run_%04d", number+1))
}
