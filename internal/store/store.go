package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/prometheus/client_golang/prometheus"

	"aiperfd/internal/engine/durable"
	"aiperfd/internal/run"
)

// Store keeps runs in a data folder. It is safe for concurrent use; changes
// are serialised. Every method returns when its context ends, except that the
// removal of a deleted folder is not interrupted.
type Store struct {
	dir, runs, trash string
	lock             *Lock
	database         os.FileInfo // of the file that was opened
	write            *sql.DB     // one connection: it serialises changes
	read             *sql.DB
	warnings         []string
	metrics          *metrics
	discarded        discarded
}

var _ run.Store = (*Store)(nil)

// InUseError reports that another process uses the data folder.
type InUseError struct {
	PID string // of the other process; may be empty
}

// Error implements error.
func (e *InUseError) Error() string {
	if e.PID == "" {
		return "data folder is in use by another aiperfd"
	}
	return "data folder is in use by another aiperfd, process " + e.PID
}

// The names in a data folder.
const (
	databaseFile = "aiperfd.db"
	// LockFile is the file that a locked folder contains.
	LockFile    = "aiperfd.lock"
	runsFolder  = "runs"
	trashFolder = "trash"
)

// StudyFile is the file in the folder of a study that contains its document. It is written
// before the study is put. Its name starts with a dot, because it is not an artifact.
const StudyFile = ".study.json"

// Open opens a data folder and locks it for this process. It creates the folder if
// necessary. The error is an *[InUseError] if another process uses the folder. A
// lost or damaged database is rebuilt from the folders of the runs, with a warning.
func Open(ctx context.Context, dir string) (*Store, error) {
	return opened(ctx, dir, func(s *Store, ctx context.Context) error {
		err := s.open(ctx)
		if full(err) {
			err = fmt.Errorf("the disk is full, and a new data folder needs some 100 KiB; free space, or choose another --data-dir: %w", err)
		}
		return err
	})
}

// opened returns the store of a folder, which open opens.
func opened(ctx context.Context, dir string, open func(*Store, context.Context) error) (*Store, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("open store: %w", err)
	}
	s := &Store{dir: dir, runs: filepath.Join(dir, runsFolder), trash: filepath.Join(dir, trashFolder), metrics: newMetrics(dir)}
	if err := open(s, ctx); err != nil {
		return nil, fmt.Errorf("open store %s: %w", dir, errors.Join(err, s.Close()))
	}
	return s, nil
}

func (s *Store) open(ctx context.Context) error {
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return err
	}
	var err error
	if s.lock, err = LockFolder(s.dir); err != nil {
		return err
	}
	for _, folder := range []string{s.runs, s.trash} {
		if err := makeDir(folder); err != nil {
			return err
		}
	}
	if err := s.openDatabase(ctx); err != nil {
		return err
	}
	if err := s.emptyTrash(ctx); err != nil {
		return err
	}
	if err := s.index(ctx); err != nil {
		return err
	}
	return tidy(ctx, s)
}

// Close closes the database and releases the folder. Calls that have not
// returned fail.
func (s *Store) Close() error {
	s.discarded.close()
	var errs []error
	for _, db := range []*sql.DB{s.read, s.write} { // the writer last, so that it folds the log into the database
		if db != nil {
			errs = append(errs, db.Close())
		}
	}
	if s.lock != nil {
		errs = append(errs, s.lock.Close())
	}
	return errors.Join(errs...)
}

// Warnings returns the problems that Open found and repaired.
func (s *Store) Warnings() []string { return slices.Clone(s.warnings) }

func (s *Store) warn(format string, args ...any) {
	s.warnings = append(s.warnings, fmt.Sprintf(format, args...))
}

// Collectors returns the metrics of the store.
func (s *Store) Collectors() []prometheus.Collector { return s.metrics.collectors() }

// Put implements run.Store. The copy in the run's folder is written after
// the database, before any other change.
func (s *Store) Put(ctx context.Context, r *run.Run) error {
	if !UsableID(r.ID) {
		return fmt.Errorf("put run %q: %w", r.ID, errNoID)
	}
	defer s.metrics.timed(opPut)()
	if err := s.put(ctx, r); err != nil {
		return s.metrics.failed(opPut, fmt.Errorf("put run %s: %w", r.ID, err))
	}
	return nil
}

func (s *Store) put(ctx context.Context, r *run.Run) error {
	conn, err := s.write.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := makeDir(s.Dir(r.ID)); err != nil {
		return err
	}
	tx, err := conn.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if err := insert(ctx, tx, r); err != nil {
		return errors.Join(err, tx.Rollback())
	}
	if err := tx.Commit(); err != nil {
		return err
	}
	return writeRun(s.Dir(r.ID), r, durable.Private)
}

// Get implements run.Store.
func (s *Store) Get(ctx context.Context, id string) (*run.Run, error) {
	defer s.metrics.timed(opGet)()
	var w row
	var config string
	err := s.read.QueryRowContext(ctx, "SELECT config, "+rowColumns+" FROM runs WHERE id = ?", id).
		Scan(append([]any{&config}, w.fields()...)...)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, run.ErrNotFound
	}
	if err != nil {
		return nil, s.metrics.failed(opGet, fmt.Errorf("get run %s: %w", id, err))
	}
	r := decode(&w, s.Dir(w.id))
	if json.Valid([]byte(config)) {
		r.Config = json.RawMessage(config)
	}
	return r, nil
}

// List implements run.Store.
func (s *Store) List(ctx context.Context, request run.Query) (run.Page, error) {
	q, err := check(request)
	if err != nil {
		return run.Page{}, fmt.Errorf("list runs: %w", err)
	}
	defer s.metrics.timed(opList)()
	p, err := s.list(ctx, q)
	if err != nil && ctx.Err() != nil {
		err = ctx.Err() // of the caller: package sql says that the transaction is done
	}
	if err != nil {
		return run.Page{}, s.metrics.failed(opList, fmt.Errorf("list runs: %w", err))
	}
	return p, nil
}

func (s *Store) list(ctx context.Context, q *query) (page run.Page, err error) {
	tx, err := s.read.BeginTx(ctx, nil) // the page and its total are of one instant
	if err != nil {
		return page, err
	}
	defer func() { err = errors.Join(err, tx.Rollback()) }()
	cond, args := q.where(false)
	var total int
	if err := tx.QueryRowContext(ctx, "SELECT count(*) FROM runs WHERE "+cond, args...).Scan(&total); err != nil {
		return page, err
	}
	statement, args := q.page()
	rows, err := scanAll(ctx, tx, (*row).fields, statement, args...)
	if err != nil {
		return page, err
	}
	var runs []run.Run
	for i := range rows {
		r := decode(&rows[i], s.Dir(rows[i].id))
		r.Config = nil // of a copy in a folder
		runs = append(runs, *r)
	}
	return q.cut(runs, total)
}

// Dir implements run.Store. The path of an invalid id does not exist.
func (s *Store) Dir(id string) string {
	if !UsableID(id) {
		return filepath.Join(s.runs, ".none")
	}
	return filepath.Join(s.runs, id)
}
