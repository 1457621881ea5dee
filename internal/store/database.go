package store

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/pressly/goose/v3"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"aiperfd/internal/engine/durable"
	"aiperfd/internal/engine/plainjson"
	"aiperfd/internal/run"
)

//go:embed migrations/*.sql
var migrations embed.FS

// readers is the number of connections for reading, more than enough for an API
// with few clients.
const readers = 4

// busyTimeout is how long a statement waits for a lock; only the end of the log
// and backups by hand ever hold one.
const busyTimeout = 5 * time.Second

// openDatabase opens the database. A damaged one is renamed and replaced by an empty
// one.
func (s *Store) openDatabase(ctx context.Context) error {
	err := s.connect(ctx)
	if err == nil || !damaged(err) {
		return err
	}
	cause := err
	if err := s.disconnect(); err != nil {
		return errors.Join(cause, err)
	}
	aside, err := s.putAside("corrupt", "", "-wal", "-shm")
	if err != nil {
		return errors.Join(cause, err)
	}
	s.warn("the database was damaged (%v); it is kept as %s and rebuilt from the folders of the runs", cause, aside)
	return s.connect(ctx)
}

// putAside renames the files of the database with the given suffixes and returns
// the prefix of their new names.
func (s *Store) putAside(why string, suffixes ...string) (string, error) {
	aside := fmt.Sprintf("%s.%s-%s", databaseFile, why, time.Now().UTC().Format("20060102T150405.000000000"))
	for _, suffix := range suffixes {
		err := os.Rename(filepath.Join(s.dir, databaseFile+suffix), filepath.Join(s.dir, aside+suffix))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
	}
	return aside, nil
}

// connect opens the database and migrates it.
func (s *Store) connect(ctx context.Context) error {
	path := filepath.Join(s.dir, databaseFile)
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		// A log without its database must not be applied to a new one.
		if _, err := s.putAside("lost", "-wal", "-shm"); err != nil {
			return err
		}
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600) // SQLite gives its other files the same mode
	if err != nil {
		return err
	}
	s.database, err = file.Stat()
	if err := errors.Join(err, file.Close(), durable.SyncDir(s.dir)); err != nil {
		return err
	}
	if err := s.connections(path); err != nil {
		return err
	}
	if err := s.verify(ctx); err != nil {
		return err
	}
	if err := migrate(ctx, s.write); err != nil {
		return err
	}
	return s.read.PingContext(ctx)
}

// connections prepares the connections to the database, which the first statement opens.
func (s *Store) connections(path string) (err error) {
	if s.write, err = sql.Open("sqlite", source(path, "_txlock=immediate")); err != nil {
		return err
	}
	s.write.SetMaxOpenConns(1)
	if s.read, err = sql.Open("sqlite", source(path, "_pragma=query_only(1)")); err != nil {
		return err
	}
	s.read.SetMaxOpenConns(readers)
	return nil
}

func (s *Store) disconnect() error {
	var errs []error
	for _, db := range []**sql.DB{&s.read, &s.write} {
		if *db != nil {
			errs = append(errs, (*db).Close())
			*db = nil
		}
	}
	return errors.Join(errs...)
}

// source names the database file with the settings of every connection.
func source(path, more string) string {
	u := url.URL{Scheme: "file", Path: path, RawQuery: fmt.Sprintf(
		"_pragma=busy_timeout(%d)&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_pragma=foreign_keys(1)&%s",
		busyTimeout.Milliseconds(), more)}
	return u.String()
}

// damage is the report of SQLite's integrity check.
type damage string

func (d damage) Error() string { return "database is malformed: " + string(d) }

// verifyLimit bounds the integrity check: a database of 2 GB takes about ten seconds.
const verifyLimit = 10 * time.Second

// verify checks the integrity of the database. A check that takes too long ends with a
// warning.
func (s *Store) verify(ctx context.Context) error {
	limited, cancel := context.WithTimeout(ctx, verifyLimit)
	defer cancel()
	err := integrity(limited, s.write)
	if err != nil && limited.Err() != nil && ctx.Err() == nil {
		s.warn("the integrity of the database was not checked completely: it takes longer than %v", verifyLimit)
		return nil
	}
	if err == nil {
		s.metrics.verified()
	}
	return err
}

// integrity checks the pages of the database and the references between its tables.
func integrity(ctx context.Context, db *sql.DB) error {
	var verdict string
	if err := db.QueryRowContext(ctx, "PRAGMA quick_check(1)").Scan(&verdict); err != nil {
		return err
	}
	if verdict != "ok" {
		return damage(verdict)
	}
	var table string
	switch err := db.QueryRowContext(ctx, `SELECT "table" FROM pragma_foreign_key_check LIMIT 1`).Scan(&table); {
	case err == nil:
		return damage("table " + table + " has rows without a run")
	case errors.Is(err, sql.ErrNoRows):
		return nil
	default:
		return err
	}
}

// damaged reports whether an error means that the file is damaged.
func damaged(err error) bool {
	if _, ok := errors.AsType[damage](err); ok {
		return true
	}
	var e *sqlite.Error
	if !errors.As(err, &e) {
		return false
	}
	primary := e.Code() & 0xff
	return primary == sqlite3.SQLITE_CORRUPT || primary == sqlite3.SQLITE_NOTADB
}

