package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"

	"github.com/pressly/goose/v3"
)

// object is a table, an index, a view or a trigger of a database.
type object struct{ kind, name, statement string }

// objects returns what a database consists of, in order, without what SQLite makes itself.
// The table of versions has no statement: it depends on the program that made it.
func objects(ctx context.Context, db *sql.DB) ([]object, error) {
	out, err := scanAll(ctx, db, func(o *object) []any { return []any{&o.kind, &o.name, &o.statement} },
		`SELECT type, name, iif(name = ?, '', coalesce(sql, '')) FROM sqlite_master
		WHERE name NOT LIKE 'sqlite\_%' ESCAPE '\' ORDER BY type, name`, goose.DefaultTablename)
	if err != nil {
		return nil, fmt.Errorf("read schema: %w", err)
	}
	return out, nil
}

// CheckSchema checks that the database consists of what this program, or the earlier version
// that has written it, makes: a trigger or a view of somebody else would work in the name of
// the daemon.
func (x *Index) CheckSchema(ctx context.Context) (err error) {
	var version int64
	const newest = "SELECT coalesce(max(version_id), 0) FROM " + goose.DefaultTablename
	if err := x.db.QueryRowContext(ctx, newest).Scan(&version); err != nil {
		return fmt.Errorf("read schema version: %w", err)
	}
	fresh, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, fresh.Close()) }()
	fresh.SetMaxOpenConns(1)
	p, _, _, err := schemaOf(ctx, fresh)
	if err != nil {
		return err
	}
	if _, err := p.UpTo(ctx, version); err != nil {
		return fmt.Errorf("make schema %d: %w", version, err)
	}
	want, err := objects(ctx, fresh)
	if err != nil {
		return err
	}
	got, err := objects(ctx, x.db)
	if err != nil {
		return err
	}
	for _, o := range got {
		if !slices.Contains(want, o) {
			return fmt.Errorf("the database has a %s %q that is not part of the schema of aiperfd, or differs from it", o.kind, o.name)
		}
	}
	if len(got) < len(want) {
		return fmt.Errorf("the database has %d tables and indexes, and schema %d has %d", len(got), version, len(want))
	}
	return nil
}
