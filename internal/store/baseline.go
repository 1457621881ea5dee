package store

import (
	"context"
	"encoding/json"
	"fmt"

	"aiperfd/internal/engine/plainjson"
	"aiperfd/internal/run"
)

// Baselines keeps the names of runs that others are compared with in the database of a store. Its methods
// are safe for concurrent use, also by several processes.
type Baselines struct{ store *Store }

// NewBaselines returns the baselines of a store.
func NewBaselines(s *Store) *Baselines { return &Baselines{s} }

// List returns all baselines by name.
func (b *Baselines) List(ctx context.Context) ([]run.Baseline, error) {
	return b.read(ctx, "SELECT name, document FROM baselines ORDER BY name, revision")
}

// Get returns the baseline with a name. The error is run.ErrNoBaseline if there is none.
func (b *Baselines) Get(ctx context.Context, name string) (*run.Baseline, error) {
	found, err := b.read(ctx, "SELECT name, document FROM baselines WHERE name = ? ORDER BY revision", name)
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("%w: %s", run.ErrNoBaseline, name)
	}
	return &found[0], nil
}

func (b *Baselines) read(ctx context.Context, query string, args ...any) ([]run.Baseline, error) {
	defer b.store.metrics.timed(opGet)()
	type row struct{ name, document string }
	rows, err := scanAll(ctx, b.store.read, func(r *row) []any { return []any{&r.name, &r.document} }, query, args...)
	if err != nil {
		return nil, b.store.metrics.failed(opGet, fmt.Errorf("read baselines: %w", err))
	}
	out := []run.Baseline{}
	for _, r := range rows {
		var revision run.Revision
		if err := json.Unmarshal([]byte(r.document), &revision); err != nil {
			return nil, fmt.Errorf("decode a revision of baseline %s: %w", r.name, err)
		}
		if len(out) == 0 || out[len(out)-1].Name != r.name {
			out = append(out, run.Baseline{Name: r.name})
		}
		last := &out[len(out)-1]
		last.Revisions = append(last.Revisions, revision)
	}
	return out, nil
}

// Add adds a revision to a baseline, which it makes if necessary, and returns it with its number. It is
// durable when Add returns. The runs must be in the store, and pinned.
func (b *Baselines) Add(ctx context.Context, name string, r run.Revision) (_ *run.Revision, err error) {
	defer b.store.metrics.timed(opPut)()
	if err := run.CheckBaselineName(name); err != nil {
		return nil, err
	}
	if err := b.add(ctx, name, &r); err != nil {
		return nil, b.store.metrics.failed(opPut, fmt.Errorf("add a revision of baseline %s: %w", name, err))
	}
	return &r, nil
}

func (b *Baselines) add(ctx context.Context, name string, r *run.Revision) error {
	tx, err := b.store.write.BeginTx(ctx, nil) // immediate: no other process adds the same number
	if err != nil {
		return err
	}
	defer tx.Rollback() //nolint:errcheck // after Commit it does nothing
	const next = "SELECT coalesce(max(revision), 0) + 1 FROM baselines WHERE name = ?"
	if err := tx.QueryRowContext(ctx, next, name).Scan(&r.Number); err != nil {
		return err
	}
	text, err := plainjson.Marshal(r)
	if err != nil {
		return err
	}
	const insert = "INSERT INTO baselines (name, revision, document) VALUES (?, ?, ?)"
	if _, err := tx.ExecContext(ctx, insert, name, r.Number, string(text)); err != nil {
		return err
	}
	return tx.Commit()
}

// Remove removes a revision of a baseline, or with 0 all of them. The runs stay, and stay pinned. The error
// is run.ErrNoBaseline if there is none.
func (b *Baselines) Remove(ctx context.Context, name string, revision int) error {
	defer b.store.metrics.timed(opDelete)()
	const remove = "DELETE FROM baselines WHERE name = ? AND (revision = ? OR ? = 0)"
	done, err := b.store.write.ExecContext(ctx, remove, name, revision, revision)
	if err != nil {
		return b.store.metrics.failed(opDelete, fmt.Errorf("remove baseline %s: %w", name, err))
	}
	if n, err := done.RowsAffected(); err != nil || n == 0 {
		if revision > 0 {
			name = fmt.Sprintf("%s@%d", name, revision)
		}
		return fmt.Errorf("%w: %s", run.ErrNoBaseline, name)
	}
	return nil
}
