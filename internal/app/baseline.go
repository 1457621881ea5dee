package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"strings"
	"time"

	"aiperfd/internal/backup"
	"aiperfd/internal/compare"
	"aiperfd/internal/engine/bench"
	"aiperfd/internal/run"
	"aiperfd/internal/store"
)

// Baselines are those of a data folder, which a daemon may use meanwhile.
type Baselines struct {
	*store.Baselines
	store *store.Store
	dir   string
}

// OpenBaselines opens the baselines of a data folder. With create, the folder is made if it does not exist;
// else the error is run.ErrNoBaseline. The caller closes them.
func OpenBaselines(ctx context.Context, dir string, create bool) (*Baselines, error) {
	s, err := store.Attach(ctx, dir)
	if err != nil {
		// The folder is not there, or the one of another version; the lock is taken only to change that.
		if _, missing := os.Stat(dir); errors.Is(missing, fs.ErrNotExist) && !create {
			return nil, fmt.Errorf("%w: there is no data folder %s", run.ErrNoBaseline, dir)
		}
		var failure error
		if s, failure = store.Open(ctx, dir); failure != nil {
			return nil, errors.Join(err, failure)
		}
	}
	return &Baselines{store.NewBaselines(s), s, dir}, nil
}

// Close closes the data folder.
func (b *Baselines) Close() error { return b.store.Close() }

// Set makes runs the newest revision of a baseline: folders, which are copied into the data folder, or ids of
// runs in it. Repeated runs stand for all their trials.
func (b *Baselines) Set(
	ctx context.Context, name string, names []string, note string, promoted bool,
) (*run.Revision, error) {
	if err := run.CheckBaselineName(name); err != nil {
		return nil, &OutcomeError{BadInput, err.Error()}
	}
	if len(note) > run.MaxNote {
		return nil, &OutcomeError{BadInput, fmt.Sprintf("the note has %d bytes, at most %d", len(note), run.MaxNote)}
	}
	in, err := openEither(ctx, b.dir, names)
	if err != nil {
		return nil, err
	}
	runs, keys := make([]*run.Run, len(in.runs)), make([]run.BaselineKey, len(in.runs))
	for i := range in.runs {
		runs[i] = in.runs[i].Run
		if keys[i], err = keyOf(runs[i], in.dirs[i]); err != nil {
			return nil, err
		}
	}
	revision, err := run.NewRevision(runs, keys)
	if err != nil {
		return nil, &OutcomeError{BadInput, err.Error()}
	}
	revision.Created, revision.By, revision.Note, revision.Promoted = time.Now().UTC(), userName(), note, promoted
	var outside []string
	for i, id := range revision.Runs {
		if in.outside[i] {
			outside = append(outside, in.dirs[i])
		} else if err := backup.Pin(ctx, b.store, id); err != nil {
			return nil, err
		}
	}
	if outside != nil {
		if err := backup.TakeIn(ctx, b.store, b.dir, outside); err != nil {
			return nil, err
		}
	}
	return b.Add(ctx, name, revision)
}

// Promote makes the candidate of a gate the newest revision of a baseline. Runs that are not in the data
// folder are in that of the gate.
func (b *Baselines) Promote(ctx context.Context, name, gate string, ids []string, note string) (*run.Revision, error) {
	names := make([]string, len(ids))
	for i, id := range ids {
		names[i] = id
		if _, err := store.FolderIn(b.dir, id); err == nil {
			continue
		}
		names[i] = trialFolder(gate, i)
		if r, err := store.ReadCopy(names[i]); err != nil || r.ID != id {
			return nil, &OutcomeError{BadInput, fmt.Sprintf("run %s is neither in %s nor in %s; use aiperfd baseline set",
				id, b.dir, gate)}
		}
	}
	return b.Set(ctx, name, names, note, true)
}

// opened are runs with their folders.
type opened struct {
	runs    []compare.Input
	dirs    []string
	outside []bool // not in the data folder
}

// openEither opens runs that are named by a folder, or by an id in a data folder.
func openEither(ctx context.Context, dataDir string, names []string) (*opened, error) {
	var out opened
	for _, name := range names {
		at, outside := dataDir, false
		if !store.UsableID(name) {
			at, outside = "", true
		} else if _, err := store.FolderIn(dataDir, name); err != nil {
			return nil, &OutcomeError{BadInput, fmt.Sprintf("there is no run %s in %s", name, dataDir)}
		}
		in, err := openInputs(ctx, at, []string{name})
		if err != nil {
			return nil, err
		}
		for i := range in {
			out.runs, out.outside = append(out.runs, in[i]), append(out.outside, outside)
			out.dirs = append(out.dirs, in[i].Dir)
		}
	}
	return &out, out.check()
}

