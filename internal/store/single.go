package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"aiperfd/internal/engine/durable"
	"aiperfd/internal/run"
)

// Single keeps the runs of one command in memory; the artifacts of all of them
// go to one folder, with a copy of the run that was put last if the disk has room for it, so
// that another process can read it ([OpenFolders]). It is safe for concurrent use.
type Single struct {
	dir string

	mu   sync.RWMutex
	runs map[string]run.Run // guarded by mu
}

var _ run.Store = (*Single)(nil)

// NewSingle returns an empty store for a folder, which is created by the first
// Put.
func NewSingle(dir string) *Single {
	if abs, err := filepath.Abs(dir); err == nil {
		dir = abs // it fails only if there is no working directory
	}
	return &Single{dir: dir, runs: make(map[string]run.Run)}
}

// Put implements run.Store.
func (s *Single) Put(ctx context.Context, r *run.Run) error {
	if err := s.keep(ctx, r); err != nil {
		return err
	}
	if err := os.MkdirAll(s.dir, 0o777); err != nil {
		return fmt.Errorf("put run %s: %w", r.ID, err)
	}
	if err := writeRun(s.dir, r, durable.Shared); err != nil {
		// A full disk must not end the command, which prints the results and says which
		// files are missing. An older copy would be wrong.
		_ = os.Remove(filepath.Join(s.dir, CopyFile))
	}
	return nil
}

// keep keeps a run in memory.
func (s *Single) keep(ctx context.Context, r *run.Run) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("put run %s: %w", r.ID, err)
	}
	if r.ID == "" {
		return fmt.Errorf("put run: %w", errNoID)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.runs[r.ID] = *r
	return nil
}

// Get implements run.Store.
func (s *Single) Get(ctx context.Context, id string) (*run.Run, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("get run %s: %w", id, err)
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	r, ok := s.runs[id]
	if !ok {
		return nil, run.ErrNotFound
	}
	return &r, nil
}

// List implements run.Store.
func (s *Single) List(ctx context.Context, request run.Query) (run.Page, error) {
	if err := ctx.Err(); err != nil {
		return run.Page{}, fmt.Errorf("list runs: %w", err)
	}
	q, err := check(request)
	if err != nil {
		return run.Page{}, fmt.Errorf("list runs: %w", err)
	}
	s.mu.RLock()
	var all []run.Run
	for _, r := range s.runs {
		if q.matches(&r) {
			r.Config = nil
			all = append(all, r)
		}
	}
	s.mu.RUnlock()
	total := len(all)
	slices.SortFunc(all, func(a, b run.Run) int { return q.compare(&a, &b) })
	if q.after != nil {
		all = slices.DeleteFunc(all, func(r run.Run) bool { return !q.beyond(&r) })
	}
	return q.cut(all, total)
}

// Delete implements run.Store. It always fails: the folder belongs to the user and
// may contain other files.
func (s *Single) Delete(_ context.Context, id string) error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if _, ok := s.runs[id]; !ok {
		return run.ErrNotFound
	}
	return fmt.Errorf("delete run %s: %w", id, errors.New("the results of a command are deleted by removing their folder"))
}

// Dir implements run.Store.
func (s *Single) Dir(string) string { return s.dir }

// Ping implements run.Store.
func (s *Single) Ping(ctx context.Context) error { return ctx.Err() }
