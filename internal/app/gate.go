package app

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"aiperfd/internal/compare"
	"aiperfd/internal/engine/durable"
	"aiperfd/internal/results"
	"aiperfd/internal/run"
)

// GateOptions say what is judged. Rules, and one of Trials and Candidate, are required.
type GateOptions struct {
	compare.Gate          // without its baseline; Looks empty = of measurements DefaultLooks, of given runs one
	Base         string   // name[@revision], folders or ids of runs, separated by commas; empty = none
	DataDir      string   // of baselines and ids
	Candidate    []string // folders or ids of runs that are there; none = Trials measure them
	Trials       *Trials
	Budget       time.Duration // of the measurement; 0 = no limit
	Dir          string        // of the answer and of the runs that are measured
	Status       io.Writer     // of one line for each run
}

// ErrMissingBaseline means that a gate has nothing to compare with.
type ErrMissingBaseline struct{ Err error }

// Error implements error.
func (e *ErrMissingBaseline) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *ErrMissingBaseline) Unwrap() error { return e.Err }

// Gate judges a candidate, which it measures if necessary, and writes the answer into its folder. The answer
// of a measurement that was cancelled is complete; it comes with an [*OutcomeError].
func Gate(ctx context.Context, o *GateOptions) (*compare.GateAnswer, error) {
	var candidate []compare.Input
	w := wanted{allow: o.Allow}
	if o.Trials == nil {
		in, err := openEither(ctx, o.DataDir, o.Candidate)
		if err != nil {
			return nil, err
		}
		candidate = in.runs
		w.document = in.runs[0].Run.Config
		if w.key, err = keyOf(in.runs[0].Run, in.dirs[0]); err != nil {
			return nil, err
		}
	} else {
		o.Seed = new(o.Trials.Seed())
		described, err := o.Trials.Describe()
		if err != nil {
			return nil, err
		}
		w.document = described.Config
		if w.key, err = keyOf(described, ""); err != nil {
			return nil, err
		}
	}
	if o.Base != "" {
		var err error
		o.Baseline, err = reference(ctx, o.Base, o.DataDir, &w)
		if errors.Is(err, run.ErrNoBaseline) {
			return nil, &ErrMissingBaseline{err}
		}
		if err != nil {
			return nil, err
		}
		o.Baseline.Moved = o.Baseline.Host != "" && w.key.Host != "" && o.Baseline.Host != w.key.Host
	}
	if _, err := os.Stat(trialFolder(o.Dir, 0)); err == nil && o.Trials != nil {
		return nil, &OutcomeError{BadInput, fmt.Sprintf(
			"the folder %s has the runs of an earlier gate, which would count as runs of this candidate; name another one", o.Dir)}
	}
	if err := os.MkdirAll(o.Dir, 0o777); err != nil {
		return nil, fmt.Errorf("make folder of the gate: %w", err)
	}
	answer, ended, err := o.judge(ctx, candidate)
	if err != nil {
		return nil, err
	}
	return answer, cmp.Or(writeGate(o.Dir, answer), ended)
}

// judge judges the runs that are given, or measures until the gate is decided. ended is why the measurement
// ended before that, nil = by its plan.
func (o *GateOptions) judge(
	ctx context.Context, candidate []compare.Input,
) (answer *compare.GateAnswer, ended, err error) {
	if o.Trials == nil {
		answer, err = o.Judge(candidate)
		return answer, nil, err
	}
	if len(o.Looks) == 0 {
		o.Looks = compare.DefaultLooks()
	}
	begun, longest := time.Now(), time.Duration(0)
	most := o.Looks[len(o.Looks)-1]
	for len(candidate) < most {
		left := o.Budget - time.Since(begun)
		if o.Budget > 0 && left < longest {
			o.Stop.Reason = results.StopBudget
			o.Stop.Text = fmt.Sprintf("another run does not fit into the budget of %v", o.Budget)
			break
		}
		started := time.Now()
		in, err := o.Trials.Next(ctx, trialFolder(o.Dir, len(candidate)), max(left, 0))
		if errors.Is(err, errOverdue) {
			o.Stop.Reason = results.StopBudget
			o.Stop.Text = fmt.Sprintf("run %d did not end within the budget of %v, and does not count",
				len(candidate)+1, o.Budget)
			break
		}
		if err != nil {
			stopped, ok := errors.AsType[*OutcomeError](err)
			if !ok || stopped.Outcome != Cancelled {
				return nil, nil, fmt.Errorf("run %d of the candidate: %w", len(candidate)+1, err)
			}
			o.Stop.Reason, o.Stop.Text = results.StopCancelled, "cancelled"
			ended = &OutcomeError{Cancelled, "cancelled; the answer rests on the runs before"}
			break
		}
		longest = max(longest, time.Since(started))
		candidate = append(candidate, in)
		if answer, err = o.Judge(candidate); err != nil {
			return nil, nil, err
		}
		if answer.Decided() {
			return answer, nil, nil
		}
		fmt.Fprintf(o.Status, "run %d of at most %d: not decided yet\n", len(candidate), most)
	}
	answer, err = o.Judge(candidate)
	return answer, ended, err
}

// writeGate writes the answer in all its forms.
func writeGate(dir string, a *compare.GateAnswer) error {
	others, err := a.Files()
	if err != nil {
		return err
	}
	return writeAnswer(dir, compare.GateJSON, a, others)
}

// writeAnswer writes an answer as JSON, and its other forms by the names of their files.
func writeAnswer(dir, name string, answer any, others map[string][]byte) error {
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	if err := e.Encode(answer); err != nil {
		return err
	}
	others[name] = text.Bytes()
	for _, name := range slices.Sorted(maps.Keys(others)) {
		if err := durable.WriteFile(filepath.Join(dir, name), durable.Shared, others[name]); err != nil {
			return fmt.Errorf("write the answer: %w", err)
		}
	}
	return nil
}

// GateFolder returns the folder of a gate that names none: gate, or one with a number if a gate has used it.
func GateFolder() string {
	dir := "gate"
	for n := 2; ; n++ {
		if _, err := os.Stat(filepath.Join(dir, compare.GateJSON)); err != nil && !occupied(trialFolder(dir, 0)) {
			return dir
		}
		dir = fmt.Sprintf("gate-%d", n)
	}
}
