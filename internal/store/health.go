package store

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"sync"
	"time"

	"aiperfd/internal/engine/durable"
	"aiperfd/internal/run"
)

// locked is a data folder that is locked for this process.
type locked struct {
	folder *os.File
	file   *os.File
}

// Close ends the lock.
func (l *locked) Close() error {
	var errs []error
	for _, f := range []*os.File{l.file, l.folder} {
		if f != nil {
			errs = append(errs, f.Close())
		}
	}
	return errors.Join(errs...)
}

// present checks that the path still leads to the folder that is locked.
func (l *locked) present() error {
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
	if err := s.ping(ctx); err != nil {
		return s.failures.count(opPing, fmt.Errorf("write store: %w", err))
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
	if err := s.failures.damage(); err != nil {
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

// Failures returns how often each operation has failed since the store was opened.
func (s *Store) Failures() map[string]int64 { return s.failures.counts() }

// The operations of a store that can fail.
const (
	opPut    = "put"
	opGet    = "get"
	opList   = "list"
	opDelete = "delete"
	opPing   = "ping"
)

// failures counts failed operations. Safe for concurrent use.
type failures struct {
	mu      sync.Mutex
	number  map[string]int64 // guarded by mu; by operation
	damaged error            // guarded by mu; nil = no operation has found damage in the database
}

func newFailures() *failures {
	return &failures{number: map[string]int64{opPut: 0, opGet: 0, opList: 0, opDelete: 0, opPing: 0}}
}

// count counts the failure of an operation, if err is one of the store and not of its
// caller. It returns err.
func (f *failures) count(operation string, err error) error {
	switch {
	case err == nil, errors.Is(err, run.ErrNotFound), errors.Is(err, run.ErrBadCursor), errors.Is(err, context.Canceled):
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.number[operation]++
	if f.damaged == nil && damaged(err) {
		f.damaged = fmt.Errorf("database is damaged and is rebuilt at the next start: %w", err)
	}
	return err
}

// damage returns the first sign of a damaged database.
func (f *failures) damage() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.damaged
}

func (f *failures) counts() map[string]int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return maps.Clone(f.number)
}
