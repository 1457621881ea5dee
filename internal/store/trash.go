package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"aiperfd/internal/engine/durable"
	"aiperfd/internal/run"
)

// Delete implements run.Store. The folder is moved to the trash first, so that
// after a crash the run is either complete or deleted. Its files are removed after Delete
// has returned: that takes seconds if they are large. The next Open removes what is left.
func (s *Store) Delete(ctx context.Context, id string) error {
	defer s.metrics.timed(opDelete)()
	err := s.delete(ctx, id)
	if err != nil && !errors.Is(err, run.ErrNotFound) {
		return s.metrics.failed(opDelete, fmt.Errorf("delete run %s: %w", id, err))
	}
	return err
}

func (s *Store) delete(ctx context.Context, id string) error {
	conn, err := s.write.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	var found int
	if err := conn.QueryRowContext(ctx, "SELECT count(*) FROM runs WHERE id = ?", id).Scan(&found); err != nil {
		return err
	}
	if found == 0 {
		return run.ErrNotFound
	}
	return s.discard(ctx, conn, id)
}

// discard moves the folder of a run to the trash and deletes the run from the database.
func (s *Store) discard(ctx context.Context, conn *sql.Conn, id string) error {
	// A run of the same id may still be in the trash, if it was imported again.
	trash := filepath.Join(s.trash, id+"."+strconv.FormatUint(rand.Uint64(), 36))
	moved := true
	if err := os.Rename(s.Dir(id), trash); errors.Is(err, fs.ErrNotExist) {
		moved = false // it was removed by hand
	} else if err != nil {
		return err
	}
	err := errors.Join(durable.SyncDir(s.trash), durable.SyncDir(s.runs))
	if err == nil {
		_, err = conn.ExecContext(ctx, "DELETE FROM runs WHERE id = ?", id)
	}
	if full(err) {
		// The database needs room to delete. The trash is known to be garbage: after a crash,
		// the next Open deletes the run.
		if err = removeContents(trash); err == nil {
			_, err = conn.ExecContext(ctx, "DELETE FROM runs WHERE id = ?", id)
		}
		moved = false
	}
	switch {
	case err == nil:
		s.discarded.remove(trash)
	case moved:
		err = errors.Join(err, os.Rename(trash, s.Dir(id)))
	}
	return err
}

// removeContents removes everything in a folder, and keeps the folder.
func removeContents(dir string) error {
	left, err := os.ReadDir(dir)
	for _, e := range left {
		err = errors.Join(err, os.RemoveAll(filepath.Join(dir, e.Name())))
	}
	return err
}

// full reports whether an error means that the disk is full.
func full(err error) bool {
	var e *sqlite.Error
	return durable.Full(err) || errors.As(err, &e) && e.Code()&0xff == sqlite3.SQLITE_FULL
}

// emptyTrash completes deletions that an earlier process did not finish.
func (s *Store) emptyTrash(ctx context.Context) error {
	left, err := os.ReadDir(s.trash)
	if err != nil {
		return err
	}
	for _, e := range left {
		id, _, _ := strings.Cut(e.Name(), ".")
		if _, err = os.Stat(s.Dir(id)); errors.Is(err, fs.ErrNotExist) {
			_, err = s.write.ExecContext(ctx, "DELETE FROM runs WHERE id = ?", id)
		}
		if err != nil && !full(err) {
			return err
		}
		if err == nil {
			s.discarded.remove(filepath.Join(s.trash, e.Name()))
		} else if err := removeContents(filepath.Join(s.trash, e.Name())); err != nil {
			s.warn("a deleted run is still on disk: %v", err)
		}
	}
	return nil
}

// discarded removes folders in the background, one at a time. Safe for concurrent use.
type discarded struct {
	removal sync.Mutex // held by the goroutine that removes

	mu     sync.Mutex
	closed bool           // guarded by mu
	all    sync.WaitGroup // of goroutines; Add under mu
}

// remove removes a folder. What it cannot remove is left to the next Open.
func (d *discarded) remove(dir string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return
	}
	d.all.Go(func() {
		d.removal.Lock()
		defer d.removal.Unlock()
		if !d.ended() {
			_ = os.RemoveAll(dir)
		}
	})
}

func (d *discarded) ended() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.closed
}

// close waits for the removal in progress and leaves the others.
func (d *discarded) close() {
	d.mu.Lock()
	d.closed = true
	d.mu.Unlock()
	d.all.Wait()
}
