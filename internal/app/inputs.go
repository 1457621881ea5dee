package app

import (
	"context"
	"fmt"
	"strings"

	"github.com/rs/zerolog"

	"aiperfd/internal/compare"
	"aiperfd/internal/run"
	"aiperfd/internal/store"
)

// openInputs opens runs to compare. Repeated runs stand for all their trials.
func openInputs(ctx context.Context, dataDir string, names []string) ([]compare.Input, error) {
	folders, ids, err := openRuns(ctx, &ReportOptions{Runs: names, DataDir: dataDir})
	if err != nil {
		return nil, err
	}
	a, err := newApp(options{store: folders, role: reading, DaemonOptions: DaemonOptions{Log: zerolog.Nop()}})
	if err != nil {
		return nil, err
	}
	var out []compare.Input
	for _, id := range ids {
		r, err := folders.Get(ctx, id)
		if err != nil {
			return nil, err
		}
		runs := []*run.Run{r}
		if r.Kind() == run.KindSweep {
			if runs, err = trials(ctx, folders, r); err != nil {
				return nil, err
			}
		}
		for _, r := range runs {
			snapshot, err := a.engine.Snapshot(ctx, r.ID)
			if err != nil {
				return nil, fmt.Errorf("read the results of %s: %w", shownPath(folders.Dir(r.ID)), err)
			}
			out = append(out, compare.Input{Run: r, Snapshot: snapshot, Dir: folders.Dir(r.ID)})
		}
	}
	if len(out) == 0 {
		return nil, &OutcomeError{BadInput, strings.Join(names, ", ") + " has no runs that have begun"}
	}
	return out, nil
}

// maxTrials is the number of repeats of one side that are read at most, the largest page of a store.
const maxTrials = 500

// trials returns the runs of a study whose only variation is its repetition. A study with
// several variations is an error that says how to name the runs of one.
func trials(ctx context.Context, folders *store.Folders, study *run.Run) ([]*run.Run, error) {
	found, err := folders.List(ctx, run.Query{Parent: study.ID, Sort: run.SortCreated, Limit: maxTrials})
	if err != nil {
		return nil, err
	}
	out := make([]*run.Run, len(found.Runs))
	for i := range found.Runs {
		if out[i], err = folders.Get(ctx, found.Runs[i].ID); err != nil { // with its document
			return nil, err
		}
		if out[i].Cell.Variation.Label != out[0].Cell.Variation.Label {
			return nil, &OutcomeError{BadInput, shownPath(folders.Dir(study.ID)) +
				" is a sweep of several configurations; name the folders of the runs of one of them"}
		}
	}
	return out, nil
}
