package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"aiperfd/internal/engine/durable"
)

// Lock is a folder that is locked for this process.
type Lock struct {
	folder *os.File
	file   *os.File
}

// Close ends the lock.
func (l *Lock) Close() error {
	var errs []error
	for _, f := range []*os.File{l.file, l.folder} {
		if f != nil {
			errs = append(errs, f.Close())
		}
	}
	return errors.Join(errs...)
}

// present checks that the path still leads to the folder that is locked.
func (l *Lock) present() error {
	ours, err := l.folder.Stat()
	if err != nil {
		return err
	}
	there, err := os.Stat(l.folder.Name())
	if err != nil {
		return fmt.Errorf("data folder is gone: %w", err)
	}
	if !os.SameFile(ours, there) {
		return errors.New("data folder was replaced by another one")
	}
	return nil
}

// probeFile is written and removed to learn whether the folders of runs can be written.
const probeFile = ".probe.tmp"

// probeBytes is about what the end of a run adds to the index and to its folder.
const probeBytes = 64 << 10

// Ping implements run.Store: it checks that the folder and the database are those that
// were opened, and writes to both.
func (s *Store) Ping(ctx context.Context) error {
	defer s.metrics.timed(opPing)()
	if err := s.ping(ctx); err != nil {
		return s.metrics.failed(opPing, fmt.Errorf("write store: %w", err))
	}
	return nil
}

func (s *Store) ping(ctx context.Context) error {
	if err := s.lock.present(); err != nil {
		return err
	}
	there, err := os.Stat(filepath.Join(s.dir, databaseFile))
	if err != nil {
		return fmt.Errorf("database is gone: %w", err)
	}
	if !os.SameFile(s.database, there) {
		return errors.New("database was replaced by another file")
	}
	if err := s.metrics.damage(); err != nil {
		return err
	}
	probe := filepath.Join(s.runs, probeFile)
	err = os.WriteFile(probe, make([]byte, probeBytes), 0o600)
	if err := errors.Join(err, os.Remove(probe)); err != nil {
		return err
	}
	const statement = "INSERT INTO facts (name, value) VALUES ('ping', ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value"
	_, err = s.write.ExecContext(ctx, statement, time.Now().UTC().Format(time.RFC3339))
	return err
}

// Free returns the free space on the disk of the folder, in bytes.
func (s *Store) Free() (int64, error) { return durable.Free(s.dir) }
