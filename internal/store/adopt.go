package store

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/durable"
	"aiperfd/internal/engine/regular"
	"aiperfd/internal/run"
)

// importFolder is the folder of a data folder in which an import prepares runs.
const importFolder = "import"

// Attach opens a data folder beside the process that it belongs to, so that runs can be
// added by [Adopt]. Both must be of versions with the same database schema.
func Attach(ctx context.Context, dir string) (*Store, error) {
	return opened(ctx, dir, (*Store).attach)
}

func (s *Store) attach(ctx context.Context) error {
	path := filepath.Join(s.dir, databaseFile)
	if _, err := os.Stat(path); err != nil {
		return err
	}
	if err := s.connections(path); err != nil {
		return err
	}
	_, current, target, err := schemaOf(ctx, s.write)
	if err != nil {
		return err
	}
	if current != target {
		return fmt.Errorf("the daemon that uses the folder is of another version: its database schema is %d, this version has %d", current, target)
	}
	return nil
}

// ImportDir returns the folder of a data folder in which runs are prepared for [Adopt]: on
// the same file system as the runs. It may not exist. What is left in it when the store is opened
// is removed, unless a process holds the lock of that folder.
func ImportDir(dir string) string { return filepath.Join(dir, importFolder) }

// Adopt adds runs whose folders have been prepared in another folder of the data folder:
// all of them or none. The folders must be durable. The runs must be terminal, and their
// ids must be new.
func Adopt(ctx context.Context, s *Store, from string, ids []string) error {
	if err := adopt(ctx, s, from, ids); err != nil {
		return fmt.Errorf("add runs: %w", err)
	}
	return nil
}

func adopt(ctx context.Context, s *Store, from string, ids []string) (err error) {
	tx, err := s.write.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	var moved []string
	defer func() {
		if err == nil {
			return
		}
		for _, id := range moved {
			err = errors.Join(err, os.Rename(s.Dir(id), filepath.Join(from, id)))
		}
		if undo := tx.Rollback(); !errors.Is(undo, sql.ErrTxDone) {
			err = errors.Join(err, undo)
		}
	}()
	for _, id := range ids {
		r, err := admit(ctx, s, tx, from, id)
		if err != nil {
			return err
		}
		if err := insert(ctx, tx, r); err != nil {
			return err
		}
	}
	for _, id := range ids {
		if err := os.Rename(filepath.Join(from, id), s.Dir(id)); err != nil {
			return err
		}
		moved = append(moved, id)
	}
	if err := durable.SyncDir(s.runs); err != nil {
		return err
	}
	// After a crash here the next Open finds the folders and inserts the rows, see tidy.
	if err := tx.Commit(); err != nil {
		return err
	}
	moved = nil
	return nil
}

// admit reads and checks a run that is to be added, and makes room for its folder.
func admit(ctx context.Context, s *Store, tx *sql.Tx, from, id string) (*run.Run, error) {
	r, err := ReadFolder(filepath.Join(from, id))
	if err != nil {
		return nil, fmt.Errorf("run %s: %w", id, err)
	}
	if err := complete(r); err != nil {
		return nil, fmt.Errorf("run %s: %w", id, err)
	}
	r.Idempotency = nil // it identifies a request to another daemon
	var found int
	if err := tx.QueryRowContext(ctx, "SELECT count(*) FROM runs WHERE id = ?", id).Scan(&found); err != nil {
		return nil, err
	}
	if found > 0 {
		return nil, fmt.Errorf("run %s exists", id)
	}
	old, err := regular.Read(filepath.Join(s.Dir(id), CopyFile))
	if errors.Is(err, fs.ErrNotExist) {
		return r, nil // an empty folder is replaced
	}
	if err != nil {
		return nil, err
	}
	// A folder without a row is what an interrupted import has left.
	if text, err := regular.Read(filepath.Join(from, id, CopyFile)); err != nil || !bytes.Equal(text, old) {
		return nil, errors.Join(fmt.Errorf("folder %s is there, but belongs to no run of the index", s.Dir(id)), err)
	}
	trash := filepath.Join(s.trash, id)
	return r, errors.Join(os.RemoveAll(trash), os.Rename(s.Dir(id), trash), os.RemoveAll(trash))
}

// complete reports what a run lacks that every ended run has.
func complete(r *run.Run) error {
	switch {
	case !r.State.Terminal():
		return fmt.Errorf("its state is %q, not that of a run that has ended", r.State)
	case r.CreatedAt.IsZero() || r.EndedAt == nil:
		return errors.New("it lacks the time of its submission or of its end")
	case len(r.Config) > 0 && !json.Valid(r.Config):
		return errors.New("its configuration is not JSON")
	}
	return nil
}

// tidy completes what an earlier process did not finish: it inserts the runs of an import
// whose folders are there without a row, and removes what a kill has left of imports, of
// new runs and of files that were being replaced.
func tidy(ctx context.Context, s *Store) error {
	if held, err := LockFolder(ImportDir(s.dir)); err == nil { // else nothing is there, or an import is in progress
		if err := errors.Join(os.RemoveAll(ImportDir(s.dir)), held.Close()); err != nil {
			s.warn("the rest of an interrupted import is still on disk: %v", err)
		}
	}
	type known struct{ id, state string }
	rows, err := scanAll(ctx, s.write, func(k *known) []any { return []any{&k.id, &k.state} }, "SELECT id, state FROM runs")
	if err != nil {
		return err
	}
	states := make(map[string]bench.State, len(rows))
	for _, k := range rows {
		states[k.id] = bench.State(k.state)
	}
	folders, err := os.ReadDir(s.runs)
	if err != nil {
		return err
	}
	for _, f := range folders {
		if !UsableID(f.Name()) {
			continue
		}
		if state, found := states[f.Name()]; found {
			removeTemporary(s.Dir(f.Name()), !state.Terminal())
		} else if err := takeIn(ctx, s, f.Name()); err != nil {
			return err
		}
	}
	return nil
}

// removeTemporary removes files that were being written: only the folder itself can have
// any if the run has ended. What cannot be removed does no harm.
func removeTemporary(dir string, deep bool) {
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil || d.IsDir() && path != dir && !deep:
			return fs.SkipDir
		case d.Type().IsRegular() && durable.IsTemporary(d.Name()):
			_ = os.Remove(path) //nolint:gosec // the folder belongs to this process
		}
		return nil
	})
}

// takeIn inserts the run of a folder that has no row.
func takeIn(ctx context.Context, s *Store, id string) error {
	r, err := ReadFolder(s.Dir(id))
	if errors.Is(err, fs.ErrNotExist) {
		removeTemporary(s.Dir(id), false)
		_ = os.Remove(filepath.Join(s.Dir(id), StudyFile)) // the submission of a study was interrupted
		_ = os.Remove(s.Dir(id))                           // a Put was interrupted; a folder with other files stays
		return nil
	}
	if err == nil {
		err = complete(r)
	}
	if err != nil {
		s.warn("the folder of run %s was not added to the list of runs: %v", id, err)
		return nil
	}
	if err := s.put(ctx, r); err != nil {
		return err
	}
	s.warn("run %s was added to the list of runs: its folder was there", id)
	return nil
}
