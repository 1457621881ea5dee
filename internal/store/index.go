package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/run"
)

// Row is a run as the index has it. Its JSON is not decoded, so that nothing is lost that
// another version has written.
type Row struct {
	ID          string
	State       bench.State
	run, config string
}

// Document returns the content of the run's copy in its folder, [CopyFile]. A damaged row
// is an error.
func (r *Row) Document() ([]byte, error) {
	if !json.Valid([]byte(r.run)) || r.config != "" && !json.Valid([]byte(r.config)) {
		return nil, fmt.Errorf("the row of run %s is damaged", r.ID)
	}
	return encode(json.RawMessage(r.run), json.RawMessage(r.config))
}

// Index is the index of a data folder, opened beside the process that the folder belongs
// to, or a copy of it. It does not need the lock of the folder, and works on databases of
// earlier versions. It is safe for concurrent use.
type Index struct{ db *sql.DB }

// OpenIndex opens the index of a data folder, which must exist.
func OpenIndex(dir string) (*Index, error) {
	return OpenIndexFile(filepath.Join(dir, databaseFile))
}

// OpenIndexFile opens a copy that [Index.Copy] has made.
func OpenIndexFile(path string) (*Index, error) {
	path, err := filepath.Abs(path)
	if err == nil {
		_, err = os.Stat(path)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s is not a data folder of aiperfd: it has no %s", filepath.Dir(path), filepath.Base(path))
	}
	if err != nil {
		return nil, err
	}
	db, err := sql.Open("sqlite", source(path, ""))
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	return &Index{db}, nil
}

// Close closes the index.
func (x *Index) Close() error { return x.db.Close() }

// Copy writes a consistent copy of the index to a file that must not exist. Changes go on
// meanwhile.
func (x *Index) Copy(ctx context.Context, path string) error {
	if _, err := x.db.ExecContext(ctx, "VACUUM INTO ?", path); err != nil {
		return fmt.Errorf("copy index: %w", err)
	}
	return nil
}

// Check checks the integrity of the whole database.
func (x *Index) Check(ctx context.Context) error {
	var verdict string
	if err := x.db.QueryRowContext(ctx, "PRAGMA integrity_check(1)").Scan(&verdict); err != nil {
		return fmt.Errorf("check index: %w", err)
	}
	if verdict != "ok" {
		return damage(verdict)
	}
	return nil
}

// IDs returns the ids of all runs, in their order.
func (x *Index) IDs(ctx context.Context) ([]string, error) {
	return x.ids(ctx, "SELECT id FROM runs ORDER BY id")
}

// Cells returns the ids of the runs of a study.
func (x *Index) Cells(ctx context.Context, parent string) ([]string, error) {
	return x.ids(ctx, "SELECT id FROM runs WHERE parent_id = ? ORDER BY id", parent)
}

func (x *Index) ids(ctx context.Context, query string, args ...any) (ids []string, err error) {
	if ids, err = scanAll(ctx, x.db, func(id *string) []any { return []any{id} }, query, args...); err != nil {
		return nil, fmt.Errorf("list runs: %w", err)
	}
	return ids, nil
}

// Row returns a run; run.ErrNotFound if it does not exist.
func (x *Index) Row(ctx context.Context, id string) (*Row, error) {
	r := &Row{ID: id}
	err := x.db.QueryRowContext(ctx, "SELECT state, run, config FROM runs WHERE id = ?", id).Scan(&r.State, &r.run, &r.config)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, fmt.Errorf("%s: %w", id, run.ErrNotFound)
	}
	if err != nil {
		return nil, fmt.Errorf("get run %s: %w", id, err)
	}
	return r, nil
}

// Run decodes the row.
func (r *Row) Run() (*run.Run, error) {
	out := new(run.Run)
	if err := json.Unmarshal([]byte(r.run), out); err != nil {
		return nil, fmt.Errorf("decode run %s: %w", r.ID, err)
	}
	return out, nil
}

// Remove removes a run from a copy of the index.
func (x *Index) Remove(ctx context.Context, id string) error {
	if _, err := x.db.ExecContext(ctx, "DELETE FROM runs WHERE id = ?", id); err != nil {
		return fmt.Errorf("remove run %s: %w", id, err)
	}
	return nil
}
