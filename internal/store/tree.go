package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"aiperfd/internal/engine/durable"
	"aiperfd/internal/run"
)

// Tree keeps a study and its cells in one folder: each cell in a folder below that of
// the study, and with each run a copy of it, so that another process can go on with the
// study. It is safe for concurrent use.
type Tree struct{ *Single }

var _ run.Store = (*Tree)(nil)

// OpenTree opens the folder of a study, which is created by the first Put. It finds what
// an earlier process has stored there.
func OpenTree(dir string) (*Tree, error) {
	t := &Tree{NewSingle(dir)}
	err := walkCopies(t.dir, func(_ string, r *run.Run, err error) {
		if err == nil { // else it is not ours, or was torn by a crash: the cell is performed again
			t.runs[r.ID] = *r
		}
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("open folder of study: %w", err)
	}
	return t, nil
}

// Put implements run.Store.
func (t *Tree) Put(ctx context.Context, r *run.Run) error {
	if err := t.keep(ctx, r); err != nil {
		return err
	}
	dir := t.Dir(r.ID)
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return fmt.Errorf("put run %s: %w", r.ID, err)
	}
	if err := writeRun(dir, r, durable.Shared); err != nil {
		return fmt.Errorf("put run %s: %w", r.ID, err)
	}
	return nil
}

// Dir implements run.Store.
func (t *Tree) Dir(id string) string {
	t.mu.RLock()
	defer t.mu.RUnlock()
	if r, ok := t.runs[id]; ok && r.Cell != nil && filepath.IsLocal(r.Cell.Folder) {
		return filepath.Join(t.dir, filepath.FromSlash(r.Cell.Folder))
	}
	return t.dir
}

// Delete implements run.Store. Only cells can be deleted: the folder of a study belongs
// to the user.
func (t *Tree) Delete(ctx context.Context, id string) error {
	dir := t.Dir(id)
	if dir == t.dir {
		return t.Single.Delete(ctx, id)
	}
	if err := os.RemoveAll(dir); err != nil {
		return fmt.Errorf("delete run %s: %w", id, err)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.runs, id)
	return nil
}
