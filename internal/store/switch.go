package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"aiperfd/internal/run"
)

// Switch stores in the database whether the queue is paused. A database that is rebuilt
// from the folders of the runs has a queue that is not paused.
type Switch struct{ store *Store }

var _ run.Switch = Switch{}

// NewSwitch returns the switch of a store.
func NewSwitch(s *Store) Switch { return Switch{s} }

// Paused implements run.Switch.
func (w Switch) Paused(ctx context.Context) (bool, error) {
	defer w.store.metrics.timed(opGet)()
	var since string
	err := w.store.read.QueryRowContext(ctx, "SELECT value FROM facts WHERE name = 'paused'").Scan(&since)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	if err != nil {
		return false, w.store.metrics.failed(opGet, fmt.Errorf("read whether the queue is paused: %w", err))
	}
	return true, nil
}

// SetPaused implements run.Switch.
func (w Switch) SetPaused(ctx context.Context, paused bool) error {
	defer w.store.metrics.timed(opPut)()
	var err error
	if paused {
		const statement = "INSERT INTO facts (name, value) VALUES ('paused', ?) ON CONFLICT (name) DO NOTHING"
		_, err = w.store.write.ExecContext(ctx, statement, time.Now().UTC().Format(time.RFC3339))
	} else {
		_, err = w.store.write.ExecContext(ctx, "DELETE FROM facts WHERE name = 'paused'")
	}
	if err != nil {
		return w.store.metrics.failed(opPut, fmt.Errorf("pause the queue: %w", err))
	}
	return nil
}
