package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"aiperfd/internal/run"
)

// Folders reads runs from folders of any names: those that [Single] and [Tree] have
// written, and those of a data folder. Nothing can be written. It is safe for concurrent
// use.
type Folders struct {
	*Single
	dirs  map[string]string // folders of runs, by id
	roots []string          // ids of the runs that are not part of a study, the oldest first
}

var _ run.Store = (*Folders)(nil)

var errReadOnly = errors.New("the folder is only read")

// OpenFolders finds the runs in a folder and below it. The error names the folder if
// there is none.
func OpenFolders(paths []string) (*Folders, error) {
	f := &Folders{Single: NewSingle("."), dirs: map[string]string{}}
	var faults []error
	for _, path := range paths {
		if err := f.add(path); err != nil {
			faults = append(faults, err)
		}
	}
	if faults != nil {
		return nil, errors.Join(faults...)
	}
	for id, r := range f.runs {
		if _, part := f.dirs[r.ParentID()]; !part {
			f.roots = append(f.roots, id)
		}
	}
	slices.Sort(f.roots)
	return f, nil
}

// add finds the runs below a path.
func (f *Folders) add(path string) error {
	abs, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	found, torn := 0, error(nil)
	err = walkCopies(abs, func(dir string, r *run.Run, err error) {
		if err != nil {
			torn = fmt.Errorf("%s: %w", filepath.Join(dir, CopyFile), err)
			return
		}
		found++
		f.runs[r.ID], f.dirs[r.ID] = *r, dir
	})
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s: there is no such folder", path)
	case err != nil || found > 0:
		return err
	case torn != nil:
		return torn
	}
	return fmt.Errorf("%s contains no run; the folder of a run of this version of aiperfd has a file %s", path, CopyFile)
}

// Roots returns the ids of the runs that are not part of a study, the oldest first.
func (f *Folders) Roots() []string { return slices.Clone(f.roots) }

// Dir implements run.Store.
func (f *Folders) Dir(id string) string { return f.dirs[id] }

// Put implements run.Store. It always fails.
func (f *Folders) Put(context.Context, *run.Run) error { return errReadOnly }

// Delete implements run.Store. It always fails.
func (f *Folders) Delete(context.Context, string) error { return errReadOnly }

// FolderIn returns the folder of a run in a data folder. The error is run.ErrNotFound if
// there is none.
func FolderIn(dataDir, id string) (string, error) {
	if !UsableID(id) {
		return "", run.ErrNotFound
	}
	dir := filepath.Join(dataDir, runsFolder, id)
	if _, err := os.Stat(filepath.Join(dir, CopyFile)); err != nil {
		return "", run.ErrNotFound
	}
	return dir, nil
}