// check returns an error unless the runs can be judged as repetitions: each once, and completed.
func (o *opened) check() error {
	seen := map[string]bool{}
	for i := range o.runs {
		r := o.runs[i].Run
		switch {
		case seen[r.ID]:
			return &OutcomeError{BadInput, fmt.Sprintf("run %s is named twice; it counts as one run", r.ID)}
		case r.State != bench.StateCompleted:
			return &OutcomeError{BadInput, fmt.Sprintf("run %s is %s; only runs that have completed can be judged", r.ID, r.State)}
		}
		seen[r.ID] = true
	}
	return nil
}

// userName returns the name of the user of the system; empty if it has none.
func userName() string {
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return ""
}

// wanted is what a gate looks for in a baseline.
type wanted struct {
	key      run.BaselineKey // of the candidate
	document json.RawMessage // of the candidate
	allow    []string        // JSON pointers of values of the load that may differ
}

// matches reports whether a revision has the target of the candidate, and its workload but for what may differ.
func (w *wanted) matches(ctx context.Context, dataDir string, r *run.Revision) bool {
	if r.Key.Target != w.key.Target {
		return false
	}
	if r.Key.Workload == w.key.Workload || len(w.allow) == 0 {
		return r.Key.Workload == w.key.Workload
	}
	in, err := openInputs(ctx, dataDir, r.Runs[:1])
	if err != nil {
		return false // a revision whose runs are gone is none
	}
	theirs, err := compare.Workload(in[0].Run.Config, w.allow...)
	ours, failure := compare.Workload(w.document, w.allow...)
	return err == nil && failure == nil && theirs == ours
}

// reference returns what a gate compares with: the newest revision of a baseline that matches the candidate,
// or the one that is named, or folders, or ids of runs in the data folder. A name that is both is a baseline.
func reference(ctx context.Context, spec, dataDir string, w *wanted) (*compare.Reference, error) {
	name, _, fixed := strings.Cut(spec, "@")
	names := strings.Split(spec, ",")
	b, err := findBaseline(ctx, name, dataDir)
	_, absent := os.Stat(names[0])
	switch {
	case err == nil:
	case errors.Is(err, run.ErrNoBaseline) && (absent == nil || store.UsableID(names[0])):
		in, err := openEither(ctx, dataDir, names)
		if err != nil {
			return nil, err
		}
		return &compare.Reference{Runs: in.runs}, nil
	default:
		return nil, err
	}
	oldest, chosen := b.MatchingFunc(func(r *run.Revision) bool { return w.matches(ctx, dataDir, r) })
	if fixed {
		_, revision, err := run.SplitBaseline(spec)
		if err != nil {
			return nil, &OutcomeError{BadInput, fmt.Sprintf("--baseline %q: %v", spec, err)}
		}
		if chosen = b.Revision(revision); chosen == nil {
			return nil, fmt.Errorf("%w: baseline %s has no revision %d", run.ErrNoBaseline, name, revision)
		}
	}
	if chosen == nil {
		return nil, fmt.Errorf("%w: baseline %s has no revision of this workload and target", run.ErrNoBaseline, name)
	}
	out := &compare.Reference{Name: name, Revision: chosen.Number, Host: chosen.Key.Host}
	if out.Runs, err = openInputs(ctx, dataDir, chosen.Runs); err != nil {
		return nil, fmt.Errorf("a run of baseline %s@%d is gone: %w", name, chosen.Number, err)
	}
	if oldest != nil && oldest.Number < chosen.Number {
		// What was lost since the first revision is a doubt only; without its runs there is none.
		if first, err := openInputs(ctx, dataDir, oldest.Runs); err == nil {
			out.First = first
		}
	}
	return out, nil
}

// findBaseline returns the baseline with a name. The error is run.ErrNoBaseline if there is none.
func findBaseline(ctx context.Context, name, dataDir string) (*run.Baseline, error) {
	if run.CheckBaselineName(name) != nil {
		return nil, fmt.Errorf("%w, and there is no such folder: %s", run.ErrNoBaseline, name)
	}
	all, err := OpenBaselines(ctx, dataDir, false)
	if err != nil {
		return nil, err
	}
	defer all.Close()
	return all.Get(ctx, name)
}
