package app

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rs/zerolog"

	"aiperfd/internal/api/report"
	"aiperfd/internal/compare"
	"aiperfd/internal/run"
	"aiperfd/internal/store"
	"aiperfd/internal/view"
)

// ReportOptions say which runs are reported.
type ReportOptions struct {
	Runs    []string // folders of runs, or ids of runs in DataDir; none = the newest run in ./artifacts
	DataDir string   // of a daemon; empty = Runs are folders
	Format  report.Format
	Version string
}

// Report makes the report of runs without a daemon. A folder with several runs that are
// not part of one study is compared like several folders.
func Report(ctx context.Context, o ReportOptions) ([]byte, error) {
	folders, ids, err := openRuns(ctx, &o)
	if err != nil {
		return nil, err
	}
	if len(ids) > compare.MaxRuns {
		return nil, fmt.Errorf("%s: %d runs are too many to compare; name at most %d of their folders", strings.Join(o.Runs, ", "), len(ids), compare.MaxRuns)
	}
	if len(ids) > 1 {
		if err := refuseStudies(ctx, folders, ids, o.DataDir != ""); err != nil {
			return nil, err
		}
	}
	a, err := newApp(options{store: folders, role: reading, DaemonOptions: DaemonOptions{Log: zerolog.Nop(), Version: o.Version}})
	if err != nil {
		return nil, err
	}
	return a.server.Report(ctx, ids, o.Format)
}

// refuseStudies returns an error if some of several runs to compare are studies, which have no
// results of their own, and others are not. It names the runs of each study that can be compared: by their ids, or
// by their folders.
func refuseStudies(ctx context.Context, folders *store.Folders, ids []string, byID bool) error {
	const most = 10 // runs of a study that are named
	var studies []view.Study
	for _, id := range ids {
		r, err := folders.Get(ctx, id)
		if err != nil {
			return err
		}
		if r.Kind() != run.KindSweep {
			continue
		}
		cells, err := folders.List(ctx, run.Query{Parent: id, Sort: run.SortCreated, Limit: most})
		if err != nil {
			return err
		}
		name := func(r *run.Run) string {
			if byID {
				return r.ID
			}
			return shownPath(folders.Dir(r.ID))
		}
		s := view.Study{Name: name(r), Total: cells.Total}
		for i := range cells.Runs {
			s.Runs = append(s.Runs, name(&cells.Runs[i]))
		}
		studies = append(studies, s)
	}
	if studies == nil || len(studies) == len(ids) { // sweeps are compared with sweeps
		return nil
	}
	return &OutcomeError{BadInput, view.NotComparable(studies)}
}

// shownPath returns a path relative to the working directory if it is below it.
func shownPath(path string) string {
	here, err := filepath.Abs(".")
	if err != nil {
		return path
	}
	if rel, err := filepath.Rel(here, path); err == nil && filepath.IsLocal(rel) {
		return rel
	}
	return path
}

// openRuns opens the folders of runs. ids are the runs to report, those of the first
// folder first.
func openRuns(ctx context.Context, o *ReportOptions) (*store.Folders, []string, error) {
	if o.DataDir != "" {
		return openStored(ctx, o.DataDir, o.Runs)
	}
	paths := o.Runs
	if len(paths) == 0 {
		paths = []string{artifactRoot}
	}
	folders, err := store.OpenFolders(paths)
	if err != nil {
		return nil, nil, err
	}
	ids := folders.Roots()
	if len(o.Runs) == 0 {
		return folders, ids[len(ids)-1:], nil
	}
	place := func(id string) int {
		return slices.IndexFunc(paths, func(path string) bool { return below(path, folders.Dir(id)) })
	}
	slices.SortStableFunc(ids, func(a, b string) int { return place(a) - place(b) })
	return folders, ids, nil
}

// below reports whether a folder is path or below it.
func below(path, dir string) bool {
	abs, err := filepath.Abs(path)
	if err != nil {
		return false
	}
	rel, err := filepath.Rel(abs, dir)
	return err == nil && filepath.IsLocal(rel)
}

// openStored opens the folders of runs in the data directory of a daemon, which may be
// running.
func openStored(ctx context.Context, dataDir string, ids []string) (*store.Folders, []string, error) {
	var paths []string
	var faults []error
	for _, id := range ids {
		dir, err := store.FolderIn(dataDir, id)
		if err != nil {
			faults = append(faults, fmt.Errorf("there is no run %q in %s; --data-dir takes whole ids", id, dataDir))
		}
		paths = append(paths, dir)
	}
	if faults != nil {
		return nil, nil, errors.Join(faults...)
	}
	folders, err := store.OpenFolders(paths)
	if err != nil {
		return nil, nil, err
	}
	studies, err := folders.List(ctx, run.Query{Kind: run.KindSweep, Limit: 1})
	if err == nil && studies.Total > 0 { // their runs have folders beside them
		folders, err = store.OpenFolders([]string{dataDir})
	}
	return folders, ids, err
}