// migrate updates the schema. A database of a newer version is an error and is not
// changed.
func migrate(ctx context.Context, db *sql.DB) error {
	p, current, target, err := schemaOf(ctx, db)
	if err != nil {
		return err
	}
	if current > target {
		return fmt.Errorf("database was written by a newer aiperfd: its schema is %d, this version knows %d", current, target)
	}
	if _, err := p.Up(ctx); err != nil {
		return fmt.Errorf("migrate database: %w", err)
	}
	return nil
}

// schemaOf returns the migrations of a database, the version of its schema, and the version
// that this process knows.
func schemaOf(ctx context.Context, db *sql.DB) (p *goose.Provider, current, target int64, err error) {
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return nil, 0, 0, err
	}
	if p, err = goose.NewProvider(goose.DialectSQLite3, db, files); err != nil {
		return nil, 0, 0, fmt.Errorf("read migrations: %w", err)
	}
	if current, target, err = p.GetVersions(ctx); err != nil {
		err = fmt.Errorf("read schema version: %w", err)
	}
	return p, current, target, err
}

// scanAll returns the rows of a query; fields returns where the columns of one are scanned to.
func scanAll[T any](
	ctx context.Context, db interface {
		QueryContext(context.Context, string, ...any) (*sql.Rows, error)
	}, fields func(*T) []any, query string, args ...any,
) (all []T, err error) {
	rows, err := db.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var one T
		if err := rows.Scan(fields(&one)...); err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, rows.Err()
}

// summaryNumbers yields the numbers of the summary by which a run is sorted, and their columns.
func summaryNumbers(r *run.Run) iter.Seq2[string, int64] {
	return func(yield func(string, int64) bool) {
		for _, by := range run.SummarySorts() {
			if v := r.SortNumber(by); v != nil && !yield(string(by), thousandths(v)) {
				return
			}
		}
	}
}

// insert inserts a run or replaces it.
func insert(ctx context.Context, tx *sql.Tx, r *run.Run) error {
	run, err := plainjson.Marshal(r)
	if err != nil {
		return fmt.Errorf("encode: %w", err)
	}
	if _, err := tx.ExecContext(ctx, "DELETE FROM runs WHERE id = ?", r.ID); err != nil { // and what refers to it
		return err
	}
	k := keysOf(r)
	columns := []string{
		"id", "run", "config", "state", "created_at", "started_at", "ended_at", "duration", "name", "notes", "kind",
		"parent_id", "pinned", "expires_at",
	}
	values := []any{
		r.ID, string(run), string(r.Config), string(r.State), k.created, k.started, k.ended, k.duration, k.name, k.notes,
		string(r.Kind()), r.ParentID(), r.Pinned, k.expires,
	}
	for column, v := range summaryNumbers(r) {
		columns = append(columns, column)
		values = append(values, v)
	}
	//nolint:gosec // the columns are names of this package
	insert := fmt.Sprintf("INSERT INTO runs (%s) VALUES (?%s)", strings.Join(columns, ", "), strings.Repeat(", ?", len(values)-1))
	_, err = tx.ExecContext(ctx, insert, values...)
	if err != nil {
		return err
	}
	for name, value := range r.Labels {
		if _, err := tx.ExecContext(ctx, "INSERT INTO labels (run_id, name, value) VALUES (?, ?, ?)", r.ID, name, value); err != nil {
			return err
		}
	}
	if id := r.Idempotency; id != nil {
		const statement = "INSERT INTO idempotency_keys (caller, key, run_id) VALUES (?, ?, ?)"
		if _, err := tx.ExecContext(ctx, statement, id.Caller, id.Key, r.ID); err != nil {
			return err
		}
	}
	for _, list := range []struct {
		statement string
		values    []string
	}{
		{"INSERT INTO models (run_id, model) VALUES (?, ?)", r.Models},
		{"INSERT INTO targets (run_id, target) VALUES (?, ?)", r.Targets},
	} {
		values := slices.Clone(list.values)
		slices.Sort(values)
		for _, v := range slices.Compact(values) {
			if _, err := tx.ExecContext(ctx, list.statement, r.ID, v); err != nil {
				return err
			}
		}
	}
	return nil
}

// index fills a new database from the folders of the runs.
func (s *Store) index(ctx context.Context) error {
	var done int
	if err := s.write.QueryRowContext(ctx, "SELECT count(*) FROM facts WHERE name = 'indexed'").Scan(&done); err != nil {
		return err
	}
	if done > 0 {
		return nil
	}
	folders, err := os.ReadDir(s.runs)
	if err != nil {
		return err
	}
	tx, err := s.write.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	found, err := s.indexFolders(ctx, tx, folders)
	if err != nil {
		return errors.Join(err, tx.Rollback())
	}
	if _, err := tx.ExecContext(ctx, "INSERT INTO facts (name, value) VALUES ('indexed', ?)", time.Now().UTC().Format(time.RFC3339)); err != nil {
		return errors.Join(err, tx.Rollback())
	}
	if err := tx.Commit(); err != nil {
		return err
	}
	if found > 0 {
		s.warn("the database was rebuilt from the folders of %d runs", found)
	}
	return nil
}

// indexFolders inserts the runs of folders. Folders without a usable copy of their
// run are skipped.
func (s *Store) indexFolders(ctx context.Context, tx *sql.Tx, folders []os.DirEntry) (found int, err error) {
	for _, f := range folders {
		if !UsableID(f.Name()) {
			continue
		}
		r, err := ReadFolder(s.Dir(f.Name()))
		if err != nil {
			s.warn("the folder of run %s was not added to the list of runs: %v", f.Name(), err)
			continue
		}
		if err := insert(ctx, tx, r); err != nil {
			return found, err
		}
		found++
	}
	return found, nil
}
